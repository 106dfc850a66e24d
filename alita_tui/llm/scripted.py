"""A model whose replies are a recording: for the demo, which says so, and for tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from alita_tui.spine.errors import ConfigError, ModelError, ModelErrorKind
from alita_tui.spine.ports import Delta, Message, ModelRequest, Reply
from alita_tui.spine.values import Json, ToolRequest, Usage, Value

Role = Literal["orchestrator", "planner", "toolsmith", "reviewer", "summariser"]


class ScriptCall(Value, frozen=True):
    """One native tool call of a scripted reply."""

    name: str
    arguments: Json = msgspec.field(default_factory=dict)
    raw_arguments: str | None = None
    """What goes over the wire instead of `arguments`: for servers that send broken JSON."""


class ScriptError(Value, frozen=True):
    """A reply that is a failure."""

    kind: ModelErrorKind
    text: str


class ScriptReply(Value, frozen=True):
    """One reply."""

    thinking: str = ""
    text: str = ""
    requests: tuple[ScriptCall, ...] = ()
    stop: str = ""
    usage: Usage | None = None
    error: ScriptError | None = None


class Rule(Value, frozen=True):
    """Replies for the conversation that begins where a message matches."""

    role: Role
    match: str
    """A regular expression, searched in a user message without regard to case."""
    replies: tuple[ScriptReply, ...]


class Script(Value, frozen=True):
    """A recording."""

    format: Literal["alita-script/1"]
    name: str
    rules: tuple[Rule, ...]
    recorded: bool = True
    tasks: tuple[str, ...] = ()
    """Tasks that it knows, offered in an empty session."""
    otherwise: dict[Role, ScriptReply] = msgspec.field(default_factory=dict)


@lru_cache(maxsize=8)
def load_script(path: Path) -> Script:
    """Read a recording. Raises ConfigError that says what is wrong with it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Script)
    except OSError as error:
        raise ConfigError(f"The recording {path} cannot be read: {error.strerror}.") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"The recording {path} is not valid: {error}.") from error


def choose(script: Script, role: str, messages: tuple[Message, ...]) -> ScriptReply:
    """The reply to a conversation, from its text alone, so that a resumed one goes on rightly.

    The last user message that matches a rule of the role is the anchor; the number of assistant
    turns after it is the number of the reply. Raises ModelError where the recording has none.
    """
    rules = [rule for rule in script.rules if rule.role == role]
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].role != "user":
            continue
        for rule in rules:
            if not re.search(rule.match, messages[place].text, re.IGNORECASE):
                continue
            turn = sum(message.role == "assistant" for message in messages[place + 1 :])
            if turn < len(rule.replies):
                return rule.replies[turn]
            raise ModelError(
                "unavailable",
                f"The recording {script.name!r} ends here.",
                hint="Configure a model with `alita setup` to go on.",
            )
    for known, reply in script.otherwise.items():
        if known == role:
            return reply
    raise ModelError("unavailable", f"The recording {script.name!r} has no reply for this.")


class ScriptedModel:
    """Meets `Model` with the replies of a script, a word at a time."""

    def __init__(self, script: Script, *, delay: float = 0.0) -> None:
        self._script = script
        self._delay = delay

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return f"demo:{self._script.name}"

    @property
    def recorded(self) -> bool:
        """See `Model.recorded`."""
        return self._script.recorded

    def price(self, usage: Usage) -> float | None:
        """Nothing is spent on a recording."""
        return 0.0

    async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.reply`."""
        said = choose(self._script, request.role, request.messages)
        if said.error is not None:
            raise ModelError(said.error.kind, said.error.text)
        for channel, text in (("thinking", said.thinking), ("text", said.text)):
            for word in re.findall(r"\S+\s*", text):
                await asyncio.sleep(self._delay)
                yield msgspec.convert({"channel": channel, "text": word}, Delta)
        requests = tuple(_request(f"call_{number}", call) for number, call in enumerate(said.requests))
        for call in said.requests:
            wire = msgspec.json.encode(call.arguments).decode()
            for start in range(0, len(wire), 48):
                await asyncio.sleep(self._delay)
                yield Delta(channel="arguments", text=wire[start : start + 48])
        usage = said.usage or Usage(
            input_tokens=sum(len(message.text) for message in request.messages) // 4,
            output_tokens=(len(said.text) + len(said.thinking) + 40 * len(requests)) // 4,
            reported=False,
        )
        yield Reply(
            model=self.name,
            text=said.text,
            thinking=said.thinking,
            requests=requests,
            stop=said.stop or ("tool_use" if requests else "end_turn"),
            usage=usage,
        )


def _request(call_id: str, call: ScriptCall) -> ToolRequest:
    if call.raw_arguments is None:
        return ToolRequest(call_id=call_id, name=call.name, arguments=call.arguments)
    return parsed(call_id, call.name, call.raw_arguments)


def parsed(call_id: str, name: str, arguments: str) -> ToolRequest:
    """A tool call from the JSON text that came over the wire; what is no object becomes a problem."""
    try:
        value = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return ToolRequest(call_id=call_id, name=name, arguments={}, problem=f"invalid JSON: {error}")
    if not isinstance(value, dict):
        return ToolRequest(
            call_id=call_id, name=name, arguments={}, problem="the arguments are no JSON object"
        )
    return ToolRequest(call_id=call_id, name=name, arguments=value)
