"""`make bench`: figures as ratios against a baseline of the same run, as a table and as build/bench.json."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.benchmarks.bench_agent import agent
from tests.benchmarks.bench_artefacts import artefacts
from tests.benchmarks.bench_browser import browser
from tests.benchmarks.bench_console import console as trace
from tests.benchmarks.bench_console_long import console_long
from tests.benchmarks.bench_evaluation import evaluation
from tests.benchmarks.bench_flywheel import flywheel
from tests.benchmarks.bench_gates import gates
from tests.benchmarks.bench_library import tools
from tests.benchmarks.bench_map import mapping
from tests.benchmarks.bench_mcp import mcp
from tests.benchmarks.bench_memory import memory
from tests.benchmarks.bench_planner import planner
from tests.benchmarks.bench_router import router
from tests.benchmarks.bench_runtimes import runtimes
from tests.benchmarks.bench_sandbox import sandbox
from tests.benchmarks.bench_sandbox_broker import broker
from tests.benchmarks.bench_sessions import sessions
from tests.benchmarks.bench_statistics import stats
from tests.benchmarks.bench_twins import twins
from tests.benchmarks.bench_web import web
from tests.benchmarks.screen import Screen

ROUNDS = 7
_DATA = "ALITA_BENCH_DATA"
_ENCODER = "ALITA_BENCH_ENCODER"
TYPER = "import typer\napp = typer.Typer()\n@app.command()\ndef run() -> None: ...\n"
EMPTY = "from textual.app import App\nfrom textual.widgets import Static\nclass A(App):\n    def compose(self):\n        yield Static('Library')\nA().run()\n"
Row = dict[str, float | str | None]


def row(value: float, unit: str, baseline: float | None = None) -> Row:
    """One figure; the ratio where there is a baseline."""
    ratio = round(value / baseline, 3) if baseline else None
    return {
        "value": round(value, 3),
        "unit": unit,
        "baseline": round(baseline, 3) if baseline else None,
        "ratio": ratio,
    }


def spent(arguments: list[str], environ: dict[str, str]) -> float:
    """Milliseconds of a process from start to end."""
    started = time.perf_counter()
    subprocess.run(arguments, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def interleaved(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """Medians of two measurements that take turns, the first round thrown away."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(ROUNDS)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def furnish(home: Path) -> None:
    """A library of 50 tools and 20 sessions."""
    import msgspec

    from alita_tui.events import build_digest
    from alita_tui.registry.library import ToolLibrary
    from alita_tui.store.audit import AuditLog
    from alita_tui.store.documents import DocumentTable
    from alita_tui.store.entry import AuditEntry
    from alita_tui.store.sessions import SessionFile, SessionStore
    from tests.support import streams

    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text('[model]\nprovider = "demo"\n')
    data = home / "data"
    table = DocumentTable(data / "registry.json", "tools")
    shelf = ToolLibrary(table, data / "mcp_box")
    audit = AuditLog(data / "audit.jsonl", home / "audit")
    for n in range(50):
        draft = msgspec.structs.replace(streams.DRAFT, name=f"tool_number_{n}", tests=streams.TESTS)
        digest = build_digest(draft, streams.LOCK)
        entry = AuditEntry(
            who="ada", verdict="approved", digest=digest, name=draft.name, version=1, session_id="",
            approval_id=f"p{n}", via="cli",
        )  # fmt: skip
        audit.append(entry)
        shelf.register(draft, streams.LOCK, approval_id=f"p{n}", digest=digest, sources=())
    table.close()
    sessions = SessionStore(data / "sessions")
    for _ in range(20):
        session_id = sessions.new_id()
        file = SessionFile.create(sessions.path(session_id), session_id)

        async def fill(file: SessionFile = file) -> None:
            for envelope in streams.walkthrough():
                if envelope.durable:
                    await file.record(envelope, barrier=False)

        asyncio.run(fill())
        file.close()


def console(results: dict[str, Row], environ: dict[str, str]) -> None:
    """First paint, idle processor time and memory of the console against an empty Textual app."""
    ours = [sys.executable, "-m", "alita_tui"]
    theirs = [sys.executable, "-c", EMPTY]

    def paint(arguments: list[str], text: bytes = b"Library") -> float:
        screen = Screen(arguments, environ)
        try:
            return screen.painted(text)
        finally:
            screen.end()

    a, b = interleaved(lambda: paint(ours), lambda: paint(theirs))
    results["console.first_paint_vs_empty"] = row(a, "ms", b)
    # The first frame has the titles and the prompt; keys are taken from then on and shown from here on.
    a, b = interleaved(lambda: paint(ours, b"What should alita do?"), lambda: paint(theirs))
    results["console.composer_vs_empty"] = row(a, "ms", b)
    memory = []
    for arguments in (ours, theirs):
        screen = Screen(arguments, environ)
        screen.painted()
        screen.drain(4)
        before = screen.cpu()
        screen.drain(10)
        memory.append(screen.rss())
        if arguments is ours:
            results["console.idle_cpu_percent"] = row((screen.cpu() - before) * 10, "%")
        screen.end()
    results["console.rss_mb_over_empty"] = row(memory[0] - memory[1], "MB", None)


