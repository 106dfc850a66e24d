"""The corpus put through the gates in real containers; how much of it goes the wrong way."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.faults import FaultDatabase
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.web import WebSettings
from alita_tui.store.documents import DocumentTable
from alita_tui.web.client import WebRoom
from tests.support.servers.package_index import asked_by_uv
from tests.toolsmith.corpus import Sample, offers
from tests.toolsmith.trial import Reviewer, Trial, Verdict

_AT_ONCE = 2


async def judge_all(
    samples: Sequence[Sample],
    settings: EngineSettings,
    told: Callable[[Sample, Verdict], None] = lambda *_: None,
) -> list[tuple[Sample, Verdict]]:
    """Every sample with what became of it."""
    limit = asyncio.Semaphore(_AT_ONCE)
    async with _trials(settings) as begin:

        async def one_of(sample: Sample) -> tuple[Sample, Verdict]:
            async with limit:
                reviewer = Reviewer({sample.draft.name: sample.known}, slips=sample.slips)
                verdict = await begin(reviewer).judge(sample.draft, sample.task)
                told(sample, verdict)
                return sample, verdict

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one_of(sample)) for sample in samples]
        return [task.result() for task in tasks]


@asynccontextmanager
async def _trials(settings: EngineSettings) -> AsyncIterator[Callable[[Reviewer], Trial]]:
    with (
        tempfile.TemporaryDirectory(prefix="alita-corpus-") as folder,
        asked_by_uv(Path(folder), *offers()) as index,
    ):
        table = DocumentTable(Path(folder) / "registry.json", "tools")
        shelf = ToolLibrary(table, Path(folder) / "box")
        web = WebRoom(WebSettings(pypi_url=index.url, timeout=60.0), environ={})
        sandbox = PodmanSandbox(settings, "corpus")
        try:
            yield lambda reviewer: Trial(sandbox, TaskLibrary(shelf), reviewer, web, FaultDatabase(index.url))
        finally:
            await sandbox.close()
            await web.close()
            table.close()


def shares(judged: Iterable[tuple[Sample, Verdict]]) -> tuple[float, float]:
    """Percent of the bad that would be trusted, and of the good that would not."""
    listed = list(judged)
    bad = [verdict.trusted for sample, verdict in listed if not sample.good]
    good = [not verdict.trusted for sample, verdict in listed if sample.good]
    return 100 * sum(bad) / len(bad), 100 * sum(good) / len(good)
