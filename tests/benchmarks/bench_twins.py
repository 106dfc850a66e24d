"""How many tools that do what another one does are told, in a library that grew build by build.

Each tool is checked as a build and then registered, so its answers are kept as the product keeps them. Tools answer in this
process: they are functions of this file, and what is measured is which of them are compared, and how it is judged.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from alita_tui.events import BuildId, Json, Lock, ToolDraft, ToolName, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.store.documents import DocumentTable
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.neighbours import NeighboursCheck
from alita_tui.toolsmith.checks.workbench import Workbench

Row = Callable[..., dict[str, float | str | None]]
_EACH = 40
"""Tools of each shape; every fourth of them has a twin, and every fourth one that differs in a single case."""


class Tool(NamedTuple):
    """A function under a name that says nothing of what it does."""

    name: str
    parameters: dict[str, str]
    does: Callable[..., Json]
    twin_of: str = ""


class Functions(Workbench):
    """Answers as the functions do, and counts whom it ran."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._does = {tool.name: tool.does for tool in tools}
        self.ran = 0

    async def outputs(
        self,
        case: Case,
        calls: Sequence[Json],
        *,
        fresh: bool = False,
        seconds: float = 2.0,
        total: float = 12.0,
    ) -> list[dict[str, Any]]:
        """Return what the function of the draft gives for each call."""
        self.ran += 1
        return [{"result": self._does[str(case.draft.name)](*call.values())} for call in calls]


def made() -> list[Tool]:
    """Return all tools: the library's own first, then twins and those that differ in one case."""
    own: list[Tool] = []
    others: list[Tool] = []
    for n in range(2, 2 + _EACH):
        shapes: list[
            tuple[str, dict[str, str], Callable[..., Json], Callable[..., Json], Callable[..., Json]]
        ] = [
            (
                "whole",
                {"x": "integer"},
                lambda x, n=n: x * n + 1,
                lambda x, n=n: sum([x] * n) + 1,
                lambda x, n=n: 0 if x < 0 else x * n + 1,
            ),
            (
                "text",
                {"text": "string"},
                lambda text, n=n: f"{text[::-1]}{len(text) * n}",
                lambda text, n=n: "".join(reversed(text)) + str(n * len(text)),
                lambda text, n=n: "?" if not text else f"{text[::-1]}{len(text) * n}",
            ),
            (
                "pair",
                {"a": "number", "b": "number"},
                lambda a, b, n=n: a * n - b,
                lambda a, b, n=n: -(b - n * a),
                lambda a, b, n=n: a * n - b if a else 99,
            ),
        ]
        for kind, parameters, does, again, nearly in shapes:
            own.append(Tool(f"{kind}_{n}", parameters, does))
            if n % 4 == 0:
                renamed = {f"{name}_of_{n}": type_ for name, type_ in parameters.items()}
                others.append(Tool(f"other_{kind}_{n}", renamed, again, twin_of=f"{kind}_{n}"))
            if n % 4 == 1:
                others.append(Tool(f"nearly_{kind}_{n}", parameters, nearly))
    return [*own, *others]


async def _grown(folder: Path) -> tuple[float, int, float, float]:
    """Return the percentage of twins told, how many were told wrongly, runs of tools and milliseconds a build."""
    tools = made()
    bench = Functions(tools)
    library = ToolLibrary(DocumentTable(folder / "r.json", "tools"), folder / "box")
    check = NeighboursCheck(bench, TaskLibrary(library))
    told = wrong = 0
    took: list[float] = []
    for tool in tools:
        schema = {
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in tool.parameters.items()},
            "required": [*tool.parameters],
        }
        draft = ToolDraft(
            name=ToolName(tool.name),
            description=f"Does what {tool.name.replace('_', ' ')} says.",
            code=f"def run({', '.join(tool.parameters)}):\n    return {tool.name!r}\n",
            tests="",
            input_schema=schema,
            output_schema={},
        )
        began = time.perf_counter()
        found = await check.check(Case(build_id=BuildId("b"), draft=draft))
        took.append((time.perf_counter() - began) * 1000)
        names = [str(twin.name) for twin in found.twins]
        told += tool.twin_of in names if tool.twin_of else 0
        wrong += bool(set(names) - {tool.twin_of})
        library.register(draft, Lock(), approval_id=tool.name, digest=build_digest(draft, Lock()), sources=())
    twins = sum(bool(tool.twin_of) for tool in tools)
    return 100 * told / twins, wrong, bench.ran / len(tools), statistics.median(took[-20:])


def twins(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Fill in how many twins are told in a library of 120 tools, and what a check takes there."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-twins-") as folder:
        told, wrong, runs, took = asyncio.run(_grown(Path(folder)))
    results["library.twins_found_percent"] = row(told, "%")
    results["library.twins_false"] = row(wrong, "")
    results["library.twin_runs_a_build"] = row(runs, "")
    results["library.twin_check_ms"] = row(took, "ms")
