"""The first frame, painted before Textual is imported, which is the slowest part of the start.

It shows the parts that stay in place: the titles of the panes, the rule between them, the prompt. Keys that are pressed
in the meantime stay in the terminal's buffer without echo, until Textual reads them.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import termios
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from alita_tui.console.terminal import Terminal

_NARROW, _WIDE = 100, 180
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[<u"
    "\x1b[?25h\x1b[?1049l"
)
"""Also ends modes that Textual starts before the app handles signals: mouse, focus, paste, resize, wrap, keys."""


class FirstFrame:
    """Holds the terminal from `paint` on until `hand_over` or `leave`."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._holds = False
        self._settings: list[Any] = []
        """The terminal's settings from before `paint`."""

    def paint(self, palette: dict[str, Any]) -> None:
        """Paint the frame in the colours of a theme; with an empty palette in the terminal's own."""
        size = shutil.get_terminal_size()
        text = frame(size.columns, size.lines, palette)
        self._settings = termios.tcgetattr(0)
        self._holds = True
        quiet = termios.tcgetattr(0)
        quiet[0] &= ~(
            termios.IXON | termios.ICRNL
        )  # as Textual reads keys: Ctrl+Q is one, and Enter is no Ctrl+J
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(0, termios.TCSANOW, quiet)
        for number in _ENDING:
            signal.signal(number, self._end)
        _write(_ENTER + text)

    def hand_over(self) -> None:
        """Restore the terminal's settings for Textual, which saves them; the screen stays."""
        if self._holds:
            termios.tcsetattr(0, termios.TCSANOW, self._settings)
            self._holds = False

    def leave(self) -> None:
        """Restore the terminal, unless it was handed over."""
        if self._holds:
            self.hand_over()
            _write(_LEAVE)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """Restore the terminal and end: nothing is open yet. The app sets its own handlers once it is mounted.

        Until then Textual may have changed the terminal's settings already, so they are restored after `hand_over` too.
        It writes to the descriptor: the signal may have interrupted a write of the stream, which is not reentrant.
        """
        termios.tcsetattr(0, termios.TCSANOW, self._settings)
        if os.isatty(2):
            os.write(2, _LEAVE.encode())
        os._exit(128 + number)


def palette_of(folders: Sequence[Path | None], theme: str, *, dark: bool) -> dict[str, Any]:
    """Return the palette of a theme; empty if it cannot be read, or if the terminal lacks colours or they are off."""
    if os.environ.get("NO_COLOR") or os.environ.get("COLORTERM") not in ("truecolor", "24bit"):
        return {}
    name = f"alita-{'dark' if dark else 'light'}" if theme == "auto" else theme
    for folder in folders:
        try:
            palette = tomllib.loads((folder / f"{name}.toml").read_text())["palette"] if folder else {}
            return {
                key: _rgb(palette[key]) for key in ("background", "surface", "foreground", "muted", "line")
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # a wrong theme is reported later
    return {}


def frame(columns: int, lines: int, palette: dict[str, str]) -> str:
    """Return what paints the frame."""
    wide = columns >= _WIDE
    side = columns - min(columns * 3 // 5, 116) if wide else max(min(int(columns * 0.38), 72), 34)
    narrow = columns < _NARROW
    left = columns if narrow else columns - side

    def ink(text: str, fore: str, paper: str = "background") -> str:
        if not palette:
            return text
        return f"\x1b[38;2;{palette[fore]}m\x1b[48;2;{palette[paper]}m{text}\x1b[m"

    rows: list[str] = []
    for row in range(lines):
        if row == lines - 3:
            rows.append(ink(" Opening …".ljust(columns)[:columns], "muted", "surface"))
        elif row == lines - 2:
            rows.append(ink(" ❯".ljust(columns)[:columns], "foreground", "surface"))
        elif narrow:
            title = "  Trace    Library    Sandbox" if row == 0 else ""
            rows.append(ink(title.ljust(columns)[:columns], "muted"))
        elif row < lines - 3:
            titles = (" Trace", " Library") if row == 0 else ("", "")
            rows.append(
                ink(titles[0].ljust(left), "muted")
                + ink("│", "line")
                + ink(titles[1].ljust(side - 1), "muted")
            )
        else:
            rows.append(ink(" " * columns, "muted"))
    return "".join(f"\x1b[{number};1H{text}" for number, text in enumerate(rows, 1))


def _rgb(colour: str) -> str:
    """Return `#rrggbb` as the numbers of an SGR sequence. Raise ValueError for anything else."""
    if len(colour) != 7 or colour[0] != "#":
        raise ValueError(colour)
    return ";".join(str(value) for value in bytes.fromhex(colour[1:]))


def _write(text: str) -> None:
    """Write where Textual does."""
    if sys.__stderr__ is not None and sys.__stderr__.isatty():
        sys.__stderr__.write(text)
        sys.__stderr__.flush()
