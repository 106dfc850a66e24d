"""A session's record as spans of OpenTelemetry's semantic conventions for generative AI; without its SDK.

A task is the root of a trace (`invoke_agent`), with its model calls (`chat`) and tool runs (`execute_tool`). Ids follow
from the session, so that sending twice gives the same spans. Texts of tasks, replies, arguments and results are left
out unless they are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from alita_tui import events as e
from alita_tui.events import as_json
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import one_line
from alita_tui.statistics.rows import KINDS as ROWS

KINDS = ROWS
"""The events that spans are made of."""

Attribute = str | int | float | bool | tuple[str, ...]
_TEXT = 8_000
"""Characters of a text that are sent where texts are asked for."""
_PROVIDERS = {
    "anthropic": "anthropic", "openai": "openai", "gemini": "gcp.gemini", "mistral": "mistral_ai", "groq": "groq",
    "deepseek": "deepseek", "xai": "x_ai", "perplexity": "perplexity", "cohere": "cohere",
}  # fmt: skip
"""Names of the conventions for ours; others go by their own."""


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
    """Kind of the error; empty where there was none."""
    attributes: dict[str, Attribute]


class Measures(NamedTuple):
    """What a span adds to the metrics."""

    seconds: float
    attributes: dict[str, Attribute]
    """The few that metrics are told apart by."""
    input_tokens: int
    output_tokens: int
    usd: float | None


def spans_of(
    envelopes: Iterable[Envelope], *, since: datetime | None = None, texts: bool = False
) -> Iterator[SpanRow]:
    """Yield the spans of one session's record that ended at `since` or later. Never raises for what stands in it.

    A session from elsewhere has none, and a fork only its own.
    """
    reader = _Reader(texts=texts)
    for envelope in envelopes:
        for span in reader.take(envelope):
            if since is None or span.end >= since.timestamp() * 1e9:
                yield span


def measures_of(span: SpanRow) -> Measures:
    """Return what a span adds to the metrics."""
    known = span.attributes
    told = (
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.tool.name",
        "error.type",
    )
    usd = known.get("alita.cost_usd")
    return Measures(
        seconds=max(span.end - span.start, 0) / 1e9,
        attributes={name: known[name] for name in told if name in known},
        input_tokens=_whole(known.get("gen_ai.usage.input_tokens")),
        output_tokens=_whole(known.get("gen_ai.usage.output_tokens")),
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
        """Replies whose cost is not told yet."""

    def take(self, one: Envelope) -> Iterator[SpanRow]:
        event = one.event
        if isinstance(event, e.SessionOpened):
            self._imported, self._shared = event.imported, event.parent_seq if event.parent else 0
        if self._imported:
            return
        counts = (one.seq or 0) > self._shared
        task = one.task_id or self._newest
        match event:
            case e.TaskSubmitted():
                self._newest = event.task_id
                self._tasks[event.task_id] = (one, event)
            case e.TaskFinished():
                yield from self._left(event.task_id, one.session_id)
                begun = self._tasks.pop(event.task_id, None)
                if begun is not None and counts:
                    yield self._task(begun, one, event)
            case e.ToolCalled():
                self._calls[event.call_id] = (one, event)
            case e.ToolReturned() | e.ToolFailed():
                called = self._calls.pop(event.call_id, None)
                if called is not None and counts:
                    yield self._run(called, one, event, task)
            case e.ModelReplied() | e.ModelFailed() if counts:
                span = self._chat(one, event, task)
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

    def _left(self, task: str, session: str) -> Iterator[SpanRow]:
        """Yield the replies of a task that nothing was paid for."""
        trace = _number(session, task, size=16)
        for call_id in [name for name, span in self._replies.items() if span.trace_id == trace]:
            yield self._replies.pop(call_id)

    def _task(self, begun: tuple[Envelope, e.TaskSubmitted], one: Envelope, event: e.TaskFinished) -> SpanRow:
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "alita",
            "gen_ai.conversation.id": one.session_id, "alita.task.outcome": event.outcome,
        }  # fmt: skip
        if self._texts:
            attributes["gen_ai.input.messages"] = _messages("user", begun[1].text)
            attributes["gen_ai.output.messages"] = _messages("assistant", event.answer)
        error = "" if event.outcome in ("answered", "parked") else event.outcome
        start, end = _time(begun[0].at), _time(one.at)
        return self._span(
            "invoke_agent alita", "internal", one, event.task_id, "", (start, end), error, attributes
        )

    def _run(
        self,
        called: tuple[Envelope, e.ToolCalled],
        one: Envelope,
        event: e.ToolReturned | e.ToolFailed,
        task: str,
    ) -> SpanRow:
        name = one_line(called[1].name, 120)
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": str(event.call_id), "gen_ai.conversation.id": one.session_id,
            "alita.tool.version": called[1].version,
        }  # fmt: skip
        if self._texts:
            result = event.report.result if isinstance(event, e.ToolReturned) else event.text
            attributes["gen_ai.tool.call.arguments"] = as_json(called[1].arguments)[:_TEXT]
            attributes["gen_ai.tool.call.result"] = as_json(result)[:_TEXT]
        error = event.reason if isinstance(event, e.ToolFailed) else "misfit" if event.misfit else ""
        begun = called[0].task_id or task
        times = (_time(called[0].at), _time(one.at))
        return self._span(
            f"execute_tool {name}", "internal", one, begun, event.call_id, times, error, attributes
        )

    def _chat(self, one: Envelope, event: e.ModelReplied | e.ModelFailed, task: str) -> SpanRow:
        provider, _, model = one_line(event.model, 120).rpartition(":")
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": _PROVIDERS.get(provider, provider or "alita"),
            "gen_ai.request.model": model, "gen_ai.conversation.id": one.session_id, "alita.role": event.role,
        }  # fmt: skip
        end = _time(one.at)
        duration, error = 0.0, ""
        if isinstance(event, e.ModelFailed):
            error = event.error
        else:
            duration = event.duration_ms if 0 <= event.duration_ms < 1e10 else 0.0
            used = event.usage
            attributes["gen_ai.usage.input_tokens"] = used.input_tokens
            attributes["gen_ai.usage.output_tokens"] = used.output_tokens
            attributes["gen_ai.usage.cache_read.input_tokens"] = used.cached_tokens
            attributes["gen_ai.response.model"] = model
            if event.stop:
                attributes["gen_ai.response.finish_reasons"] = (one_line(event.stop, 40),)
            if event.call_id in self._costs:
                attributes["alita.cost_usd"] = self._costs[event.call_id]
            if self._texts:
                attributes["gen_ai.output.messages"] = _messages("assistant", event.text)
        times = (end - int(duration * 1e6), end)
        return self._span(
            f"chat {model}", "client", one, task, f"{event.call_id}#{one.seq}", times, error, attributes
        )

    def _span(
        self, name: str, kind: Literal["internal", "client"], one: Envelope, task: str, own: str,
        times: tuple[int, int], error: str, attributes: dict[str, Attribute],
    ) -> SpanRow:  # fmt: skip
        root = _number(one.session_id, task, "", size=8)
        if error:
            attributes["error.type"] = error
        start = max(min(times), 0)
        return SpanRow(
            name=name,
            kind=kind,
            trace_id=_number(one.session_id, task, size=16),
            span_id=_number(one.session_id, task, own, size=8) if own else root,
            parent_id=root if own else 0,
            start=start,
            end=max(times[1], start),  # the clock may have gone back
            error=error,
            attributes=attributes,
        )


def _time(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000


def _number(*parts: str, size: int) -> int:
    """Return an id that follows from its parts; never 0, which means none."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:size], "big") or 1


def _messages(role: str, text: str) -> str:
    return as_json([{"role": role, "parts": [{"type": "text", "content": text[:_TEXT]}]}])
