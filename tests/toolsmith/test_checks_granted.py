"""Tools that use what they are granted are not told that they use what they did not declare."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui.config.paths import shipped
from alita_tui.events import BuildId, Capabilities
from alita_tui.registry.starters import Starters
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.checks.capabilities import CapabilitiesCheck
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.support.limits import ROOMY

pytestmark = pytest.mark.podman


@pytest.fixture
def bench(podman: PodmanSandbox) -> Workbench:
    return Workbench(podman, ROOMY)


STARTERS = Starters(shipped("starters"))


def case(name: str) -> Case:
    chosen = (["GET api.example:443"], ["KEY"]) if name == "api_query" else ([], [])
    return Case(build_id=BuildId("b1"), draft=STARTERS.draft(name, *chosen))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in STARTERS.names()
        if not STARTERS.takes_hosts(name) and not STARTERS.draft(name).requirements and name != "shell"
    ],
)
async def test_starters_declare_everything_they_use(bench: Workbench, name: str) -> None:
    found = await CapabilitiesCheck(bench).check(case(name))
    assert found.state == "passed", found


async def test_starting_processes_is_reported_for_the_shell_starter(bench: Workbench) -> None:
    found = await CapabilitiesCheck(bench).check(case("shell"))
    assert found.state == "failed" and found.summary.endswith(": processes"), found


async def test_a_grant_limited_to_methods_covers_its_host(bench: Workbench) -> None:
    wants = Capabilities(network=("GET,HEAD 203.0.113.7:443",))
    code = "import urllib.request\ndef run(x: int) -> int:\n    urllib.request.Request('https://203.0.113.7/')\n    return x\n"
    one = case("calculator")
    draft = msgspec.structs.replace(
        one.draft,
        code=code,
        tests="from calculator import run\ndef test_it():\n    assert run(1) == 1\n",
        capabilities=wants,
    )
    found = await CapabilitiesCheck(bench).check(msgspec.structs.replace(one, draft=draft))
    assert found.state == "passed", found


@pytest.mark.parametrize("name", ["file_read", "text_summarizer"])
async def test_starters_without_their_grants_use_undeclared_access(bench: Workbench, name: str) -> None:
    one = case(name)
    bare = msgspec.structs.replace(one, draft=msgspec.structs.replace(one.draft, capabilities=Capabilities()))
    found = await CapabilitiesCheck(bench).check(bare)
    assert found.state == "failed" and "network" in found.summary and "environment" in found.summary
