"""The terminal around the console: asks what it can do, and keeps other output off the screen."""

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
from typing import Literal, NamedTuple

_SECONDS = 0.25
"""How long to wait for the answers: a slow line takes 0.2; only a terminal without answers takes all of it."""

# Background colour (OSC 11), cell size in pixels (XTWINOPS 16), kitty's graphics with placeholders: a kitty before 0.28
# knows no U and does not answer. Primary device attributes come last:
# every terminal answers them, so there is no need to wait for silence.
_QUESTIONS = b"\x1b]11;?\x07\x1b[16t\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24,U=1;AAAA\x1b\\\x1b[c"
_ATTRIBUTES = re.compile(rb"\x1b\[\?([0-9;]*)c")
_ANSWER = re.compile(
    rb"\x1b\]11;[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[6;[0-9;]*t|\x1b_G[^\x1b]*\x1b\\|\x1b\[\?[0-9;]*c"
)
_SIXEL = b"4"
_typed: list[bytes] = []
"""Bytes typed while the terminal was asked; the driver takes them when it starts to read."""


class Graphics(NamedTuple):
    """How a terminal shows pictures."""

    kind: Literal["sixel", "kitty"]
    cell: tuple[int, int]
    """Width and height of a cell in pixels, as reported at the start; zeros if not reported."""


class Terminal(NamedTuple):
    """What a terminal reported about itself."""

    dark: bool = True
    graphics: Graphics | None = None


def ask_terminal() -> Terminal:
    """Ask the terminal for its background and its graphics, before anything else reads from it.

    A terminal that does not report its background counts as dark, unless COLORFGBG says otherwise.
    """
    answers = _answers()
    dark = _dark(answers)
    if dark is None:
        colours = os.environ.get("COLORFGBG", "").split(";")[-1]
        dark = not (colours.isdigit() and int(colours) in (7, 9, 10, 11, 12, 13, 14, 15))
    return Terminal(dark, _graphics(answers))


def _answers() -> bytes:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return b""
    fd = sys.stdin.fileno()
    settings = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSANOW)
        os.write(sys.stdout.fileno(), _QUESTIONS)
        data, deadline = b"", time.monotonic() + _SECONDS
        while (remaining := deadline - time.monotonic()) > 0 and not _ATTRIBUTES.search(data):
            if select.select([fd], [], [], remaining)[0]:
                data += os.read(fd, 1024)
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, settings)
    if typed := _ANSWER.sub(b"", data):
        _typed.append(typed)
    return data


def typed_meanwhile() -> bytes:
    """Return, once, the bytes that were typed while the terminal was asked; they were read with the answers."""
    typed = b"".join(_typed)
    _typed.clear()
    return typed


def _dark(answers: bytes) -> bool | None:
    match = re.search(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)", answers)
    if not match:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    dark: bool = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
    return dark


def _graphics(answers: bytes) -> Graphics | None:
    """Return how the terminal shows pictures; None where it cannot, or where its cells have no known size.

    Sixel comes first: some terminals answer kitty's question but ignore its U; those with placeholders have no sixel.
    """
    size = re.search(rb"\x1b\[6;(\d{1,4});(\d{1,4})t", answers)
    height, width = (int(part) for part in size.groups()) if size else (0, 0)
    attributes = _ATTRIBUTES.search(answers)
    if attributes and _SIXEL in attributes[1].split(b";")[1:]:
        return Graphics("sixel", (width, height))
    if b"\x1b_Gi=31;OK\x1b\\" in answers:
        return Graphics("kitty", (width, height))
    return None


@contextmanager
def guarded_screen(log: Path | None = None) -> Iterator[None]:
    """Keep what libraries write to file descriptor 2 off the screen; it goes to `log`, or nowhere.

    Textual draws through `sys.__stderr__`, which gets a descriptor of its own here; the app is to be run
    inside. Raises OSError when the log cannot be opened.

    Afterwards the line of the cursor is empty: the terminal itself had shown there what was typed before the start.
    """
    sys.stderr.flush()
    log_fd = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    old_stream, screen_fd = sys.__stderr__, os.dup(2)
    os.dup2(log_fd, 2)
    os.close(log_fd)
    screen_stream = os.fdopen(screen_fd, "w", encoding="utf-8", errors="replace")
    sys.__stderr__ = screen_stream  # type: ignore[misc]  # the stream that Textual's driver uses
    try:
        yield
    finally:
        if screen_stream.isatty():
            screen_stream.write("\r\x1b[K")
        screen_stream.flush()
        sys.__stderr__ = old_stream  # type: ignore[misc]
        os.dup2(screen_stream.fileno(), 2)
        screen_stream.close()
