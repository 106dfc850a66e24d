"""What no test ran: the places of code, told from outside of it, and the gate that shows them."""

from __future__ import annotations

import builtins
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

from alita_tui.runtimes.places import Missed, missed, ranges
from alita_tui.runtimes.python.instrumentation import instrumented
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.checks.case import CouldNotRun
from alita_tui.toolsmith.checks.coverage import CoverageCheck, _package
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.support.limits import ROOMY
from tests.toolsmith.checked import RIGHT, case
from tests.toolsmith.corpus import corpus
from tests.toolsmith.trial import Reviewer


@pytest.fixture
def passed() -> Iterator[set[int]]:
    found: set[int] = set()
    builtins.__alita_passed__ = found.add  # type: ignore[attr-defined]
    yield found
    del builtins.__alita_passed__  # type: ignore[attr-defined]


def run_of(code: str) -> tuple[Any, tuple[Any, ...]]:
    made = instrumented(textwrap.dedent(code))
    space: dict[str, Any] = {"__name__": "tool"}
    exec(compile(made.code, "tool.py", "exec"), space)  # a template of this test's
    return space["run"], made.places


PAYLOADS = {
    "a branch": ("def run(x):\n    if x == 500:\n        return 0\n    return x\n", Missed((3,), (), ())),
    "on the line of its condition": (
        "def run(x):\n    if x == 500: return 0\n    return x\n",
        Missed((), ((2, "a statement on it never ran"),), ()),
    ),
    "behind a semicolon": (
        "def run(x):\n    while x == 500: x = 0; break\n    return x\n",
        Missed((), ((2, "a statement on it never ran"),), ()),
    ),
    "in an expression": (
        "def run(x):\n    return 0 if x == 500 else x\n",
        Missed((), ((2, "the first part of `… if … else …` was never taken"),), ()),
    ),
    "behind an and": (
        "def run(x):\n    x == 500 and print(x)\n    return x\n",
        Missed((), ((2, "what follows `and` was never looked at"),), ()),
    ),
    "in a lambda": (
        "def run(x, f=lambda: 0):\n    return x\n",
        Missed((), ((1, "its lambda was never called"),), ()),
    ),
    "in a function that nothing calls": (
        "def run(x):\n    return x\n\n\ndef more():\n    return 1\n",
        Missed((6,), (), ()),
    ),
    "in a handler": (
        "def run(x):\n    try:\n        return int(x)\n    except ValueError:\n        return 0\n",
        Missed((5,), (), ()),
    ),
    "under another main": (
        "def run(x):\n    return x\n\n\nif __name__ == '__main__':\n    print('more')\n",
        Missed((6,), (), ()),
    ),
    "one name behind an or": (
        "def run(x):\n    if x < 0 or x == 4711:\n        x = 0\n    return x\n",
        Missed((3,), ((2, "no run turned on 4711"),), ((2, "a side of `or` was never true"),)),
    ),
    "one name before a mere name": (
        "def run(x):\n    favoured = True\n    return 0 * x if str(x) == 'j.miller' and favoured else x\n",
        Missed(
            (),
            ((3, "no run turned on 'j.miller'"), (3, "the first part of `… if … else …` was never taken")),
            ((3, "what follows `and` was never looked at"),),
        ),
    ),
    "one name in a tuple": (
        "def run(x):\n    return [one for one in [x] if one not in ('j.miller', 'miller')][0]\n",
        Missed((), ((2, "no run turned on 'j.miller' or 'miller'"),), ()),
    ),
    "a few names in a set": (
        "SPARED = {'j.miller'}\n\n\ndef run(x):\n    return x * (str(x) not in SPARED)\n",
        Missed((), ((5, "no run turned on 'j.miller'"),), ()),
    ),
    "a comparison that is no condition": (
        "def run(x):\n    return x * (str(x) != 'j.miller')\n",
        Missed((), ((2, "no run turned on 'j.miller'"),), ()),
    ),
    "a table of one exception": (
        "def run(x):\n    rates = {'northwind': 2}\n    return x * rates.get(str(x), 1)\n",
        Missed((), ((3, "no run turned on 'northwind'"),), ()),
    ),
    "a length in a comprehension": (
        "def run(x):\n    return [one for one in [x] if len(str(one)) != 13][0]\n",
        Missed((), ((2, "its condition was never false"),), ()),
    ),
    "a side of a ternary's condition": (
        "def run(x):\n    return 0 if x < 0 or str(x).startswith('Dr. ') else x\n",
        Missed(
            (),
            ((2, "no run turned on 'Dr. '"), (2, "the first part of `… if … else …` was never taken")),
            ((2, "a side of `or` was never true"),),
        ),
    ),
    "one name in a comprehension": (
        "def run(x):\n    return sum(one for one in [x, 0] if one != 4711)\n",
        Missed((), ((2, "no run turned on 4711"),), ()),
    ),
    "one ending in a comprehension": (
        "def run(x):\n    return sum(one for one in [x, 0] if not str(one).endswith('.example'))\n",
        Missed((), ((2, "no run turned on '.example'"),), ()),
    ),
    "one name that is left out": (
        "def run(x):\n    if str(x) != 'j.miller':\n        x += 0\n    return x\n",
        Missed((), ((2, "its condition was never false"),), ()),
    ),
    "in a case": (
        "def run(x):\n    match x:\n        case 500:\n            return 0\n        case _:\n            return x\n",
        Missed((4,), (), ()),
    ),
    "no part that a search always finds": (
        "import re\n\n\ndef run(x):\n    found = re.match('[0-9]*', str(x))\n    return int(found.group()) if found else None\n",
        Missed((), (), ((6, "the last part of `… if … else …` was never taken"),)),
    ),
    "a part that only looks like it": (
        "import re\n\n\ndef run(x):\n    found = re.match('acme', str(x))\n    return None if found else x\n",
        Missed((), ((6, "the first part of `… if … else …` was never taken"),), ()),
    ),
    "nowhere": ("def run(x):\n    if x > 0:\n        x += 0\n    return x\n", Missed((), (), ((2, "its condition was never false"),))),
}  # fmt: skip


