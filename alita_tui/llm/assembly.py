"""A reply while it arrives. Only what ended properly becomes a `Reply`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

import msgspec

from alita_tui.llm.faults import Endpoint
from alita_tui.spine.errors import ModelErrorKind
from alita_tui.spine.ports import Delta, ModelRequest, Reply
from alita_tui.spine.values import ToolRequest, Usage

Channel = Literal["text", "thinking", "arguments"]

_STOPS = {
    "stop": "end_turn", "eos": "end_turn", "tool_calls": "tool_use", "function_call": "tool_use",
    "length": "max_tokens", "model_length": "max_tokens",
}  # fmt: skip
"""Words for the end of a reply, in those of the Messages API."""
_FAULTS: dict[str, tuple[ModelErrorKind, str]] = {
    "refusal": ("refused", "The model declined."),
    "content_filter": ("refused", "The provider's filter held the reply back."),
    "safety": ("refused", "The provider's filter held the reply back."),
    "model_context_window_exceeded": ("context", "The conversation is longer than the model's window."),
    "error": ("server", "The server gave the reply up."),
    "abort": ("server", "The server gave the reply up."),
    "insufficient_system_resource": ("overloaded", "The server ran out of resources."),
}
"""Ends that are no reply, whatever came before them."""


@dataclass
class CallDraft:
    """A tool call whose arguments are still coming."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        """True when the arguments are a complete JSON object."""
        return bool(self.arguments) and not parse(self.call_id, self.name, self.arguments).problem


class ReplyDraft:
    """Collects the pieces of one reply, whichever protocol they came by."""

    def __init__(self) -> None:
        self.calls: list[CallDraft] = []
        self.stop = ""
        """The reason for the end as the server wrote it; empty while there is none."""
        self.refusal = ""
        self.usage: Usage | None = None
        self.events = 0
        """Events of the stream so far."""
        self.content_type = ""
        self._said: dict[Channel, str] = {"text": "", "thinking": "", "arguments": ""}
        self._half: dict[Channel, str] = {}

    def say(self, channel: Channel, piece: str, call: CallDraft | None = None) -> list[Delta]:
        """Add a piece; returns what can be shown of it.

        Half a character (a high surrogate whose other half comes in the next piece) is held back.
        """
        if not piece:
            return []
        if call is not None:
            call.arguments += piece
        self._said[channel] += piece
        text = self._half.pop(channel, "") + piece
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half[channel] = text[:-1], text[-1]
        return [Delta(channel=channel, text=mend(text))] if text else []

    def finish(self, at: Endpoint, request: ModelRequest) -> Reply:
        """The whole reply. Raises ModelError when it did not end properly."""
        self._check(at, request)
        text = mend(self._said["text"])
        requests = self._requests(request)
        if not text.strip() and not requests:
            raise at.fault("malformed", "The reply is empty.", hint="Try again, or choose another model.")
        stop = _STOPS.get(self.stop.lower(), self.stop.lower())
        return Reply(
            model=at.name,
            text=text,
            thinking=mend(self._said["thinking"]),
            requests=requests,
            stop="tool_use" if requests and stop == "end_turn" else stop,
            usage=self.usage or estimate(request, *self._said.values()),
        )

    @property
    def _cut(self) -> bool:
        return _STOPS.get(self.stop.lower(), self.stop.lower()) == "max_tokens"

    def _check(self, at: Endpoint, request: ModelRequest) -> None:
        if not self.events and "event-stream" not in self.content_type:
            kind = self.content_type or "something unnamed"
            raise at.fault("malformed", f"{at.host} answered with {kind}, not with a stream.")
        if self.refusal:
            raise at.fault("refused", f"The model declined. {self.refusal}")
        if not self.stop:
            raise at.fault("truncated", "The stream ended before the reply did.")
        if failed := _FAULTS.get(self.stop.lower()):
            raise at.fault(*failed)
        if self._cut and not self.calls:
            raise at.fault(
                "malformed",
                f"The reply is longer than the {request.max_tokens} tokens that it may have.",
                hint="Raise budget.reply_tokens with `alita config set`, or ask for less at once.",
            )

    def _requests(self, request: ModelRequest) -> tuple[ToolRequest, ...]:
        made: list[ToolRequest] = []
        taken: set[str] = set()
        for place, call in enumerate(self.calls):
            call_id = call.call_id
            if not call_id or call_id in taken:  # some servers send none, or one for all
                call_id = f"call_{uuid4().hex[:16]}"
            taken.add(call_id)
            parsed = parse(call_id, call.name, mend(call.arguments))
            last = place == len(self.calls) - 1
            if self._cut and last and not call.whole:
                problem = f"they were cut off at the limit of {request.max_tokens} tokens; write less"
                parsed = msgspec.structs.replace(parsed, problem=problem)
            made.append(parsed)
        return tuple(made)


def parse(call_id: str, name: str, arguments: str) -> ToolRequest:
    """A tool call from the JSON text that came over the wire; what is no object becomes a problem."""
    try:
        value = msgspec.json.decode(arguments.strip() or "{}")
        problem = "" if isinstance(value, dict) else "they are no JSON object"
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        value, problem = {}, f"they are not JSON: {error}"
    return ToolRequest(call_id=call_id, name=name, arguments={} if problem else value, problem=problem)


def mend(text: str) -> str:
    """Surrogate pairs that came in two pieces become one character, lone halves U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def estimate(request: ModelRequest, *said: str) -> Usage:
    """Tokens by length, about four characters each, for servers that report none."""
    sent = len(request.system) + sum(
        len(message.text) + sum(len(str(call.arguments)) for call in message.requests)
        for message in request.messages
    )
    return Usage(input_tokens=sent // 4, output_tokens=sum(map(len, said)) // 4, reported=False)
