"""Hostile programs with grants: each gets what it is granted and no more, and the host stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache

import msgspec
import pytest

from alita_tui.sandbox.broker.grants import Caps
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from alita_tui.spine.errors import SandboxUnavailable
from tests.sandbox.aftermath import nothing
from tests.sandbox.hostile_broker import ABUSES, Abuse
from tests.sandbox.siege import Aftermath, siege

pytestmark = pytest.mark.podman
TOLD = ("flood of refused requests", "secret read where it is not", "door held open by a daemon")
ON = {
    "draft": ABUSES,
    "gvisor": tuple(
        case for n, case in enumerate(ABUSES) if n % 3 == 0 or "rebind" in case.code or case.name in TOLD
    ),
}
"""The host's side is the same for both profiles: on gVisor, where a container costs more, a sample has to do."""


@pytest.fixture(scope="module")
def besieged(
    settings: EngineSettings, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Aftermath | str]:
    """What became of all programs under a profile, or why it cannot be had; each profile is run once.

    A parametrised fixture of the module would not do: pytest makes it anew for every row of a table it is in.
    """

    @cache
    def once(profile: str) -> Aftermath | str:
        own = msgspec.structs.replace(settings, profile=profile)
        try:
            asyncio.run(repair(own, nothing))
        except SandboxUnavailable as error:
            return f"{profile} cannot be had here: {error}"
        return siege(own, tmp_path_factory.mktemp("host"), ON[profile])

    return once


@pytest.fixture(params=ON)
def aftermath(request: pytest.FixtureRequest, besieged: Callable[[str], Aftermath | str]) -> Aftermath:
    found = besieged(request.param)
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.mark.parametrize(
    ("aftermath", "case"),
    [(profile, case) for profile, cases in ON.items() for case in cases],
    ids=lambda one: one.name if isinstance(one, Abuse) else one,
    indirect=["aftermath"],
)
def test_a_grant_gives_no_access_beyond_it(aftermath: Aftermath, case: Abuse) -> None:
    report = aftermath.reports[case.name]
    assert report.stdout.startswith("ATTACK"), f"the attack did not begin: {report}"
    assert (report.status, report.result) == ("ok", case.result), report


def test_an_attack_through_the_broker_leaves_nothing_and_touches_nothing_outside(
    aftermath: Aftermath,
) -> None:
    assert aftermath.containers == [] and aftermath.processes == []
    assert aftermath.outside == {"outside.txt": "outside", "file.txt": "outside"}
    assert not [one for one in aftermath.site.seen if "smuggled" in one["path"]]
    assert {one["headers"]["host"] for one in aftermath.site.seen} == {f"api.example:{aftermath.site.port}"}


def test_a_name_is_resolved_once_per_run(aftermath: Aftermath) -> None:
    assert aftermath.asked["rebind.example"] == 1


def test_every_request_is_recorded_up_to_a_flood(aftermath: Aftermath) -> None:
    by_run: dict[str, int] = {}
    for one in aftermath.told:
        by_run[one.call_id] = by_run.get(one.call_id, 0) + 1
        assert "hunter2" not in msgspec.json.encode(one).decode()
    assert set(by_run) >= aftermath.reports.keys() - {
        "secret read where it is not",
        "door held open by a daemon",
    }
    assert by_run["flood of refused requests"] <= Caps().recorded_refusals + 1, (
        "the last one says how many more"
    )
