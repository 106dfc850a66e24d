"""The wizard as its own app, for `alita setup` and the first start."""

from __future__ import annotations

from alita_tui.console import themes
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.setup.ports import SetupResult
from alita_tui.console.setup.screen import SetupScreen


class SetupApp(themes.ThemedApp[SetupResult]):
    """Runs the wizard and returns its result."""

    TITLE = "alita setup"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, wizard: SetupScreen, options: ConsoleOptions) -> None:
        super().__init__()
        self._wizard = wizard
        loaded = themes.load(options.builtin_themes, options.user_themes)
        for theme in loaded.themes:
            self.register_theme(theme)
        if options.reduced_motion:
            self.keep_still()
        self.theme = loaded.pick(options.theme, dark=options.dark)

    def on_mount(self) -> None:
        """Open the wizard."""
        self.push_screen(self._wizard, self.exit)
