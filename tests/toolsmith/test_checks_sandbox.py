"""Gates that run code, in real containers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from alita_tui.events import BuildId, Capabilities, GateResult, Lock, ToolDraft, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.spine.errors import BudgetExceeded, BuildSpent, ModelError
from alita_tui.spine.ports.builds import PastCall
from alita_tui.spine.ports.models import ModelRequest, Reply
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.toolsmith.checks.capabilities import CapabilitiesCheck
from alita_tui.toolsmith.checks.case import Case, CouldNotRun
from alita_tui.toolsmith.checks.contract import ContractCheck
from alita_tui.toolsmith.checks.fuzz import FuzzCheck
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.judge_report import Tested
from alita_tui.toolsmith.checks.mutation import MutationCheck
from alita_tui.toolsmith.checks.neighbours import NeighboursCheck
from alita_tui.toolsmith.checks.replay import ReplayCheck
from alita_tui.toolsmith.checks.workbench import Workbench, piece_of_tests
from tests.support.limits import ROOMY
from tests.toolsmith.checked import GOOD, RIGHT, WHOLE, case, draft, known
from tests.toolsmith.trial import Known, Reviewer

pytestmark = pytest.mark.podman


@pytest.fixture
def bench(podman: PodmanSandbox) -> Workbench:
    return Workbench(podman, ROOMY)


# --- contract -----------------------------------------------------------------------------


async def test_schemas_that_accept_the_calls_of_the_tests_pass(bench: Workbench) -> None:
    found = await ContractCheck(bench).check(case())
    assert found.state == "passed" and "3 calls" in found.summary


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"output_schema": {"type": "string"}}, "result: $: 7 is not of type 'string'"),
        ({"input_schema": {"type": "object", "properties": {"x": {"type": "integer", "minimum": 0}}, "required": ["x"]}},
         "arguments: $.x: -2 is less than the minimum of 0"),
        ({"code": "def run(x: int) -> int:\n    return {x}\n", "checks": ["run(1) == {1}"]}, "not JSON serializable"),
    ],
)  # fmt: skip
async def test_schemas_that_reject_calls_of_the_tests_fail(
    bench: Workbench, more: dict[str, Any], said: str
) -> None:
    found = await ContractCheck(bench).check(case(**more))
    assert found.state == "failed"
    assert any(said in row.text for row in found.rows), found.rows


async def test_the_examples_of_the_order_have_to_pass(bench: Workbench) -> None:
    async def ordered(*examples: Any) -> GateResult:
        return await ContractCheck(bench).check(msgspec.structs.replace(case(), examples=examples))

    held = await ordered({"input": {"x": 3}, "output": 7}, {"input": "x"}, 5)
    assert held.state == "passed" and "1 example of the order holds" in held.summary
    found = await ordered(
        {"input": {"x": 3}, "output": 7}, {"input": {"x": 4}, "output": 8}, {"input": {}, "output": 1}
    )
    assert found.state == "failed" and "2 of the 3 examples" in found.summary
    assert [row.text for row in found.rows][0] == "→ 9, where 8 was ordered"
    assert "TypeError" in found.rows[1].text


async def test_tests_that_call_nothing_show_nothing(bench: Workbench) -> None:
    with pytest.raises(CouldNotRun, match="no call of run"):
        await ContractCheck(bench).check(case(checks=["callable(run)"]))


# --- capabilities -------------------------------------------------------------------------

NET = "def run(x: int) -> int:\n    import socket\n    try:\n        socket.create_connection(('203.0.113.7', 443), 0.2)\n    except OSError:\n        pass\n    return 2 * x + 1\n"
HIDDEN_NET = NET.replace("import socket", "socket = __import__('soc' + 'ket')")
FILES = "def run(x: int) -> int:\n    open('/etc/hostname').close()\n    return 2 * x + 1\n"
SCRATCH = "def run(x: int) -> int:\n    with open('/tmp/mine', 'w') as file:\n        file.write('1')\n    return 2 * x + 1\n"
ENVIRON = "import os\n\n\ndef run(x: int) -> int:\n    return 2 * x + 1 + len(os.getenv('MY_TOKEN', ''))\n"
HIDDEN_ENVIRON = "import os\n\n\ndef run(x: int) -> int:\n    return 2 * x + 1 + len(getattr(os, 'env' + 'iron').get('MY_TOKEN', ''))\n"
PROCESS = (
    "import subprocess\n\n\ndef run(x: int) -> int:\n    subprocess.run(['true'])\n    return 2 * x + 1\n"
)


@pytest.mark.parametrize(
    ("code", "kind", "seen"),
    [
        (NET, "network", "203.0.113.7"),
        (HIDDEN_NET, "network", "203.0.113.7"),
        (FILES, "reads", "/etc/hostname"),
        (ENVIRON, "environment", "MY_TOKEN"),
        (HIDDEN_ENVIRON, "environment", "MY_TOKEN"),
        (PROCESS, "processes", "true"),
    ],
)
async def test_undeclared_access_is_reported(bench: Workbench, code: str, kind: str, seen: str) -> None:
    found = await CapabilitiesCheck(bench).check(case(code))
    rows = {row.label: row for row in found.rows}
    assert found.state == "failed" and kind in found.summary
    assert rows[kind].tone == "bad" and "UNDECLARED" in rows[kind].text
    assert seen in rows[kind].text.rpartition("seen in the sandbox")[2]


async def test_code_generated_at_run_time_is_reported(bench: Workbench) -> None:
    found = await CapabilitiesCheck(bench).check(
        case("def run(x: int) -> int:\n    return eval('2 * x + 1')\n")
    )
    assert found.state == "failed" and "code" in found.summary


async def test_plain_computing_and_scratch_files_need_no_declaration(bench: Workbench) -> None:
    assert (await CapabilitiesCheck(bench).check(case())).rows == ()
    found = await CapabilitiesCheck(bench).check(case(SCRATCH))
    assert found.state == "passed" and "scratch" in found.rows[0].text
    assert found.rows[0].line == 0, "it leads nowhere in the code"


async def test_declared_and_used_access_are_shown_side_by_side(bench: Workbench) -> None:
    wants = Capabilities(network=("203.0.113.7:443",))
    found = await CapabilitiesCheck(bench).check(case(NET, capabilities=wants))
    assert found.state == "passed"
    assert found.rows[0].text.startswith("declared: 203.0.113.7:443 · in the code: ")
    code = case(NET, capabilities=wants).draft.code.splitlines()
    assert "create_connection" in code[found.rows[0].line - 1], "the line that uses it, not its import"
    found = await CapabilitiesCheck(bench).check(case(GOOD, capabilities=wants))
    assert (found.state, found.rows[0].tone) == ("passed", "warn") and "not used" in found.rows[0].text


async def test_access_to_an_undeclared_host_is_reported(bench: Workbench) -> None:
    found = await CapabilitiesCheck(bench).check(
        case(NET, capabilities=Capabilities(network=("example.org:443",)))
    )
    assert found.state == "failed" and "203.0.113.7:443" in found.rows[0].text


BROKERED = """import os
from urllib.request import urlopen


