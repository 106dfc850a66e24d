"""A corpus of drafts in Bash and JavaScript: no bad one comes out clean, and no honest one is marked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from alita_tui.events import BuildId, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.conditions import ConditionsCheck
from alita_tui.toolsmith.checks.contract import ContractCheck
from alita_tui.toolsmith.checks.coverage import CoverageCheck
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.literals import LiteralsCheck
from alita_tui.toolsmith.checks.mutation import MutationCheck
from alita_tui.toolsmith.checks.runner import run_check
from alita_tui.toolsmith.checks.workbench import Workbench
from alita_tui.toolsmith.review import review
from tests.runtimes.corpus import BAD, HONEST, WRONG, Sample
from tests.runtimes.running import quiet
from tests.support.limits import ROOMY
from tests.toolsmith.trial import Reviewer


def marked(draft: ToolDraft) -> list[str]:
    made = review(draft)
    return [
        f"{one.rule}: {one.text}"
        for one in made.findings
        if one.blocking or one.severity in ("high", "medium")
    ]


def named(sample: Sample | ToolDraft) -> str:
    one = sample.draft if isinstance(sample, Sample) else sample
    return f"{one.language}-{sample.kind if isinstance(sample, Sample) else one.name}"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("draft", HONEST, ids=named)
def test_an_honest_draft_has_no_finding(draft: ToolDraft):
    assert marked(draft) == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sample", BAD, ids=named)
def test_a_bad_draft_has_a_finding(sample: Sample):
    assert marked(sample.draft)


async def failed(podman: PodmanSandbox, draft: ToolDraft) -> dict[str, str]:
    """What does not pass when a draft is tried, and why."""
    bench = Workbench(podman, ROOMY)
    case = Case(
        build_id=BuildId("b1"), draft=draft, lock=await podman.lock(runtime_of(draft.language).needs, quiet)
    )
    hidden = HiddenTestsCheck(bench, Reviewer({draft.name: ()}))
    checks = (
        ContractCheck(bench), MutationCheck(bench), ConditionsCheck(bench, lambda: datetime.now(UTC)),
        CoverageCheck(bench, hidden), LiteralsCheck(),
    )  # fmt: skip
    results = [await run_check(one, case) for one in checks]
    return {one.gate: one.summary for one in results if one.state != "passed"}


@pytest.mark.walk
@pytest.mark.podman
@pytest.mark.parametrize("draft", HONEST, ids=named)
async def test_an_honest_draft_passes_when_it_runs(podman: PodmanSandbox, draft: ToolDraft):
    assert await failed(podman, draft) == {}


@pytest.mark.walk
@pytest.mark.podman
@pytest.mark.parametrize("sample", WRONG, ids=named)
async def test_a_wrong_draft_does_not_pass_when_it_runs(podman: PodmanSandbox, sample: Sample):
    assert marked(sample.draft) or await failed(podman, sample.draft)
