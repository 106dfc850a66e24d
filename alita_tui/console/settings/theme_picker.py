"""Choose a theme; each is put on as it is highlighted, and Esc puts the old one back."""

from __future__ import annotations

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
    """Dismisses with the chosen name, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Back")]
    CSS_PATH = "theme_picker.tcss"

    class Previewed(Message):
        """A theme is to be put on for a look."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, names: tuple[str, ...], current: str) -> None:
        super().__init__()
        self._names = names
        self._current = current

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(id="box"):
            yield Plain(Content.assemble(("Theme", "bold $accent"), "   Enter keeps · Esc reverts"))
            yield OptionList(*(Option(name, id=name) for name in self._names), markup=False)

    def on_mount(self) -> None:
        """Begin at the one that is on."""
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
        """Put the old one back."""
        self.post_message(self.Previewed(self._current))
        self.dismiss(None)
