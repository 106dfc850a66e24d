"""Does the library get better with use? A stream of tasks through the real engine, with what came of each.

Run alone: `make bench SECTIONS=flywheel`. The curve is drawn to build/flywheel.svg, every task listed in build/flywheel.txt.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from alita_tui.app.context import AppContext
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.benchmarks.toolworld.life import Done, Life, surroundings
from tests.benchmarks.toolworld.mind import Mind
from tests.benchmarks.toolworld.world import Task, stream

_TASKS, _NEEDS, _SEED = 300, 71, 9
_BARE = 100
"""Tasks, from the start, that are also done without memory and learning."""
_WINDOW = 25
_BLOCKS = '[context]\nblocks = ["environment", "library", "named", "workspace"]\n'


def lived(
    tasks: Sequence[Task], seed: int, *, learns: bool = True, told: Any = None
) -> tuple[list[Done], list[str]]:
    """Have an installation of its own do a stream; return what came of it, and its bad tools."""

    async def live(home: Path) -> tuple[list[Done], list[str]]:
        await repair(EngineSettings(cache_dir=str(home / "cache")), lambda *_: None)
        with Mind(seed) as mind, surroundings(home, mind.base_url):
            if not learns:
                home.mkdir(exist_ok=True)
                (home / "config.toml").write_text(_BLOCKS)
            app = AppContext.open()
            life = Life(app, mind, learns=learns)
            try:
                return await life.live(tasks, told), await life.bad_tools()
            finally:
                app.close()

    with tempfile.TemporaryDirectory(prefix="alita-toolworld-") as folder:
        return asyncio.run(live(Path(folder) / "home"))


def figures(done: Sequence[Done], bad: Sequence[str]) -> dict[str, float]:
    """Return what a stream says of the library."""
    needs = {need for one in done for need in one.task.needs}
    third = max(1, len(done) // 3)
    first, last = (sum(one.calls for one in part) / third for part in (done[:third], done[-third:]))
    built = sum(one.builds.count("registered") for one in done)
    return {
        "solved_percent": 100 * sum(one.solved for one in done) / len(done),
        "builds_per_need": sum(len(one.builds) for one in done) / len(needs),
        "reuse_percent": 100 * sum(one.reused for one in done) / len(done),
        "bad_tools_trusted_percent": 100 * len(bad) / max(1, built),
        "model_calls_last_third_share": last / first,
        "model_calls_per_task": sum(one.calls for one in done) / len(done),
        "needs": len(needs),
        "tools_built": built,
        "drafts_repaired": sum(one.repairs for one in done),
        "builds_rejected": sum(one.builds.count("rejected") for one in done),
    }


_UNITS = {"solved_percent": "%", "reuse_percent": "%", "bad_tools_trusted_percent": "%"}


def flywheel(results: dict[str, Any], row: Callable[..., dict[str, Any]]) -> None:
    """Live the stream, and its beginning once more without memory and learning."""
    tasks = stream(_TASKS, _NEEDS, _SEED)
    Path("build").mkdir(exist_ok=True)
    with Path("build/flywheel.txt").open("w") as lines:

        def told(number: int, one: Done) -> None:
            lines.write(f"{line(number, one)}\n")
            lines.flush()

        done, bad = lived(tasks, _SEED, told=told)
        lines.write(f"bad: {', '.join(bad) or 'none'}\n")
        bare, bare_bad = lived(tasks[:_BARE], _SEED, learns=False, told=told)
    found, without = figures(done, bad), figures(bare, bare_bad)
    as_long = figures(done[:_BARE], ())
    for name, value in found.items():
        results[f"flywheel.{name}"] = row(value, _UNITS.get(name, ""))
    for name in ("solved_percent", "builds_per_need", "reuse_percent", "model_calls_per_task"):
        results[f"flywheel.{name}_first_{_BARE}_vs_without"] = row(
            as_long[name], _UNITS.get(name, ""), without[name]
        )
    Path("build/flywheel.svg").write_text(curve(done, bare), "utf-8")


def line(number: int, one: Done) -> str:
    """Return a task in one line, for who wants to know what a figure comes from."""
    needs = ", ".join(one.task.needs) or one.task.kind
    parts = [f"{number:3} {'+' if one.solved else '-'} {needs}: {one.calls} calls in {one.seconds:.1f} s"]
    parts += [f"built {', '.join(one.builds)}"] if one.builds else []
    parts += [f"{one.repairs} repaired"] if one.repairs else []
    parts += [f"recalled {one.recalled}"] if one.recalled else []
    parts += [f"found {', '.join(one.bands)}"] if one.bands else []
    parts += one.refused
    if not one.solved:
        parts.append(
            f"{one.outcome}: {one.answer[:200]!r} for {one.task.answer!r}, asked {one.task.text[:200]!r}"
        )
    return " | ".join(parts)


def curve(done: Sequence[Done], bare: Sequence[Done]) -> str:
    """Return the picture: model calls and builds a task, and how many were solved by what was there."""
    wide, high, most = 900, 420, 9.0

    def drawn(values: Sequence[float], colour: str, name: str, place: int, dash: str = "") -> str:
        means = [
            sum(part) / len(part)
            for n in range(len(values))
            if (part := values[max(0, n - _WINDOW + 1) : n + 1])
        ]
        points = " ".join(
            f"{50 + n * (wide - 80) / max(1, len(done) - 1):.1f},{high - 40 - min(value, most) * (high - 80) / most:.1f}"
            for n, value in enumerate(means)
        )
        key = f'<text x="{wide - 320}" y="{30 + 18 * place}" fill="{colour}">{name}</text>'
        return f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dash} points="{points}"/>{key}'

    dashed = ' stroke-dasharray="5 4"'
    axis = "".join(
        f'<text x="20" y="{high - 36 - n * (high - 80) / most:.0f}">{n}</text>'
        for n in range(0, int(most) + 1, 3)
    ) + "".join(
        f'<text x="{50 + n * (wide - 80) / max(1, len(done) - 1):.0f}" y="{high - 15}">{n}</text>'
        for n in range(0, len(done) + 1, 50)
    )
    parts = [
        drawn([one.calls for one in done], "#1f77b4", "model calls a task", 0),
        drawn([one.calls for one in bare], "#1f77b4", "dashed: without memory and learning", 1, dashed),
        drawn([9.0 * len(one.builds) for one in done], "#d62728", "builds a task (top: 1)", 2),
        drawn([9.0 * one.reused for one in done], "#2ca02c", "solved by what was there (top: all)", 3),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="13">'
        f'<rect width="{wide}" height="{high}" fill="white"/>{axis}{"".join(parts)}'
        f'<text x="50" y="20">tasks, mean of {_WINDOW}</text></svg>\n'
    )


if __name__ == "__main__":
    from tests.benchmarks.__main__ import row as make_row

    found: dict[str, Any] = {}
    flywheel(found, make_row)
    for name, one in found.items():
        print(f"{name:60} {one['value']:>8} {one['baseline'] or '':>8}", file=sys.stdout)
