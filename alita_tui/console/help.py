"""The list of keys: those that the screen beneath takes, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen

from alita_tui.console.actions import offered
from alita_tui.console.active_keys import ActiveKey, Section, sections
from alita_tui.console.session.slash import instead
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Row, Sheet
from alita_tui.spine.text import reveal

_WIDEST = 12
"""Cells of the column of keys at most; the few longer ones push only their own row."""


class HelpScreen(Dialog[None]):
    """A sheet with the keys of the screen that it was opened over."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,f1,q,question_mark", "dismiss", "Close")]
    CSS_PATH: ClassVar[Stylesheets] = ["widgets/dialog.tcss", "help.tcss"]

    def __init__(self, screen: Screen[Any], keymap: Path | None, *, replay: bool) -> None:
        super().__init__()
        self.sections = sections(screen, replay=replay)
        """What is listed."""
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """Heading, sheet and how a key is changed."""
        with Vertical(id="box"):
            yield Plain(Content.assemble(("Keys", "bold $accent"), "  of what is on screen   Esc closes"))
            yield Sheet(rows(self.sections))
            where = reveal(str(self._keymap)) if self._keymap is not None else "keymap.toml"
            yield Plain(f'To change a key: grey name = "key" below a line [keys] in {where}', id="said")


def rows(listed: Sequence[Section]) -> list[Row]:
    """Return the keys of every section in one column, no wider than they need."""
    column = min(max((cell_len(_named(key)) for part in listed for key in part.keys), default=0), _WIDEST)
    return [row for part in listed for row in _rows(part, column)]


def _named(key: ActiveKey) -> str:
    return " ".join((*offered(key.keys), *instead(key.action, key.keys)))


def _rows(part: Section, column: int) -> list[Row]:
    heading_rows = [Row(((part.heading, "heading"),))]
    for key in part.keys:
        text = ((key.action.tooltip, ""), (f"  {key.action.id}", "muted"))
        heading_rows.append(
            Row(text, ((f"  {_named(key):<{column}}  ", "name"),), ((" " * (column + 4), ""),))
        )
    return [*heading_rows, Row()]
