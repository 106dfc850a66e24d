"""Uses a recorded session as a regression test: its tool calls and self-tests run again, its replies are parsed again.

No model is asked: its replies are taken from the recording. Nothing is granted to any code here; a run that was granted
something is skipped, because what it reached may have changed since.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from os.path import commonprefix
from typing import Literal, NamedTuple, Protocol

import msgspec

from alita_tui import events as e
from alita_tui.agent.actions import MalformedAction, parse
from alita_tui.agent.references import outlined
from alita_tui.events import Capabilities, Json, Lock, RunReport, ToolDraft, ToolRecord, Value, build_digest
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, RequirementsError
from alita_tui.spine.history import of_kind
from alita_tui.spine.judge_plan import stands_in
from alita_tui.spine.ports.sandbox import Job, Limits, Sandbox
from alita_tui.spine.text import one_line

_SHOWN = 160
"""Characters shown of a value."""
_BEFORE = 60
"""How many of these characters come before the first difference."""


class Rerun(Value, frozen=True):
    """One repeated call, test or reply, or the reason why it was skipped."""

    seq: int
    """The event that records it."""
    what: Literal["reply", "tests", "call"]
    name: str
    outcome: Literal["same", "differs", "skipped"]
    differences: tuple[str, ...] = ()
    """As `what: recorded → now`."""
    reason: str = ""
    """Why it was skipped."""


class _Code(NamedTuple):
    draft: ToolDraft
    lock: Lock
    granted: Capabilities


class Tools(Protocol):
    """Finds the code of tools that were in the library before."""

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """Return one version with its code. Raises RegistryError."""


class Rerunner:
    """Repeats what a session recorded."""

    def __init__(self, sandbox: Sandbox, shelf: Tools, limits: Limits) -> None:
        self._sandbox = sandbox
        self._shelf = shelf
        self._limits = limits

    async def run(self, envelopes: Sequence[Envelope]) -> AsyncGenerator[Rerun, None]:
        """Repeat everything in the order of the recording. Raises SandboxUnavailable."""
        ends = {
            envelope.event.call_id: envelope.event
            for envelope in envelopes
            if isinstance(envelope.event, e.ToolReturned | e.ToolFailed)
        }
        codes = dict(_codes(envelopes))
        served = {answer.call_id for answer in of_kind(envelopes, e.BrokerAnswered)}
        built = {
            registered.card.digest: registered.card for registered in of_kind(envelopes, e.ToolRegistered)
        }
        drafts = {code.draft.digest: code for code in codes.values()}
        for index, envelope in enumerate(envelopes):
            seq, event = envelope.seq or 0, envelope.event
            if isinstance(event, e.ModelReplied) and event.role == "orchestrator":
                yield _reply(envelope, event, envelopes[index + 1 :])
            elif isinstance(event, e.BuildTested) and event.reports:
                yield await self._tests(seq, event, drafts.get(event.digest))
            elif isinstance(event, e.ToolCalled):
                code = codes.get(event.digest) if event.digest in built else None
                yield await self._call(seq, event, ends.get(event.call_id), code, event.call_id in served)

    async def _tests(self, seq: int, event: e.BuildTested, code: _Code | None) -> Rerun:
        name = code.draft.name if code else event.build_id
        if code is None or not event.granted.none:
            why = "its draft is not in the recording" if code is None else _grant_reason(event.granted)
            return Rerun(seq=seq, what="tests", name=name, outcome="skipped", reason=why)
        job = Job(
            run_id=f"rerun-{seq}", module=name, code=code.draft.code, tests=code.draft.tests, kind="test",
            language=code.draft.language, lock=code.lock, limits=self._limits,
            parameters=tuple(runtime_of(code.draft.language).parameters(code.draft)),
        )  # fmt: skip
        if not code.draft.capabilities.none and stands_in(code.draft.tests):
            job = msgspec.structs.replace(job, capabilities=code.draft.capabilities, scratch={})
        return await self._compared(seq, "tests", name, job, event.reports[-1])

    async def _call(
        self,
        seq: int,
        event: e.ToolCalled,
        end: e.ToolReturned | e.ToolFailed | None,
        code: _Code | None,
        served: bool,
    ) -> Rerun:
        def skipped(reason: str) -> Rerun:
            return Rerun(seq=seq, what="call", name=event.name, outcome="skipped", reason=reason)

        if end is None or end.report is None:
            return skipped("it has no report: it was interrupted, or there was no sandbox")
        if event.server:
            return skipped(f"it is a tool of the server {event.server}")
        if event.files or event.references:
            return skipped("it refers to files or results of its session")
        try:
            code = code or self._from_library(event)
        except AlitaError as error:
            difference = f"the tool: v{event.version} ran → {error.message}"
            return Rerun(seq=seq, what="call", name=event.name, outcome="differs", differences=(difference,))
        if served or not code.granted.none:
            return skipped(_grant_reason(code.granted))
        job = Job(
            run_id=f"rerun-{seq}", module=event.name, code=code.draft.code, arguments=event.arguments,
            language=code.draft.language, lock=code.lock, limits=self._limits,
        )  # fmt: skip
        return await self._compared(seq, "call", event.name, job, end.report)

    def _from_library(self, event: e.ToolCalled) -> _Code:
        """Return the code of a tool that was in the library before. Raises RegistryError."""
        record = self._shelf.get(event.name, event.version)
        if record.digest != event.digest:
            raise AlitaError(f"{event.name} v{event.version} is another one here than what ran")
        return _Code(record.draft, record.lock, record.granted)

    async def _compared(
        self, seq: int, what: Literal["tests", "call"], name: str, job: Job, recorded: RunReport
    ) -> Rerun:
        try:
            now = await self._sandbox.run(job, lambda *_: None, lambda *_: None)
        except RequirementsError as error:
            return Rerun(seq=seq, what=what, name=name, outcome="skipped", reason=error.message)
        differences = tuple(_differences(recorded, now))
        return Rerun(
            seq=seq,
            what=what,
            name=name,
            outcome="differs" if differences else "same",
            differences=differences,
        )


def _codes(envelopes: Sequence[Envelope]) -> Iterator[tuple[str, _Code]]:
    """Yield every draft with the digest that an approval of it would name."""
    drafts: dict[str, ToolDraft] = {}
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, e.BuildDrafted):
            drafts[event.build_id] = event.draft
            yield event.draft.digest, _Code(event.draft, Lock(), event.draft.capabilities)
        elif isinstance(event, e.RequirementsLocked) and event.build_id in drafts:
            draft = drafts[event.build_id]
            yield build_digest(draft, event.lock), _Code(draft, event.lock, draft.capabilities)


def _grant_reason(granted: Capabilities) -> str:
    grants = ", ".join(granted.items) or "something"
    return f"it was granted {grants}; nothing is granted here"


def _reply(reply: Envelope, event: e.ModelReplied, later: Sequence[Envelope]) -> Rerun:
    """Parse a recorded reply again and compare the actions with those that were recorded."""
    seq = reply.seq or 0
    followed: list[tuple[str, Json]] = []
    malformed = False
    for envelope in later:
        if (envelope.task_id, envelope.agent_id) != (reply.task_id, reply.agent_id):
            continue  # other tasks and agents run meanwhile
        if isinstance(envelope.event, e.ModelReplied) and envelope.event.role == "orchestrator":
            break
        malformed = malformed or isinstance(envelope.event, e.ActionMalformed)
        if isinstance(envelope.event, e.ActionChosen):
            followed.append((envelope.event.action, envelope.event.arguments))
    differences: tuple[str, ...] = ()
    try:
        actions = [parse(request) for request in event.requests]
        if not actions and not event.text.strip():
            raise MalformedAction("The reply is empty.")
    except MalformedAction as error:
        if not malformed:
            differences = (f"it chose {len(followed)} actions → no valid action: {error.message}",)
        return _reply_result(seq, event, differences)
    if malformed:
        return _reply_result(seq, event, ("it was malformed → it is valid",))
    chosen = [(request.name, request.arguments) for request in event.requests] or [
        ("answer", {"text": event.text.strip()})
    ]
    # A task may end, or be stopped, before all actions of a reply are done.
    differences = tuple(
        f"action {number}: {_both_as_text(recorded, now)}"
        for number, (recorded, now) in enumerate(zip(followed, chosen, strict=False), 1)
        if recorded != now
    )
    return _reply_result(seq, event, differences)


def _reply_result(seq: int, event: e.ModelReplied, differences: tuple[str, ...]) -> Rerun:
    outcome: Literal["same", "differs"] = "differs" if differences else "same"
    return Rerun(seq=seq, what="reply", name=event.model, outcome=outcome, differences=differences)


def _differences(recorded: RunReport, now: RunReport) -> Iterator[str]:
    for name in ("status", "exit_code", "exception", "result", "stdout", "stderr"):
        before, after = getattr(recorded, name), getattr(now, name)
        if name == "result" and recorded.result_handle:
            after = outlined(after)
        if before != after:
            yield f"{name}: {_both_as_text(before, after)}"
    recorded_cases = {case.name: case.passed for case in recorded.cases}
    cases_now = {case.name: case.passed for case in now.cases}
    words = {True: "passed", False: "failed", None: "not there"}
    for case in dict.fromkeys((*recorded_cases, *cases_now)):
        if recorded_cases.get(case) != cases_now.get(case):
            yield f"{one_line(case)}: {words[recorded_cases.get(case)]} → {words[cases_now.get(case)]}"


def _both_as_text(recorded: object, now: object) -> str:
    """Return both as text; of long ones the part around the first difference."""
    before, after = _text(recorded), _text(now)
    begin = len(commonprefix((before, after))) - _BEFORE
    excerpts = (one_line(text if begin <= 0 else f"…{text[begin:]}", _SHOWN) for text in (before, after))
    return " → ".join(text or "nothing" for text in excerpts)


def _text(value: object) -> str:
    try:
        return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
    except UnicodeEncodeError:  # a lone surrogate
        return repr(value)
