"""The bar under a build: what a key would do now, the reason of a rejection, the name of a risky tool.

Nothing in it has the focus until the person asked for a text field, and no button ever has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from alita_tui.console.review import Review
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.verdict_fields import NameInput, ReasonInput, Tag

Choice = Literal["approve", "reject", "edit", "diff", "log", "full", "next", "defer"]
VERDICTS = ("approve", "reject", "edit")
LABELS: dict[Choice, str] = {
    "approve": "Approve",
    "reject": "Reject…",
    "edit": "Edit",
    "diff": "Diff",
    "log": "Log",
    "full": "Full",
    "next": "Next",
    "defer": "Later",
}
TAGS = ("wrong approach", "unsafe", "duplicate", "weak tests", "not needed")


class Button(Plain):
    """A choice for the mouse, which the screen presses (see `GuardedScreen.pressed`).

    It never has the focus, so Enter and Space cannot press it.
    """

    ALLOW_SELECT = False

    def __init__(self, choice: Choice) -> None:
        super().__init__(id=f"choice-{choice}", classes="-verdict" if choice in VERDICTS else "")
        self.choice = choice
        self._key: str | None = None

    def draw(self, key: str) -> None:
        """Show the key that does it now."""
        if key == self._key:
            return
        self._key = key
        self.update(Content.assemble((key, "bold"), " ", LABELS[self.choice]))


class VerdictBar(Vertical):
    """What can be decided, and how."""

    DEFAULT_CSS: ClassVar[str] = """
    VerdictBar {
        height: auto;
        background: $panel;
        padding: 0 1;
        #said { height: auto; max-height: 3; }
        #choices { height: 1; }
        Input { height: 1; border: none; padding: 0 1; background: $alita-cursor; display: none; }
        Input:focus { border: none; background-tint: transparent; }
        #tags { height: 1; display: none; }
        Tag { width: auto; margin: 0 2 0 0; color: $alita-muted; }
        Tag.-marked { color: $alita-warn; }
        Tag:focus { text-style: reverse; }
        Button { width: auto; margin: 0 2 0 0; color: $foreground; }
        Button:hover { text-style: underline; }
        Button.-verdict { color: $alita-approval; }
        &.-off Button.-verdict { color: $alita-muted; }
        &.-reject ReasonInput, &.-reject #tags, &.-name NameInput { display: block; }
        &.-reject #choices, &.-name #choices { display: none; }
        .-good { color: $alita-good; }
        .-warn { color: $alita-warn; }
        .-bad { color: $alita-bad; }
        .-muted { color: $alita-muted; }
    }
    """

    class Rejected(Message):
        """A reason was given."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    class Named(Message):
        """The tool's name was typed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mode: Literal["idle", "reject", "name"] = "idle"
        self._name = ""
        self._said = ("", "")

    def compose(self) -> ComposeResult:
        """Message, the two fields, tags, choices."""
        yield Plain(id="said")
        yield ReasonInput(compact=True, placeholder="why not, in one line: the agent reads it", id="reason")
        yield NameInput(compact=True, id="name")
        with Horizontal(id="tags"):
            for tag in TAGS:
                yield Tag(tag)
        with Horizontal(id="choices"):
            for choice in LABELS:
                yield Button(choice)

    def draw_keys(self, keys: Mapping[str, str], useless: Collection[Choice]) -> None:
        """Label the choices with the keys that are live, and hide those that do nothing here."""
        for button in self.query(Button):
            button.draw(keys.get(button.choice, ""))
            button.display = button.choice in keys and button.choice not in useless

    def say(self, text: str, tone: str = "") -> None:
        """The line above the choices; `good`, `warn`, `bad` or `muted`."""
        if (text, tone) == self._said:
            return
        self._said = (text, tone)
        said = self.query_one("#said", Plain)
        said.update(text)
        said.set_classes(f"-{tone}" if tone else "")

    def say_about(self, review: Review, unread: int, approve: str, at: float) -> None:
        """What can be done about a build now; `approve` is the key for it."""
        match self.mode:
            case "name":
                self.say(f"{review.serious} serious: type {self._name} to go on. Esc goes back.", "warn")
            case "reject":
                self.say("Enter rejects with this reason. Tab and Space mark tags, Esc goes back.")
            case "idle":
                self.say(*review.line(unread, approve, at))

    def arm(self, armed: bool) -> None:
        """Show whether a verdict would count."""
        self.set_class(not armed, "-off")

    def idle(self) -> None:
        """Close the fields."""
        self.mode = "idle"
        self.remove_class("-reject", "-name")
        self.query_one(ReasonInput).clear()
        self.query_one(NameInput).clear()
        for tag in self.query(Tag):
            tag.mark(False)

    def ask_reason(self, at: float) -> None:
        """Open the field for a reason."""
        self.mode = "reject"
        self.add_class("-reject")
        field = self.query_one(ReasonInput)
        field.opened = at
        field.focus()

    def ask_name(self, name: str) -> None:
        """Open the field for the tool's name."""
        self.mode = "name"
        self._name = name
        self.add_class("-name")
        field = self.query_one(NameInput)
        field.placeholder = name
        field.focus()

    @on(Input.Changed, "#name")
    def _name_typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.mode == "name" and event.value == self._name:
            self.post_message(self.Named())

    @on(Input.Submitted, "#name")
    def _enter_in_name(self, event: Input.Submitted) -> None:
        event.stop()

    @on(Input.Submitted, "#reason")
    def _reason_given(self, event: Input.Submitted) -> None:
        event.stop()
        if self.mode != "reject":
            return
        tags = [tag.word for tag in self.query(Tag) if tag.marked]
        reason = "; ".join(part for part in (", ".join(tags), event.value.strip()) if part)
        if reason:
            self.post_message(self.Rejected(reason))
        else:
            self.screen.notify(
                "The agent learns from the reason: write one, or mark a tag with Tab and Space.", markup=False
            )
