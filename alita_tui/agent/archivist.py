"""The archivist: a cheap model that proposes facts when a task ends.

Memory decides which of them the record confirms.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files

import msgspec

from alita_tui import events as e
from alita_tui.agent.one_call import calls_of
from alita_tui.events import Json, as_json, ready
from alita_tui.spine.bus import Bus
from alita_tui.spine.fence import fenced
from alita_tui.spine.ports.memory import ProposedFact
from alita_tui.spine.ports.models import Asker, ToolSpec
from alita_tui.spine.text import clip

_SECONDS = 30.0
"""Seconds that the next task waits at most for the proposals of this one."""
_REPLY_TOKENS = 700
_SHOWN = 1_500
"""Characters of one event that the model reads."""
_WHOLE = 12_000
_MOST = 12
"""Proposals of one reply that are considered."""
_TOOL = ToolSpec(
    name="propose_facts",
    description="Propose facts to remember.",
    parameters={
        "type": "object",
        "properties": {
            "facts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "subject": {"type": "string"},
                        "statement": {
                            "type": "string",
                            "description": "Copied from the event, word for word.",
                        },
                        "event": {"type": "integer"},
                    },
                    "required": ["subject", "statement", "event"],
                },
            }
        },
        "required": ["facts"],
    },
)
_SOURCES = (e.TaskSubmitted, e.Steered, e.QuestionAsked, e.QuestionAnswered, e.ToolReturned)


class Archivist:
    """Asks the model of the role `archivist`, within a budget of its own."""

    def __init__(self, bus: Bus, asker: Asker, budget_usd: float) -> None:
        self._bus = bus
        self._asker = asker
        self._budget_usd = budget_usd

    async def propose(self, task_id: e.TaskId) -> tuple[ProposedFact, ...]:
        """Return the facts that a model proposes to remember of a task; none if it fails or could exceed its budget."""
        record = await asyncio.to_thread(self._record, task_id)
        if not record or not self._budget_usd:
            return ()
        calls = await calls_of(
            self._asker,
            _TOOL,
            role="archivist",
            system=files("alita_tui.agent.prompts").joinpath("archivist.md").read_text("utf-8"),
            prompt=record,
            reply_tokens=_REPLY_TOKENS,
            seconds=_SECONDS,
            role_usd=self._budget_usd,
        )
        return tuple(fact for arguments in calls for fact in _facts(arguments))[:_MOST]

    def _record(self, task_id: e.TaskId) -> str:
        """Return the person's words and the tools' results in a task with their event numbers; the newest that fit."""
        lines: list[str] = []
        remaining = _WHOLE
        for envelope in self._bus.history.newest(*_SOURCES):
            if envelope.task_id != task_id:
                continue
            text = _text_of(envelope.event)
            line = f"Event {envelope.seq}, {text}"
            if text and len(line) <= remaining:
                lines.append(line)
                remaining -= len(line)
            if isinstance(envelope.event, e.TaskSubmitted):
                break
        return "\n\n".join(reversed(lines))


def _text_of(event: e.SessionEvent) -> str:
    match event:
        case e.TaskSubmitted(text=text) | e.Steered(text=text):
            return f"the person: {clip(text, _SHOWN)[0]}"
        case e.QuestionAsked(text=text, about="task"):
            return f"the agent asks: {fenced('question', clip(text, _SHOWN)[0])}"
        case e.QuestionAnswered(text=text):
            return f"the person answers: {clip(text, _SHOWN)[0]}"
        case e.ToolReturned(report=report, depth=0) if not report.result_handle:
            result = as_json(report.result)
            return f"a tool's result:\n{fenced('result', clip(result, _SHOWN)[0])}"
        case _:
            return ""


def _facts(arguments: Json) -> tuple[ProposedFact, ...]:
    listed = arguments.get("facts") if isinstance(arguments, dict) else None
    facts = []
    for fields in listed if isinstance(listed, list) else ():
        try:
            facts.append(msgspec.convert(fields, ready(ProposedFact)))
        except msgspec.ValidationError:
            continue
    return tuple(facts)
