"""A model whose replies are a recording, for the demo and for tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from alita_tui.events import Json, ModelErrorKind, ModelRole, ToolRequest, Usage, Value, digest_of, ready
from alita_tui.llm.assembly import estimate, parse
from alita_tui.spine.errors import ConfigError, ModelError
from alita_tui.spine.ports.models import Ability, Delta, Message, ModelRequest, Reply

_PIECE = 48
"""Characters of arguments in one delta."""


class ScriptRequest(Value, frozen=True, forbid_unknown_fields=True):
    """One native tool call of a scripted reply."""

    name: str
    arguments: Json = msgspec.field(default_factory=dict)
    raw_arguments: str | None = None
    """Text that is sent in place of `arguments`, to test broken JSON."""

    @property
    def wire(self) -> str:
        """Return the arguments as JSON text, in the order of the recording."""
        if self.raw_arguments is not None:
            return self.raw_arguments
        return msgspec.json.encode(self.arguments).decode()


class ScriptError(Value, frozen=True, forbid_unknown_fields=True):
    """A call that fails."""

    kind: ModelErrorKind
    text: str
    hint: str = ""
    retry_after: float | None = None


class ScriptReply(Value, frozen=True, forbid_unknown_fields=True):
    """One reply."""

    thinking: str = ""
    text: str = ""
    requests: tuple[ScriptRequest, ...] = ()
    stop: str = ""
    """Empty: `tool_use` with requests, else `end_turn`."""
    usage: Usage | None = None
    error: ScriptError | None = None

    @property
    def ended(self) -> str:
        """Return why the reply ends."""
        return self.stop or ("tool_use" if self.requests else "end_turn")


class Rule(Value, frozen=True, forbid_unknown_fields=True):
    """Replies for the conversation that begins where a message matches."""

    role: ModelRole
    match: str
    """A regular expression, searched without regard to case."""
    replies: tuple[ScriptReply, ...]
    told_by: Literal["user", "tool"] = "user"
    """Whose messages are searched for the match; `tool`: results of actions."""


class Script(Value, frozen=True, forbid_unknown_fields=True):
    """A recording."""

    format: Literal["alita-script/1"]
    name: str
    rules: tuple[Rule, ...] = ()
    recorded: bool = True
    tasks: tuple[str, ...] = ()
    """Tasks in the recording, offered in an empty session."""
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """Task -> the file beside the script that is given with it."""
    otherwise: dict[ModelRole, ScriptReply] = msgspec.field(default_factory=dict)
    """The reply of a role to a conversation that no rule matches."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """Return the requirements of all tools that the script writes."""
        replies = (reply for rule in self.rules for reply in rule.replies)
        calls = (request.arguments for reply in replies for request in reply.requests)
        listed = (call.get("requirements", ()) for call in calls if isinstance(call, dict))
        return tuple(sorted({requirement for requirements in listed for requirement in requirements}))


def load_script(path: Path) -> Script:
    """Read a script from a file. Raise ConfigError, which says what is wrong and where."""
    try:
        script = msgspec.json.decode(path.read_bytes(), type=ready(Script))
    except OSError as error:
        raise ConfigError(f"The recording {path} cannot be read: {error.strerror}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The recording {path} is not valid: {error}.") from error
    for number, rule in enumerate(script.rules):
        try:
            re.compile(rule.match)
        except re.error as error:
            raise ConfigError(
                f"The recording {path} is not valid: $.rules[{number}].match is not a regular expression: {error}."
            ) from error
    return script


def choose(script: Script, role: ModelRole, messages: Sequence[Message]) -> ScriptReply:
    """Return the reply to a conversation, found by its text alone, so that a resumed session continues correctly.

    The last message that matches a rule of the role is the anchor (the first such rule counts); the number of
    assistant turns after it is the number of the reply. Raise ModelError if the recording has none.
    """
    hint = "Configure a model with `alita setup` to go on."
    rules = [rule for rule in script.rules if rule.role == role]
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        for rule in rules:
            if rule.told_by != message.role or not re.search(rule.match, message.text, re.IGNORECASE):
                continue
            turn = sum(later.role == "assistant" for later in messages[index + 1 :])
            if turn < len(rule.replies):
                return rule.replies[turn]
            raise ModelError("unavailable", f"The recording {script.name!r} ends here.", hint=hint)
    if reply := script.otherwise.get(role):
        return reply
    raise ModelError("unavailable", f"The recording {script.name!r} has no reply to this.", hint=hint)


class ScriptedModel:
    """Meets `Model` with the replies of a script, a word at a time."""

    def __init__(self, script: Script, *, name: str = "", delay: float = 0.0) -> None:
        """`name` defaults to `demo:` and the script's; `delay` is in seconds per piece."""
        self._script = script
        self._name = name or f"demo:{script.name}"
        self._delay = delay

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return self._name

    @property
    def abilities(self) -> frozenset[Ability]:
        """Return what it can do: call tools."""
        return frozenset({"tools"})

    @property
    def recorded(self) -> bool:
        """Return whether the replies are a recording."""
        return self._script.recorded

    def price(self, usage: Usage) -> float | None:
        """Return 0 for a recording; the price of any other script is unknown."""
        return 0.0 if self.recorded else None

    async def window(self) -> int:
        """Return 0: a recording has no window."""
        return 0

    async def warm(self) -> None:
        """Do nothing: there is no SDK."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Stream the script's reply to this conversation. Raise ModelError."""
        scripted = choose(self._script, request.role, request.messages)
        if scripted.error is not None:
            error = scripted.error
            raise ModelError(error.kind, error.text, hint=error.hint, retry_after=error.retry_after)
        for delta in _deltas(scripted):
            await asyncio.sleep(self._delay)
            yield delta
        wires = [call.wire for call in scripted.requests]
        yield Reply(
            model=self.name,
            text=scripted.text,
            thinking=scripted.thinking,
            requests=_requests(request, scripted),
            stop=scripted.ended,
            usage=scripted.usage or estimate(request, scripted.text, scripted.thinking, *wires),
        )


def _deltas(reply: ScriptReply) -> list[Delta]:
    words = re.compile(r"\S+\s*|\s+")
    deltas = [Delta(channel="thinking", text=word) for word in words.findall(reply.thinking)]
    deltas += [Delta(channel="text", text=word) for word in words.findall(reply.text)]
    for call in reply.requests:
        pieces = range(0, len(call.wire), _PIECE)
        deltas += [Delta(channel="arguments", text=call.wire[start : start + _PIECE]) for start in pieces]
    return deltas


def _requests(request: ModelRequest, reply: ScriptReply) -> tuple[ToolRequest, ...]:
    """Return the calls, with ids that are the same in every run and unique in a conversation."""
    so_far = digest_of(request.role, *(msgspec.json.encode(m).decode() for m in request.messages))[:12]
    return tuple(
        parse(f"call_{so_far}_{number}", call.name, call.wire) for number, call in enumerate(reply.requests)
    )
