"""Signals that end the program restore the terminal.

Textual restores the terminal on a normal exit only; SIGTERM, SIGHUP and SIGQUIT become one.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def on_ending(leave: Callable[[int], None]) -> None:
    """Call `leave` with exit code 128 + signal number when an ending signal arrives."""
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, leave, 128 + number)


def release() -> None:
    """Remove the handlers."""
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.remove_signal_handler(number)
