"""Checks an answer before it is given: another model gets task, answer and evidence, but no reasoning."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

import msgspec

from alita_tui import events as e
from alita_tui.agent.agent_messages import without_team
from alita_tui.agent.calling import calls_of
from alita_tui.agent.prompt import prompt_text
from alita_tui.agent.role import VERIFIER, Roles, seat_of
from alita_tui.agent.tasks import CurrentTask
from alita_tui.events import Value, as_json, ready
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.fence import fenced
from alita_tui.spine.ports.models import Asker, ToolSpec
from alita_tui.spine.text import clip, one_line

Setting = Literal["never", "costly", "always"]
_SECONDS = 90.0
_REPLY_TOKENS = 1_200
_PIECE, _ALL = 4_000, 40_000
"""Most characters of one piece of evidence, and of all."""
_FAULTS, _FAULT = 8, 400

_TOOL = ToolSpec(
    name="give_finding",
    description="Say whether the answer holds.",
    parameters={
        "type": "object",
        "properties": {
            "holds": {"type": "boolean"},
            "faults": {"type": "array", "items": {"type": "string"}},
            "why": {"type": "string"},
        },
        "required": ["holds", "faults", "why"],
    },
)


class _Judgement(Value, frozen=True):
    holds: bool
    faults: list[str] = []
    why: str = ""


class Verifier:
    """Checks the answers of a session's tasks if the settings say so."""

    def __init__(
        self, bus: Bus, asker: Asker, task: CurrentTask, roles: Roles, setting: Setting, costly_usd: float
    ) -> None:
        self._bus = bus
        self._asker = asker
        self._task = task
        self._roles = roles
        self._setting = setting
        self._costly_usd = costly_usd

    async def check(self, action_id: str, answer: str) -> e.AnswerVerified | None:
        """Check an answer, record the finding and return it; None if answers are not checked."""
        because = self._because()
        if because is None:
            return None
        verifications = [*self._task.newest(e.AnswerVerified)]
        judgement = await self._judged(answer)
        finding: Literal["holds", "refused", "unknown"] = (
            "unknown" if judgement is None else "holds" if judgement.holds else "refused"
        )
        faults = tuple(
            str(one_line(fault, _FAULT)) for fault in (judgement.faults if judgement else ()) if fault.strip()
        )
        verified = e.AnswerVerified(
            action_id=action_id,
            finding=finding,
            faults=faults[:_FAULTS] if finding == "refused" else (),
            text=str(one_line(judgement.why, 2 * _FAULT)) if judgement else "The check gave no finding.",
            because=because,
            returned=finding == "refused"
            and not any(verification.returned for verification in verifications),
        )
        await self._bus.emit(verified, span=action_id)
        return verified

    def _because(self) -> Literal["costly", "always"] | None:
        """Return why the present task's answer is checked; None if it is not."""
        if self._setting == "never" or VERIFIER not in {role.name for role in self._roles}:
            return None
        if self._setting == "always":
            return "always"
        chain = self._task.chain()
        spent = sum(
            envelope.event.cost_usd or 0.0  # a call without a known price counts nothing here
            for envelope in self._bus.history.of(e.BudgetSpent)
            if isinstance(envelope.event, e.BudgetSpent) and envelope.task_id in chain
        )
        return "costly" if spent >= self._costly_usd else None

    async def _judged(self, answer: str) -> _Judgement | None:
        """Return the verifier's judgement; None if its call fails, which the stream then records."""
        try:
            role = self._roles[VERIFIER]
        except RegistryError:
            return None
        prompt = await asyncio.to_thread(self._question, answer)
        calls = await calls_of(
            self._asker,
            _TOOL,
            role="verifier",
            seat=seat_of(VERIFIER) if role.models else "",
            system=prompt_text("verifier").replace("{role}", role.prompt.strip()),
            prompt=prompt,
            reply_tokens=_REPLY_TOKENS,
            seconds=_SECONDS,
        )
        for arguments in calls:
            try:
                return msgspec.convert(arguments, ready(_Judgement))
            except msgspec.ValidationError:
                continue
        return None

    def _question(self, answer: str) -> str:
        chain = self._task.chain()
        task = "\n".join(reversed([*self._requests(chain)]))
        pieces: list[str] = []
        remaining = _ALL
        for source, text in self._evidence(chain):
            piece = fenced(source, clip(text, min(_PIECE, remaining))[0])
            remaining -= len(piece)
            pieces.append(piece)
            if remaining <= 0:
                break
        evidence = "\n".join(reversed(pieces)) or "There is none: no tool ran, and no page or file was read."
        task_part, answer_part = fenced("task", task), fenced("answer", answer)
        return f"The task:\n{task_part}\n\nThe answer:\n{answer_part}\n\nThe evidence:\n{evidence}"

    def _requests(self, chain: Collection[e.TaskId]) -> Iterator[str]:
        """Yield what the person asked for and added, the newest first."""
        for envelope in self._bus.history.newest(e.TaskSubmitted, e.Steered, e.QuestionAnswered):
            if envelope.task_id in chain and not envelope.delegate:
                match envelope.event:
                    case e.TaskSubmitted(text=text, again=""):
                        yield without_team(text)
                    case e.Steered(text=text) | e.QuestionAnswered(text=text):
                        yield text
                    case _:
                        pass

    def _evidence(self, chain: Collection[e.TaskId]) -> Iterator[tuple[str, str]]:
        """Yield what tools, pages and files gave in the task, of whichever agent, the newest first."""
        called = {
            envelope.event.call_id: envelope.event.name
            for envelope in self._bus.history.of(e.ToolCalled)
            if isinstance(envelope.event, e.ToolCalled) and envelope.task_id in chain
        }
        kinds = (
            e.ToolReturned,
            e.ToolFailed,
            e.PageRead,
            e.WebSearched,
            e.LookedBack,
            e.ArtefactAdded,
            e.AgentEnded,
        )
        for envelope in self._bus.history.newest(*kinds):
            if envelope.task_id in chain and (piece := _piece(envelope, called)):
                yield piece


def _piece(envelope: Envelope, called: Mapping[e.CallId, str]) -> tuple[str, str] | None:
    source = f"e{envelope.seq}"
    match envelope.event:
        case e.ToolReturned(call_id=call_id, report=report):
            return (
                f"{source} result of {called.get(call_id, 'a tool')}",
                f"{as_json(report.result)}\n{report.stdout}",
            )
        case e.ToolFailed(call_id=call_id, text=text):
            return f"{source} failure of {called.get(call_id, 'a tool')}", text
        case e.PageRead(url=url, text=text):
            return f"{source} {url}", text
        case e.WebSearched(results=results):
            listed = "\n".join(f"{hit.title} {hit.url}\n{hit.snippet}" for hit in results)
            return f"{source} search", listed
        case e.LookedBack(text=text, handle=handle) if handle:
            return f"{source} {handle}", text
        case e.ArtefactAdded(artefact=file):
            return f"{source} file {file.name}", file.preview
        case e.AgentEnded(agent_id=agent_id, outcome=outcome, result=result, missing=missing, reason=reason):
            if outcome == "reported":
                return f"{source} report of {agent_id}", "\n".join(filter(None, (result, missing)))
            return f"{source} {agent_id} gave no report", reason
        case _:
            return None
