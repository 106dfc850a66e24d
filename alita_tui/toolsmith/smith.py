"""The build, from a gap to an approved tool: draft → review → lock → test → repair → gate → shelf.

Read `Smith._make` top to bottom: that is the whole way a tool takes. Nothing is registered
without a verdict on its digest, and nothing runs outside the sandbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.resources import files

import msgspec

from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.ports import (
    Asker,
    BuildOrder,
    BuildOutcome,
    Message,
    ModelRequest,
    ToolShelf,
)
from alita_tui.spine.values import (
    Lock,
    ToolDraft,
    build_digest,
)
from alita_tui.toolsmith.briefing import brief, edited_requirements, repair, signature, submitted
from alita_tui.toolsmith.contract import (
    SUBMIT_TOOL,
    ContractError,
    draft_from,
    normalise,
)
from alita_tui.toolsmith.gate import Decision, Gate
from alita_tui.toolsmith.proving import Build, Proof, Prover
from alita_tui.view.model import BuildView

_SAME_ERROR = 2


class Smith:
    """Builds one tool at a time."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        prover: Prover,
        shelf: ToolShelf,
        gate: Gate,
        *,
        max_repairs: int,
        model_name: str,
        new_id: Callable[[], str],
    ) -> None:
        self._bus = bus
        self._asker = asker
        self._prover = prover
        self._shelf = shelf
        self._gate = gate
        self._max_repairs = max_repairs
        self._model = model_name
        self._new_id = new_id
        self._system = files("alita_tui.toolsmith.prompts").joinpath("toolsmith.md").read_text("utf-8")

    async def build(self, order: BuildOrder) -> BuildOutcome:
        """From a gap to a verdict. Raises ApprovalPending, SandboxUnavailable, ModelError, BudgetExceeded."""
        build = Build(
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
        build = Build(build_id=view.build_id, name=view.name, version=view.version, sources=view.sources)
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

    async def _make(self, build: Build, order: BuildOrder, parent: ToolDraft | None) -> BuildOutcome:
        messages: list[Message] = [Message(role="user", text=brief(order, parent, self._neighbours(order)))]
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
                draft = normalise(draft_from(submitted(reply.requests)))
                if draft.name != order.name:
                    raise ContractError((f"the tool has to be named {order.name}, not {draft.name}",))
                proof = await self._prover.prove(build, attempt, draft, by=self._model)
            except ContractError as error:
                draft, proof = None, Proof(problem=f"The contract is not met: {error.message}")
            if draft is not None and not proof.problem:
                return await self._ask_person(build, attempt, draft, proof.lock)
            problem = proof.problem
            if not proof.repairable:
                return await self._fail(build, problem)
            signatures.append(signature(problem))
            if signatures[-_SAME_ERROR:] == [signatures[-1]] * _SAME_ERROR and len(signatures) > _SAME_ERROR:
                return await self._fail(build, f"repairs do not get further: {problem}")
            messages += repair(reply.requests, problem)
        return await self._fail(
            build, f"no draft passed after {self._max_repairs} repairs; the last: {problem}"
        )

    async def _ask_person(self, build: Build, attempt: int, draft: ToolDraft, lock: Lock) -> BuildOutcome:
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
        build: Build,
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
                        requirements=edited_requirements(command.code, draft.requirements),
                    )
                )
                # A person's edit is asked about again even where it fails: the evidence says so.
                proof = await self._prover.prove(build, attempt + 1, edited, by="")
                return await self._ask_person(build, attempt + 1, edited, proof.lock)

    async def _register(self, build: Build, draft: ToolDraft, lock: Lock, approval_id: str) -> BuildOutcome:
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

    async def _fail(self, build: Build, reason: str) -> BuildOutcome:
        await self._bus.emit(e.BuildFailed(build_id=build.build_id, reason=reason), span=build.build_id)
        return BuildOutcome(result="failed", reason=reason)

    def _neighbours(self, order: BuildOrder) -> str:
        found = self._shelf.search(f"{order.name} {order.goal}")
        near = [f"- {hit.card.name}: {hit.card.description}" for hit in found.hits]
        near += [f"- {miss.name}: {miss.description}" for miss in found.near_misses]
        return "\n".join(near[:5])
