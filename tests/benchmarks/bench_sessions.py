"""Very long sessions: what an append, opening and seeking cost. The events are a real run's, over and over."""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec

from alita_tui.replay.recording import Recording
from alita_tui.store.search import SessionSearch
from alita_tui.store.sessions import SessionFile, SessionStore
from tests.attack.flips import attack
from tests.benchmarks.long_sessions import long_session

Row = Callable[..., dict[str, float | str | None]]
Paint = Callable[[Path, Path], tuple[float, str, float]]
"""Milliseconds until the one and the other recording are on screen, as a row takes them."""
_AROUND = 2_000
_OPEN = """
import sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from alita_tui.store.sessions import SessionFile
from alita_tui.view.fold import fold_all
def rss(): return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1024
before = rss()
began = time.process_time()
file = SessionFile.open(Path(sys.argv[1]), readonly=True)
view = fold_all(file.envelopes())
print(time.process_time() - began, rss() - before, view.seq)
"""


def _append(folder: Path, row: Row) -> dict[str, float | str | None]:
    """The median of appends at 100,000 events against that at 100, the two files taking turns."""
    events = list(islice(long_session(), 100_000 + _AROUND))

    async def measure() -> tuple[float, float]:
        large = SessionFile.create(folder / "large.json", "large")
        for envelope in events[:100_000]:
            large._write(envelope, False)
        late, early = list[float](), list[float]()
        small, number = SessionFile.create(folder / "small-0.json", "small"), 0
        for turn in range(_AROUND):
            if number == 200:
                small.close()
                small, number = SessionFile.create(folder / f"small-{turn}.json", "small"), 0
            for file, envelope, took in (
                (large, events[100_000 + turn], late),
                (small, events[number], early),
            ):
                began = time.perf_counter()
                await file.record(envelope, barrier=False)
                took.append((time.perf_counter() - began) * 1e6)
            number += 1
        small.close()
        large.close()
        return statistics.median(late), statistics.median(early)

    return row(*_us(asyncio.run(measure())))


def _us(pair: tuple[float, float]) -> tuple[float, str, float]:
    return pair[0], "us", pair[1]


def _seek(path: Path) -> float:
    """Median milliseconds to the view at a random place, in no order."""
    file = SessionFile.open(path, readonly=True)
    recording = Recording.prepared(file.envelopes())
    file.close()
    chance, took = random.Random(1), []
    for _ in range(300):
        place = chance.randrange(len(recording))
        began = time.perf_counter()
        recording.view_at(place)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def _search(folder: Path) -> float:
    """Median milliseconds of a search over ten sessions of 1,000 events, after the first one."""
    shelf = SessionStore(folder / "searched")
    events = list(islice(long_session(), 10_000))
    for number in range(10):
        part = enumerate(events[number * 1_000 : (number + 1) * 1_000], 1)
        name = f"of-{number}"
        shelf.add(name, (msgspec.structs.replace(one, seq=seq, session_id=name) for seq, one in part))
    search = SessionSearch(folder / "searched.db", shelf)
    found = search.find("validate")
    took = []
    for query in ("email", "validate addr", "a", "nothing like this", "step", "validate_email_addresses") * 5:
        began = time.perf_counter()
        search.find(query)
        took.append((time.perf_counter() - began) * 1000)
    assert found
    return statistics.median(took)


def _flips(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """How many of all flipped bits are not told of, and how many end in a traceback."""
    told, handled = attack(1.0, 1)
    results["store.flips_silent"] = row(told.tried - told.held, f"of {told.tried}")
    results["store.flips_tracebacks"] = row(handled.tried - handled.held, f"of {handled.tried}")


def _opened(path: Path) -> list[float]:
    """Seconds of CPU and megabytes that opening takes in a process of its own."""
    said = subprocess.run(
        [sys.executable, "-c", _OPEN, str(path), str(Path(__file__).parents[2])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(one) for one in said.stdout.split()]


def sessions(results: dict[str, dict[str, float | str | None]], row: Row, paint: Paint) -> None:
    """Fill in the figures of long sessions, and of damaged ones."""
    _flips(results, row)
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as name:
        folder = Path(name)
        results["store.append_100k_vs_100"] = _append(folder, row)
        opened = {}
        for count in (1_000, 100_000):
            path = folder / f"of-{count}.json"
            file = SessionFile.create(path, f"of-{count}")
            for envelope in islice(long_session(), count):
                file._write(envelope, False)
            file.close()
            rounds = [_opened(path) for _ in range(3)]
            opened[count] = [statistics.median(one) for one in zip(*rounds, strict=True)]
        results["session.open_100k_cpu_seconds"] = row(opened[100_000][0], "s", opened[1_000][0])
        results["session.open_100k_rss_mb"] = row(opened[100_000][1], "MB")
        sizes = [(folder / f"of-{count}.json").stat().st_size / 1e6 for count in (100_000, 1_000)]
        results["session.file_100k_vs_1k"] = row(sizes[0], "MB", sizes[1])
        results["session.first_paint_100k_vs_1k"] = row(
            *paint(folder / "of-100000.json", folder / "of-1000.json")
        )
        large, small = _seek(folder / "of-100000.json"), _seek(folder / "of-1000.json")
        results["search.10k_ms"] = row(_search(folder), "ms")
        results["replay.seek_100k_vs_1k"] = row(large, "ms", small)
