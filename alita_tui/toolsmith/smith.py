"""A build, from a gap to an approved tool: draft → review → lock → test → repair → gate → library.

Read `Smith._make` top to bottom. Nothing is registered without a verdict on its digest, and nothing runs outside the
sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import msgspec

from alita_tui import events as e
from alita_tui.events import Ban, Lock, ToolCard, ToolDraft, Twin, Verdict, build_digest
from alita_tui.runtimes.port import ContractError
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import BuildSpent, RegistryError, SandboxUnavailable
from alita_tui.spine.grants import BROWSER_OFF, named_tools
from alita_tui.spine.history import of_kind
from alita_tui.spine.ports.builds import BuildOrder, BuildOutcome
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import Asker, Message, ModelRequest
from alita_tui.state.build import BuildState
from alita_tui.toolsmith.approval_gate import ApprovalGate
from alita_tui.toolsmith.briefing import (
    SUBMIT_TOOL,
    brief,
    edited_requirements,
    from_earlier_sessions,
    language_reason,
    repair,
    signature,
    submitted,
)
from alita_tui.toolsmith.contract import NO_BROWSER, draft_from, normalise
from alita_tui.toolsmith.pinning import described, pinned
from alita_tui.toolsmith.prover import Build, Proof, Prover
from alita_tui.toolsmith.tool_specs import tool_spec, toolsmith_prompt

_SAME_ERROR = 2
_DOUBTS = 2
"""Most repairs of a draft that passed its tests but not a check."""
_EXCERPT = 800
"""Characters of a source that are recorded with the build; the page itself was recorded when it was read."""
_OfAttempt = e.BuildDrafted | e.RequirementsLocked | e.BuildTested
_UNREADY = "it was interrupted before it was ready; build it again if it is needed"


class Smith:
    """Builds one tool at a time."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        prover: Prover,
        shelf: ToolShelf,
        gate: ApprovalGate,
        *,
        max_repairs: int,
        model_name: str,
        new_id: Callable[[], str],
        languages: tuple[str, ...] = ("python",),
        browser: bool = False,
    ) -> None:
        """`languages` are those that the person allows, the preferred one first; `browser`: whether one is allowed."""
        self._bus = bus
        self._asker = asker
        self._prover = prover
        self._shelf = shelf
        self._gate = gate
        self._max_repairs = max_repairs
        self._model = model_name
        self._new_id = new_id
        self._languages = languages
        self._browser = browser
        self._system = toolsmith_prompt(prover.limits, languages, browser=browser)

    async def build(self, order: BuildOrder) -> BuildOutcome:
        """Build a tool for a gap, up to its verdict.

        Raises ApprovalPending, SandboxUnavailable, ModelError, BudgetExceeded.
        """
        build = e.BuildStarted(
            build_id=e.BuildId(self._new_id()),
            action_id=order.action_id,
            name=order.name,
            goal=order.goal,
            task=order.task,
            version=self._shelf.next_version(order.name),
            parent=self._parent(order.name),
            near_misses=order.near_misses,
            sources=tuple(
                msgspec.structs.replace(source, excerpt=source.excerpt[:_EXCERPT]) for source in order.sources
            ),
            lessons=order.past_rejections,
            examples=order.examples,
            given=from_earlier_sessions(order),
        )
        await self._bus.emit(build, span=build.build_id)
        return await self._make(build, order)

    async def resume(self, state: BuildState) -> BuildOutcome:
        """Continue a build that an earlier process left; carry out a recorded verdict."""
        attempt = state.current
        if attempt is None:
            return await self._fail(state.build_id, _UNREADY)
        draft, lock = attempt.draft, attempt.lock or Lock()
        request = e.ApprovalRequested(
            approval_id=state.approval_id,
            build_id=state.build_id,
            digest=state.digest,
            name=state.name,
            version=state.version,
        )
        verdict = state.verdict
        if state.status == "pending":
            command = await self._gate.ask(request, recorded=True)
        elif verdict and state.status in (verdict.decision, "lent"):
            if not await self._gate.was_given(request, verdict):
                return await self._ask_person(state, attempt.number, draft, lock)
            # The process ended with the text of an edit, so the draft before the edit waits for a verdict again.
            command = ResolveApproval(approval_id=state.approval_id, digest=state.digest, verdict=verdict)
        elif attempt.author == "person":
            return await self._prove_edit(state, attempt.number + 1, draft)
        else:
            return await self._fail(state.build_id, _UNREADY)
        registered = state.status == "lent"
        return await self._carry_out(
            state, attempt.number, draft, lock, request, command, registered=registered
        )

    async def _make(self, build: Build, order: BuildOrder) -> BuildOutcome:
        if refused := self._shelf.banned(order.name):
            return await self._fail(build.build_id, refused)
        messages: list[Message] = [
            Message(
                role="user",
                text=brief(
                    order,
                    build.parent,
                    self._neighbours(order),
                    described(named_tools(order.needs), self._shelf),
                ),
            )
        ]
        signatures: list[str] = []
        doubted: list[ToolDraft] = []  # drafts that passed their tests, but failed a check
        previous: ToolDraft | None = None
        if order.draft is not None:
            return await self._make_from_draft(build, order.draft)
        for attempt in range(1, self._max_repairs + 2):
            try:
                reply = await self._asker.ask(
                    ModelRequest(
                        role="toolsmith",
                        system=self._system,
                        messages=tuple(messages),
                        tools=(tool_spec(SUBMIT_TOOL, self._languages, browser=self._browser),),
                        must_call=SUBMIT_TOOL,
                        max_tokens=12_000,
                        build=build.build_id,
                    )
                )
            except BuildSpent as spent:
                return await self._fall_back(build, attempt - 1, doubted, spent.message)
            self._model = reply.model or self._model  # the router may have failed over
            messages.append(Message(role="assistant", text=reply.text, requests=reply.requests))
            try:
                form = submitted(reply.requests)
                draft = pinned(
                    normalise(draft_from(form, self._languages, browser=self._browser)), self._shelf
                )
                if draft.name != order.name:
                    raise ContractError((f"the tool has to be named {order.name}, not {draft.name}",))
                if refused := self._shelf.banned(order.name, draft):
                    raise ContractError((refused,))
                proof = await self._prover.prove(
                    build, attempt, draft, by=self._model, why=language_reason(form)
                )
            except ContractError as error:
                if NO_BROWSER in error.message:
                    await self._say_browser_is_off(order.name)
                draft, proof = None, Proof(problem=f"The contract is not met: {error.message}")
            if draft is not None and not proof.problem:
                # A failed check is worth two repairs; then, or if the model insists, the person decides.
                settled = draft in doubted or len(doubted) == _DOUBTS or attempt > self._max_repairs
                if not proof.doubt or settled:
                    return await self._ask_person(build, attempt, draft, proof.lock)
                doubted.append(draft)
            problem = proof.problem or f"A check speaks against it: {proof.doubt}"
            if not proof.repairable:
                return await self._fail(build.build_id, problem)
            signatures.append(signature(problem))
            if signatures[-_SAME_ERROR:] == [signatures[-1]] * _SAME_ERROR and len(signatures) > _SAME_ERROR:
                return await self._fall_back(
                    build, attempt, doubted, f"repairs do not get further: {problem}"
                )
            messages += repair(reply.requests, problem, previous, draft)
            previous = draft or previous
        reason = f"no draft passed after {self._max_repairs} repairs; the last: {problem}"
        return await self._fall_back(build, attempt, doubted, reason)

    async def _say_browser_is_off(self, name: str) -> None:
        """Tell the person, once in a session, that a tool asks for a browser and how it gets one."""
        text = f"{name} asks for a browser, and tools are allowed none."
        if not any(notice.text == text for notice in of_kind(self._bus.history, e.NoticeRaised)):
            await self._bus.emit(e.NoticeRaised(level="info", text=text, hint=BROWSER_OFF))

    async def _make_from_draft(self, build: Build, unpinned: ToolDraft) -> BuildOutcome:
        """Gather evidence on a draft that no model wrote, and ask the person; the build fails if the draft does."""
        try:
            draft = pinned(normalise(unpinned), self._shelf)
        except ContractError as error:
            return await self._fail(build.build_id, error.message)
        proof = await self._prover.prove(build, 1, draft, by="alita")
        if proof.problem:
            return await self._fail(build.build_id, proof.problem)
        return await self._ask_person(build, 1, draft, proof.lock)

    async def _fall_back(
        self, build: Build, attempt: int, doubted: list[ToolDraft], reason: str
    ) -> BuildOutcome:
        """Test the last draft that failed only a check once more and ask about it; without one, fail the build."""
        if not doubted:
            return await self._fail(build.build_id, reason)
        draft = doubted[-1]
        proof = await self._prover.prove(build, attempt + 1, draft, by=self._model)
        if proof.problem:
            return await self._fail(build.build_id, reason)
        return await self._ask_person(build, attempt + 1, draft, proof.lock)

    async def _ask_person(self, build: Build, attempt: int, draft: ToolDraft, lock: Lock) -> BuildOutcome:
        # The build's digest is known only now: it covers the wheels that it was tested with.
        if refused := self._shelf.banned(build.name, draft, build_digest(draft, lock)):
            return await self._fail(build.build_id, refused)
        request = e.ApprovalRequested(
            approval_id=self._new_id(),
            build_id=build.build_id,
            digest=build_digest(draft, lock),
            name=build.name,
            version=build.version,
        )
        command = await self._gate.ask(request)
        return await self._carry_out(build, attempt, draft, lock, request, command)

    async def _carry_out(
        self,
        build: Build,
        attempt: int,
        draft: ToolDraft,
        lock: Lock,
        request: e.ApprovalRequested,
        command: ResolveApproval,
        *,
        registered: bool = False,
    ) -> BuildOutcome:
        """Carry out a verdict. With `registered` the registration is recorded; the tool only has to be lent again."""
        verdict = command.verdict
        match verdict.decision:
            case "approved":
                card = await self._register(build, draft, lock, request.approval_id, verdict)
                if not registered:
                    await self._bus.emit(
                        e.ToolRegistered(
                            build_id=build.build_id,
                            approval_id=request.approval_id,
                            card=card,
                            lasting=verdict.lasting,
                        ),
                        span=build.build_id,
                    )
                return BuildOutcome(result="registered", card=card)
            case "rejected" | "withdrawn":
                return BuildOutcome(result=verdict.decision, reason=verdict.why)
            case "banned":
                return await self._ban(request, draft, verdict)
            case "aliased":
                return await self._alias(request, draft, verdict)
            case "stopped":
                return BuildOutcome(result="stopped", reason=verdict.why)
            case "retested" if self._untested(build, attempt):
                return await self._prove_edit(build, attempt + 1, draft)
            case "retested":
                granted = draft.capabilities if verdict.grants is None else verdict.grants
                try:
                    await self._prover.test(build, attempt, draft, lock, granted)
                except SandboxUnavailable as error:  # the build was tested before, and waits on
                    text = f"{draft.name} was not tested again: {error.message}"
                    await self._bus.emit(e.NoticeRaised(level="error", text=text, hint=error.hint))
                return await self._ask_person(build, attempt, draft, lock)
            case "edited" if not command.code:
                return await self._ask_person(build, attempt, draft, lock)
            case "edited":
                edited = msgspec.structs.replace(
                    draft,
                    code=command.code,
                    tests=command.tests or draft.tests,
                    requirements=edited_requirements(command.code, draft.requirements)
                    if draft.language == "python"
                    else draft.requirements,
                )
                return await self._prove_edit(build, attempt + 1, edited)
            case _:
                assert_never(verdict.decision)

    async def _prove_edit(self, build: Build, attempt: int, draft: ToolDraft) -> BuildOutcome:
        """Ask about a person's edit even if it fails or could not be tested; the evidence shows that."""
        draft = normalise(draft)
        try:
            lock = (await self._prover.prove(build, attempt, draft, by="")).lock
        except SandboxUnavailable as error:
            text = f"Your edit of {draft.name} is kept and waits untested: {error.message}"
            hint = f"{error.hint} Then test it again in the review.".strip()
            await self._bus.emit(e.NoticeRaised(level="error", text=text, hint=hint))
            events = self._of_attempt(build, attempt)
            locks = [event.lock for event in events if isinstance(event, e.RequirementsLocked)]
            lock = locks[-1] if locks else Lock()
        return await self._ask_person(build, attempt, draft, lock)

    def _untested(self, build: Build, attempt: int) -> bool:
        """Return whether a person's edit came to no test: its evidence has to be gathered from the beginning."""
        events = self._of_attempt(build, attempt)
        edited = any(isinstance(event, e.BuildDrafted) and event.author == "person" for event in events)
        return edited and not any(isinstance(event, e.BuildTested) for event in events)

    def _of_attempt(self, build: Build, attempt: int) -> list[_OfAttempt]:
        """Return what is recorded of the draft itself, its requirements and its own tests, oldest first."""
        envelopes = self._bus.history.of(e.BuildDrafted, e.RequirementsLocked, e.BuildTested)
        return [
            event
            for event in (envelope.event for envelope in envelopes)
            if isinstance(event, _OfAttempt) and (event.build_id, event.attempt) == (build.build_id, attempt)
        ]

    async def _ban(self, request: e.ApprovalRequested, draft: ToolDraft, verdict: Verdict) -> BuildOutcome:
        banned = verdict.banned
        ban = Ban(
            ban_id=request.approval_id,
            name=request.name if "name" in banned else "",
            digest=request.digest if "digest" in banned else "",
            draft=draft.digest if "digest" in banned else "",
            capabilities=tuple(item for item in draft.capabilities.items if item in banned),
            reason=verdict.why,
            by=verdict.by,
        )
        await self._bus.save_with(self._shelf.ban, ban)
        banned_items = ", ".join(
            (*(word for word in ("name", "digest") if word in banned), *ban.capabilities)
        )
        why = f": {verdict.why}" if verdict.why else ""
        return BuildOutcome(result="rejected", reason=f"banned ({banned_items}){why}")

    async def _alias(self, request: e.ApprovalRequested, draft: ToolDraft, verdict: Verdict) -> BuildOutcome:
        """Make the build's name an alias of a tool that gives the same answers; its code is not added."""
        build_id, approval_id, twin = request.build_id, request.approval_id, verdict.alias_of
        try:
            if twin is None or twin not in self._twins(build_id, draft):
                raise RegistryError("no check found that tool to give the same answers")
            await self._bus.save_with(
                self._shelf.alias,
                draft.name,
                draft.description,
                twin,
                approval_id=approval_id,
                by=verdict.by,
            )
        except RegistryError as error:
            return await self._fail(build_id, f"{draft.name} was not made another name: {error.message}")
        aliased = e.ToolAliased(build_id=build_id, approval_id=approval_id, name=draft.name, target=twin)
        await self._bus.emit(aliased, span=build_id)
        return BuildOutcome(result="aliased", reason=f"{draft.name} is an alias of {twin.label}")

    def _twins(self, build_id: e.BuildId, draft: ToolDraft) -> tuple[Twin, ...]:
        """Return the tools that the newest neighbours check found to be like the draft."""
        for envelope in self._bus.history.newest(e.GateChecked):
            event = envelope.event
            if isinstance(event, e.GateChecked) and event.build_id == build_id:
                if event.result.gate == "neighbours":
                    return event.result.twins if event.digest == draft.digest else ()
        return ()

    async def _register(
        self, build: Build, draft: ToolDraft, lock: Lock, approval_id: str, verdict: Verdict
    ) -> ToolCard:
        digest = build_digest(draft, lock)
        if verdict.lasting == "task":
            return self._shelf.lend(
                draft,
                lock,
                version=build.version,
                approval_id=approval_id,
                digest=digest,
                grants=verdict.grants,
            ).card
        record = await self._bus.save_with(
            self._shelf.register,
            draft,
            lock,
            approval_id=approval_id,
            digest=digest,
            sources=build.sources,
            grants=verdict.grants,
        )
        return record.card

    async def _fail(self, build_id: e.BuildId, reason: str) -> BuildOutcome:
        await self._bus.emit(e.BuildFailed(build_id=build_id, reason=reason), span=build_id)
        return BuildOutcome(result="failed", reason=reason)

    def _parent(self, name: str) -> ToolDraft | None:
        """Return the version that a new one would replace, if there is one that may run."""
        try:
            draft = self._shelf.get(name).draft
        except RegistryError:
            return None
        return draft if draft.name == name else None  # the name may be an alias

    def _neighbours(self, order: BuildOrder) -> str:
        results = self._shelf.offered(f"{order.name} {order.goal}")
        near = [(str(hit.card.name), hit.card.description) for hit in results.hits]
        near += [(str(miss.name), miss.description) for miss in results.near_misses]
        return "\n".join(f"- {name}: {description}" for name, description in near[:5] if name != order.name)
