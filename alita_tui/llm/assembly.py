"""A reply while it arrives; it becomes a `Reply` only if it ends properly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

import msgspec

from alita_tui.events import Json, ModelErrorKind, ToolRequest, Usage
from alita_tui.llm.faults import Endpoint
from alita_tui.llm.thoughts import Splitter, raw_call, tidied
from alita_tui.spine.levels import shallow_json
from alita_tui.spine.ports.models import Delta, ModelRequest, Reply

_MOST = 1_000_000_000
"""Largest plausible number of tokens of one call."""
_FRAME = 50_000
"""Tokens that a server may add to a request, or think without reporting."""
Channel = Literal["text", "thinking", "arguments"]

_STOPS = {
    "stop": "end_turn", "eos": "end_turn", "tool_calls": "tool_use", "function_call": "tool_use",
    "length": "max_tokens", "model_length": "max_tokens",
}  # fmt: skip
"""Stop reasons of other vendors, in the words of the Messages API."""
_FAULTS: dict[str, tuple[ModelErrorKind, str]] = {
    "refusal": ("refused", "The model declined."),
    "content_filter": ("refused", "The provider's filter held the reply back."),
    "safety": ("refused", "The provider's filter held the reply back."),
    "model_context_window_exceeded": ("context", "The conversation is longer than the model's window."),
    "error": ("server", "The server gave the reply up."),
    "abort": ("server", "The server gave the reply up."),
    "insufficient_system_resource": ("overloaded", "The server ran out of resources."),
    "malformed_function_call": ("malformed", "The model's call was not as the protocol says."),
    "function_call_filter": ("malformed", "The model's call was not as the protocol says."),
}
"""Stop reasons that make a reply unusable; Gemini adds more words after a colon."""


@dataclass
class CallDraft:
    """A tool call whose arguments are still coming."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""
    extra: str = ""
    """JSON that has to be sent back to the provider with the call."""

    @property
    def whole(self) -> bool:
        """Return whether the arguments are a complete JSON object."""
        return bool(self.arguments) and not parse(self.call_id, self.name, self.arguments).problem


