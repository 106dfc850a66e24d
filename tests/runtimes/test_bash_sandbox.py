"""Bash tools in the real sandbox: the checks find what they promise to find, and hostile scripts stay inside."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from alita_tui.events import BuildId, BuildStarted, Lock, ToolDraft
from alita_tui.runtimes.bash.words import names
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job
from alita_tui.toolsmith.checks.case import Case, Check
from alita_tui.toolsmith.checks.conditions import ConditionsCheck
from alita_tui.toolsmith.checks.contract import ContractCheck
from alita_tui.toolsmith.checks.coverage import CoverageCheck
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.mutation import MutationCheck
from alita_tui.toolsmith.checks.runner import run_check
from alita_tui.toolsmith.checks.workbench import Workbench
from alita_tui.toolsmith.prover import Prover
from tests.runtimes.drafts import BASH_CODE, bash
from tests.runtimes.hostile import BASH
from tests.runtimes.running import SMALL, locked, quiet, ran
from tests.support.limits import ROOMY
from tests.toolsmith.trial import Kept, Reviewer

pytestmark = pytest.mark.podman


def case_of(draft: ToolDraft, lock: Lock) -> Case:
    return Case(build_id=BuildId("b1"), draft=draft, lock=lock)


def checks(bench: Workbench) -> list[Check]:
    hidden = HiddenTestsCheck(bench, Reviewer({"words_often": ()}))
    return [
        ContractCheck(bench), MutationCheck(bench), ConditionsCheck(bench, lambda: datetime.now(UTC)),
        CoverageCheck(bench, hidden),
    ]  # fmt: skip


@pytest.mark.slow
async def test_a_right_tool_passes_every_check(podman: PodmanSandbox):
    bench = Workbench(podman, ROOMY)
    draft = bash()
    case = case_of(draft, await locked(podman, draft))
    results = [await run_check(check, case) for check in checks(bench)]
    assert {one.gate: (one.state, one.summary) for one in results if one.state != "passed"} == {}


async def test_results_refusals_and_faults_are_distinguished(podman: PodmanSandbox):
    draft = bash()
    good = await ran(podman, draft, {"text": "b a b", "most": 1})
    assert (good.status, good.result) == ("ok", [{"word": "b", "count": 2}])
    refused = await ran(podman, draft, {"text": "b", "most": 0})
    assert (refused.status, refused.exception) == ("error", "ValueError") and "at least 1" in refused.error
    for line, exception, said in (
        ("false", "ExitStatus", "exit status 1"),
        ('echo "$nothing_like_it"', "ExitStatus", "unbound variable"),
        ("echo '{} {}'", "TypeError", "no JSON"),
        ("kill -9 $BASHPID", "Signal", "signal 9"),
    ):
        report = await ran(podman, bash(f"# text most\n{line}"), {"text": "", "most": 1})
        assert (report.status, report.exception) == ("error", exception), (line, report.error)
        assert said in report.error


async def test_useless_tests_and_unreached_lines_are_found(podman: PodmanSandbox):
    bench = Workbench(podman, ROOMY)
    idle = "from words_often import run\n\n\ndef test_runs():\n    assert run('a', 1) is not None\n"
    draft = bash(tests=idle)
    case = case_of(draft, await locked(podman, draft))
    mutation, coverage = [
        await run_check(one, case) for one in checks(bench) if one.name in ("mutation", "coverage")
    ]
    assert mutation.state == "failed", mutation.summary
    assert coverage.state == "failed" and "never run" in coverage.summary
    missing = {
        line for line, text in enumerate(draft.code.split("\n"), 1) if "exit 65" in text or "at least" in text
    }
    shown = " ".join(row.label for row in coverage.rows)
    assert f"{min(missing)}-{max(missing)}" in shown


async def test_a_script_cannot_claim_that_its_lines_ran(podman: PodmanSandbox):
    """It may write what it likes to its descriptors: without the sign that is new in each run nothing counts."""
    bench = Workbench(podman, ROOMY)
    idle = "from words_often import run\n\n\ndef test_runs():\n    assert run('a', 1) == 1\n    assert run('b', 1) == 1\n"
    forged = (
        '# text most\nfor n in {0..40}; do printf \'%s %s\\n\' 0123456789abcdef "$n" >&3; echo "$n" >&3; done\n'
        "if [[ $(jq -r .text) == never ]]; then\n  echo payload\nfi\necho 1"
    )
    draft = bash(forged, tests=idle, output_schema={"type": "integer"})
    watched = await bench.watched(case_of(draft, await locked(podman, draft)))
    hidden = next(n for n, line in enumerate(draft.code.split("\n"), 1) if "payload" in line)
    assert watched.missed([]).lines == (hidden,)
    coverage = await run_check(checks(bench)[3], case_of(draft, await locked(podman, draft)))
    assert coverage.state == "skipped" and "looks into what runs it" in coverage.summary


async def test_a_language_that_is_not_allowed_does_not_run(ready, podman: PodmanSandbox):
    from msgspec.structs import replace

    lock = await locked(podman, bash())
    other = PodmanSandbox(replace(ready, languages=("python",)), "forbidden")
    job = Job(run_id="r", module="words_often", code=bash().code, language="bash", arguments={}, lock=lock)
    try:
        with pytest.raises(SandboxUnavailable, match="Tools in Bash are not allowed"):
            await other.run(job, quiet, quiet)
    finally:
        await other.close()


async def test_every_program_that_a_script_may_call_is_in_the_image(podman: PodmanSandbox):
    named = " ".join(sorted(names("utilities")))
    code = (
        '# text most\nmissing=()\nfor name in NAMES; do\n  command -v "$name" >/dev/null || missing+=("$name")\ndone\n'
        "jq -cn '$ARGS.positional' --args -- \"${missing[@]}\""
    )
    report = await ran(podman, bash(code.replace("NAMES", named)), {"text": "", "most": 1})
    assert (report.status, report.result) == ("ok", []), report


async def test_warnings_of_shellcheck_go_back_to_the_model(podman: PodmanSandbox):
    prover = Prover(
        Bus("b", Kept(), lambda: datetime.now(UTC)), podman, before=(), after=(), limits=ROOMY, progress=quiet
    )
    warned = BASH_CODE.replace("most=", 'if [ "$input" = x -a 1 = 1 ]; then true; fi\nmost=', 1)
    hint = BASH_CODE.replace("input=$(cat)", "input=`cat`")
    for code, said in ((warned, ["line 8: SC2050", "line 8: SC2166"]), (hint, [])):
        draft = bash(code)
        build = BuildStarted(build_id=BuildId("b1"), action_id="a1", name=draft.name, task="t", goal="g")
        proof = await prover.prove(build, 1, draft, by="m")
        assert not proof.problem
        assert len(proof.doubt.splitlines()) == len(said)
        assert all(text in proof.doubt for text in said), proof.doubt


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BASH))
async def test_a_hostile_script_stays_inside(podman: PodmanSandbox, name: str):
    report = await ran(podman, bash(f"# text most\nset +e +u\n{BASH[name]}"), {"text": "", "most": 1})
    assert report.result != "escaped", report
    assert report.peak_memory_bytes < 1.5 * SMALL.memory_bytes
    assert len(report.stdout) <= SMALL.output_bytes and len(report.stderr) <= SMALL.output_bytes
    after = await ran(podman, bash(), {"text": "a", "most": 1})
    assert after.status == "ok"
