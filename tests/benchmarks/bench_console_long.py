"""The console on a session of 100,000 events: a real process in a real terminal, realistic text.

Run: python tests/benchmarks/bench_console_long.py [EVENTS [ROUNDS]]
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.benchmarks.long_sessions import write
from tests.benchmarks.screen import Screen

Row = Callable[..., dict[str, float | str | None]]
_SMALL, _LARGE, _ROUNDS = 1_000, 100_000, 3
_TRACE, _KEYS = b"\x1bOQ", (b"\x1b[5~", b"\x1b[5~", b"\x1b[6~", b"\x1b[A", b"\x1b[A", b"\x1b[B", b"\r", b"\r")
"""To the trace; then as a reader goes: pages and rows, on the whole up, a card opened and closed."""
_STILL_SECONDS, _IDLE_SECONDS = 15, 60
"""After so long the cursor stands still; so long it is watched then."""


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
            screen.write(_TRACE)
            screen.settle()
            self.keys = [screen.answered(key) for key in _KEYS * 5]
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
        screen.painted(b"Search titles")
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


class AfterTask:
    """A console whose demo task has built a tool in the sandbox: what it uses while it lies idle, and how long quitting takes."""

    def __init__(self, idle_seconds: float) -> None:
        with tempfile.TemporaryDirectory(prefix="alita-bench-") as name:
            (Path(name) / "config.toml").write_text('[model]\nprovider = "demo"\n')
            screen = Screen([sys.executable, "-m", "alita_tui"], {**os.environ, "ALITA_HOME": name})
            try:
                screen.painted(b"sandbox ready")
                screen.write(b"Create a tool to roll dice.\r")
                screen.painted(b"May it join")
                screen.settle()
                screen.drain(_STILL_SECONDS)
                before, began = screen.family(), time.perf_counter()
                screen.drain(idle_seconds)
                after, passed = screen.family(), time.perf_counter() - began
                self.processes = len(after)
                used = sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())
                self.idle_percent = 100 * used / passed
                self.quit_ms = screen.quit()
            finally:
                screen.end()


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
    after = [AfterTask(_IDLE_SECONDS), *(AfterTask(0) for _ in range(_ROUNDS - 1))]
    results["console.idle_all_processes_percent"] = row(after[0].idle_percent, "%")
    results["console.quit_ms"] = row(median(one.quit_ms for one in after), "ms")
    results["session.console_key_to_paint_100k_vs_1k"] = row(
        median(took for one in large for took in one.keys),
        "ms",
        median(took for one in small for took in one.keys),
    )
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
                f"key {median(one.keys):.0f} ms, RSS {one.rss:.0f} MB, peak {one.peak:.0f} MB, with closing {one.ended_peak:.0f} MB, "
                f"F5 {', '.join(f'{took:.0f}' for took in one.lists)} ms of CPU"
            )
