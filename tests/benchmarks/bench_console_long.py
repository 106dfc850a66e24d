"""The console on a session of 100,000 events: a real process in a real terminal, realistic text.

Run: python tests/benchmarks/bench_console_long.py [EVENTS [ROUNDS]]
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.benchmarks.long_sessions import write
from tests.benchmarks.screen import Screen

Row = Callable[..., dict[str, float | str | None]]
_SMALL, _LARGE, _ROUNDS = 1_000, 100_000, 3


class Opened:
    """What it took to open one session in the console, to be done, and to list the sessions."""

    def __init__(self, home: Path, session: str, events: int) -> None:
        environ = {**os.environ, "ALITA_HOME": str(home), "TEXTUAL_ANIMATIONS": "none"}
        screen = Screen([sys.executable, "-m", "alita_tui", "--session", session], environ)
        try:
            self.painted = screen.painted()
            self.end = screen.painted(b"Notice ")  # both sessions end with notices, and have no others
            self.complete = screen.painted(f"Restored {events}".encode())
            self.complete_cpu = screen.cpu()
            screen.settle()
            self.lists = [self._list(screen) for _ in range(4)]
            self.rss, self.peak = screen.rss(), screen.rss("VmHWM")
        finally:
            screen.end()
        self.ended_peak = screen.last_peak

    @staticmethod
    def _list(screen: Screen) -> float:
        """Milliseconds of CPU that F5 takes, until the sessions are listed and it is quiet again."""
        before = screen.cpu_ms()
        screen.write(b"\x1b[15~")
        screen.painted(b"small")
        screen.settle()
        took = screen.cpu_ms() - before
        screen.write(b"\x1b")
        screen.settle()
        return took


def measure(large: int = _LARGE, rounds: int = _ROUNDS) -> dict[int, list[Opened]]:
    """The two sessions, opened in turns."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as name:
        write(Path(name) / "small.json", _SMALL)
        write(Path(name) / "large.json", large)
        found: dict[int, list[Opened]] = {_SMALL: [], large: []}
        for number in range(rounds):
            # Opening adds events: each round has copies of its own.
            home = Path(name) / f"home-{number}"
            folder = home / "data" / "sessions"
            folder.mkdir(parents=True)
            (home / "config.toml").write_text('[model]\nprovider = "demo"\n')
            for one in ("small", "large"):
                shutil.copy(Path(name) / f"{one}.json", folder)
            found[_SMALL].append(Opened(home, "small", _SMALL))
            found[large].append(Opened(home, "large", large))
        return found


def quitting(rounds: int = _ROUNDS) -> list[float]:
    """Milliseconds from the key that quits until the console's process has ended, its sandbox warm."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as name:
        home = Path(name)
        (home / "config.toml").write_text('[model]\nprovider = "demo"\n')
        environ = {**os.environ, "ALITA_HOME": str(home), "TEXTUAL_ANIMATIONS": "none"}
        found = []
        for _ in range(rounds):
            screen = Screen([sys.executable, "-m", "alita_tui"], environ)
            try:
                screen.painted(b"sandbox ready")
                screen.settle()
                found.append(screen.quit())
            finally:
                screen.end()
        return found


def console_long(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Fill in the figures of a very long session in the console."""
    found = measure()
    small, large = found[_SMALL], found[_LARGE]
    results["session.console_100k_peak_mb"] = row(max(one.ended_peak for one in large), "MB")
    results["session.console_first_paint_100k_vs_1k"] = row(
        median(one.painted for one in large), "ms", median(one.painted for one in small)
    )
    results["session.console_end_shown_100k_vs_1k"] = row(
        median(one.end for one in large), "ms", median(one.end for one in small)
    )
    results["console.quit_ms"] = row(median(quitting()), "ms")
    results["session.console_100k_complete_s"] = row(median(one.complete for one in large) / 1000, "s")
    results["session.console_f5_cpu_ms"] = row(
        median(took for one in large for took in one.lists),
        "ms",
        median(took for one in small for took in one.lists),
    )
    # The first one also mounts the screen, and whatever the engine still starts meanwhile is counted with it.
    results["session.console_f5_first_cpu_ms"] = row(
        median(one.lists[0] for one in large), "ms", median(one.lists[0] for one in small)
    )


if __name__ == "__main__":
    for events, rounds in measure(*map(int, sys.argv[1:3])).items():
        print(f"{events:,} events")
        for one in rounds:
            print(
                f"  painted {one.painted:.0f} ms, end shown {one.end:.0f} ms, complete {one.complete:.0f} ms ({one.complete_cpu:.1f} s CPU), "
                f"RSS {one.rss:.0f} MB, peak {one.peak:.0f} MB, with closing {one.ended_peak:.0f} MB, "
                f"F5 {', '.join(f'{took:.0f}' for took in one.lists)} ms of CPU"
            )
