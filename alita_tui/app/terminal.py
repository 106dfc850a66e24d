"""Whether there is a terminal to draw on."""

from __future__ import annotations

import os
import sys

from alita_tui.spine.errors import ConfigError


def need_terminal() -> None:
    """Raise ConfigError where no full-screen console can be drawn or no keys can be read."""
    drawable = os.environ.get("TERM", "dumb") not in ("", "dumb")
    if not (sys.stdin.isatty() and sys.stdout.isatty() and drawable):
        raise ConfigError(
            "A full-screen console cannot be drawn here: this is not an interactive terminal.",
            hint='Use `alita run "TASK"` instead.',
        )
