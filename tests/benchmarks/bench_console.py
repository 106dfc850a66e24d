"""How the trace keeps up with a very long session. Reports figures, asserts no times.

Run: python tests/benchmarks/bench_console.py [ROWS]
"""

from __future__ import annotations

import asyncio
import resource
import sys
from datetime import UTC, datetime
from time import perf_counter

from msgspec.structs import replace
from textual.geometry import Size

from alita_tui.console.themes import Themed
from alita_tui.console.widgets.trace import Trace
from alita_tui.spine.text import SafeText
from alita_tui.view.model import RowKind, SessionView, TraceRow
from alita_tui.view.rows import Rows

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
WORDS = "The library may have this already; if not, a small tool on a known package will do. "


def row(number: int) -> TraceRow:
    kind = KINDS[number % len(KINDS)]
    text = SafeText(f"{number} {WORDS * (1 + number % 4)}")
    return TraceRow(number, datetime(2026, 1, 1, tzinfo=UTC), number // 8, f"a{number}", kind, text, text)


def session(rows: int) -> SessionView:
    trace: Rows[TraceRow] = Rows()
    return SessionView(seq=rows, trace=trace.append(*(row(number) for number in range(rows))))


class Bench(Themed[None]):
    def compose(self):
        yield Trace()


async def measure(rows: int, size: tuple[int, int] = (120, 40)) -> dict[str, float]:
    """Milliseconds of each thing that a person does to a trace of so many rows, and megabytes in all."""
    view, app, figures = session(rows), Bench(), {}
    async with app.run_test(size=size) as pilot:
        trace = app.query_one(Trace)
        trace.focus()
        await pilot.pause()

        def paint() -> None:
            for y in range(trace.size.height):
                trace.render_line(y)

        def timed(name: str, work, times: int = 1) -> None:
            begun = perf_counter()
            for _ in range(times):
                work()
                paint()
            figures[name] = 1000 * (perf_counter() - begun) / times

        timed("fill", lambda: trace.advance(view))
        await pilot.pause()
        timed("page up", lambda: trace.action_page(-1), 50)
        timed("row down", trace.action_down, 50)
        timed("first", trace.action_first)
        timed("open a row", trace.action_open, 20)
        timed("last", trace.action_last)
        grown = [view]

        def grow() -> None:
            last = grown[-1]
            grown.append(replace(last, trace=last.trace.append(row(len(last.trace)))))
            trace.advance(grown[-1])

        timed("one more row", grow, 50)
        timed("find", lambda: trace.find("no such words"))
        begun = perf_counter()
        await pilot.resize_terminal(90, 40)
        await pilot.pause()
        figures["resize, with the pause of the test harness"] = 1000 * (perf_counter() - begun)
        assert trace.size == Size(90, 40)
    figures["memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{count} rows")
    for name, figure in asyncio.run(measure(count)).items():
        print(f"  {name:<45} {figure:10.2f}")
