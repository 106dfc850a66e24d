"""The list of keys, from the table of actions and the user's keymap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from alita_tui.console.action_table import ACTIONS, GROUPS
from alita_tui.console.actions import shown
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Row, Sheet


class HelpScreen(Dialog[None]):
    """A sheet with all keys."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,f1,q,question_mark", "dismiss", "Close")]
    CSS_PATH: ClassVar[Stylesheets] = ["widgets/dialog.tcss", "help.tcss"]

    def __init__(self, keys: Mapping[str, str], *, replay: bool) -> None:
        super().__init__()
        self._keys = keys
        self._replay = replay

    def compose(self) -> ComposeResult:
        """Heading and sheet."""
        with Vertical(id="box"):
            yield Plain(
                Content.assemble(
                    ("Keys", "bold $accent"),
                    "   Esc closes · keymap.toml remaps them by the grey names",
                )
            )
            yield Sheet(self._rows(), id="sheet")

    def _rows(self) -> list[Row]:
        rows: list[Row] = []
        for owner, heading in GROUPS.items():
            here = [
                one for one in ACTIONS if one.owner == owner and (one.replay if self._replay else one.live)
            ]
            if not here:
                continue
            rows += [Row(), Row(((heading, "heading"),))]
            for one in here:
                keys = (self._keys.get(one.id) or one.key).split(",")
                named = " ".join(dict.fromkeys(shown(key) for key in keys[:2]))
                rows.append(Row(((one.tooltip, ""), (f"  {one.id}", "muted")), ((f"  {named:<20}", "name"),)))
        return rows
