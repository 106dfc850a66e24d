"""The list of keys: those that the screen beneath takes, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen

from alita_tui.console.actions import offered
from alita_tui.console.session.slash import instead
from alita_tui.console.taken import Taken, sections
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Row, Sheet
from alita_tui.spine.text import reveal


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
            yield Sheet([row for section in self.sections for row in _rows(section.heading, section.keys)])
            where = reveal(str(self._keymap)) if self._keymap is not None else "keymap.toml"
            yield Plain(f"To change a key, put its grey name into {where}", id="said")


def _rows(heading: str, keys: tuple[Taken, ...]) -> list[Row]:
    rows = [Row(((heading, "heading"),))]
    for key in keys:
        named = " ".join((*offered(key.keys), *instead(key.action, key.keys)))
        said = ((key.action.tooltip, ""), (f"  {key.action.id}", "muted"))
        rows.append(Row(said, ((f"  {named:<20}", "name"),)))
    return [*rows, Row()]
