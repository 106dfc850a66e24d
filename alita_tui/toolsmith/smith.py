"""The build, from a gap to an approved tool: draft → review → lock → test → repair → gate → shelf.

Read `Smith._make` top to bottom: that is the whole way a tool takes. Nothing is registered
without a verdict on its digest, and nothing runs outside the sandbox.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Literal

import msgspec

from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import IndexUnreachable, RequirementsError
from alita_tui.spine.ports import (
    Asker,
    BuildOrder,
    BuildOutcome,
    Job,
    Limits,
    Message,
    ModelRequest,
    Progress,
    Sandbox,
    ToolShelf,
)
from alita_tui.spine.values import (
    Lock,
    RunReport,
    Source,
    ToolDraft,
    ToolRequest,
    Value,
    build_digest,
)
from alita_tui.toolsmith.contract import (
    SUBMIT_TOOL,
    ContractError,
    draft_from,
    header_requirements,
    normalise,
)
from alita_tui.toolsmith.gate import Decision, Gate
from alita_tui.toolsmith.review import review
from alita_tui.view.model import BuildView

_TEST_RUNS = 3
"""Repetitions of the self-tests: a flaky tool shows itself here."""
_SAME_ERROR = 2


class _Proof(Value, frozen=True):
    """How a draft came through review, requirements and tests."""

    problem: str = ""
    """The first that is wrong, for the model; empty when the draft passes."""
    lock: Lock = Lock()
    repairable: bool = True
    """False when the draft is not what is wrong."""


class _Build(Value, frozen=True):
    build_id: str
    name: str
    version: int
    sources: tuple[Source, ...]


class Smith:
    """Builds one tool at a time."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        sandbox: Sandbox,
        shelf: ToolShelf,
        gate: Gate,
        *,
        limits: Limits,
        max_repairs: int,
        model_name: str,
        new_id: Callable[[], str],
        progress: Progress,
    ) -> None:
        self._bus = bus
        self._asker = asker
        self._sandbox = sandbox
        self._shelf = shelf
        self._gate = gate
        self._limits = limits
        self._max_repairs = max_repairs
        self._model = model_name
        self._new_id = new_id
        self._progress = progress
        self._system = files("alita_tui.toolsmith.prompts").joinpath("toolsmith.md").read_text("utf-8")

    async def build(self, order: BuildOrder) -> BuildOutcome:
        """From a gap to a verdict. Raises ApprovalPending, SandboxUnavailable, ModelError, BudgetExceeded."""
        build = _Build(
            build_id=self._new_id(),
            name=order.name,
            version=self._shelf.next_version(order.name),
            sources=order.sources,
        )
        parent = self._shelf.get(order.name).draft if build.version > 1 else None
        await self._bus.emit(
            e.BuildStarted(
                build_id=build.build_id,
                action_id=order.action_id,
                name=order.name,
                goal=order.goal,
                version=build.version,
                parent=parent,
                near_misses=order.near_misses,
                sources=order.sources,
            ),
            span=build.build_id,
        )
        return await self._make(build, order, parent)

    async def resume(self, view: BuildView) -> BuildOutcome:
        """Go on with a build that waits, or was approved and not yet registered."""
        build = _Build(build_id=view.build_id, name=view.name, version=view.version, sources=view.sources)
        attempt = view.current
        if attempt is None or view.state not in ("pending", "approved"):
            return await self._fail(
                build, "it was interrupted before it was ready; build it again if it is needed"
            )
        lock = attempt.lock or Lock()
        if view.state == "approved":
            return await self._register(build, attempt.draft, lock, view.approval_id)
        request = e.ApprovalRequested(
            approval_id=view.approval_id,
            build_id=view.build_id,
            digest=view.digest,
            name=view.name,
            version=view.version,
        )
        decision = await self._gate.wait(request)
        return await self._decide(build, attempt.number, attempt.draft, lock, request, decision)

    async def _make(self, build: _Build, order: BuildOrder, parent: ToolDraft | None) -> BuildOutcome:
        messages: list[Message] = [Message(role="user", text=_brief(order, parent, self._neighbours(order)))]
        signatures: list[str] = []
        for attempt in range(1, self._max_repairs + 2):
            reply = await self._asker.ask(
                ModelRequest(
                    role="toolsmith",
                    system=self._system,
                    messages=tuple(messages),
                    tools=(SUBMIT_TOOL,),
                    must_call=SUBMIT_TOOL.name,
                    max_tokens=12_000,
                )
            )
            self._model = reply.model or self._model  # another one may have taken over
            messages.append(Message(role="assistant", text=reply.text, requests=reply.requests))
            try:
                draft = normalise(draft_from(_submitted(reply.requests)))
                if draft.name != order.name:
                    raise ContractError((f"the tool has to be named {order.name}, not {draft.name}",))
                proof = await self._prove(build, attempt, draft, author="model")
            except ContractError as error:
                draft, proof = None, _Proof(problem=f"The contract is not met: {error.message}")
            if draft is not None and not proof.problem:
                return await self._ask_person(build, attempt, draft, proof.lock)
            problem = proof.problem
            if not proof.repairable:
                return await self._fail(build, problem)
            signatures.append(_signature(problem))
            if signatures[-_SAME_ERROR:] == [signatures[-1]] * _SAME_ERROR and len(signatures) > _SAME_ERROR:
                return await self._fail(build, f"repairs do not get further: {problem}")
            messages += _repair(reply.requests, problem)
        return await self._fail(
            build, f"no draft passed after {self._max_repairs} repairs; the last: {problem}"
        )

    async def _prove(
        self, build: _Build, attempt: int, draft: ToolDraft, *, author: Literal["model", "person"]
    ) -> _Proof:
        """Put a draft through review, requirements and tests, up to the first problem."""
        digest = draft.digest
        await self._bus.emit(
            e.BuildDrafted(
                build_id=build.build_id,
                attempt=attempt,
                author=author,
                model=self._model if author == "model" else "",
                draft=draft,
                digest=digest,
            ),
            span=build.build_id,
        )
        reviewed = await asyncio.to_thread(review, draft)
        await self._bus.emit(
            e.BuildReviewed(
                build_id=build.build_id,
                attempt=attempt,
                digest=digest,
                findings=reviewed.findings,
                passed=reviewed.passed,
                imports=reviewed.imports,
            ),
            span=build.build_id,
        )
        if not reviewed.passed:
            blocking = (
                f"line {f.line}: {f.text}" if f.line else f.text for f in reviewed.findings if f.blocking
            )
            return _Proof(problem="The static review failed: " + "; ".join(blocking))
        lock, refused, repairable = Lock(), "", True
        try:
            if draft.requirements:
                lock = await self._sandbox.lock(draft.requirements, self._progress)
        except RequirementsError as error:
            refused, repairable = str(error), not isinstance(error, IndexUnreachable)
        await self._bus.emit(
            e.RequirementsLocked(build_id=build.build_id, attempt=attempt, lock=lock, problem=refused),
            span=build.build_id,
        )
        if refused:
            return _Proof(problem=f"A requirement was refused: {refused}", repairable=repairable)
        return _Proof(problem=await self._test(build, attempt, draft, lock), lock=lock)

    async def _test(self, build: _Build, attempt: int, draft: ToolDraft, lock: Lock) -> str:
        job = Job(
            run_id=build.build_id,
            module=draft.name,
            code=draft.code,
            tests=draft.tests,
            what="test",
            lock=lock,
            limits=self._limits,
        )
        title = f"self-tests of {draft.name}"

        def show(stream: Literal["stdout", "stderr"], text: str) -> None:
            self._bus.hint(e.OutputChunk(run_id=build.build_id, title=title, stream=stream, text=text))

        reports: list[RunReport] = []
        problem = ""
        for _ in range(_TEST_RUNS):
            report = await self._sandbox.run(job, show, self._progress)
            reports.append(report)
            problem = _failure(report) or _difference(reports[0], report)
            if problem:
                break
        await self._bus.emit(
            e.BuildTested(
                build_id=build.build_id,
                attempt=attempt,
                digest=draft.digest,
                passed=not problem,
                reports=tuple(reports),
                problem=problem.splitlines()[0] if problem else "",
            ),
            span=build.build_id,
        )
        return problem

    async def _ask_person(self, build: _Build, attempt: int, draft: ToolDraft, lock: Lock) -> BuildOutcome:
        request = e.ApprovalRequested(
            approval_id=self._new_id(),
            build_id=build.build_id,
            digest=build_digest(draft, lock),
            name=build.name,
            version=build.version,
        )
        decision = await self._gate.ask(request)
        return await self._decide(build, attempt, draft, lock, request, decision)

    async def _decide(
        self,
        build: _Build,
        attempt: int,
        draft: ToolDraft,
        lock: Lock,
        request: e.ApprovalRequested,
        decision: Decision,
    ) -> BuildOutcome:
        command = decision.command
        match command.verdict:
            case "approved":
                return await self._register(build, draft, lock, request.approval_id)
            case "rejected":
                return BuildOutcome(result="rejected", reason=command.reason)
            case "edited":
                edited = normalise(
                    msgspec.structs.replace(
                        draft,
                        code=command.code,
                        tests=command.tests or draft.tests,
                        requirements=_edited_requirements(command.code, draft.requirements),
                    )
                )
                # A person's edit is asked about again even where it fails: the evidence says so.
                proof = await self._prove(build, attempt + 1, edited, author="person")
                return await self._ask_person(build, attempt + 1, edited, proof.lock)

    async def _register(self, build: _Build, draft: ToolDraft, lock: Lock, approval_id: str) -> BuildOutcome:
        record = await asyncio.to_thread(
            self._shelf.register,
            draft,
            lock,
            approval_id=approval_id,
            digest=build_digest(draft, lock),
            sources=build.sources,
        )
        await self._bus.emit(
            e.ToolRegistered(build_id=build.build_id, approval_id=approval_id, card=record.card),
            span=build.build_id,
        )
        return BuildOutcome(result="registered", card=record.card)

    async def _fail(self, build: _Build, reason: str) -> BuildOutcome:
        await self._bus.emit(e.BuildFailed(build_id=build.build_id, reason=reason), span=build.build_id)
        return BuildOutcome(result="failed", reason=reason)

    def _neighbours(self, order: BuildOrder) -> str:
        found = self._shelf.search(f"{order.name} {order.goal}")
        near = [f"- {hit.card.name}: {hit.card.description}" for hit in found.hits]
        near += [f"- {miss.name}: {miss.description}" for miss in found.near_misses]
        return "\n".join(near[:5])


