"""No draft that does nothing of what it promises comes through its own, honest tests: in real containers."""

from __future__ import annotations

import pytest

from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.engine import PodmanSandbox
from tests.toolsmith.forgers import FORGERS, READERS, TASK, forger
from tests.toolsmith.trial import Reviewer, Trial

pytestmark = pytest.mark.podman


@pytest.mark.parametrize("way", [*FORGERS, *READERS])
async def test_a_tool_that_does_nothing_fails_its_own_tests(
    podman: PodmanSandbox, shelf: ToolLibrary, way: str
) -> None:
    draft = forger({**FORGERS, **READERS}[way])
    verdict = await Trial(podman, TaskLibrary(shelf), Reviewer({})).judge(draft, TASK)
    assert "self-tests" in verdict.problem, verdict
