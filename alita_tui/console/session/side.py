"""The side panes: the library with its filter, above the sandbox."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from alita_tui.console.session.library import Library
from alita_tui.console.session.sandbox import SandboxPane
from alita_tui.console.widgets.plain import Plain


class Side(Vertical):
    """Two titled panes."""

    def compose(self) -> ComposeResult:
        """Library above sandbox."""
        with Vertical(id="library-pane"):
            yield Plain("Library", classes="pane-title", id="title-library")
            yield Library(id="library")
            yield Input(placeholder="Filter the tools", id="filter", classes="line-input")
        with Vertical(id="sandbox-pane"):
            yield Plain("Sandbox", classes="pane-title", id="title-sandbox")
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
