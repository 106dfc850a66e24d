"""The ways that copied text takes beside the terminal's own (OSC 52, which nobody confirms).

In tmux it is tmux's buffer, which hands it on to the terminal outside; on a desktop of this machine a program that owns
the clipboard. Over ssh such a program would fill the clipboard of the other machine, so only the terminal is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

_SECONDS = 2.0


class Route(NamedTuple):
    """A program that takes the text on its standard input."""

    argv: tuple[str, ...]
    words: str
    """Where the text then is, after "Copied 12 characters"."""


def route(environ: Mapping[str, str], found: Callable[[str], str | None]) -> Route | None:
    """Return the program to hand a text to; None where only the terminal can take it. `found` looks for programs."""
    if environ.get("TMUX"):
        return _with(found, "tmux", ("load-buffer", "-w", "-"), "to tmux's buffer, which tells the terminal")
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return None
    if environ.get("WAYLAND_DISPLAY"):
        return _with(found, "wl-copy", (), "with wl-copy")
    if environ.get("DISPLAY"):
        return _with(found, "xclip", ("-selection", "clipboard"), "with xclip")
    return _with(found, "pbcopy", (), "with pbcopy")


def _with(
    found: Callable[[str], str | None], name: str, options: tuple[str, ...], words: str
) -> Route | None:
    program = found(name)
    return Route((program, *options), words) if program else None


async def hand_over(text: str, way: Route) -> bool:
    """Hand a text to a program; return whether the program says that it took it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *way.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.communicate(text.encode("utf-8", "replace")), _SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return process.returncode == 0
