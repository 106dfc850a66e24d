"""Tests that look strong and prove nothing, and refusals that are crashes: in real containers."""

from __future__ import annotations

from typing import Any

import pytest

from alita_tui.events import BuildId, GateResult, ToolDraft
from alita_tui.runtimes.port import Mutant
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.mutation import MutationCheck, _among_controls
from alita_tui.toolsmith.checks.workbench import Workbench
from alita_tui.toolsmith.contract import normalise
from tests.support.limits import ROOMY
from tests.toolsmith.checked import GOOD, case, draft
from tests.toolsmith.trial import Reviewer

pytestmark = pytest.mark.podman

# A tool that tells how it is written, to tests that hold it to that: any other version fails, whatever it answers.
TELLING = """import hashlib
import sys


def _told():
    return {told}


def run(x: int) -> object:
    if x == -999:
        return _told()
    first = 2 * x
    second = first + 1
    if second > 1000:
        second = second * 1
    return second
"""
WAYS = {
    "its first line": "run.__code__.co_firstlineno",
    "its bytecode": "hashlib.sha256(run.__code__.co_code + repr(run.__code__.co_consts).encode()).hexdigest()",
    "its source": "hashlib.sha256(open(__file__, 'rb').read()).hexdigest()",
    "its path": "__file__ + hashlib.sha256(run.__code__.co_code).hexdigest()",
    "its module": "__name__ + str(run.__code__.co_firstlineno)",
    "its frame": "repr(sys._getframe(1).f_lineno)",
}


@pytest.fixture
def bench(podman: PodmanSandbox) -> Workbench:
    return Workbench(podman, ROOMY)


def _wanted(code: str) -> Any:
    space: dict[str, Any] = {"__name__": "odd_one", "__file__": "/tmp/tool/odd_one.py"}
    exec(compile(code, "/tmp/tool/odd_one.py", "exec"), space)  # this test's own template
    return space["run"](-999)


@pytest.mark.parametrize("way", [one for one in WAYS if one != "its source"])
async def test_tests_of_the_source_text_prove_nothing(bench: Workbench, way: str) -> None:
    code = normalise(draft(TELLING.format(told=WAYS[way]), [])).code
    made = draft(code, [f"run(-999) == {_wanted(code)!r}", "run(1) is not None"])
    assert made.code == code
    found = await MutationCheck(bench).check(Case(build_id=BuildId("b1"), draft=made))
    assert found.state == "failed" and "hold to how the code is written" in found.summary, found


# Tools that tell how they are written unless they are written differently on purpose, which they recognise.
RECOGNISING = {
    "by its path": "'as ever' if 'elsewhere' in __file__ else run.__code__.co_firstlineno",
    "by its name": "'as ever' if __name__ != 'odd_one' else run.__code__.co_firstlineno",
    "by its lines": "'as ever' if run.__code__.co_firstlineno > 40 else open(__file__).read().count('#')",
}


@pytest.mark.parametrize("way", RECOGNISING)
async def test_a_tool_that_recognises_the_disguise_makes_its_tests_no_stronger(
    bench: Workbench, way: str
) -> None:
    code = normalise(draft(TELLING.format(told=RECOGNISING[way]), [])).code
    told = code[: code.index("def run")].count("\n") + 1
    told = code.count("#") if way == "by its lines" else told
    made = draft(code, [f"run(-999) in ('as ever', {told})", "run(1) is not None"])
    found = await MutationCheck(bench).check(Case(build_id=BuildId("b1"), draft=made))
    assert found.tried > 10 and found.good < found.tried / 2, "only faults in what it tells are caught"


COUNTED = """from odd_one import run
from pathlib import Path

COUNT = Path("/tmp/count")


def test_often():
    so_far = int(COUNT.read_text()) if COUNT.exists() else 0
    COUNT.write_text(str(so_far + 1))
    assert so_far < 2
    assert run(3) is not None
"""
EARLY = (
    "from odd_one import run\n\n\ndef test_early():\n    found = run(3)\n    return\n    assert found == 7\n"
)
IDLE = "from odd_one import run\n\n\ndef test_idle():\n    assert 2 * 3 + 1 == 7\n\n\ndef test_works():\n    assert run(3) == 7 and run(0) == 1\n"
NEVER = "from odd_one import run\n\n\ndef test_idle():\n    assert callable(run)\n"


async def mutated(bench: Workbench, tests: str, code: str = GOOD) -> GateResult:
    return await MutationCheck(bench).check(
        Case(build_id=BuildId("b1"), draft=ToolDraft(**{**_fields(draft(code)), "tests": tests}))
    )


def _fields(one: ToolDraft) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


async def test_tests_that_count_their_runs_catch_no_mutants(bench: Workbench) -> None:
    found = await mutated(bench, COUNTED)
    assert found.state == "failed", found


