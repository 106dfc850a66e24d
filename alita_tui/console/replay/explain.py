"""The explanation of an event: why, what it changed, what it cost."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, heading
from alita_tui.view.explain import Explanation


class ExplainScreen(Dialog[None]):
    """A small sheet."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark", "dismiss", "Close")]
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "explain.tcss"]

    def __init__(self, explanation: Explanation) -> None:
        super().__init__()
        self._explanation = explanation

    def compose(self) -> ComposeResult:
        """The event's title, then the explanation."""
        explanation = self._explanation
        with Vertical(id="box"):
            yield Plain(
                Content.assemble(
                    ("Event ", "$alita-muted"),
                    (str(explanation.seq), "bold $accent"),
                    "  ",
                    explanation.title,
                )
            )
            yield Sheet(rows(explanation), id="sheet")


def rows(explanation: Explanation) -> list[Row]:
    """Return the rows of the sheet."""
    sheet_rows: list[Row] = []
    for title, lines in (
        ("Why", explanation.why),
        ("What it changed", explanation.changed),
        ("What it cost", explanation.cost),
    ):
        if lines:
            sheet_rows += [*heading(title), *(Row(((line, ""),), (("  ", ""),)) for line in lines), BLANK]
    return sheet_rows[:-1]
