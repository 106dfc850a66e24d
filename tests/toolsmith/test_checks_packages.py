"""What locked packages do when they are imported is not the draft's; what it has them do is. With wheels from PyPI."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui.events import BuildId, Lock, ToolDraft
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.checks.capabilities import CapabilitiesCheck
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.support.limits import ROOMY
from tests.toolsmith.packaged import drafts
from tests.toolsmith.trial import Reviewer, Trial, said_against

pytestmark = pytest.mark.podman
DRAFTS = {str(draft.name): draft for draft in drafts()}
ASKED = ("contract", "capabilities", "fuzz", "mutation", "conditions", "growth")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", DRAFTS)
async def test_actions_of_a_package_do_not_count_against_a_draft(
    podman: PodmanSandbox, shelf: ToolLibrary, name: str
) -> None:
    trial = Trial(podman, TaskLibrary(shelf), Reviewer({}), limits=ROOMY)
    verdict = await trial.judge(DRAFTS[name], "")
    assert verdict.problem == ""
    found = {str(result.gate): result for result in verdict.gates}
    assert not [result for result in verdict.gates if result.state == "failed"]
    assert found["capabilities"].state == found["contract"].state == "passed"
    assert said_against(found[gate] for gate in ASKED) == []


def with_numpy(code: str) -> ToolDraft:
    return msgspec.structs.replace(
        DRAFTS["percentile_of"],
        code=f"import numpy as np\n{code}",
        tests="from percentile_of import run\n\n\ndef test_it():\n    run([1.0], 1)\n",
    )


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("def run(numbers: list[float], percent: float) -> float:\n    return float(len(np.fromfile('/etc/hostname', dtype='u1')))\n", "/etc/hostname"),
        ("import os\nos.environ['MINE'] = '1'\ndef run(numbers: list[float], percent: float) -> float:\n    return 1.0\n", "MINE"),
    ],
)  # fmt: skip
async def test_actions_that_a_draft_makes_a_package_do_count_as_its_own(
    podman: PodmanSandbox, code: str, seen: str
) -> None:
    draft = with_numpy(code)
    lock: Lock = await podman.lock(draft.requirements, lambda *_: None)
    case = Case(build_id=BuildId("b1"), draft=draft, lock=lock)
    found = await CapabilitiesCheck(Workbench(podman, ROOMY)).check(case)
    assert found.state == "failed" and any(seen in row.text for row in found.rows), found
