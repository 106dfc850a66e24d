"""The settings: value and origin of each; Enter changes one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.ports import SettingLine
from alita_tui.console.widgets.choice_list import ChoiceList
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import cut
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line


class SettingsScreen(Dialog[None]):
    """A filter, the list, and the selected setting's meaning and value."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("settings")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    def __init__(
        self,
        lines: tuple[SettingLine, ...],
        change: Callable[[str, str], Awaitable[tuple[SettingLine, ...]]],
        keys: Mapping[str, str],
        *,
        wanted: str = "",
    ) -> None:
        """`change` writes a setting and returns all of them; it may raise AlitaError. `wanted`: filters them."""
        super().__init__()
        self._lines = lines
        self._change = change
        self._keys = keys
        self._wanted = wanted

    def compose(self) -> ComposeResult:
        """Filter, list, meaning and value."""
        with Vertical(id="box"):
            keys = f"   Enter changes one · {key_of('settings.find', self._keys)} filters · Esc closes"
            yield Plain(Content.assemble(("Settings", "bold $accent"), keys))
            yield Input(self._wanted, placeholder="Filter by name", id="filter")
            yield ChoiceList()
            yield Plain(id="meaning")
            yield Input(id="value", disabled=True)
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Fill the list."""
        self.say("A change takes effect in the next session.")
        self._fill()
        self.query_one(ChoiceList).focus()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._fill()

    @property
    def _chosen(self) -> SettingLine | None:
        key = self.query_one(ChoiceList).chosen_id
        return next((line for line in self._lines if line.key == key), None)

    def _fill(self) -> None:
        listed, needle = self.query_one(ChoiceList), self.query_one("#filter", Input).value.casefold()
        width = max(listed.size.width - 4, 40)
        options = [
            Option(_row(line, width), id=line.key)
            for line in self._lines
            if needle in line.key.casefold() or needle in line.meaning.casefold()
        ]
        listed.fill(options, "No matches.")

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._fill()

    @on(Input.Submitted, "#filter")
    def _to_list(self) -> None:
        self.query_one(ChoiceList).focus()

    @on(OptionList.OptionHighlighted)
    def _explain(self) -> None:
        line = self._chosen
        if line is None:
            return
        default = f" Default: {line.default or 'empty'}."
        self.query_one("#meaning", Plain).update(one_line(f"{line.meaning}{default}", 300))
        if not self.query_one("#value", Input).has_focus:
            self.query_one("#value", Input).value = line.value

    @on(OptionList.OptionSelected)
    def _edit(self) -> None:
        if self._chosen is None:
            return
        value = self.query_one("#value", Input)
        value.disabled = False
        value.value = self._chosen.value
        value.focus()

    @on(Input.Submitted, "#value")
    async def _write(self, event: Input.Submitted) -> None:
        line = self._chosen
        if line is None:
            return
        try:
            self._lines = await self._change(line.key, event.value)
        except AlitaError as error:
            self.say(str(error), bad=True)
            return
        changed = next(candidate for candidate in self._lines if candidate.key == line.key)
        if changed.origin.startswith(("environment", "flag", ".env")):
            self.say(f"Saved, but {changed.origin} overrides it.", bad=True)
        else:
            self.say(f"{line.key} = {changed.value or 'empty'}")
        self.action_back()
        self._fill()

    def action_filter(self) -> None:
        """Focus the filter."""
        self.query_one("#filter", Input).focus()

    def action_back(self) -> None:
        """Go from a field to the list, else close."""
        listed = self.query_one(ChoiceList)
        if listed.has_focus:
            self.dismiss(None)
            return
        self.query_one("#value", Input).disabled = True
        listed.focus()


def _row(line: SettingLine, width: int) -> Content:
    origin = cut(line.origin, 30)
    room = max(width - 26 - len(origin) - 2, 8)
    value = cut(one_line(line.value) or "empty", room)
    changed = line.origin != "default"
    gap = " " * max(room - Content(value).cell_length, 0)
    return Content.assemble(
        f" {line.key:<25} ",
        (value, "bold" if changed else "$alita-muted"),
        f"{gap}  ",
        (origin, "$accent" if changed else "$alita-muted"),
    )
