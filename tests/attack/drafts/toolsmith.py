"""A draft through the real toolsmith, from the model's call to where a person is asked, as the product does it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from alita_tui import events as e
from alita_tui.events import Lock, ToolDraft, ToolRequest, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ApprovalPending
from alita_tui.spine.ports.builds import BuildOrder, PastCall
from alita_tui.spine.ports.models import ModelRequest, Reply
from alita_tui.spine.ports.sandbox import Sandbox
from alita_tui.spine.ports.web import FaultBook, PackageIndex
from alita_tui.store.documents import DocumentTable
from alita_tui.toolsmith.approval_gate import ApprovalGate
from alita_tui.toolsmith.checks.registry import all_checks
from alita_tui.toolsmith.prover import Prover
from alita_tui.toolsmith.smith import Smith
from alita_tui.toolsmith.tool_specs import tool_spec
from tests.attack.drafts.adversarial import Sample
from tests.toolsmith.trial import LIMITS, NOW, Kept, Reviewer


@dataclass(frozen=True)
class Made:
    """What the toolsmith told of one draft."""

    history: tuple[Envelope, ...]
    outcome: str
    """How the build ended; empty where it waits for a person."""

    @property
    def asked(self) -> bool:
        """Whether a person would be asked to approve it."""
        return any(isinstance(one.event, e.ApprovalRequested) for one in self.history)

    @property
    def failed(self) -> tuple[str, ...]:
        """What failed of the checks, in their own words."""
        results = (one.event.result for one in self.history if isinstance(one.event, e.GateChecked))
        return tuple(f"{one.gate}: {one.summary}" for one in results if one.state == "failed")


class _Models:
    """Meets `Asker`: hands in one draft, always the same, and reviews it knowing the contract."""

    unfinished = ""

    def __init__(self, sample: Sample, slips: bool) -> None:
        self._draft = sample.draft
        self._reviewer = Reviewer({sample.draft.name: sample.known}, slips=slips)

    async def enable(self, model: str) -> None:
        return

    async def ask(self, request: ModelRequest) -> Reply:
        if request.role != "toolsmith":
            return await self._reviewer.ask(request)
        call = ToolRequest(call_id="c1", name=tool_spec("submit_tool").name, arguments=_form(self._draft))
        return Reply(model="demo:toolsmith", requests=(call,))


class _NoDesk:
    """Meets `ApprovalDesk`: nobody leaves a verdict."""

    def verdict(self, approval_id: str) -> None:
        return None

    def claim(self, command: Any) -> Any:
        raise AssertionError("nothing is decided here")

    def taken(self, approval_id: str) -> None:
        raise AssertionError("nothing is decided here")


def _form(draft: ToolDraft) -> dict[str, Any]:
    """The arguments of the model's call."""
    given: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(draft))
    required = ("requirements", "input_schema", "output_schema")
    given |= {name: msgspec.to_builtins(getattr(draft, name)) for name in required}
    given["requirements"] = list(draft.requirements)
    return {
        name: value
        for name, value in given.items()
        if name in tool_spec("submit_tool").parameters["properties"]
    }


def _recorded(sample: Sample) -> tuple[PastCall, ...]:
    """What was asked of the version before, where there is one, and what it gave."""
    known = sample.known if sample.parent else ()
    return tuple(PastCall(arguments=given, result=result) for given, result, refused in known if not refused)


class Workshop:
    """Makes one build after another, each with a library of its own."""

    def __init__(self, sandbox: Sandbox, folder: Path, index: PackageIndex, book: FaultBook) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._index = index
        self._book = book
        self._numbers = itertools.count()

    async def make(self, sample: Sample) -> Made:
        """Order the tool, hand in the draft, and stop where a person would be asked."""
        number = next(self._numbers)
        async with self._library(number, sample.parent) as library:
            shelf = TaskLibrary(library)
            models = _Models(sample, slips=number % 2 == 0)
            bus = Bus("attack", Kept(), lambda: NOW)
            gates = all_checks(
                self._sandbox,
                LIMITS,
                asker=models,
                index=self._index,
                book=self._book,
                shelf=shelf,
                calls=lambda _: _recorded(sample),
                now=lambda: NOW,
            )
            prover = Prover(
                bus,
                self._sandbox,
                before=gates.before,
                after=gates.after,
                limits=LIMITS,
                progress=lambda *_: None,
            )
            gate = ApprovalGate(bus, _NoDesk(), me="nobody", parks=True, settled=lambda *_: None)
            ids = (f"{number}-{n}" for n in itertools.count())
            smith = Smith(
                bus, models, prover, shelf, gate, max_repairs=0, model_name="demo:toolsmith", new_id=lambda: next(ids)
            )  # fmt: skip
            order = BuildOrder(
                action_id="a1", name=sample.draft.name, goal=sample.draft.description, task=sample.task
            )
            try:
                outcome = (await smith.build(order)).reason or "ended"
            except ApprovalPending:
                outcome = ""
            return Made(tuple(bus.history), outcome)

    @asynccontextmanager
    async def _library(self, number: int, parent: ToolDraft | None) -> AsyncIterator[ToolLibrary]:
        table = DocumentTable(self._folder / f"{number}" / "registry.json", "tools")
        shelf = ToolLibrary(table, self._folder / f"{number}" / "box")
        try:
            if parent is not None:
                digest = build_digest(parent, Lock())
                shelf.register(parent, Lock(), approval_id="p1", digest=digest, sources=())
            yield shelf
        finally:
            table.close()


Told = Callable[[Sample, Made], None]
