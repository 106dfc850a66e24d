"""Progress of a long command on stderr, and how fast it goes."""

from __future__ import annotations

import sys
import time

_EVERY_SECONDS = 10.0
"""How often progress is printed where no terminal shows it."""


class ProgressLine:
    """One line that is rewritten on a terminal, a line now and then elsewhere; nothing if `quiet`."""

    def __init__(self, *, quiet: bool) -> None:
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet
        self._last = time.monotonic()
        self._open = False

    def show(self, text: str) -> None:
        """Print how far the command is."""
        if self._quiet or not (self._terminal or time.monotonic() - self._last > _EVERY_SECONDS):
            return
        self._last = time.monotonic()
        sys.stderr.write(f"\r\x1b[2K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()
        self._open = self._terminal

    def end(self) -> None:
        """Finish the line on a terminal."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False


def pace(left: int, per_second: float) -> str:
    """Return how fast it goes, and how long the rest takes at that."""
    if per_second <= 0:
        return "no pace yet"
    each = 1 / per_second
    speed = f"{per_second:.3g} a second" if per_second >= 0.5 else f"one in {_time(each)}"
    return f"{speed}, {_time(max(0, left) * each)} left"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