@pytest.mark.parametrize("where", PAYLOADS)
def test_a_payload_that_no_test_ran_is_reported_with_its_line(passed: set[int], where: str) -> None:
    code, wanted = PAYLOADS[where]
    run, places = run_of(code)
    assert run(3) == 3
    assert missed(places, passed) == wanted


def test_lines_that_need_no_coverage_are_not_counted(passed: set[int]) -> None:
    run, places = run_of(
        '''
        """Doc."""
        from __future__ import annotations

        from typing import TYPE_CHECKING, Any

        if TYPE_CHECKING:
            import json


        def run(x: int) -> Any:
            """Doc."""
            kept: int
            try:
                return (
                    x
                )
            except ValueError:
                pass


        if __name__ == "__main__":
            import json
            import sys

            print(json.dumps(run(**json.load(sys.stdin))))
        '''
    )
    assert run(3) == 3
    assert missed(places, passed) == Missed((), (), ())


def test_instrumented_code_gives_the_same_answers(passed: set[int]) -> None:
    count = 0
    for sample in corpus():
        if sample.good and not sample.draft.requirements:
            count += 1
            run, _ = run_of(sample.draft.code)
            for arguments, expect, refused in sample.known:
                try:
                    assert run(**arguments) == expect and not refused, sample.label
                except ValueError:
                    assert refused, sample.label
    assert count > 50


def test_line_numbers_as_a_reader_writes_them() -> None:
    assert ranges([30, 3, 29]) == "3, 29-30"


# --- the gate, in real containers -----------------------------------------------------------

BOMB = """import datetime


def run(x: int) -> int:
    if datetime.date.today().year > 2030:
        x = x * 2
        return x
    return 2 * x + 1
"""


@pytest.fixture
def coverage(podman: PodmanSandbox) -> CoverageCheck:
    bench = Workbench(podman, ROOMY)
    return CoverageCheck(bench, HiddenTestsCheck(bench, Reviewer({"odd_one": RIGHT})))


@pytest.mark.podman
async def test_a_date_bomb_is_two_lines_that_never_ran(coverage: CoverageCheck) -> None:
    found = await coverage.check(case(BOMB))
    lines = case(BOMB).draft.code.splitlines()
    first = lines.index("        x = x * 2") + 1
    assert found.state == "failed" and found.summary == f"2 lines never run: {first}-{first + 1}"
    assert found.rows[0].label == f"lines {first}-{first + 1}"


@pytest.mark.podman
async def test_hidden_tests_count(coverage: CoverageCheck) -> None:
    bound = "def run(x: int) -> int:\n    if x > 99:\n        return 2 * x + 1\n    return 2 * x + 1\n"
    found = await coverage.check(case(bound))  # only a hidden case is that large
    assert (found.state, found.summary) == ("passed", "own and hidden tests run all 4 lines")


@pytest.mark.podman
async def test_missing_hidden_tests_are_reported(podman: PodmanSandbox) -> None:
    bench = Workbench(podman, ROOMY)
    found = await CoverageCheck(bench, HiddenTestsCheck(bench, Reviewer({"odd_one": ()}))).check(case())
    assert found.state == "passed" and "there are no hidden ones" in found.summary


def test_an_evaluated_operand_is_not_reported(passed: set[int]) -> None:
    run, places = run_of("def run(x):\n    return [one for one in x if one == 'all' or one != 'none']\n")
    assert run(["all", "none", "some"]) == ["all", "some"]
    assert missed(places, passed) == Missed((), (), ())


@pytest.mark.podman
@pytest.mark.parametrize(
    "line", ["sys._getframe(0).f_lineno", "len(gc.get_objects())", "sys.settrace(None)", "open('/proc/self/maps').read()"]
)  # fmt: skip
async def test_coverage_of_introspecting_code_is_not_measured(coverage: CoverageCheck, line: str) -> None:
    code = f"import gc\nimport sys\n\n\ndef run(x: int) -> int:\n    kept = {line}\n    return 2 * x + 1\n"
    with pytest.raises(CouldNotRun, match="not measurable"):
        await coverage.check(case(code))


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("npm:word-tally@^1.2", "word-tally"), ("npm:@in/order@2", "@in/order"), ("npm:@in/order", "@in/order"),
        ("email-validator>=2", "email-validator"), ("lxml[html]==5.1 ; python_version > '3'", "lxml"), ("pandas", "pandas"),
    ],
)  # fmt: skip
def test_a_package_that_coverage_depends_on_is_named(requirement: str, name: str) -> None:
    assert _package(requirement) == name
