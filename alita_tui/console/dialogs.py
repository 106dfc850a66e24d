"""The dialogs that open over a session, imported together once the console is idle."""

from __future__ import annotations

import sys
from pathlib import Path

from alita_tui.console.help import HelpScreen
from alita_tui.console.library.tool import ToolScreen
from alita_tui.console.sandbox.screen import SandboxScreen
from alita_tui.console.sessions.screen import SessionsScreen
from alita_tui.console.settings.screen import SettingsScreen
from alita_tui.console.spend.screen import SpendScreen

_DIALOGS = (SessionsScreen, SpendScreen, SettingsScreen, SandboxScreen, ToolScreen, HelpScreen)


def stylesheets() -> list[Path]:
    """Return the style files of all dialogs, in the order in which they apply."""
    files = (
        (Path(sys.modules[dialog.__module__].__file__ or "").parent / name).resolve()
        for dialog in _DIALOGS
        for name in dialog.CSS_PATH
    )
    return list(dict.fromkeys(files))
