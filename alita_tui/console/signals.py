"""Signals that end the program leave the terminal as it was found.

Textual restores the terminal on a normal exit only; SIGTERM, SIGHUP and SIGQUIT become one.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def on_ending(leave: Callable[[int], None]) -> None:
    """Call `leave` with the exit code, 128 + the signal's number, when one arrives."""
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, leave, 128 + number)


def release() -> None:
    """Give the signals back."""
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.remove_signal_handler(number)