class ReplyDraft:
    """Collects the pieces of one reply, whichever protocol they came by."""

    def __init__(self) -> None:
        self.calls: list[CallDraft] = []
        self.stop = ""
        """The server's reason for the end; empty until there is one."""
        self.refusal = ""
        self.usage: Usage | None = None
        self.events = 0
        """Events of the stream so far."""
        self.content_type = ""
        self.done = False
        """True once the server ended the stream as the protocol demands."""
        self.carried: dict[str, str] = {}
        """What the first call has to be sent back with; see `ToolRequest.carried`."""
        self._split = Splitter()
        self._received: dict[Channel, str] = {"text": "", "thinking": "", "arguments": ""}
        self._half: dict[Channel, str] = {}
        self._odd_counts = False

    def say(self, channel: Channel, piece: str, call: CallDraft | None = None) -> list[Delta]:
        """Add a piece; return what can be shown of it.

        Half a character (a high surrogate) and the possible beginning of a tag are held back. Thoughts that a server
        leaves in the text are separated from it.
        """
        if not isinstance(piece, str):
            raise TypeError(f"a piece of the {channel} is no text")  # from a server that ignores the types
        if not piece:
            return []
        if channel == "text":
            return [delta for kind, part in self._split.take(piece) for delta in self._take(kind, part)]
        return self._take(channel, piece, call)

    def _take(self, channel: Channel, piece: str, call: CallDraft | None = None) -> list[Delta]:
        if call is not None:
            call.arguments += piece
        self._received[channel] += piece
        text = self._half.pop(channel, "") + piece
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half[channel] = text[:-1], text[-1]
        return [Delta(channel=channel, text=mend(text))] if text else []

    def finish(self, at: Endpoint, request: ModelRequest) -> Reply:
        """Return the whole reply. Raise ModelError when it did not end properly."""
        for kind, part in self._split.rest():
            self._take(kind, part)
        self._check(at, request)
        text, thoughts = tidied(mend(self._received["text"]))
        requests = self._requests(at, request)
        if not requests and request.tools and raw_call(text):
            raise at.fault("no_tools", "The reply has a call in its text, as the model's template writes it.")
        if not text.strip() and not requests:
            raise at.fault("malformed", "The reply is empty.", hint="Try again, or choose another model.")
        stop = _STOPS.get(self.stop.lower(), self.stop.lower()) or "end_turn"
        usage, notes = self._plausible_usage(at, request)
        return Reply(
            model=at.name,
            text=text,
            thinking="\n".join(filter(None, (mend(self._received["thinking"]), thoughts))),
            requests=requests,
            stop="tool_use" if requests and stop == "end_turn" else stop,
            usage=usage or estimate(request, *self._received.values()),
            notes=notes,
        )

    def count(self, **counts: object) -> None:
        """Take in the server's counts by the names of `Usage`; None means not reported.

        Implausible counts are dropped and noted.
        """
        reported = {name: value for name, value in counts.items() if value is not None}
        if not all(type(value) is int and 0 <= value <= _MOST for value in reported.values()):
            self._odd_counts = True
            return
        if not any(reported.values()):
            return
        usage = Usage(**reported)  # type: ignore[arg-type]
        cached = min(usage.cached_tokens, usage.input_tokens)
        self.usage = msgspec.structs.replace(
            usage,
            cached_tokens=cached,
            cache_write_tokens=min(usage.cache_write_tokens, usage.input_tokens - cached),
        )

    def _plausible_usage(self, at: Endpoint, request: ModelRequest) -> tuple[Usage | None, tuple[str, ...]]:
        """Return the server's counts, or None and a note if impossible: a character has at most four tokens."""
        usage, implausible = self.usage, self._odd_counts
        if usage is not None:
            sent = sum(map(len, texts_of(request)))
            received = sum(map(len, self._received.values()))
            limits = 4 * sent + _FRAME, 4 * received + 8 * request.max_tokens + _FRAME
            implausible = implausible or usage.input_tokens > limits[0] or usage.output_tokens > limits[1]
        note = f"{at.name} tells counts of tokens that cannot be: they are estimated instead."
        return (None, (note,)) if implausible else (usage, ())

    @property
    def _cut(self) -> bool:
        return _STOPS.get(self.stop.lower(), self.stop.lower()) == "max_tokens"

    def _check(self, at: Endpoint, request: ModelRequest) -> None:
        if not self.events and "event-stream" not in self.content_type:
            kind = self.content_type or "something unnamed"
            raise at.fault("malformed", f"{at.host} answered with {kind}, not with a stream.")
        if self.refusal:
            raise at.fault("refused", f"The model declined. {self.refusal}")
        if not self.stop and not self.done:
            raise at.fault("truncated", "The stream ended before the reply did.")
        if failed := _FAULTS.get(self.stop.lower().partition(":")[0].strip()):
            raise at.fault(*failed)
        if not self.stop and self.calls and not self.calls[-1].whole:
            raise at.fault("truncated", "The stream ended before the call did.")
        if self._cut and not self.calls:
            raise at.fault(
                "malformed",
                f"The reply is longer than the {request.max_tokens} tokens that it may have.",
                hint="Raise budget.reply_tokens with `alita config set`, or ask for less at once.",
            )

    def _requests(self, at: Endpoint, request: ModelRequest) -> tuple[ToolRequest, ...]:
        requests: list[ToolRequest] = []
        used_ids: set[str] = set()
        for index, call in enumerate(self.calls):
            call_id = call.call_id
            if not call_id or call_id in used_ids:  # some servers send none, or one for all
                call_id = f"call_{uuid4().hex[:16]}"
            used_ids.add(call_id)
            parsed = parse(call_id, call.name, mend(call.arguments))
            is_last = index == len(self.calls) - 1
            if self._cut and is_last and not call.whole:
                problem = f"they were cut off at the limit of {request.max_tokens} tokens; write less"
                parsed = msgspec.structs.replace(parsed, problem=problem)
            carried = self.carried if index == 0 else {}
            carried = {**carried, "extra": call.extra} if call.extra else carried
            if carried:
                parsed = msgspec.structs.replace(parsed, carried={**carried, "by": at.name})
            requests.append(parsed)
        return tuple(requests)


def parse(call_id: str, name: str, arguments: str) -> ToolRequest:
    """Return a tool call from its JSON text; arguments that are not an object become a problem."""
    try:
        value = shallow_json(arguments.strip() or "{}")
    except ValueError as error:  # msgspec's errors are, too
        return ToolRequest(call_id=call_id, name=name, arguments={}, problem=f"they are not JSON: {error}")
    if not isinstance(value, dict):
        return ToolRequest(call_id=call_id, name=name, arguments={}, problem="they are no JSON object")
    return ToolRequest(call_id=call_id, name=name, arguments=value)


def mend(text: str) -> str:
    """Return the text with surrogate pairs that came in two pieces joined, and lone halves as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mend_value(value: Json) -> Json:
    """Return JSON with every text in it mended, keys too."""
    match value:
        case str():
            return mend(value)
        case dict():
            return {mend(key): mend_value(inner) for key, inner in value.items()}
        case list():
            return [mend_value(inner) for inner in value]
        case _:
            return value


def texts_of(request: ModelRequest) -> Iterator[str]:
    """Yield every text that a request sends."""
    yield request.system
    for message in request.messages:
        yield message.text
        for call in message.requests:
            yield call.name + str(call.arguments)
            yield from call.carried.values()
    for tool in request.tools:
        yield f"{tool.name}{tool.description}{tool.parameters}"


def estimate(request: ModelRequest, *received: str) -> Usage:
    """Return the tokens by length, four characters each, for servers that report none."""
    sent = sum(map(len, texts_of(request)))
    return Usage(input_tokens=sent // 4, output_tokens=sum(map(len, received)) // 4, reported=False)
