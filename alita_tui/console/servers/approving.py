"""A server's tool, whole, and the one key that approves it.

The key counts under the rules of a build (`console/input/arming.py`): once the tool was seen, after a moment of quiet,
and never while it is held down. What is approved is what is on screen, by its digest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from alita_tui.console.actions import action, actions_of, bindings, shown_keys
from alita_tui.console.input.arming import Objection, TimedInput, objection
from alita_tui.console.input.timing import Paint
from alita_tui.console.messages import CommandAsked
from alita_tui.console.review.fields import ArgumentsInput, NameInput
from alita_tui.console.review.guarded import GuardedScreen
from alita_tui.console.servers.ports import ServersCatalog, WholeTool
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, heading
from alita_tui.spine.commands import RefreshLibrary
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import counted, one_line, reveal

_DIGEST = 16


class ToolReview:
    """The steps to the approval of one tool: its risks are named, and the amount of unread lines is known."""

    def __init__(self, tool: WholeTool) -> None:
        self.tool = tool
        self.names = tuple(dict.fromkeys(name for name, _, _ in tool.risks))
        self.named = not self.names
        """Whether the names of all risks were typed."""
        self.unread_known = False
        """Whether the person was told how much is unread."""
        self.paint: Paint | None = None
        """When it was painted; None before that, and while it has to be painted again."""

    def objection(self, timed: TimedInput) -> Objection:
        """Return why an input does not approve this tool; empty if it counts."""
        return objection(timed, self.paint.at if self.paint else None)


class ToolApproval(GuardedScreen):
    """Shows a tool of a server as it was listed, and approves it."""

    AUTO_FOCUS = "Sheet"
    GUARDED = frozenset({"approve"})
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("server_tool"),
        Binding(action("app.help").key, "app.help", "Help", show=False, id="app.help"),
    ]
    CSS_PATH = "approving.tcss"
    _review: ToolReview | None  # type: ignore[assignment]  # the base class uses only paint and objection

    def __init__(
        self,
        tool: WholeTool,
        catalog: ServersCatalog,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`report` gets the message of an approval. `clock` is the one that `Message.time` is taken from."""
        super().__init__(clock)
        self._report = report
        self._tool = tool
        self._catalog = catalog
        self._asking = False
        """Whether the field for the names of the risks is open."""
        self._trying = False
        """Whether the field for the arguments of a test call is open."""
        self._calls: list[tuple[str, str]] = []
        """Test calls: arguments and outcomes."""
        self._calling = False
        self._sent = False
        self._failed = ""

    def compose(self) -> ComposeResult:
        """Heading, the whole tool, the field for the names, and what a key does."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Sheet(id="tool")
            yield NameInput(compact=True, id="names", placeholder="the names, separated by blanks")
            yield ArgumentsInput(
                compact=True,
                select_on_focus=False,
                id="arguments",
                placeholder='arguments as JSON: {"text": "x"}',
            )
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Show the tool."""
        tool = self._tool
        self._review = ToolReview(tool)
        head = f"  {one_line(tool.name, 64)} of {one_line(tool.server, 40)}  {tool.state}  sha256 "
        heading = Content.assemble(("Approve a tool", "bold $accent"), f"{head}{tool.digest[:_DIGEST]}")
        self.query_one("#head", Plain).update(heading)
        self.query_one(Sheet).show(rows_of(tool))
        self.repaint()
        self.set_interval(0.1, self._tick)

    def on_resize(self) -> None:
        """Require a repaint in the new size."""
        self.repaint()

    @property
    def unread(self) -> int:
        """How many lines were not on screen yet."""
        sheet = self.query_one(Sheet)
        return sum(not sheet.seen(row.source) for row in sheet.rows if row.source)

    @property
    def armed(self) -> bool:
        """Whether the key would count if pressed now, unless it is the last key again."""
        return self._review is not None and not self.timing.objection_to_key(
            self._review.paint, self._clock()
        )

    @on(Sheet.Seen)
    def _tick(self) -> None:
        if self._review is None or self._sent or not self.is_mounted:
            return
        text, tone = self._line(self._review)
        line = self.query_one("#said", KeyLine)
        line.show((Content(text),))
        line.set_classes(f"-{tone}")

    def _line(self, review: ToolReview) -> tuple[str, str]:
        """Return what the next key does, and its tone."""
        key = shown_keys(self).get("approve", "")
        unread = self.unread
        if self._failed:
            return self._failed, "bad"
        if self._calling:
            return "Called … Esc closes, and the call with it.", "muted"
        if self._trying:
            return (
                "Enter calls it once with these arguments; nothing is approved or recorded. · Esc cancels",
                "warn",
            )
        if self._asking:
            typed = set(self.query_one("#names", NameInput).value.split())
            missing = " ".join(name for name in review.names if name not in typed)
            return f"To accept the risks type their names: {missing} · Esc cancels", "warn"
        held = "approve" in actions_of(self, self.timing.deed)
        first = "Press another key or scroll first. " if held else ""
        if review.unread_known and unread:
            lines = counted(unread, "line")
            return f"{first}{lines} unread: {key} again approves the tool all the same; Esc closes.", "bad"
        if review.names and review.named:
            return f"{first}Risks accepted by name. {key} approves this tool; Esc closes.", "warn"
        if not self.armed:
            return "Keys unlock after a moment of quiet, so you can read first.", "muted"
        read = f"{counted(unread, 'line')} unread" if unread else "read to the end"
        tries = f"{shown_keys(self).get('try', '')} calls it once"
        if review.names:
            asks = "its name" if len(review.names) == 1 else "their names"
            return (
                f"{first}{read} · {counted(len(review.names), 'risk')}: {key} asks for {asks} · {tries}",
                "bad",
            )
        return (
            f"{first}{read} · {key} approves this tool · {tries} · Esc closes",
            "warn" if unread else "good",
        )

    # --- deciding ---------------------------------------------------------------------------

    def is_verdict(self, widget: Widget) -> bool:
        """Whether a click on a widget approves: none does."""
        return False

    async def pressed(self, widget: Widget) -> None:
        """Focus what was clicked."""
        if widget.focusable:
            widget.focus()

    def refused(self, why: Objection) -> None:
        """Tell the person why the key did not count."""
        if why == "stalled":
            self.notify("The console had stopped for a moment, so that key was not taken.")
        self._tick()

    def action_approve(self) -> None:
        """Approve the tool, after as many steps as its risks require."""
        review = self._review
        if review is None or not self._acting or self._asking or self._trying or self._calling or self._sent:
            return
        if not review.named:
            self._ask(True)
        elif (unread := self.unread) and not review.unread_known:
            review.unread_known = True
            self.repaint()  # the person has to read first what the next press does
        else:
            self._sent = True
            self._approve(unread)
        self._tick()

    @on(Input.Changed, "#names")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._review and self._asking and set(event.value.split()) == set(self._review.names):
            self._review.named = True
            self._ask(False)
            self.repaint()

    @on(Input.Submitted, "#names")
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        unknown = [name for name in event.value.split() if self._review and name not in self._review.names]
        if unknown:
            message = f"{one_line(unknown[0], 40)} is none of its risks; the line below names them."
            self.notify(message, severity="warning")

    def _ask(self, asking: bool) -> None:
        self._asking = asking
        self.set_class(asking, "-asks")
        field = self.query_one("#names", NameInput)
        field.clear()
        (field if asking else self.query_one(Sheet)).focus()
        self._tick()

    # --- a test call ------------------------------------------------------------------------

    def action_try(self) -> None:
        """Ask for the arguments of a test call."""
        if self._review is not None and not (self._asking or self._trying or self._calling or self._sent):
            self._ask_arguments(True)

    def _ask_arguments(self, trying: bool) -> None:
        self._trying = trying
        self.set_class(trying, "-tries")
        field = self.query_one(ArgumentsInput)
        if trying and not field.value:
            field.value = self._tool.example
            field.cursor_position = len(field.value)
        (field if trying else self.query_one(Sheet)).focus()
        self._tick()

    @on(Input.Submitted, "#arguments")
    def _arguments_given(self, event: Input.Submitted) -> None:
        event.stop()
        if self._trying and not self._calling:
            self._ask_arguments(False)
            self._calling = True
            self._try(event.value)
            self._tick()

    @work(name="try a server's tool", group="try", exit_on_error=False)
    async def _try(self, arguments: str) -> None:
        try:
            outcome = await self._catalog.try_server_tool(self._tool, arguments)
        except AlitaError as error:
            outcome = f"{error} {error.hint}".strip()
        finally:
            self._calling = False
        self._calls.append((arguments, outcome))
        sheet = self.query_one(Sheet)
        sheet.show(rows_of(self._tool, self._calls), top=False)
        sheet.scroll_end(animate=False)
        self.repaint()

    def action_back(self) -> None:
        """Close the field, else the screen; nothing is approved by it."""
        if self._asking:
            self._ask(False)
        elif self._trying:
            self._ask_arguments(False)
        elif self.is_current and not self._sent:
            self.dismiss(None)

    @work(name="approve a server's tool", group="approve", exit_on_error=False)
    async def _approve(self, unread: int) -> None:
        try:
            message = await self._catalog.approve_server_tool(self._tool, unread)
        except AlitaError as error:
            self._failed = f"{one_line(f'{error} {error.hint}', 300)} Esc closes."
            self._sent = False
            self._review = None  # the tool on screen can no longer be approved
            line = self.query_one("#said", KeyLine)
            line.show((Content(self._failed),))
            line.set_classes("-bad")
            return
        self.app.post_message(CommandAsked(RefreshLibrary()))
        self._report(message)
        self.dismiss(None)


