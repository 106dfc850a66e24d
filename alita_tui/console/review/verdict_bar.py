"""The bar under a build: what a key would do now, and what a verdict may need in words or ticks.

Nothing in it has the focus until the person asked for a field, and no button ever has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from alita_tui.console.input.arming import Objection
from alita_tui.console.review.fields import NameInput, ReasonInput
from alita_tui.console.review.steps import BuildReview
from alita_tui.console.review.ticks import Ticks
from alita_tui.console.widgets.plain import Plain
from alita_tui.events import Lasting
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.console.themes import ThemedApp

Choice = Literal[
    "approve", "lend", "reuse", "merge", "alias", "reject", "edit", "retest", "ban", "stop",
    "grants", "finding", "diff", "side_by_side", "log", "full", "next", "defer", "withdraw", "back",
]  # fmt: skip
VERDICTS = (
    "approve", "lend", "reuse", "merge", "alias", "reject", "edit", "retest", "ban", "stop", "grants", "defer",
    "withdraw",
)  # fmt: skip
"""Choices that count only once the review is armed."""
LABELS: dict[Choice, str] = {
    "approve": "Approve",
    "lend": "For this task",
    "reuse": "Reuse",
    "merge": "Merge",
    "alias": "Alias",
    "reject": "Reject…",
    "edit": "Edit",
    "retest": "Test",
    "ban": "Ban…",
    "stop": "Stop",
    "grants": "Grants…",
    "finding": "Finding",
    "diff": "Diff",
    "side_by_side": "Split",
    "log": "Log",
    "full": "Full",
    "next": "Next",
    "defer": "Later",
    "withdraw": "Withdraw",
    "back": "Close",
}
DECIDING: tuple[Choice, ...] = ("approve", "lend", "reject", "edit", "retest", "ban", "stop")
PUTTING_AWAY: tuple[Choice, ...] = ("defer", "withdraw")
LIKE: tuple[Choice, ...] = ("reuse", "merge", "alias")
"""Offered if another tool gives the same answers."""
TAGS = ("wrong approach", "unsafe", "duplicate", "weak tests", "not needed")
NAME, DIGEST = "this name", "these bytes"
"""What can be banned besides capabilities."""
_WHY: dict[str, str] = {
    "reject": "After a pause Enter rejects · Tab, Space tags · Esc back",
    "ban": "After a pause Enter bans what is ticked · Tab, Space tick · Esc back",
    "grants": "Unticked permissions are refused · Space toggles · Esc back, ticks stay",
}
_LACKING: dict[str, str] = {
    "reject": "The agent learns from the reason: write one, or tick a tag with Tab and Space.",
    "ban": "Choose what to ban and give a reason.",
}
"""What is said after an Enter that came too early."""
_VERDICTS: dict[Lasting, str] = {"library": "Approve", "task": "For this task only"}


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
        """Show the key for this choice."""
        if key == self._key:
            return
        self._key = key
        self.update(Content.assemble((key, "bold"), " ", LABELS[self.choice]))


class VerdictBar(Vertical):
    """The verdict bar."""

    DEFAULT_CSS: ClassVar[str] = """
    VerdictBar {
        height: auto;
        background: $panel;
        padding: 0 1;
        #said { height: auto; max-height: 5; }
        .choices { height: 1; }
        Input { height: 1; border: none; padding: 0 1; background: $alita-cursor; display: none; }
        Input:focus { border: none; background-tint: transparent; }
        Ticks { display: none; }
        Button { width: auto; margin: 0 2 0 0; color: $foreground; }
        Button:hover { text-style: underline; }
        Button.-verdict { color: $alita-approval; }
        &.-off Button.-verdict { color: $alita-muted; }
        &.-reject ReasonInput, &.-ban ReasonInput, &.-name NameInput { display: block; }
        &.-reject Ticks, &.-ban Ticks, &.-grants Ticks { display: block; }
        &.-open .choices { display: none; }
        .-good { color: $alita-good; }
        .-warn { color: $alita-warn; }
        .-bad { color: $alita-bad; }
        .-muted { color: $alita-muted; }
    }
    """

    app: ThemedApp[object]

    @dataclass
    class Worded(Message):
        """A reason was given; for a ban also what to ban."""

        about: str
        """The approval that the field was opened for; another build may be on screen by now."""
        mode: Literal["reject", "ban"]
        reason: str
        ticked: tuple[str, ...]

    @dataclass
    class Named(Message):
        """Whether the names of all risks were typed."""

        about: str

    @dataclass
    class Granting(Message):
        """Grant these capabilities."""

        about: str
        ticked: tuple[str, ...]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mode: Literal["idle", "reject", "ban", "name", "grants"] = "idle"
        self._about = ""
        self._names_to_type: tuple[str, ...] = ()
        self._message = ("", "")
        self._entered = False
        """Whether Enter was pressed on names, a reason or ticks that are not complete."""
        self._lasting: Lasting = "library"
        """The approval that the names are asked for."""
        self._cleared, self._rest = "", ""
        """The first name that Enter took out of the field since it is no risk's, and what it left there."""

    def compose(self) -> ComposeResult:
        """Message, fields, ticks and choices."""
        yield Plain(id="said")
        yield ReasonInput(compact=True, id="reason")
        yield NameInput(compact=True, id="name")
        yield Ticks(id="ticks")
        with Horizontal(classes="choices"):
            for choice in DECIDING:
                yield Button(choice)
        with Horizontal(classes="choices", id="like"):
            for choice in LIKE:
                yield Button(choice)
        with Horizontal(classes="choices"):
            for choice in LABELS:
                if choice not in (*DECIDING, *LIKE):
                    yield Button(choice)

    def draw_keys(self, keys: Mapping[str, str], useless: Collection[Choice]) -> None:
        """Label the choices with their keys, and hide `useless` ones."""
        for button in self.query(Button):
            button.draw(keys.get(button.choice, ""))
            button.display = button.choice in keys and button.choice not in useless
        self.query_one("#like").display = any(choice in keys and choice not in useless for choice in LIKE)

    def say(self, text: str, tone: str = "") -> None:
        """Show a line above the choices; `tone` is `good`, `warn`, `bad` or `muted`."""
        if (text, tone) == self._message:
            return
        self._message = (text, tone)
        line = self.query_one("#said", Plain)
        line.update(text)
        line.set_classes(f"-{tone}" if tone else "")

    def say_about(
        self, review: BuildReview, unread: int, keys: Mapping[str, str], objection: Objection
    ) -> None:
        """Show what can be done now; `keys` are those of the choices, `objection` is why none counts now."""
        match self.mode:
            case "name":
                typed = self.query_one(NameInput).value.split(" ")
                missing = [name for name in self._names_to_type if name not in typed]
                unknown = self._unknown(typed)
                verdict, names = _VERDICTS[self._lasting], " ".join(missing)
                message = f"{verdict}: to accept the risks type their names: {names} · Esc cancels"
                if self._cleared:
                    message = f"No risk is called {one_line(self._cleared, 40)}, so it was cleared. {message}"
                elif unknown:
                    message = f"No risk is called {one_line(unknown[0], 40)}. {message}"
                elif self._entered:
                    message = f"Not complete yet. {message}"
                self.say(message, "bad" if unknown or self._entered else "warn")
            case "reject" | "ban" if self._entered:
                self.say(_LACKING[self.mode], "warn")
            case "reject" | "ban" | "grants":
                self.say(_WHY[self.mode], "bad" if self.mode == "ban" else "")
            case "idle":
                self.say(*review.line(unread, keys, objection))

    def arm(self, armed: bool) -> None:
        """Show whether a verdict would count."""
        self.set_class(not armed, "-off")

    def idle(self) -> None:
        """Close the fields."""
        self.mode = "idle"
        self.remove_class("-reject", "-name", "-ban", "-grants", "-open")
        self.query_one(ReasonInput).clear()
        self.query_one(NameInput).clear()
        self.query_one(Ticks).offer(())

    def ask_reason(self, about: str) -> None:
        """Ask for a reason, with tags for common ones."""
        self._open("reject", about)
        self.query_one(Ticks).offer(TAGS)
        self._ask_words("Why? One line, the agent will read it")

    def ask_ban(self, about: str, capabilities: tuple[str, ...]) -> None:
        """Ask for a reason and what to ban."""
        self._open("ban", about)
        self.query_one(Ticks).offer((NAME, DIGEST, *capabilities), (NAME, DIGEST))
        self._ask_words("Why never? One line, later builds are told")

    def ask_grants(self, about: str, capabilities: tuple[str, ...], withheld: Collection[str]) -> None:
        """Ask which capabilities to grant."""
        self._open("grants", about)
        ticks = self.query_one(Ticks)
        ticks.offer(capabilities, [capability for capability in capabilities if capability not in withheld])
        ticks.focus()

    def ask_name(self, about: str, names: tuple[str, ...], lasting: Lasting) -> None:
        """Ask for the names of the risks, to approve for good or for a task."""
        self._open("name", about)
        self._cleared, self._names_to_type, self._lasting = "", names, lasting
        field = self.query_one(NameInput)
        field.placeholder = "the names, separated by blanks"
        field.focus()

    def _open(self, mode: Literal["reject", "ban", "name", "grants"], about: str) -> None:
        self.mode, self._about, self._entered = mode, about, False
        self.add_class("-open", f"-{mode}")

    def _ask_words(self, placeholder: str) -> None:
        field = self.query_one(ReasonInput)
        field.placeholder = placeholder
        field.value = self.app.drafts.get(self._draft)
        field.focus()

    @property
    def _draft(self) -> str:
        """Where a reason is kept until it is sent."""
        return f"reason:{self._about}"

    @on(Input.Changed, "#reason")
    def _reason_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._entered = False
        if self.mode in ("reject", "ban"):
            self.app.drafts.keep(self._draft, event.value)

    @on(Ticks.Changed)
    def _ticked(self, event: Ticks.Changed) -> None:
        event.stop()
        self._entered = False
        if self.mode == "grants":
            self.post_message(self.Granting(self._about, self.query_one(Ticks).ticked))

    @on(Input.Changed, "#name")
    def _name_typed(self, event: Input.Changed) -> None:
        event.stop()
        if not (self._cleared and event.value == self._rest):
            self._entered, self._cleared = False, ""
        if self.mode == "name" and set(event.value.split()) == set(self._names_to_type):
            self.post_message(self.Named(self._about))

    @on(Input.Submitted, "#name")
    def _enter_in_name(self, event: Input.Submitted) -> None:
        event.stop()
        self._entered = True
        words = event.value.split()
        if unknown := self._unknown(words):
            self._cleared = unknown[0]
            self._rest = "".join(f"{word} " for word in words if word not in unknown)
            event.input.value = self._rest

    def _unknown(self, words: Sequence[str]) -> list[str]:
        """Return the words that are neither a risk's name nor the beginning of one."""
        return [
            word for word in words if word and not any(name.startswith(word) for name in self._names_to_type)
        ]

    @on(Ticks.Done)
    @on(Input.Submitted, "#reason")
    def _reason_given(self, event: Message) -> None:
        event.stop()
        ticked, reason = self.query_one(Ticks).ticked, self.query_one(ReasonInput).value.strip()
        if self.mode == "reject" and (ticked or reason):
            self.app.drafts.keep(self._draft, "")
            self.post_message(self.Worded(self._about, "reject", reason, ticked))
        elif self.mode == "ban" and ticked and reason:
            self.app.drafts.keep(self._draft, "")
            self.post_message(self.Worded(self._about, "ban", reason, ticked))
        elif self.mode in _LACKING:
            self._entered = True
