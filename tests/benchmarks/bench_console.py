"""How the trace keeps up with a very long session. Reports figures, asserts no times.

Run: python tests/benchmarks/bench_console.py [ROWS]
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from time import perf_counter, process_time

from msgspec.structs import replace
from textual.geometry import Size

from alita_tui.console.session.trace import Trace
from alita_tui.console.themes import ThemedApp
from alita_tui.spine.text import SafeText
from alita_tui.state.rows import Rows
from alita_tui.view.model import RowKind, SessionView, TraceRow
from tests.support.viewing import with_

KINDS: tuple[RowKind, ...] = (
    "task",
    "thought",
    "action",
    "observation",
    "build",
    "approval",
    "run",
    "answer",
)
Row = Callable[..., dict[str, float | str | None]]
WORDS = "The library may have this already; if not, a small tool on a known package will do. "


def row(number: int) -> TraceRow:
    kind = KINDS[number % len(KINDS)]
    text = SafeText(f"{number} {WORDS * (1 + number % 4)}")
    return TraceRow(number, datetime(2026, 1, 1, tzinfo=UTC), number // 8, f"a{number}", kind, text, text)


def session(rows: int) -> SessionView:
    trace: Rows[TraceRow] = Rows()
    return with_(seq=rows, trace=trace.append(*(row(number) for number in range(rows))))


class Bench(ThemedApp[None]):
    def compose(self):
        yield Trace()


async def measure(rows: int, size: tuple[int, int] = (120, 40)) -> dict[str, float]:
    """Milliseconds of each thing that a person does to a trace of so many rows: medians, with the painting."""
    view, app, figures = session(rows), Bench(), {}
    async with app.run_test(size=size) as pilot:
        trace = app.query_one(Trace)
        trace.focus()
        await pilot.pause()

        def timed(name: str, *works, times: int = 1) -> None:
            took = []
            for number in range(times):
                begun = perf_counter()
                works[number % len(works)]()
                for y in range(trace.size.height):
                    trace.render_line(y)
                took.append(1000 * (perf_counter() - begun))
            figures[name] = median(took)
            figures[f"{name}, p99"] = sorted(took)[int(len(took) * 0.99)]

        timed("fill", lambda: trace.advance(view))
        await pilot.pause()
        # As a reader goes: on the whole up, as far in a short session as in a long one.
        page = (lambda: trace.action_page(-1), lambda: trace.action_page(-1), lambda: trace.action_page(1))
        keys = (
            *page,
            trace.action_up,
            trace.action_up,
            trace.action_down,
            trace.action_open,
            trace.action_open,
        )
        timed("key", *keys, times=200)
        timed("first", trace.action_first)
        timed("last", trace.action_last)
        grown = [view]

        def grow() -> None:
            last = grown[-1]
            grown.append(replace(last, trace=last.trace.append(row(len(last.trace)))))
            trace.advance(grown[-1])

        timed("one more row", grow, times=50)
        timed("find", lambda: trace.find("no such words"))
        took = []
        for width in (90, 120, 80, 110, 70, 100, 90):
            begun = process_time()  # the test harness waits in between
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            took.append(1000 * (process_time() - begun))
        figures["resize"] = median(took)
        took = []
        for theme in ("textual-light", "textual-dark") * 4:
            begun = process_time()
            app.theme = theme
            await pilot.pause()
            took.append(1000 * (process_time() - begun))
        figures["theme"] = median(took)
        assert trace.size == Size(90, 40)
    figures["memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def console(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Fill in how a long trace keeps up: the medians of three rounds, the two lengths taking turns."""
    rounds = [[asyncio.run(measure(count)) for count in (1_000, 100_000)] for _ in range(3)]
    for name, figure in (
        ("key_to_paint", "key"),
        ("key_to_paint_p99", "key, p99"),
        ("resize", "resize"),
        ("theme_switch", "theme"),
    ):
        small, large = (median(one[figure] for one in lengths) for lengths in zip(*rounds, strict=True))
        results[f"trace.{name}_100k_vs_1k"] = row(large, "ms", small)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{count} rows")
    for name, figure in asyncio.run(measure(count)).items():
        print(f"  {name:<45} {figure:10.2f}")
