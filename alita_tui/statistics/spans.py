"""A session's record as spans by OpenTelemetry's semantic conventions for generative AI, without its SDK.

A task is the root of a trace (`invoke_agent`), with its model calls (`chat`) and tool runs (`execute_tool`). Ids are
derived from the session, so that sending twice gives the same spans. Texts of tasks, replies, arguments and results are
left out unless they are requested.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from alita_tui import events as e
from alita_tui.events import Json, as_json
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import one_line
from alita_tui.statistics.rows import KINDS as ROWS

KINDS = ROWS
"""The events from which spans are derived."""

Attribute = str | int | float | bool | tuple[str, ...]
_TEXT = 8_000
"""Most characters of a text that are sent, if texts are requested."""
_PROVIDERS = {
    "anthropic": "anthropic", "openai": "openai", "gemini": "gcp.gemini", "mistral": "mistral_ai", "groq": "groq",
    "deepseek": "deepseek", "xai": "x_ai", "perplexity": "perplexity", "cohere": "cohere",
}  # fmt: skip
"""The conventions' names of providers by alita's; other names are used unchanged."""

_METRIC_ATTRIBUTES = {
    "chat": (
        "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "error.type",
    ),
    "execute_tool": ("gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.agent.name", "error.type"),
    "invoke_agent": ("gen_ai.agent.name", "error.type"),
}  # fmt: skip
"""Attributes of the metrics, by operation: few, with few values each, as metrics require."""
_AGENT = "alita"
_FINISHED = {"end_turn": "stop", "tool_use": "tool_call", "max_tokens": "length", "stop_sequence": "stop"}
"""The conventions' reasons why a reply ended, by those of the record; others are used unchanged."""


class SpanRow(NamedTuple):
    """One span. Times are nanoseconds since 1970."""

    name: str
    kind: Literal["internal", "client"]
    trace_id: int
    span_id: int
    parent_id: int
    """0 for the root of a trace."""
    start: int
    end: int
    error: str
    """Kind of the error; empty for none."""
    attributes: dict[str, Attribute]


class Measures(NamedTuple):
    """The contribution of a span to the metrics."""

    operation: str
    """`chat`, `execute_tool` or `invoke_agent`; each has its own metric of durations."""
    seconds: float
    attributes: dict[str, Attribute]
    """The attributes by which the conventions distinguish the points of the metric."""
    input_tokens: int
    output_tokens: int
    usd: float | None


def spans_of(
    envelopes: Iterable[Envelope], *, since: datetime | None = None, texts: bool = False
) -> Iterator[SpanRow]:
    """Yield the spans of one session's record that ended at `since` or later. No content of a record makes it raise.

    An imported session has no spans; a fork has only those after the events that it shares with its parent.
    """
    reader = _Reader(texts=texts)
    for envelope in envelopes:
        for span in reader.take(envelope):
            if since is None or span.end >= since.timestamp() * 1e9:
                yield span


def measures_of(span: SpanRow) -> Measures:
    """Return the contribution of a span to the metrics."""
    attributes = span.attributes
    operation = str(attributes["gen_ai.operation.name"])
    usd = attributes.get("alita.cost_usd")
    return Measures(
        operation=operation,
        seconds=max(span.end - span.start, 0) / 1e9,
        attributes={name: attributes[name] for name in _METRIC_ATTRIBUTES[operation] if name in attributes},
        input_tokens=_whole(attributes.get("gen_ai.usage.input_tokens")),
        output_tokens=_whole(attributes.get("gen_ai.usage.output_tokens")),
        usd=usd if isinstance(usd, float) else None,
    )


def _whole(value: Attribute | None) -> int:
    return value if isinstance(value, int) else 0


