"""The theme picker: previews each highlighted theme; Esc reverts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from alita_tui.console.widgets.plain import Plain


class ThemePicker(ModalScreen[str | None]):
    """Returns the chosen name, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Back")]
    CSS_PATH = "theme_picker.tcss"

    @dataclass
    class Previewed(Message):
        """Preview a theme."""

        name: str

    def __init__(self, names: tuple[str, ...], current: str) -> None:
        super().__init__()
        self._names = names
        self._current = current

    def compose(self) -> ComposeResult:
        """Heading and list."""
        with Vertical(id="box"):
            yield Plain(Content.assemble(("Theme", "bold $accent"), "   Enter keeps · Esc reverts"))
            yield OptionList(*(Option(name, id=name) for name in self._names), markup=False)

    def on_mount(self) -> None:
        """Highlight the current theme."""
        listed = self.query_one(OptionList)
        listed.highlighted = self._names.index(self._current) if self._current in self._names else 0
        listed.focus()

    @on(OptionList.OptionHighlighted)
    def _preview(self, event: OptionList.OptionHighlighted) -> None:
        self.post_message(self.Previewed(event.option_id or self._current))

    @on(OptionList.OptionSelected)
    def _keep(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def action_cancel(self) -> None:
        """Revert to the previous theme."""
        self.post_message(self.Previewed(self._current))
        self.dismiss(None)