def replayed(large: Path, small: Path, environ: dict[str, str]) -> tuple[float, str, float]:
    """Milliseconds until two recordings are on screen, as processes in a terminal."""

    def shown(path: Path) -> float:
        screen = Screen([sys.executable, "-m", "alita_tui", "replay", str(path)], environ)
        try:
            return screen.painted(b"REPLAY")
        finally:
            screen.end()

    a, b = interleaved(lambda: shown(large), lambda: shown(small))
    return a, "ms", b


SECTIONS: dict[str, Callable[[dict[str, Row], Path], None]] = {
    "cli": lambda results, home: command_line(results, environment(home)),
    "console": lambda results, home: console(results, environment(home)),
    "sessions": lambda results, home: sessions(results, row, partial(replayed, environ=environment(home))),
    "long": lambda results, home: console_long(results, row),
    "trace": lambda results, home: trace(results, row),
    "agent": lambda results, home: agent(results, row),
    "artefacts": lambda results, home: artefacts(results, row),
    "models": lambda results, home: router(results, row),
    "sandbox": lambda results, home: sandbox(results, row),
    "runtimes": lambda results, home: runtimes(results, row),
    "browser": lambda results, home: browser(results, row),
    "broker": lambda results, home: broker(results, row),
    "web": lambda results, home: web(results, row),
    "mcp": lambda results, home: mcp(results, row),
    "map": lambda results, home: mapping(results, row),
    "memory": lambda results, home: memory(results, row, given_data(), given_encoder()),
    "planner": lambda results, home: planner(results, row),
    "flywheel": lambda results, home: flywheel(results, row),
    "checks": lambda results, home: gates(results, row),
    "evaluation": lambda results, home: evaluation(results, row),
    "statistics": lambda results, home: stats(results, row),
    "twins": lambda results, home: twins(results, row),
    "library": lambda results, home: tools(results, row, given_data(), given_encoder()),
}


def given_data() -> Path | None:
    """The folder of tasks that was named with --data."""
    return Path(os.environ[_DATA]) if _DATA in os.environ else None


def given_encoder() -> Path | None:
    """The folder of a static model that was named with --encoder."""
    return Path(os.environ[_ENCODER]) if _ENCODER in os.environ else None


def environment(home: Path) -> dict[str, str]:
    """The environment of a process that works in a home."""
    return {**os.environ, "ALITA_HOME": str(home)}


def command_line(results: dict[str, Row], environ: dict[str, str]) -> None:
    """`--version` against the same of a command made with bare Typer."""
    version, typer = interleaved(
        lambda: spent([sys.executable, "-m", "alita_tui", "--version"], environ),
        lambda: spent([sys.executable, "-c", TYPER], environ),
    )
    results["cli.version_vs_typer"] = row(version, "ms", typer)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", choices=[[], *SECTIONS], metavar="SECTION", help="all by default"
    )
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="tools and questions: *tools.json, *queries.csv"
    )
    parser.add_argument(
        "--encoder", type=Path, metavar="FOLDER", help="a static model to find and recall with"
    )
    given = parser.parse_args()
    chosen = given.sections or list(SECTIONS)
    if given.data is not None:
        os.environ[_DATA] = str(given.data)
    if given.encoder is not None:
        os.environ[_ENCODER] = str(given.encoder)
    results: dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        furnish(Path(folder))
        for name in chosen:
            print(f"bench: {name} …", file=sys.stderr, flush=True)
            SECTIONS[name](results, Path(folder))
    Path("build").mkdir(exist_ok=True)
    Path("build/bench.json").write_text(json.dumps(results, indent=2) + "\n")
    print(f"{'NAME':34} {'VALUE':>10} {'UNIT':>5} {'BASELINE':>10} {'RATIO':>8}")
    for name, one in results.items():
        shown = [
            str(one[key]) if one[key] is not None else "" for key in ("value", "unit", "baseline", "ratio")
        ]
        print(f"{name:34} {shown[0]:>10} {shown[1]:>5} {shown[2]:>10} {shown[3]:>8}")


if __name__ == "__main__":
    main()
