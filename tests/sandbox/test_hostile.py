"""Hostile programs: each is contained, says why it ended, and leaves nothing; the host stays as it was."""

from __future__ import annotations

import pytest

from alita_tui.sandbox.settings import EngineSettings
from tests.sandbox.aftermath import (
    Aftermath,
    besieged,
    judge,
    unharmed,
)
from tests.sandbox.hostile import ATTACKS, LIMITS, Attack

pytestmark = pytest.mark.podman


@pytest.fixture(scope="module")
def aftermath(settings: EngineSettings, tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    return besieged(settings, tmp_path_factory.mktemp("host"), ATTACKS)


@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case.name)
def test_an_attack_is_contained_and_says_why(aftermath: Aftermath, case: Attack) -> None:
    judge(aftermath, case)


@pytest.mark.parametrize(
    "name",
    [
        "memory of many processes",
        "memory out of sight",
        "shared memory of many processes",
        "shared memory mappings",
        "memory bomb",
    ],
)
def test_memory_is_stopped_not_far_over_its_limit(aftermath: Aftermath, name: str) -> None:
    assert aftermath.reports[name].peak_memory_bytes < 3 * LIMITS.memory_bytes


def test_an_attack_leaves_nothing_and_the_host_unchanged(aftermath: Aftermath) -> None:
    unharmed(aftermath)
