"""Whether there is a terminal to draw on."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from alita_tui.spine.errors import ConfigError

if TYPE_CHECKING:
    pass


def interactive() -> bool:
    """True when a full-screen console can be drawn and keys can be read."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def need_terminal() -> None:
    """Raises ConfigError where no console can be drawn."""
    if not interactive():
        raise ConfigError(
            "This is no terminal that a full-screen console can be drawn on.",
            hint='Use `alita run "TASK"` here.',
        )
