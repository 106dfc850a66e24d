"""Names that nobody should install: each is stopped before any of its files is fetched."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from alita_tui.events import Lock, RunReport, SandboxStatus, ToolDraft, ToolName
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.environment import Target, lock
from alita_tui.sandbox.faults import FaultDatabase
from alita_tui.spine.ports.sandbox import Job, OnOutput
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.ports.web import WebSettings
from alita_tui.store.documents import DocumentTable
from alita_tui.toolsmith.checks.requirements import popular
from alita_tui.web.client import WebRoom
from tests.support.servers.package_index import Offer, PackageIndex
from tests.toolsmith.trial import Reviewer, Trial

WHERE = Target(
    python=f"{sys.version_info.major}.{sys.version_info.minor}",
    platform=f"{platform.machine()}-manylinux_2_28",
)
LAST_WEEK = "2026-11-14T00:00:00Z"
LAST_YEAR = "2025-12-01T00:00:00Z"
STEMS = ("pdf", "csv", "geo", "mail", "chart", "invoice", "tensor", "crypto", "weather", "ledger")
ENDS = ("magic-tools", "easy-kit", "auto-helper", "fastlib", "gpt-utils", "pro-suite", "toolbelt")


def invented() -> list[str]:
    return [f"{stem}-{end}" for stem in STEMS for end in ENDS]


def misspelt() -> list[str]:
    """Much used names with a slip: a letter lost, two swapped, one doubled, one that looks alike."""
    found: list[str] = []
    for n, name in enumerate(one for one in popular() if 6 <= len(one) <= 14 and one.isalpha()):
        at = 2 + n % (len(name) - 3)
        slips = (
            name[:at] + name[at + 1 :],
            name[:at] + name[at + 1] + name[at] + name[at + 2 :],
            name[:at] + name[at] * 2 + name[at + 1 :],
            name.replace("o", "0").replace("e", "3"),
        )
        slip = slips[n % 4]
        if slip not in popular() and slip not in found:
            found.append(slip)
        if len(found) == 70:
            break
    return found


def brand_new() -> list[str]:
    return [f"{stem}-{end}" for stem in ("quartz", "willow", "ember", "harbour", "lantern", "meadow") for end in
            ("engine", "parser", "bridge", "mapper", "stream", "cursor", "vector", "folder", "planner", "router")]  # fmt: skip


class Resolving:
    """Meets `Sandbox`: resolves for real, and notes what would be installed and run."""

    def __init__(self) -> None:
        self.ran: list[Job] = []

    async def status(self) -> SandboxStatus:
        return SandboxStatus(available=True)

    async def prepare(self, progress: Progress) -> None:
        return

    async def lock(self, requirements: Sequence[str], progress: Progress, *, browser: bool = False) -> Lock:
        return await lock(requirements, WHERE, progress)

    async def run(self, job: Job, on_output: OnOutput, progress: Progress) -> RunReport:
        self.ran.append(job)
        return RunReport(status="error", error="not here")

    async def close(self) -> None:
        return


def needing(name: str) -> ToolDraft:
    module = name.replace("-", "_")
    return ToolDraft(
        name=ToolName("uses_it"),
        description="It uses a package.",
        code=f'"""Uses it."""\n\nimport {module}\n\n\ndef run() -> str:\n    """Its version."""\n    return {module}.VERSION\n',
        tests='from uses_it import run\n\n\ndef test_a():\n    assert run()\n\n\ndef test_b():\n    assert run() == "1.0"\n',
        requirements=(name,),
        input_schema={"type": "object", "properties": {}},
        output_schema={"type": "string"},
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    offered = [Offer(name, began=LAST_YEAR) for name in misspelt()[::2]]
    offered += [Offer(name, began=LAST_WEEK) for name in brand_new()]
    offered += [
        Offer("quiet-old-thing"),
        Offer("withdrawn-thing", yanked=True),
        Offer("holey-thing", faults=("PYSEC-1",)),
    ]
    made = PackageIndex(*offered)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{made.url}/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_SYSTEM_CERTS", "false")
    yield made
    made.close()


@pytest.fixture
async def web(index: PackageIndex) -> AsyncIterator[WebRoom]:
    room = WebRoom(WebSettings(pypi_url=index.url, timeout=60.0), environ={})
    yield room
    await room.close()


@pytest.fixture
def sandbox() -> Resolving:
    return Resolving()


@pytest.fixture
def trial(web: WebRoom, index: PackageIndex, sandbox: Resolving, tmp_path: Path) -> Iterator[Trial]:
    table = DocumentTable(tmp_path / "registry.json", "tools")
    yield Trial(
        sandbox,
        TaskLibrary(ToolLibrary(table, tmp_path / "box")),
        Reviewer({}),
        web,
        FaultDatabase(index.url),
    )
    table.close()


async def test_names_of_harmful_packages_never_reach_an_installer(
    trial: Trial, sandbox: Resolving, index: PackageIndex
) -> None:
    names = invented() + misspelt() + brand_new()
    assert len(set(names)) == 200
    names = names[::4]
    limit = asyncio.Semaphore(4)

    async def why(name: str) -> str:
        async with limit:
            return (await trial.judge(needing(name), "Use a package.")).problem

    told = dict(zip(names, await asyncio.gather(*map(why, names)), strict=True))
    strays = {name: said for name, said in told.items() if name not in said}
    assert strays == {}  # each is stopped, and the reason names it
    for name in set(names) & {*invented(), *misspelt()[1::2]}:
        assert "not found" in told[name], told[name]
    for name in set(names) & set(misspelt()[::2]):
        assert "looks like" in told[name], told[name]
    for name in set(names) & set(brand_new()):
        assert "first appeared 7 days ago" in told[name], told[name]
    assert index.fetched == []
    assert sandbox.ran == []
    assert not [path for path in index.asked if path.startswith("/v1/")]  # told of none of these names


@pytest.mark.parametrize(("name", "said"), [("withdrawn-thing", "withdrawn"), ("holey-thing", "PYSEC-1")])
async def test_withdrawn_and_faulty_versions_are_stopped(
    trial: Trial, sandbox: Resolving, index: PackageIndex, name: str, said: str
) -> None:
    verdict = await trial.judge(needing(name), "Use a package.")
    assert said in verdict.problem
    assert index.fetched == [] and sandbox.ran == []


async def test_an_ordinary_requirement_passes_on_to_the_tests(
    trial: Trial, sandbox: Resolving, index: PackageIndex
) -> None:
    verdict = await trial.judge(needing("quiet-old-thing"), "Use a package.")
    assert [one.state for one in verdict.gates] == ["passed"]
    assert index.asked[-1] == "/v1/querybatch"
    assert [job.kind for job in sandbox.ran] == ["test"]
    assert sandbox.ran[0].lock.packages[0].hashes


async def test_an_unreachable_database_is_no_pass(
    web: WebRoom, sandbox: Resolving, index: PackageIndex, tmp_path: Path
) -> None:
    table = DocumentTable(tmp_path / "registry.json", "tools")
    nobody = FaultDatabase("http://127.0.0.1:9")
    trial = Trial(sandbox, TaskLibrary(ToolLibrary(table, tmp_path / "box")), Reviewer({}), web, nobody)
    verdict = await trial.judge(needing("quiet-old-thing"), "Use a package.")
    table.close()
    (found,) = verdict.gates
    assert found.state == "skipped" and not verdict.trusted
    assert found.summary.startswith("the known faults could not be looked up: ")
    assert "not looked up" in found.rows[0].text
