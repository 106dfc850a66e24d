"""Part of the session's screen: the inspector shows what is selected in the trace, instead of library and sandbox."""

from __future__ import annotations

from typing import Literal

from textual import on
from textual.events import DescendantBlur, DescendantFocus
from textual.screen import Screen

from alita_tui.console.session.side import Side
from alita_tui.console.session.trace import Trace
from alita_tui.console.session.trace_messages import Selected
from alita_tui.view.model import SessionView

Mode = Literal["selection", "pinned", "panes"]
_NEXT: dict[Mode, Mode] = {"selection": "pinned", "pinned": "panes", "panes": "selection"}
_MESSAGES: dict[Mode, str] = {
    "selection": "The inspector shows what is selected in the trace.",
    "pinned": "Pinned: it stays, whatever is selected.",
    "panes": "Library and sandbox stay, whatever is selected.",
}


class Inspecting(Screen[None]):
    """Base of the session's screen."""

    view: SessionView
    inspects: Mode = "selection"
    """`selection`: while the trace has the focus, what is selected in it; otherwise library and sandbox."""

    @on(DescendantFocus)
    @on(DescendantBlur)
    @on(Selected)
    def _selected(self) -> None:
        self.inspect()

    def action_inspect(self) -> None:
        """Pin what the inspector shows, bring library and sandbox back, or follow the selection again."""
        if self.has_class("-narrow"):
            self.set_class(not self.has_class("-inspect"), "-inspect")
        else:
            self.inspects = _NEXT[self.inspects]
            self.notify(_MESSAGES[self.inspects], timeout=3)
        self.inspect(anew=True)

    def inspect(self, *, anew: bool = False) -> None:
        """Show the inspector, or library and sandbox; a pinned inspector changes only with `anew`."""
        side = self.query_one(Side)
        trace = self.query_one(Trace)
        narrow = self.has_class("-narrow")
        if narrow and not trace.has_focus:
            self.remove_class("-inspect")
        if self.inspects == "pinned" and side.inspecting and not (narrow or anew):
            return
        open_inspector = (
            self.has_class("-inspect") if narrow else self.inspects != "panes" and trace.has_focus
        )
        inspection = trace.inspection() if open_inspector else None
        if inspection is None:
            side.close_inspector()
        else:
            side.inspect(*inspection, pinned=self.inspects == "pinned" and not narrow)
