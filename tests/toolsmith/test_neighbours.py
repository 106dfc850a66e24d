"""A build is held against the whole library by kept answers; what agrees is run beside it, the rest is not run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from alita_tui.events import BuildId, GateResult, Json, Lock, ToolDraft, ToolName, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.ports.library import Library
from alita_tui.store.documents import DocumentTable
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.fingerprints import (
    agreement,
    arguments,
    fingerprint,
    own_probes,
    shape,
    suspicious,
)
from alita_tui.toolsmith.checks.neighbours import NeighboursCheck
from alita_tui.toolsmith.checks.workbench import Workbench

WHOLE = {"type": "integer"}


class Bench(Workbench):
    """Answers as these functions do, by the tool's name, and notes who was run."""

    def __init__(self, does: dict[str, Callable[[int], Json]]) -> None:
        self.does = does
        self.ran: list[str] = []

    async def outputs(
        self,
        case: Case,
        calls: Sequence[Json],
        *,
        fresh: bool = False,
        seconds: float = 2.0,
        total: float = 12.0,
    ) -> list[dict[str, Any]]:
        name = str(case.draft.name)
        self.ran.append(name)
        return [{"result": self.does[name](*call.values())} for call in calls]


def draft(name: str, parameter: str = "x", kind: Json = WHOLE, description: str = "") -> ToolDraft:
    schema = {"type": "object", "properties": {parameter: kind}, "required": [parameter]}
    code = f"def run({parameter}):\n    return {name!r}\n"
    described = description or f"Gives the {name} of a number."
    return ToolDraft(
        name=ToolName(name), description=described, code=code, tests="", input_schema=schema, output_schema={}
    )


FUNCTIONS: dict[str, Callable[[int], Json]] = {f"step_{n:02}": lambda x, n=n: x * n + 1 for n in range(2, 62)}  # type: ignore[misc]


@pytest.fixture
def library(tmp_path: Path) -> ToolLibrary:
    return ToolLibrary(DocumentTable(tmp_path / "r.json", "tools"), tmp_path / "box")


def keep(library: ToolLibrary, one: ToolDraft) -> None:
    digest = build_digest(one, Lock())
    library.register(one, Lock(), approval_id=f"for-{one.name}", digest=digest, sources=())


async def held(bench: Bench, library: Library, one: ToolDraft) -> GateResult:
    return await NeighboursCheck(bench, TaskLibrary(library)).check(Case(build_id=BuildId("b"), draft=one))


async def test_a_twin_is_found_among_many_whatever_its_name(library: ToolLibrary) -> None:
    for name in FUNCTIONS:
        keep(library, draft(name))
    keep(library, draft("cat_food", "grams", description="How much the cat eats."))
    bench = Bench({**FUNCTIONS, "cat_food": lambda x: x * 100 + 3, "moon": lambda x: x * 100 + 3})
    first = await held(bench, library, draft("moon", "phase", description="Brightness of the moon."))
    second = await held(bench, library, draft("moon", "phase", description="Brightness of the moon."))
    for found in (first, second):
        told = [twin.name for twin in found.twins]
        assert told == ["cat_food"] or (found is first and told == []), found.summary
    assert second.state == "failed" and "cat_food v1" in second.summary
    bench.ran.clear()
    third = await held(bench, library, draft("moon", "phase", description="Brightness of the moon."))
    assert third.twins == second.twins
    assert bench.ran.count("moon") <= 6 and len(set(bench.ran)) <= 6, "what is kept is not run again"


async def test_answers_of_a_build_are_stored_once_it_is_registered(library: ToolLibrary) -> None:
    bench = Bench({"moon": lambda x: x * 100 + 3, "sun": lambda x: x})
    one = draft("moon")
    digest = build_digest(one, Lock())
    await held(bench, library, one)
    documents = library._documents.all()
    assert not [document for document in documents if "answers" in document], "a build may be rejected"
    keep(library, one)
    documents = library._documents.all()
    assert [one for one in documents if "answers" in one and one["answers"]["digest"] == digest]
    assert library.answers.of(digest)
    bench.ran.clear()
    other = await held(bench, library, draft("sun"))
    assert other.state == "passed" and "1 tool with such arguments answers otherwise" in other.summary
    assert bench.ran.count("moon") == 1, "run beside it, but not on its own probes again"


async def test_invalid_stored_answers_are_ignored(library: ToolLibrary) -> None:
    for wrong in ("x", 3, None, {"digest": 3, "given": {}}, {"digest": "d", "given": []}, {"digest": "d"}):
        library._documents.put(f"answers:{wrong}", {"answers": wrong})
    assert library.answers.of("d") == {} and library.cards() == ()


def test_probes_are_the_same_under_any_names() -> None:
    ours, theirs = draft("a", "x"), draft("b", "count")
    assert own_probes(ours) == own_probes(theirs) and shape(ours) == shape(theirs) == ("integer",)
    (first, *_) = own_probes(ours)
    assert arguments(theirs, first) == {"count": 3}
    few = {"type": "integer", "minimum": 5}
    assert arguments(draft("c", "n", few), first) is None, "its schema does not take that"
    assert arguments(ours, "[1, 2]") is None and arguments(ours, "{}") is None


def test_agreement_of_two_tools_is_measured() -> None:
    long = "x" * 1000
    ours = fingerprint(
        ["[1]", "[2]", "[3]", "[4]"], [{"result": 1}, {"result": long}, {"error": "no"}, {"result": 2.0}]
    )
    assert set(ours) == {"[1]", "[2]", "[4]"} and len(str(ours["[2]"])) < 100
    theirs = fingerprint(["[1]", "[2]", "[4]"], [{"result": 1}, {"result": long}, {"result": 2}])
    assert agreement(ours, theirs) == (3, 3) and suspicious(3, 3)
    assert not suspicious(2, 2) and not suspicious(5, 9)