def run(x: int) -> int:
    address = os.environ.get('ALITA_BROKER', '')
    if address:
        urlopen(address + '/files/notes.txt').read()
    return 2 * x + 1
"""


@pytest.mark.parametrize(
    ("code", "wants", "state"),
    [
        (BROKERED, Capabilities(workspace="read"), "passed"),
        (BROKERED, Capabilities(), "failed"),
        (BROKERED.replace("ALITA_BROKER", "HOME"), Capabilities(workspace="read"), "failed"),
        (NET, Capabilities(network=("GET,HEAD 203.0.113.7:443",)), "passed"),
        (ENVIRON, Capabilities(network=("203.0.113.7:443",), secrets=("MY_TOKEN",)), "passed"),
        (ENVIRON, Capabilities(network=("203.0.113.7:443",), secrets=("OTHER",)), "failed"),
        (FILES, Capabilities(workspace="read"), "failed"),
    ],
)
async def test_a_declaration_covers_matching_access_only(
    bench: Workbench, code: str, wants: Capabilities, state: str
) -> None:
    found = await CapabilitiesCheck(bench).check(case(code, capabilities=wants))
    assert found.state == state
    assert "not used" not in "".join(row.text for row in found.rows if row.label == "reads") or code == FILES


# --- mutation -----------------------------------------------------------------------------


async def test_tests_that_notice_mutants_pass(bench: Workbench) -> None:
    found = await MutationCheck(bench).check(case())
    assert found.state == "passed" and "100%" in found.summary
    assert found.good == found.tried > 0, "the review's figures are recorded"


async def test_tests_that_notice_no_mutant_fail(bench: Workbench) -> None:
    found = await MutationCheck(bench).check(case(checks=["isinstance(run(1), int)"]))
    assert found.state == "failed"
    assert any(row.text == "* became +: no test noticed" and row.label == "line 6" for row in found.rows), (
        found
    )


async def test_a_mutant_that_hangs_or_ends_the_process_is_caught_and_stops_nobody(bench: Workbench) -> None:
    loop = "import os\n\n\ndef run(x: int) -> int:\n    n = 0\n    while n != 3:\n        n += 1\n    if n > 5:\n        os._exit(0)\n    return n + x\n"
    found = await MutationCheck(bench).check(case(loop, ["run(1) == 4", "run(2) == 5"]))
    assert found.state == "passed", found


# --- inputs from the schema ---------------------------------------------------------------


async def test_a_slow_call_is_not_reported_as_endless(podman: PodmanSandbox) -> None:
    check = FuzzCheck(Workbench(podman, Limits()))
    slow = "import time\n\n\ndef run(x: int) -> int:\n    if x == 77:\n        time.sleep(3)\n    return 2 * x + 1\n"
    found = await check.check(case(slow))
    assert found.state == "passed", found
    endless = "def run(x: int) -> int:\n    while x == 77:\n        pass\n    return 2 * x + 1\n"
    found = await check.check(case(endless))
    assert found.state == "failed" and 'run({"x":77}) comes to no end' in found.summary, found


# --- hidden tests -------------------------------------------------------------------------


async def test_hidden_tests_that_agree(bench: Workbench) -> None:
    reviewer = Reviewer({"odd_one": RIGHT})
    found = await HiddenTestsCheck(bench, reviewer).check(case())
    assert found.state == "passed"
    assert found.summary == "4 of 4 cases, written by demo:reviewer without seeing the code"
    assert (found.good, found.tried) == (4, 4), "the review's figures are recorded"
    assert len(reviewer.requests) == 3
    for request in reviewer.requests:
        assert request.role == "reviewer"
        said = request.system + request.messages[0].text
        assert "2 * x + 1" not in said and "assert" not in said  # neither code nor tests


async def test_one_mistake_in_each_sample_changes_nothing(bench: Workbench) -> None:
    found = await HiddenTestsCheck(bench, Reviewer({"odd_one": RIGHT}, slips=True)).check(case())
    assert found.state == "passed" and found.summary.startswith("4 of 4")


async def test_hidden_tests_find_a_hard_coded_answer(bench: Workbench) -> None:
    cheat = "def run(x: int) -> int:\n    return {3: 7, 0: 1, -2: -3}.get(x, 0)\n"
    found = await HiddenTestsCheck(bench, Reviewer({"odd_one": RIGHT})).check(case(cheat))
    assert found.state == "failed"
    assert found.rows[0].text == "→ 0, where 11 was agreed on"


async def test_a_loop_on_hidden_arguments_is_a_failure(bench: Workbench) -> None:
    loop = "def run(x: int) -> int:\n    while x == 100:\n        pass\n    return 2 * x + 1\n"
    found = await HiddenTestsCheck(bench, Reviewer({"odd_one": RIGHT})).check(case(loop))
    assert found.state == "failed" and [row.tone for row in found.rows].count("bad") == 1


async def test_a_repair_with_the_same_contract_asks_nobody_again(bench: Workbench) -> None:
    reviewer = Reviewer({"odd_one": RIGHT})
    gate = HiddenTestsCheck(bench, reviewer)
    await gate.check(case("def run(x: int) -> int:\n    return x\n"))
    await gate.check(case())
    assert len(reviewer.requests) == 3


class Fails(Reviewer):
    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error = error

    async def ask(self, request: ModelRequest) -> Reply:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModelError("overloaded", "too busy"), "no separate call wrote tests: too busy"),
        (BudgetExceeded("one dollar is spent"), "the budget has no room"),
        (BuildSpent("the build's money was spent"), "^the build's money was spent$"),
    ],
)
async def test_without_a_model_or_budget_the_check_is_skipped(
    bench: Workbench, error: Exception, said: str
) -> None:
    with pytest.raises(CouldNotRun, match=said):
        await HiddenTestsCheck(bench, Fails(error)).check(case())


@pytest.mark.parametrize(
    ("known_to_it", "said"),
    [
        (known((1, 1), (2, 2)), "too few tests can be written"),
        ((({"x": "one"}, 1, False), ({"x": "two"}, 2, False)), "the input schema refuses it"),
    ],
)
async def test_a_contract_that_gives_no_test_is_told_with_its_reason(
    bench: Workbench, known_to_it: Known, said: str
) -> None:
    with pytest.raises(CouldNotRun, match="wrote no usable cases") as ended:
        await HiddenTestsCheck(bench, Reviewer({"odd_one": known_to_it})).check(case())
    assert all(row.tone == "bad" and said in row.text for row in ended.value.rows) and ended.value.rows


async def test_a_tool_whose_host_no_test_has_is_not_at_fault_for_missing_cases(bench: Workbench) -> None:
    online = case(capabilities=Capabilities(network=("example.org",)))
    with pytest.raises(CouldNotRun, match="wrote no usable cases") as ended:
        await HiddenTestsCheck(bench, Reviewer({})).check(online)
    assert not ended.value.rows


async def test_samples_that_disagree_give_no_verdict(bench: Workbench) -> None:
    class Guesses(Reviewer):
        async def ask(self, request: ModelRequest) -> Reply:
            self.known = {"odd_one": known(*((x, x + 100 * len(self.requests)) for x in range(5)))}
            return await super().ask(request)

    with pytest.raises(CouldNotRun, match="agreed on 0 cases"):
        await HiddenTestsCheck(bench, Guesses({})).check(case())


# --- neighbours ---------------------------------------------------------------------------


def keep(shelf: ToolLibrary, one: ToolDraft) -> None:
    shelf.register(one, Lock(), approval_id="p1", digest=build_digest(one, Lock()), sources=())


async def test_a_tool_that_answers_alike_is_found_by_running(bench: Workbench, shelf: ToolLibrary) -> None:
    y = {"type": "object", "properties": {"y": WHOLE}, "required": ["y"]}
    twin = draft("def run(y: int) -> int:\n    return y + y + 1\n", name="next_odd", description="The odd number at a place.", input_schema=y)  # fmt: skip
    keep(shelf, twin)
    keep(shelf, draft("def run(x: int) -> int:\n    return x * x\n", ["run(3) == 9"], name="square_of", description="The square of a whole number."))  # fmt: skip
    found = await NeighboursCheck(bench, TaskLibrary(shelf)).check(case())
    rows = {row.label: row for row in found.rows}
    assert found.state == "failed" and "next_odd v1" in found.summary
    assert rows["next_odd v1"].tone == "bad" and rows["square_of v1"].tone == ""
    assert "by description" in rows["square_of v1"].text


async def test_tools_of_other_shapes_are_no_neighbours(bench: Workbench, shelf: ToolLibrary) -> None:
    found = await NeighboursCheck(bench, TaskLibrary(shelf)).check(case())
    assert found.state == "passed" and found.rows == ()


# --- recorded calls -----------------------------------------------------------------------

CALLS = (PastCall(arguments={"x": 3}, result=7), PastCall(arguments={"x": 50}, result=101))


async def replayed(bench: Workbench, code: str) -> GateResult:
    gate = ReplayCheck(bench, lambda name: CALLS if name == "odd_one" else ())
    return await gate.check(Case(build_id=BuildId("b1"), draft=draft(code), parent=draft()))


async def test_recorded_calls_with_the_same_results_pass(bench: Workbench) -> None:
    assert (await replayed(bench, GOOD)).state == "passed"


async def test_recorded_calls_with_other_results_fail(bench: Workbench) -> None:
    found = await replayed(bench, "def run(x: int) -> int:\n    return 7\n")
    assert found.state == "failed" and found.summary == "1 of 2 recorded calls come out otherwise"
    assert (found.good, found.tried) == (1, 2)
    assert [row.tone for row in found.rows] == ["good", "warn"]


async def test_failing_tests_of_the_previous_version_are_reported(bench: Workbench) -> None:
    gate = ReplayCheck(bench, lambda _: ())

    async def after(code: str, *checks: str) -> GateResult:
        return await gate.check(Case(build_id=BuildId("b1"), draft=draft(code, checks), parent=draft()))

    wider = "def run(x: int) -> int:\n    return 2 * abs(x) + 1\n"
    held = await after(GOOD, "run(3) == 7")
    assert held.state == "passed" and held.rows == ()
    dropped = await after(wider, "run(3) == 7", "run(0) == 1")
    assert dropped.state == "failed" and [(row.label, row.tone) for row in dropped.rows] == [
        ("left out: test_2", "bad")
    ]
    assert "leave it out" in dropped.rows[0].text and "test_2" in dropped.summary
    changed = await after(wider, "run(3) == 7", "run(0) == 1", "run(-2) == 5")
    assert [(row.label, row.tone) for row in changed.rows] == [("test_2", "warn")]
    assert "under the same name" in changed.rows[0].text
    renamed = await after("def run(y: int) -> int:\n    return 2 * y\n", "run(y=1) == 2")
    assert renamed.state == "failed" and {row.tone for row in renamed.rows} == {"bad", "warn"}


# --- hostile code -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    ["import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)",
     "while True:\n        pass", "return 'x' * 10_000_000"],
)  # fmt: skip
async def test_code_that_resists_the_check_gets_no_pass(bench: Workbench, body: str) -> None:
    fights = case(f"def run(x: int) -> int:\n    {body}\n")
    outputs, (tested,) = await asyncio.gather(
        bench.outputs(fights, [{"x": 1}], seconds=0.5, total=1.0),
        bench.judge(fights, [piece_of_tests(fights, seconds=0.5)], total=1.0),
    )
    assert not any("result" in answer for answer in outputs), outputs
    assert isinstance(tested, Tested) and not any(test.passed for test in tested.cases), tested
