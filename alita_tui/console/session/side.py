"""The side: the library with its filter above the sandbox, or the inspector in their place."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from alita_tui.console.session.library import Library
from alita_tui.console.session.sandbox import SandboxPane
from alita_tui.console.widgets.pane_title import PaneTitle
from alita_tui.console.widgets.sheet import Row, Sheet

_SIDE, _TRACE = 24, 40
"""Least width of the panes at the side, and of the trace, in cells."""


class Side(Vertical):
    """Two titled panes. Its left edge is a divider: it is dragged with the mouse, or moved by `resize_by`."""

    _dragged = False
    _subject = ("", "")

    def resize_by(self, cells: int) -> None:
        """Make the panes wider by some cells, or narrower, within what keeps both readable."""
        self._resize(self.outer_size.width + cells)

    def _resize(self, width: int) -> None:
        widest = self.screen.size.width - _TRACE
        if widest >= _SIDE:
            cells = min(max(width, _SIDE), widest)
            self.styles.width, self.styles.max_width = cells, widest
            self.screen.add_class("-divided")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to drag the divider."""
        if round(event.screen_x) == self.region.x and not self.screen.has_class("-narrow"):
            self._dragged = True
            self.capture_mouse()
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the divider."""
        if self._dragged:
            self._resize(self.screen.size.width - round(event.screen_x))
            event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End dragging the divider."""
        if self._dragged:
            self._dragged = False
            self.release_mouse()
            event.stop()

    @property
    def inspecting(self) -> bool:
        """Whether the inspector is shown in place of library and sandbox."""
        return self.has_class("-inspecting")

    def inspect(self, title: str, subject: str, rows: Sequence[Row], *, pinned: bool) -> None:
        """Show something in place of library and sandbox."""
        mark = Content.styled("  pinned", "$alita-wait") if pinned else Content()
        name = Content.styled(title, "bold $foreground")
        self.query_one("#title-inspector", PaneTitle).show(name, subject, mark)
        sheet = self.query_one("#inspector", Sheet)
        if tuple(rows) != sheet.rows:
            same_subject = self._subject == (title, subject)
            sheet.show(rows, top=not same_subject)
        self._subject = (title, subject)
        self.add_class("-inspecting")

    def close_inspector(self) -> None:
        """Show library and sandbox again."""
        self.remove_class("-inspecting")

    def compose(self) -> ComposeResult:
        """The inspector, hidden while nothing is inspected; library above sandbox."""
        with Vertical(id="inspector-pane"):
            yield PaneTitle("Inspector", id="title-inspector")
            yield Sheet(id="inspector")
        with Vertical(id="library-pane"):
            yield PaneTitle("Library", id="title-library")
            yield Library(id="library")
            yield Input(placeholder="Filter the tools", id="filter", classes="line-input")
        with Vertical(id="sandbox-pane"):
            yield PaneTitle("Sandbox", id="title-sandbox")
            yield SandboxPane(id="sandbox")

    @on(Library.FindAsked)
    def _asked(self) -> None:
        line = self.query_one("#filter", Input)
        line.display = True
        line.focus()

    @on(Input.Changed, "#filter")
    def _changed(self, event: Input.Changed) -> None:
        self.query_one(Library).filter(event.value)

    @on(Input.Submitted, "#filter")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.display = bool(event.value)
        self.query_one(Library).focus()
