"""Programs for copied text, besides the terminal's own clipboard (OSC 52, which is never confirmed).

In tmux that is tmux itself, which passes the text on to the terminal outside; on a local desktop a clipboard program.
Over ssh such a program would fill the clipboard of the remote machine, so only the terminal is used.
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
    """Where the text went; follows "Copied 12 characters"."""


def route(environ: Mapping[str, str], find_program: Callable[[str], str | None]) -> Route | None:
    """Return the program that takes a text; None if only the terminal can. `find_program` is like `shutil.which`."""
    if environ.get("TMUX"):
        return _with(
            find_program, "tmux", ("load-buffer", "-w", "-"), "to tmux's buffer, which tells the terminal"
        )
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return None
    if environ.get("WAYLAND_DISPLAY"):
        return _with(find_program, "wl-copy", (), "with wl-copy")
    if environ.get("DISPLAY"):
        return _with(find_program, "xclip", ("-selection", "clipboard"), "with xclip")
    return _with(find_program, "pbcopy", (), "with pbcopy")


def _with(
    find_program: Callable[[str], str | None], name: str, options: tuple[str, ...], words: str
) -> Route | None:
    program = find_program(name)
    return Route((program, *options), words) if program else None


async def hand_over(text: str, target: Route) -> bool:
    """Hand a text to a program; return whether the program succeeded."""
    try:
        process = await asyncio.create_subprocess_exec(
            *target.argv,
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
