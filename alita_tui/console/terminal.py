"""The terminal around the console: its background colour, and keeping other output off it."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SECONDS = 0.1


def dark_background() -> bool:
    """Return whether the background is dark: OSC 11, else COLORFGBG, else True.

    OSC 11 is xterm's query for the background colour; a terminal that does not know it says nothing.
    """
    said = _ask_background()
    if said is not None:
        return said
    colours = os.environ.get("COLORFGBG", "").split(";")
    if colours[-1].isdigit():
        return int(colours[-1]) not in (7, 9, 10, 11, 12, 13, 14, 15)
    return True


def _ask_background() -> bool | None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSANOW)
        # Primary device attributes follow, which every terminal answers: no need to wait for silence.
        os.write(sys.stdout.fileno(), b"\x1b]11;?\x07\x1b[c")
        data, end = b"", time.monotonic() + _SECONDS
        while (left := end - time.monotonic()) > 0 and not re.search(rb"\x1b\[\?[0-9;]*c", data):
            if select.select([fd], [], [], left)[0]:
                data += os.read(fd, 1024)
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
    found = re.search(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)", data)
    if not found:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    dark: bool = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
    return dark


@contextmanager
def guarded_screen(log: Path | None = None) -> Iterator[None]:
    """Keep what libraries write to file descriptor 2 off the screen; it goes to `log`, or nowhere.

    Textual draws through `sys.__stderr__`, which gets a descriptor of its own here; the app is to be run
    inside. Raises OSError when the log cannot be opened.
    """
    sys.stderr.flush()
    target = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    before, screen = sys.__stderr__, os.dup(2)
    os.dup2(target, 2)
    os.close(target)
    drawn = os.fdopen(screen, "w", encoding="utf-8", errors="replace")
    sys.__stderr__ = drawn  # type: ignore[misc]  # the one place that Textual's driver looks at
    try:
        yield
    finally:
        drawn.flush()
        sys.__stderr__ = before  # type: ignore[misc]
        os.dup2(drawn.fileno(), 2)
        drawn.close()
