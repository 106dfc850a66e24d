"""The wizard as its own app, for `alita setup` and the first start."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from alita_tui.console import themes
from alita_tui.console.actions import bindings
from alita_tui.console.keymap import read_keymap
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.setup.ports import SetupResult
from alita_tui.console.setup.screen import SetupScreen


class SetupApp(themes.ThemedApp[SetupResult]):
    """Runs the wizard and returns its result."""

    TITLE = "alita setup"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings("app", only=("app.help",))

    def __init__(self, wizard: SetupScreen, options: ConsoleOptions) -> None:
        super().__init__()
        self._wizard = wizard
        self._keymap_path = options.keymap
        loaded = themes.load(options.builtin_themes, options.user_themes)
        for theme in loaded.themes:
            self.register_theme(theme)
        if options.reduced_motion:
            self.keep_still()
        self.theme = loaded.pick(options.theme, dark=options.dark)

    def on_mount(self) -> None:
        """Open the wizard, with the person's keys."""
        self.set_keymap(read_keymap(self._keymap_path)[0])
        self.push_screen(self._wizard, self.exit)

    def action_help(self) -> None:
        """List the wizard's keys; a second press closes the list."""
        from alita_tui.console.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            self.push_screen(HelpScreen(self.screen, self._keymap_path, replay=False))