def _brief(order: BuildOrder, parent: ToolDraft | None, neighbours: str) -> str:
    parts = [f"Tool name: {order.name}", f"Goal: {order.goal}"]
    if order.details:
        parts.append(f"Details: {order.details}")
    if neighbours:
        parts.append(f"Nearest tools in the library (do not repeat them):\n{neighbours}")
    if parent is not None:
        parts.append(f"It replaces this version:\n```python\n{parent.code}\n```")
    if order.past_rejections:
        listed = "\n".join(f"- {reason}" for reason in order.past_rejections)
        parts.append(f"The person rejected earlier builds of it, because:\n{listed}")
    for source in order.sources[:3]:
        parts.append(f'<untrusted source="{source.url}">\n{source.title}\n{source.excerpt}\n</untrusted>')
    return "\n\n".join(parts)


def _edited_requirements(code: str, before: tuple[str, ...]) -> tuple[str, ...]:
    """The requirements of an edited header; those of before where it has none that can be read."""
    try:
        listed = header_requirements(code)
    except ContractError:
        return before
    return before if listed is None else tuple(sorted(listed))


def _submitted(requests: tuple[ToolRequest, ...]) -> object:
    for request in requests:
        if request.name == SUBMIT_TOOL.name:
            if request.problem:
                raise ContractError(
                    (f"the arguments of {SUBMIT_TOOL.name} are not valid JSON: {request.problem}",)
                )
            return request.arguments
    raise ContractError((f"the reply does not call {SUBMIT_TOOL.name}",))


