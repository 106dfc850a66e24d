"""A draft put to the proof as the product does it, with a reviewer that knows the contract but errs now and then."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from alita_tui import events as e
from alita_tui.events import GateResult, Json, LockedPackage, ToolDraft, ToolRequest
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import ModelRequest, Reply
from alita_tui.spine.ports.sandbox import Limits, Sandbox
from alita_tui.spine.ports.web import FaultBook, Faults, PackageFacts, PackageIndex
from alita_tui.toolsmith.checks.registry import all_checks
from alita_tui.toolsmith.prover import Prover

NOW = datetime(2026, 11, 21, tzinfo=UTC)
LIMITS = Limits(wall_seconds=10, cpu_seconds=3, memory_bytes=256 << 20)
Known = tuple[tuple[dict[str, Json], Json, bool], ...]
"""Arguments, what they give, and whether they are refused; `@files` among the arguments are the case's files."""


class Kept:
    """Meets `Recorder` with nothing but memory."""

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        return


class Reviewer:
    """Meets `Asker`: writes cases and answers, each sample with a slip of its own where it is told to slip."""

    def __init__(self, known: Mapping[str, Known], *, slips: bool = False) -> None:
        self.known = known
        self.slips = slips
        self.requests: list[ModelRequest] = []

    @property
    def unfinished(self) -> str:
        return ""

    async def enable(self, model: str) -> None:
        return

    async def ask(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        text, (spec,) = request.messages[0].text, request.tools
        found = re.search(r"CONTRACT of the tool (\w+)", text)
        known = self.known.get(found[1], ()) if found else ()
        sample = int(again[1]) if (again := re.search(r"Sample (\d)", text)) else 1
        entries = [
            self._entry(spec.name, one, self.slips and n == sample % len(known))
            for n, one in enumerate(known)
        ]
        arguments = {"cases" if spec.name == "submit_cases" else "answers": entries}
        call = ToolRequest(call_id="c1", name=spec.name, arguments=arguments)
        return Reply(model="demo:reviewer", requests=(call,))

    def _entry(self, spec: str, one: tuple[Any, Json, bool], slip: bool) -> dict[str, Json]:
        arguments, expect, raises = one
        said: dict[str, Json] = (
            {"raises": True} if raises and not slip else {"expect": "a slip" if slip else expect}
        )
        if spec != "submit_cases":
            return said
        given = {name: value for name, value in arguments.items() if name != "@files"}
        files = {"files": arguments["@files"]} if "@files" in arguments else {}
        return {"arguments": given, **files, **said}


class NoIndex:
    """Meets `PackageIndex` and `FaultBook` and knows nothing."""

    async def package(self, name: str, version: str) -> PackageFacts | None:
        return None

    async def faults(self, packages: Sequence[LockedPackage]) -> Faults:
        return Faults(problem="nobody is there")


@dataclass(frozen=True)
class Verdict:
    """What became of a draft. Trusted means: nothing was held against it, and every gate could look."""

    problem: str
    gates: tuple[GateResult, ...]

    @property
    def trusted(self) -> bool:
        return not self.problem and all(one.state == "passed" for one in self.gates)

    @property
    def reason(self) -> str:
        """What spoke against it first."""
        against = [f"{one.gate} {one.state}: {one.summary}" for one in self.gates if one.state != "passed"]
        return self.problem or "; ".join(against)


class Trial:
    """Everything that a draft goes through before a person is asked."""

    def __init__(
        self,
        sandbox: Sandbox,
        shelf: ToolShelf,
        reviewer: Reviewer,
        index: PackageIndex | None = None,
        book: FaultBook | None = None,
        *,
        limits: Limits = LIMITS,
    ) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._gates = all_checks(
            sandbox,
            limits,
            asker=reviewer,
            index=index or NoIndex(),
            book=book or NoIndex(),
            shelf=shelf,
            calls=lambda _: (),
            now=lambda: NOW,
        )

    async def judge(self, draft: ToolDraft, task: str, *, parent: ToolDraft | None = None) -> Verdict:
        bus = Bus("trial", Kept(), lambda: NOW)
        prover = Prover(
            bus,
            self._sandbox,
            before=self._gates.before,
            after=self._gates.after,
            limits=self._limits,
            progress=lambda *_: None,
        )
        build = e.BuildStarted(
            build_id=e.BuildId("b1"), action_id="a1", name=draft.name, task=task, goal=task, parent=parent
        )
        proof = await prover.prove(build, 1, draft, by="demo:toolsmith")
        found = [one.event.result for one in bus.history if isinstance(one.event, e.GateChecked)]
        return Verdict(proof.problem, tuple(found))


_SHORT = re.compile(r"there was (?:no )?time|takes too long")
_BUSY = 4.0
"""Processes that wait for each core, from which on a check that ran out of time is no news."""


def said_against(results: Iterable[GateResult]) -> list[str]:
    """Return what checks say against a draft; on a very busy machine one that ran out of time says nothing of it."""
    busy = os.getloadavg()[0] > _BUSY * (os.cpu_count() or 1)
    return [
        f"{one.gate}: {one.summary} {one.rows}"
        for one in results
        if one.state != "passed" and not (busy and one.state == "skipped" and _SHORT.search(one.summary))
    ]
