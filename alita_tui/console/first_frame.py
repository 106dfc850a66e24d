"""The first frame, painted before Textual is imported, which takes longer than all else until then.

It has what stays where it is: the titles of the panes, the rule between them, the prompt. Keys that are pressed
meanwhile wait in the terminal, unseen, and Textual reads them.
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
"""Also ends what Textual begins before the app takes the signals over: mouse, focus, pastes, sizes, lines, keys."""


class FirstFrame:
    """Holds the terminal from `paint` on until `hand_over` or `leave`."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._holds = False
        self._settings: list[Any] = []
        """The terminal's settings from before `paint`."""

    def paint(self, palette: dict[str, Any]) -> None:
        """Paint the frame in the colours of a theme; without these in the terminal's own."""
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
        """Leave the screen to Textual, which takes the terminal's settings for those to restore."""
        if self._holds:
            termios.tcsetattr(0, termios.TCSANOW, self._settings)
            self._holds = False

    def leave(self) -> None:
        """Give the terminal back, unless it was handed over."""
        if self._holds:
            self.hand_over()
            _write(_LEAVE)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """Give the terminal back and end: nothing was opened yet. The app has handlers of its own once it is mounted.

        Until then Textual may have changed the terminal's settings already, so they are restored after `hand_over` too.
        Written past the stream: the signal may have broken into a write of it, which cannot be entered again.
        """
        termios.tcsetattr(0, termios.TCSANOW, self._settings)
        if os.isatty(2):
            os.write(2, _LEAVE.encode())
        os._exit(128 + number)


def palette_of(folders: Sequence[Path | None], theme: str, *, dark: bool) -> dict[str, Any]:
    """Return the palette of a theme; empty where it cannot be read, or colours are not wanted or not all there."""
    if os.environ.get("NO_COLOR") or os.environ.get("COLORTERM") not in ("truecolor", "24bit"):
        return {}
    name = f"alita-{'dark' if dark else 'light'}" if theme == "auto" else theme
    for folder in folders:
        try:
            palette = tomllib.loads((folder / f"{name}.toml").read_text())["palette"] if folder else {}
            return {
                key: _rgb(palette[key]) for key in ("background", "surface", "foreground", "muted", "line")
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # a theme that is wrong is told of later
    return {}


def frame(columns: int, lines: int, palette: dict[str, str]) -> str:
    """Return what paints the frame."""
    side = min(int(columns * 0.36), 84) if columns >= _WIDE else max(min(int(columns * 0.38), 72), 34)
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