def _repair(requests: tuple[ToolRequest, ...], problem: str) -> list[Message]:
    said = f"{problem}\n\nRepair the tool and hand in the whole of it again."
    if not requests:
        return [Message(role="user", text=said)]
    return [Message(role="tool", text=said, call_id=request.call_id, is_error=True) for request in requests]


def _failure(report: RunReport) -> str:
    """Why a test run does not pass, for the model; empty when it does."""
    failed = [case for case in report.cases if not case.passed]
    if report.status == "ok" and report.cases and not failed:
        return ""
    if failed:
        shown = "\n\n".join(f"{case.name}\n{case.message}" for case in failed[:5])
        return f"{len(failed)} of {len(report.cases)} self-tests fail.\n{shown}"
    limits = f" Limits hit: {', '.join(report.limits_hit)}." if report.limits_hit else ""
    if report.status == "ok":
        return "The tests module has no test."
    return f"The self-tests ended with status {report.status}.{limits}\n{report.error}\n{report.stderr[-2000:]}".strip()


def _difference(first: RunReport, again: RunReport) -> str:
    outcome = [(case.name, case.passed) for case in first.cases]
    if outcome != [(case.name, case.passed) for case in again.cases]:
        return "The self-tests do not give the same result each time; make tool and tests deterministic."
    return ""


def _signature(problem: str) -> str:
    """An error without what changes from run to run: numbers, addresses, quoted values."""
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "#", problem)[:400]
