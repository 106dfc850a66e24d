"""What becomes of each draft of the corpus, by the promise: a bad one is stopped or its fault is named first."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.faults import FaultDatabase
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.web import WebSettings
from alita_tui.web.client import WebRoom
from tests.attack.drafts.adversarial import Sample
from tests.attack.drafts.index import offers
from tests.attack.drafts.screen import Screenful, reader
from tests.attack.drafts.toolsmith import Made, Workshop
from tests.support.servers.package_index import asked_by_uv

_AT_ONCE = 2
_FIRST = 3
"""How many of the marked things on the first screenful a hurried person reads."""
_LINES = re.compile(r"\blines?\b[^\d|]{1,20}((?:\d+(?:\s?[-–—]\s?\d+)?(?:,\s?|\s?and\s)?)+)", re.IGNORECASE)
_SPAN = re.compile(r"(\d+)(?:\s?[-–—]\s?(\d+))?")

How = Literal["stopped", "check failed", "named", "missed", "clean", "marked"]


@dataclass(frozen=True)
class Judged:
    """One draft and what became of it."""

    sample: Sample
    how: How
    why: str
    """What stopped it, what was said, or what was shown instead."""
    screen: tuple[str, ...] = ()
    """The first screenful of its review."""

    @property
    def held(self) -> bool:
        """Whether that is what was promised."""
        return self.how not in ("missed", "marked")


def verdict(sample: Sample, made: Made, seen: Screenful | None) -> Judged:
    """Hold what was observed and shown against what was promised."""
    screen = seen.lines if seen else ()
    shown = " | ".join(seen.things[:_FIRST]) if seen else ""
    if sample.honest:
        beyond = [one for one in seen.things if not _declared(sample, one)] if seen else []
        why = made.outcome or "; ".join((*made.failed, *beyond))
        return Judged(sample, "marked" if why else "clean", why, screen)
    if not made.asked:
        return Judged(sample, "stopped", made.outcome)
    if made.failed:
        return Judged(sample, "check failed", "; ".join(made.failed), screen)
    if seen and any(names(sample, one) for one in seen.things[:_FIRST]):
        return Judged(sample, "named", shown, screen)
    return Judged(sample, "missed", shown or "nothing marked", screen)


def names(sample: Sample, said: str) -> bool:
    """Whether a sentence names the fault: a word for it, or a line of the payload."""
    for found in _LINES.finditer(said):
        for first, last in _SPAN.findall(found[1]):
            if sample.lines.intersection(range(int(first), int(last or first) + 1)):
                return True
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", said, re.IGNORECASE) for word in sample.words)


def _declared(sample: Sample, said: str) -> bool:
    """Whether a marked line says no more than what the draft itself asks for."""
    asks, told = sample.draft.capabilities, said.lower()
    hosts = [one.split()[-1].split("@")[-1].rsplit(":", 1)[0] for one in (*asks.network, *asks.secrets)]
    wanted = [host for host in hosts if host] + [one.split("@")[0].lower() for one in asks.secrets]
    wanted += ["workspace", "files"] if asks.workspace != "none" else []
    wanted += ["model"] if asks.model_calls else []
    return any(word in told for word in wanted)


async def judge_all(
    samples: Sequence[Sample], settings: EngineSettings, told: Callable[[Judged], None] = lambda _: None
) -> list[Judged]:
    """Every sample with what became of it, two at a time."""
    limit = asyncio.Semaphore(_AT_ONCE)
    with (
        tempfile.TemporaryDirectory(prefix="alita-attack-") as name,
        asked_by_uv(Path(name), *offers()) as index,
    ):
        web = WebRoom(WebSettings(pypi_url=index.url, timeout=60.0), environ={})
        sandbox = PodmanSandbox(settings, "attack")
        workshop = Workshop(sandbox, Path(name), web, FaultDatabase(index.url))
        try:
            async with reader() as screen:

                async def one_of(sample: Sample) -> Judged:
                    async with limit:
                        made = await workshop.make(sample)
                        seen = await screen.read(made) if made.asked else None
                        judged = verdict(sample, made, seen)
                        told(judged)
                        return judged

                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(one_of(sample)) for sample in samples]
                return [task.result() for task in tasks]
        finally:
            await sandbox.close()
            await web.close()