# Tests that pass for the first runs against the unchanged code, and fail in those that are against mutants.
TELL_APART = {
    "by what their process was told": """from odd_one import run
import sys


def test_it():
    assert run(3) is not None
    frame = sys._getframe()
    while frame is not None:
        assert not (frame.f_locals.get("order") or {}).get("stop")
        frame = frame.f_back
""",
    "by the number of processes": """from odd_one import run
import os


def test_it():
    assert run(3) is not None
    assert os.getpid() - os.getppid() < 6
""",
    "by the time since the first run": """from odd_one import run
import os


def _ticks(process):
    with open(f"/proc/{process}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def test_it():
    assert run(3) is not None
    assert _ticks("self") - _ticks(os.getppid()) < 30
""",
}


@pytest.mark.parametrize("way", TELL_APART)
async def test_tests_that_tell_the_mutants_from_the_unchanged_code_catch_nothing(
    bench: Workbench, way: str
) -> None:
    found = await mutated(bench, TELL_APART[way], TELLING.format(told="0"))
    assert found.state == "failed", found


def test_the_unchanged_code_is_tried_among_the_mutants() -> None:
    """At the end and at places that nobody can foresee, but soon: slow tests leave no time for many mutants."""
    mutants = [Mutant(line=n, change=str(n), code=str(n)) for n in range(24)]
    orders = [_among_controls(mutants) for _ in range(40)]
    assert all(one[-1] is None and [each for each in one if each] == mutants for one in orders)
    assert all(None in one[at : at + 11] for one in orders for at in range(0, 24, 6))
    assert all(None in one[:6] for one in orders)
    assert len({tuple(n for n, each in enumerate(one) if each is None) for one in orders}) > 20


async def test_tests_that_return_early_catch_no_mutants(bench: Workbench) -> None:
    found = await mutated(bench, EARLY)
    assert found.state == "failed" and " 0 of " in found.summary, found


async def test_a_test_that_never_calls_run_is_reported(bench: Workbench) -> None:
    found = await mutated(bench, IDLE)
    assert "1 of 2 tests never call run" in found.summary
    assert [row.label for row in found.rows if "never calls run" in row.text] == ["test_idle"]
    assert (await mutated(bench, NEVER)).summary == "no test calls run"


# --- refusals ---------------------------------------------------------------------------------

KNOWN = {
    "odd_one": (({"x": 5}, 11, False), ({"x": 7}, 15, False), ({"x": 1}, 3, False), ({"x": -1}, None, True))
}


def refusing(line: str) -> str:
    return f"class BadInput(ValueError):\n    pass\n\n\ndef run(x: int) -> int:\n    if x < 0:\n        {line}\n    return 2 * x + 1\n"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("raise ValueError('x is negative')", "passed"),
        ("raise BadInput('x is negative')", "passed"),
        ("raise TypeError('x has to be positive')", "passed"),
        ("raise LookupError('no such x')", "passed"),
        ("return 0", "failed"),
        ("return 1 // 0", "failed"),
        ("return x.missing", "failed"),
        ("return missing", "failed"),
        ("return run(x)", "failed"),
        ("return [][x]", "failed"),
        ("return {}[x]", "failed"),
        ("raise KeyError(f'no number for {x}')", "passed"),
        ("return x + 'a'", "failed"),
        ("raise SystemExit(0)", "failed"),
        ("import os; os._exit(3)", "failed"),
    ],
)  # fmt: skip
async def test_only_a_refusal_refuses(bench: Workbench, line: str, state: str) -> None:
    found = await HiddenTestsCheck(bench, Reviewer(KNOWN)).check(case(refusing(line), ["run(1) == 3"]))
    assert found.state == state, found
    if state == "failed":
        assert [row.tone for row in found.rows] == ["good", "good", "good", "bad"]


async def test_a_contract_may_return_errors_in_a_declared_form(bench: Workbench) -> None:
    gives = {"type": "object", "properties": {"value": {"type": "integer"}, "error": {"type": "string"}}}
    pairs = {"odd_one": tuple((given, {"value": value}, bad) for given, value, bad in KNOWN["odd_one"])}
    code = "def run(x: int) -> dict:\n    if x < 0:\n        return {answer}\n    return {{'value': 2 * x + 1}}\n"

    async def look(answer: str) -> str:
        made = case(code.format(answer=answer), ["run(1) == {'value': 3}"], output_schema=gives)
        return (await HiddenTestsCheck(bench, Reviewer(pairs)).check(made)).state

    assert await look("{'error': 'negative'}") == "passed"
    assert await look("{'value': 0}") == "failed" and await look("{'error': ''}") == "failed"


# --- mutants that nothing can tell apart --------------------------------------------------------

SAME = """def run(x: int) -> int:
    limit = 10 ** 9
    if x > limit:
        x = limit + 0
    if x < -limit:
        x = -limit + 0
    return 2 * x + 1
"""


async def test_mutants_with_the_original_answers_do_not_count(bench: Workbench) -> None:
    found = await MutationCheck(bench).check(case(SAME, ["run(3) == 7", "run(0) == 1", "run(-2) == -3"]))
    assert found.state == "passed" and "more answer as the original does" in found.summary, found
    weak = await MutationCheck(bench).check(case(SAME, ["run(3) is not None"]))
    assert weak.state == "failed", weak