def rows_of(tool: WholeTool, calls: Sequence[tuple[str, str]] = ()) -> list[Row]:
    """Return all that an approval covers: risks, what changed, then descriptor and server, nothing left out.

    The outcomes of test calls follow; they are not covered by the approval.
    """
    rows = heading("Risks", "each is accepted by its name" if tool.risks else "none found")
    for name, text, serious in tool.risks:
        tone = "bad" if serious else "warn"
        rows.append(Row(((f"{name}  ", tone), (reveal(text), "")), (("▲ " if serious else "△ ", tone),)))
    parts = [("what changed since it was approved", "\n".join(tool.changes))] if tool.changes else []
    for title, text in (*parts, *tool.parts):
        rows += [BLANK, *heading(title)]
        rows += [Row(((reveal(line), _tone(line, title)),), (("  ", ""),)) for line in text.split("\n")]
    numbered = [Row(row.body, row.gutter, row.turn, source=number) for number, row in enumerate(rows, 1)]
    for arguments, outcome in calls:
        numbered += [BLANK, *heading("test call", one_line(arguments, 200))]
        numbered += [Row(((reveal(line), ""),), (("  ", ""),)) for line in outcome.split("\n")]
    return numbered


def _tone(line: str, title: str) -> str:
    if not title.startswith("what changed"):
        return ""
    return "added" if line.startswith("+") else "removed" if line.startswith("-") else ""
