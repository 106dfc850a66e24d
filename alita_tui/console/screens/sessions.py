"""The list of sessions: filter, open, begin a new one."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings
from alita_tui.console.ports import SessionLine, Switch
from alita_tui.console.widgets.inked import cut
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.text import one_line

_STATES = {"open": "$alita-good", "waiting": "$alita-wait", "damaged": "$alita-bad"}


class SessionsScreen(ModalScreen[Switch | None]):
    """Dismisses with the session to open, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")
    CSS = """
    SessionsScreen { align: center middle; background: $background 60%; }
    #box {
        width: 90%; max-width: 110; height: 80%; background: $surface; border: round $alita-line;
        padding: 0 1;
    }
    #box Plain { color: $alita-muted; padding: 0 1; height: 1; }
    #box Input { border: none; background: $panel; height: 1; margin: 0 0 1 0; padding: 0 1; }
    #box OptionList { height: 1fr; border: none; background: $surface; background-tint: transparent; padding: 0; }
    #box OptionList:focus { background-tint: transparent; }
    #box OptionList > .option-list--option-highlighted {
        background: $alita-cursor; color: $foreground; text-style: none;
    }
    """

    def __init__(self, lines: tuple[SessionLine, ...], *, current: str = "") -> None:
        super().__init__()
        self._lines = lines
        self._current = current

    def compose(self) -> ComposeResult:
        """A filter over a list."""
        with Vertical(id="box"):
            yield Plain(
                Content.assemble(
                    ("Sessions", "bold $accent"),
                    f"  {len(self._lines)}   Enter opens · / filters · Esc goes back",
                )
            )
            yield Input(placeholder="Filter by title", id="filter")
            yield OptionList(id="list", markup=False)

    def on_mount(self) -> None:
        """All of them, the newest first."""
        self._fill("")
        self.query_one(OptionList).focus()

    def on_resize(self) -> None:
        """The width is another."""
        self._fill(self.query_one(Input).value)

    def _fill(self, needle: str) -> None:
        listed = self.query_one(OptionList)
        listed.clear_options()
        width = max(listed.size.width - 2, 30)
        for line in self._lines:
            if needle.casefold() in f"{line.title} {line.session_id}".casefold():
                listed.add_option(Option(self._row(line, width), id=line.session_id))
        if not listed.option_count:
            listed.add_option(Option("No session fits." if self._lines else "No session yet.", disabled=True))
        else:
            listed.highlighted = 0

    def _row(self, line: SessionLine, width: int) -> Content:
        when = line.started.astimezone().strftime("%d %b %H:%M")
        built = f"{line.tools_built}◆ " if line.tools_built else ""
        right = f"{built}${line.cost_usd:.2f}  {line.state:>8}"
        here = " (this one)" if line.session_id == self._current else ""
        title = cut(one_line(line.title or "Untitled") + here, max(width - len(when) - len(right) - 4, 8))
        gap = " " * max(width - len(when) - len(right) - Content(title).cell_length - 2, 1)
        return Content.assemble(
            (when, "$alita-muted"), "  ", title, gap, (right, _STATES.get(line.state, "$alita-muted"))
        )

    @on(Input.Changed, "#filter")
    def _filtered(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @on(Input.Submitted, "#filter")
    def _to_list(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        chosen = event.option_id or ""
        self.dismiss(None if not chosen or chosen == self._current else Switch(chosen))

    def action_filter(self) -> None:
        """Narrow the list."""
        self.query_one(Input).focus()

    def action_back(self) -> None:
        """Back to the session."""
        self.dismiss(None)
