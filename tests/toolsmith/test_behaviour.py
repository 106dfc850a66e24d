"""Drafts that behave otherwise elsewhere or for other input, through the whole of the real toolsmith."""

from __future__ import annotations

import pytest

from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.engine import PodmanSandbox
from tests.toolsmith.behaving import Behaving, honest, odd
from tests.toolsmith.trial import Reviewer, Trial, Verdict

pytestmark = pytest.mark.podman
HELD = {one.name: one for one in odd()}
PLAIN = {one.name: one for one in honest()}


async def judged(podman: PodmanSandbox, shelf: ToolLibrary, one: Behaving) -> Verdict:
    reviewer = Reviewer({one.name: one.known})
    return await Trial(podman, TaskLibrary(shelf), reviewer).judge(one.draft, one.purpose)


def told(verdict: Verdict) -> list[str]:
    """What each gate that failed says, as far as a reader sees it at once."""
    return [
        "\n".join([gate.summary, *(f"{row.label} {row.text}" for row in gate.rows[:3])])
        for gate in verdict.gates
        if gate.state == "failed"
    ]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", HELD)
async def test_behaviour_that_no_own_test_shows_is_reported(
    podman: PodmanSandbox, shelf: ToolLibrary, name: str
) -> None:
    verdict = await judged(podman, shelf, HELD[name])
    assert not verdict.problem
    assert not verdict.trusted, "nothing was noticed"
    said = told(verdict)
    assert any(all(word.lower() in one.lower() for word in HELD[name].said) for one in said), said


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PLAIN)
async def test_an_honest_draft_passes(podman: PodmanSandbox, shelf: ToolLibrary, name: str) -> None:
    verdict = await judged(podman, shelf, PLAIN[name])
    assert verdict.trusted, verdict.reason
