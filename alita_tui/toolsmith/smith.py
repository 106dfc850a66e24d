"""The build, from a gap to an approved tool: draft → review → lock → test → repair → gate → shelf.

Read `Smith._make` top to bottom: that is the whole way a tool takes. Nothing is registered
without a verdict on its digest, and nothing runs outside the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

import msgspec

from alita_tui import events as e
from alita_tui.events import Ban, Capabilities, Lasting, Lock, ToolDraft, ToolRecord, Twin, build_digest
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import BuildSpent, RegistryError
from alita_tui.spine.ports.builds import BuildOrder, BuildOutcome
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import Asker, Message, ModelRequest
from alita_tui.state.build import BuildState
from alita_tui.toolsmith.briefing import brief, edited_requirements, repair, signature, submitted
from alita_tui.toolsmith.contract import (
    SUBMIT_TOOL,
    ContractError,
    draft_from,
    normalise,
)
from alita_tui.toolsmith.gate import Decision, Gate
from alita_tui.toolsmith.proving import Build, Proof, Prover

_SAME_ERROR = 2
_UNREADY = "it was interrupted before it was ready; build it again if it is needed"


class _Terms(NamedTuple):
    """What an approval is good for."""

    approval_id: str
    lasting: Lasting
    grants: Capabilities | None


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
            task=order.task,
            goal=order.goal,
            parent=self._parent(order.name),
            sources=order.sources,
        )
        await self._bus.emit(
            e.BuildStarted(
                build_id=build.build_id,
                action_id=order.action_id,
                name=order.name,
                goal=order.goal,
                task=order.task,
                version=build.version,
                parent=build.parent,
                near_misses=order.near_misses,
                sources=order.sources,
                lessons=order.past_rejections,
            ),
            span=build.build_id,
        )
        return await self._make(build, order)

    async def resume(self, state: BuildState) -> BuildOutcome:
        """Go on with a build where an earlier process left it; carry out a verdict that is on record."""
        build = Build(
            build_id=state.build_id,
            name=state.name,
            version=state.version,
            task=state.task,
            goal=state.goal,
            parent=state.parent,
            sources=state.sources,
        )
        attempt = state.current
        if attempt is None:
            return await self._fail(build.build_id, _UNREADY)
        number, draft, lock = attempt.number, attempt.draft, attempt.lock or Lock()
        terms = _Terms(state.approval_id, state.lasting, state.grants)
        request = e.ApprovalRequested(
            approval_id=state.approval_id,
            build_id=state.build_id,
            digest=state.digest,
            name=state.name,
            version=state.version,
        )
        match state.state:
            case "pending":
                decision = await self._gate.wait(request)
                return await self._decide(build, number, draft, lock, request, decision)
            case "approved":
                return await self._register(build, draft, lock, terms)
            case "lent":
                record = await self._shelve(build, draft, lock, terms)
                return BuildOutcome(result="registered", card=record.card)
            case "retested":
                return await self._retest(build, number, draft, lock, state.grants)
            case "banned":
                return await self._ban(request, draft, state.banned, state.reason, state.by)
            case "aliased":
                return await self._alias(request, draft, state.alias_of, state.by)
            case "stopped":
                return BuildOutcome(result="stopped", reason=state.reason)
            case "edited":
                # The edit was lost with the process; what it was made of waits again.
                return await self._ask_person(build, number, draft, lock)
            case _ if attempt.author == "person":
                return await self._prove_edit(build, number + 1, draft)
            case _:
                return await self._fail(build.build_id, _UNREADY)

    async def _make(self, build: Build, order: BuildOrder) -> BuildOutcome:
        if refused := self._shelf.banned(order.name):
            return await self._fail(build.build_id, refused)
        messages: list[Message] = [
            Message(role="user", text=brief(order, build.parent, self._neighbours(order)))
        ]
        signatures: list[str] = []
        kept: ToolDraft | None = None  # it passed, but a gate speaks against it
        for attempt in range(1, self._max_repairs + 2):
            try:
                reply = await self._asker.ask(
                    ModelRequest(
                        role="toolsmith",
                        system=self._system,
                        messages=tuple(messages),
                        tools=(SUBMIT_TOOL,),
                        must_call=SUBMIT_TOOL.name,
                        max_tokens=12_000,
                        build=build.build_id,
                    )
                )
            except BuildSpent as spent:
                return await self._fall_back(build, attempt - 1, kept, spent.message)
            self._model = reply.model or self._model  # another one may have taken over
            messages.append(Message(role="assistant", text=reply.text, requests=reply.requests))
            try:
                draft = normalise(draft_from(submitted(reply.requests)))
                if draft.name != order.name:
                    raise ContractError((f"the tool has to be named {order.name}, not {draft.name}",))
                if refused := self._shelf.banned(order.name, draft):
                    raise ContractError((refused,))
                proof = await self._prover.prove(build, attempt, draft, by=self._model)
            except ContractError as error:
                draft, proof = None, Proof(problem=f"The contract is not met: {error.message}")
            if draft is not None and not proof.problem:
                # A doubt is worth one repair; after that the person sees it and decides.
                if not proof.doubt or kept is not None or attempt > self._max_repairs:
                    return await self._ask_person(build, attempt, draft, proof.lock)
                kept = draft
            problem = proof.problem or f"A gate speaks against it: {proof.doubt}"
            if not proof.repairable:
                return await self._fail(build.build_id, problem)
            signatures.append(signature(problem))
            if signatures[-_SAME_ERROR:] == [signatures[-1]] * _SAME_ERROR and len(signatures) > _SAME_ERROR:
                return await self._fall_back(build, attempt, kept, f"repairs do not get further: {problem}")
            messages += repair(reply.requests, problem)
        reason = f"no draft passed after {self._max_repairs} repairs; the last: {problem}"
        return await self._fall_back(build, attempt, kept, reason)

    async def _fall_back(
        self, build: Build, attempt: int, kept: ToolDraft | None, reason: str
    ) -> BuildOutcome:
        """Ask about the draft that only a gate spoke against, proved once more; without one the build failed."""
        if kept is None:
            return await self._fail(build.build_id, reason)
        proof = await self._prover.prove(build, attempt + 1, kept, by=self._model)
        if proof.problem:
            return await self._fail(build.build_id, reason)
        return await self._ask_person(build, attempt + 1, kept, proof.lock)

    async def _ask_person(self, build: Build, attempt: int, draft: ToolDraft, lock: Lock) -> BuildOutcome:
        # Only now is the build's own digest known: over the wheels that it was tested with as well.
        if refused := self._shelf.banned(build.name, draft, build_digest(draft, lock)):
            return await self._fail(build.build_id, refused)
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
                terms = _Terms(request.approval_id, command.lasting, command.grants)
                return await self._register(build, draft, lock, terms)
            case "rejected":
                return BuildOutcome(result="rejected", reason=decision.why)
            case "banned":
                return await self._ban(request, draft, command.banned, decision.why, decision.by)
            case "aliased":
                return await self._alias(request, draft, command.alias_of, decision.by)
            case "stopped":
                return BuildOutcome(result="stopped", reason=decision.why)
            case "retested":
                return await self._retest(build, attempt, draft, lock, command.grants)
            case "edited":
                edited = msgspec.structs.replace(
                    draft,
                    code=command.code,
                    tests=command.tests or draft.tests,
                    requirements=edited_requirements(command.code, draft.requirements),
                )
                return await self._prove_edit(build, attempt + 1, edited)

    async def _prove_edit(self, build: Build, attempt: int, draft: ToolDraft) -> BuildOutcome:
        """A person's edit is asked about again even where it fails: the evidence says so."""
        draft = normalise(draft)
        proof = await self._prover.prove(build, attempt, draft, by="")
        return await self._ask_person(build, attempt, draft, proof.lock)

    async def _retest(
        self, build: Build, attempt: int, draft: ToolDraft, lock: Lock, grants: Capabilities | None
    ) -> BuildOutcome:
        await self._prover.test(build, attempt, draft, lock, draft.capabilities if grants is None else grants)
        return await self._ask_person(build, attempt, draft, lock)

    async def _ban(
        self, request: e.ApprovalRequested, draft: ToolDraft, what: tuple[str, ...], why: str, by: str
    ) -> BuildOutcome:
        ban = Ban(
            ban_id=request.approval_id,
            name=request.name if "name" in what else "",
            digest=request.digest if "digest" in what else "",
            draft=draft.digest if "digest" in what else "",
            capabilities=tuple(item for item in draft.capabilities.items if item in what),
            reason=why,
            by=by,
        )
        await self._bus.kept(self._shelf.ban, ban)
        said = ", ".join((*(word for word in ("name", "digest") if word in what), *ban.capabilities))
        return BuildOutcome(result="rejected", reason=f"banned ({said}){f': {why}' if why else ''}")

    async def _alias(
        self, request: e.ApprovalRequested, draft: ToolDraft, twin: Twin | None, by: str
    ) -> BuildOutcome:
        """Make its name another one of a tool that gives the same answers; its code joins nothing."""
        build_id, approval_id = request.build_id, request.approval_id
        try:
            if twin is None or twin not in self._twins(build_id, draft):
                raise RegistryError("no gate found that tool to give the same answers")
            await self._bus.kept(
                self._shelf.alias, draft.name, draft.description, twin, approval_id=approval_id, by=by
            )
        except RegistryError as error:
            return await self._fail(build_id, f"{draft.name} was not made another name: {error.message}")
        aliased = e.ToolAliased(build_id=build_id, approval_id=approval_id, name=draft.name, target=twin)
        await self._bus.emit(aliased, span=build_id)
        return BuildOutcome(result="aliased", reason=f"{draft.name} is an alias of {twin.label}")

    def _twins(self, build_id: str, draft: ToolDraft) -> tuple[Twin, ...]:
        """The tools that the newest look at a draft's neighbours found to be like it."""
        for envelope in self._bus.history.newest(e.GateChecked):
            event = envelope.event
            if isinstance(event, e.GateChecked) and event.build_id == build_id:
                if event.result.gate == "neighbours":
                    return event.result.twins if event.digest == draft.digest else ()
        return ()

    async def _register(self, build: Build, draft: ToolDraft, lock: Lock, terms: _Terms) -> BuildOutcome:
        record = await self._shelve(build, draft, lock, terms)
        await self._bus.emit(
            e.ToolRegistered(
                build_id=build.build_id,
                approval_id=terms.approval_id,
                card=record.card,
                lasting=terms.lasting,
            ),
            span=build.build_id,
        )
        return BuildOutcome(result="registered", card=record.card)

    async def _shelve(self, build: Build, draft: ToolDraft, lock: Lock, terms: _Terms) -> ToolRecord:
        digest = build_digest(draft, lock)
        if terms.lasting == "task":
            return self._shelf.lend(
                draft,
                lock,
                version=build.version,
                approval_id=terms.approval_id,
                digest=digest,
                grants=terms.grants,
            )
        return await self._bus.kept(
            self._shelf.register,
            draft,
            lock,
            approval_id=terms.approval_id,
            digest=digest,
            sources=build.sources,
            grants=terms.grants,
        )

    async def _fail(self, build_id: str, reason: str) -> BuildOutcome:
        await self._bus.emit(e.BuildFailed(build_id=build_id, reason=reason), span=build_id)
        return BuildOutcome(result="failed", reason=reason)

    def _parent(self, name: str) -> ToolDraft | None:
        """The version that a new one would replace; None where there is none that may run."""
        try:
            draft = self._shelf.get(name).draft
        except RegistryError:
            return None
        return draft if draft.name == name else None  # it may be another name of a tool

    def _neighbours(self, order: BuildOrder) -> str:
        found = self._shelf.search(f"{order.name} {order.goal}")
        near = [f"- {hit.card.name}: {hit.card.description}" for hit in found.hits]
        near += [f"- {miss.name}: {miss.description}" for miss in found.near_misses]
        return "\n".join(near[:5])
