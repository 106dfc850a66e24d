"""Whether there is a terminal to draw on."""

from __future__ import annotations

import os
import sys

from alita_tui.spine.errors import ConfigError

_MOST = 200_000


def wants_lines() -> bool:
    """Return whether the person asked for plain lines instead of a full screen (ACCESSIBLE=1)."""
    return os.environ.get("ACCESSIBLE", "") not in ("", "0")


def want_lines() -> None:
    """Make `wants_lines` return True in this process."""
    os.environ["ACCESSIBLE"] = "1"


def piped() -> str:
    """Return the text piped into a console that can open a terminal, and read keys from that terminal; else empty.

    Waits for the end of the pipe. Only the first `_MOST` bytes are read.
    """
    if sys.stdin.isatty() or not sys.stdout.isatty():
        return ""
    try:
        keyboard = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return ""
    with os.fdopen(os.dup(0), "rb") as pipe:
        text = pipe.read(_MOST)
    os.dup2(keyboard, 0)
    os.close(keyboard)
    return text.decode("utf-8", "replace").strip()


def need_terminal() -> None:
    """Raise ConfigError if no full-screen console can be drawn or no keys can be read."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(
            "A full-screen console cannot be drawn here: this is not an interactive terminal.",
            hint='Use `alita run "TASK"`, or lines instead of a full screen: `alita --plain`.',
        )
    kind = os.environ.get("TERM", "")
    if kind in ("", "dumb"):
        why = f"with TERM={kind}" if kind else "without TERM"
        raise ConfigError(
            f"A full-screen console cannot be drawn here: {why} this terminal counts as one that cannot draw it.",
            hint="Use lines instead: `alita --plain`. If it can draw one, set TERM, for example TERM=xterm-256color.",
        )