class _Reader:
    def __init__(self, *, texts: bool) -> None:
        self._texts = texts
        self._shared = 0
        self._imported = False
        self._newest = ""
        self._tasks: dict[str, tuple[Envelope, e.TaskSubmitted]] = {}
        self._calls: dict[str, tuple[Envelope, e.ToolCalled]] = {}
        self._costs: dict[str, float] = {}
        self._replies: dict[str, SpanRow] = {}
        """Replies whose cost is not known yet, by call id."""
        self._providers: dict[str, str] = {}
        """Task -> the provider of its first model call."""
        self._version = ""

    def take(self, envelope: Envelope) -> Iterator[SpanRow]:
        event = envelope.event
        if isinstance(event, e.SessionOpened):
            self._imported, self._shared = event.imported, event.parent_seq if event.parent else 0
            self._version = one_line(event.version, 40)
        if self._imported:
            return
        counts = (envelope.seq or 0) > self._shared
        task = envelope.task_id or self._newest
        match event:
            case e.TaskSubmitted():
                self._newest = event.task_id
                self._tasks[event.task_id] = (envelope, event)
            case e.TaskFinished():
                yield from self._unpaid_replies(event.task_id, envelope.session_id)
                started = self._tasks.pop(event.task_id, None)
                if started is not None and counts:
                    yield self._task(started, envelope, event)
            case e.ToolCalled():
                self._calls[event.call_id] = (envelope, event)
            case e.ToolReturned() | e.ToolFailed():
                call = self._calls.pop(event.call_id, None)
                if call is not None and counts:
                    yield self._run(call, envelope, event, task)
            case e.ModelReplied() | e.ModelFailed() if counts:
                span = self._chat(envelope, event, task)
                if isinstance(event, e.ModelFailed) or event.call_id in self._costs:
                    yield span
                else:
                    self._replies[event.call_id] = span
            case e.BudgetSpent() if event.cost_usd is not None and 0 <= event.cost_usd < 1e6:
                self._costs[event.call_id] = float(event.cost_usd)
                waiting = self._replies.pop(event.call_id, None)
                if waiting is not None:
                    waiting.attributes["alita.cost_usd"] = float(event.cost_usd)
                    yield waiting
            case e.BudgetSpent():
                waiting = self._replies.pop(event.call_id, None)
                if waiting is not None:
                    yield waiting
            case _:
                pass

    def _unpaid_replies(self, task: str, session: str) -> Iterator[SpanRow]:
        """Yield the replies of a task for which no cost was recorded."""
        trace = _number(session, task, size=16)
        for call_id in [name for name, span in self._replies.items() if span.trace_id == trace]:
            yield self._replies.pop(call_id)

    def _task(
        self, submitted: tuple[Envelope, e.TaskSubmitted], envelope: Envelope, event: e.TaskFinished
    ) -> SpanRow:
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": _AGENT,
            "gen_ai.provider.name": self._providers.pop(event.task_id, _AGENT),
            "gen_ai.conversation.id": envelope.session_id, "alita.task.outcome": event.outcome,
        }  # fmt: skip
        if self._version:
            attributes["gen_ai.agent.version"] = self._version
        if self._texts:
            attributes["gen_ai.input.messages"] = _messages("user", (_part(submitted[1].text),))
            finished = "stop" if event.outcome == "answered" else event.outcome
            attributes["gen_ai.output.messages"] = _messages("assistant", (_part(event.answer),), finished)
        error = "" if event.outcome in ("answered", "parked") else event.outcome
        start, end = _time(submitted[0].at), _time(envelope.at)
        return self._span(
            f"invoke_agent {_AGENT}", "internal", envelope, event.task_id, "", (start, end), error, attributes
        )

    def _run(
        self,
        call: tuple[Envelope, e.ToolCalled],
        envelope: Envelope,
        event: e.ToolReturned | e.ToolFailed,
        task: str,
    ) -> SpanRow:
        name = one_line(call[1].name, 120)
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": str(event.call_id), "gen_ai.conversation.id": envelope.session_id,
            "gen_ai.agent.name": _AGENT,
            "alita.tool.version": call[1].version,
        }  # fmt: skip
        if self._texts:
            result = event.report.result if isinstance(event, e.ToolReturned) else event.text
            attributes["gen_ai.tool.call.arguments"] = as_json(call[1].arguments)[:_TEXT]
            attributes["gen_ai.tool.call.result"] = as_json(result)[:_TEXT]
        error = event.reason if isinstance(event, e.ToolFailed) else "misfit" if event.misfit else ""
        task_id = call[0].task_id or task
        times = (_time(call[0].at), _time(envelope.at))
        return self._span(
            f"execute_tool {name}", "internal", envelope, task_id, event.call_id, times, error, attributes
        )

    def _chat(self, envelope: Envelope, event: e.ModelReplied | e.ModelFailed, task: str) -> SpanRow:
        full_name = one_line(event.model, 120)
        maker, model = (
            full_name.split(":", 1) if ":" in full_name else ("", full_name)
        )  # a model's own name may have one, too
        provider = _PROVIDERS.get(maker, maker or _AGENT)
        self._providers.setdefault(task, provider)
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": provider,
            "gen_ai.conversation.id": envelope.session_id, "alita.role": event.role,
        }  # fmt: skip
        if model:
            attributes["gen_ai.request.model"] = model
        end = _time(envelope.at)
        duration, error = 0.0, ""
        if isinstance(event, e.ModelFailed):
            error = event.error
        else:
            duration = event.duration_ms if 0 <= event.duration_ms < 1e10 else 0.0
            used = event.usage
            if (
                used.reported and not event.cached
            ):  # estimated tokens, and those of a cached reply, are left out
                attributes["gen_ai.usage.input_tokens"] = used.input_tokens
                attributes["gen_ai.usage.output_tokens"] = used.output_tokens
                attributes["gen_ai.usage.cache_read.input_tokens"] = used.cached_tokens
                attributes["gen_ai.usage.cache_creation.input_tokens"] = used.cache_write_tokens
            if event.stop:
                attributes["gen_ai.response.finish_reasons"] = (_finished(event.stop),)
            if event.call_id in self._costs:
                attributes["alita.cost_usd"] = self._costs[event.call_id]
            if self._texts:
                attributes["gen_ai.output.messages"] = _messages(
                    "assistant", _parts(event), _finished(event.stop)
                )
        times = (end - int(duration * 1e6), end)
        return self._span(
            f"chat {model}".strip(),
            "client",
            envelope,
            task,
            f"{event.call_id}#{envelope.seq}",
            times,
            error,
            attributes,
        )

    def _span(
        self, name: str, kind: Literal["internal", "client"], envelope: Envelope, task: str, own_id: str,
        times: tuple[int, int], error: str, attributes: dict[str, Attribute],
    ) -> SpanRow:  # fmt: skip
        root = _number(envelope.session_id, task, "", size=8)
        if error:
            attributes["error.type"] = error
        start = max(min(times), 0)
        return SpanRow(
            name=name,
            kind=kind,
            trace_id=_number(envelope.session_id, task, size=16),
            span_id=_number(envelope.session_id, task, own_id, size=8) if own_id else root,
            parent_id=root if own_id else 0,
            start=start,
            end=max(times[1], start),  # the clock may have gone back
            error=error,
            attributes=attributes,
        )


def _time(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000


def _number(*parts: str, size: int) -> int:
    """Return an id derived from its parts; never 0, which means none."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:size], "big") or 1


def _finished(stop: str) -> str:
    return _FINISHED.get(stop, one_line(stop, 40)) or "stop"


def _part(text: str) -> Json:
    return {"type": "text", "content": text[:_TEXT]}


def _parts(event: e.ModelReplied) -> tuple[Json, ...]:
    """Return the text and the tool calls of a reply as parts of a message."""
    tool_calls = (
        {
            "type": "tool_call",
            "id": request.call_id,
            "name": request.name,
            "arguments": as_json(request.arguments)[:_TEXT],
        }
        for request in event.requests
    )
    return (*([_part(event.text)] if event.text else []), *tool_calls)


def _messages(role: str, parts: tuple[Json, ...], finished: str = "") -> str:
    """Return a message as JSON; with `finished`, the reason why the reply ended."""
    message: dict[str, Json] = {"role": role, "parts": parts}
    if finished:
        message["finish_reason"] = finished
    return as_json([message])
