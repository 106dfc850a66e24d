"""Tool calls in plain text, for models that have none of their own.

A reply ends in blocks of `<action name="NAME">` + one JSON object + `</action>`, and in nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Literal

import msgspec

from alita_tui.events import ToolRequest, Usage, digest_of
from alita_tui.llm.factory import OpenedModel
from alita_tui.spine.errors import ModelError
from alita_tui.spine.levels import DEEPEST, levels, too_deep
from alita_tui.spine.ports.models import Ability, Delta, Message, ModelRequest, Reply

NO_ACTION = "no_action"
"""Name of the call that represents a reply without an action."""
_OPEN = "<action"
_HERMES = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
"""Calls as many chat templates write them; models trained on it use it despite other instructions."""
_BLOCK = re.compile(r'<action\s+name="([^"\n]{0,100})"\s*>(.*?)</action>', re.DOTALL)
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_HOW = """

# How to act

You have no tools of your own: you act by the end of your reply, in exactly this form.

<action name="NAME">
{"argument": "value"}
</action>

Between the tags stands one JSON object that fits the action's schema, with line breaks in texts as \\n.
Write nothing after the last </action>. {rule}

The actions:
"""


class TextToolsModel:
    """Meets `OpenedModel` over a model that may not call tools: by their text, once that is known."""

    def __init__(self, model: OpenedModel, tools: Literal["text", "auto"]) -> None:
        """`auto` decides by the first replies that should be calls: one in text alone may be a slip, two are not."""
        self._model = model
        self._in_words = False
        """Whether the last reply, which might have called any tool, was text alone."""
        self._mode: Literal["text", "auto", "native"] = tools

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return self._model.name

    @property
    def recorded(self) -> bool:
        """Return whether the replies are a recording."""
        return self._model.recorded

    @property
    def abilities(self) -> frozenset[Ability]:
        """Return the model's abilities, without tools once it needs the text protocol."""
        return self._model.abilities - {"tools"} if self.in_text else self._model.abilities

    @property
    def in_text(self) -> bool:
        """Return whether tools are called by the text protocol."""
        return self._mode == "text"

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars for a usage, or None when unknown."""
        return self._model.price(usage)

    async def window(self) -> int:
        """Return the window in tokens, 0 when unknown."""
        return await self._model.window()

    async def warm(self) -> None:
        """Import what the first call needs. Raise ModelError."""
        await self._model.warm()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._model.aclose()

    async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Stream one reply. Raise ModelError `no_tools` once, when the model turns out to call none; ask again then."""
        how = self._in_text(request) if self._mode == "text" and request.tools else self._natively(request)
        async with aclosing(how) as pieces:
            async for piece in pieces:
                yield piece

    async def _natively(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        try:
            async with aclosing(self._model.reply(request)) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    if isinstance(piece, Reply) and request.tools and self._mode == "auto":
                        if piece.requests:
                            self._mode = "native"
                        elif request.must_call and (
                            request.must_call != "*" or self._in_words or _written_calls(piece.text)
                        ):
                            raise self._found_out()
                        else:
                            self._in_words = bool(request.must_call)
                    yield piece
        except ModelError as error:
            if error.kind != "no_tools" or self._mode == "text":
                raise
            raise self._found_out() from None

    def _found_out(self) -> ModelError:
        self._mode = "text"
        return ModelError(
            "no_tools",
            f"{self.name}: it calls no tools of its own; the text protocol is used from now on.",
            hint=f'`alita models add "{self.name}; tools=text"` spares the attempt.',
        )

    async def _in_text(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        channels = _Channels()
        async with aclosing(self._model.reply(in_text(request))) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                match piece:
                    case Delta(channel="text", text=text):
                        for delta in channels.take(text):
                            yield delta
                    case Delta():
                        yield piece
                    case Reply():
                        yield read(piece, request)


def in_text(request: ModelRequest) -> ModelRequest:
    """Return the request for a model that knows only text."""
    listed = "\n".join(
        f"- {tool.name}: {tool.description}\n  schema: {msgspec.json.encode(tool.parameters).decode()}"
        for tool in request.tools
        if request.must_call in ("", "*", tool.name)
    )
    rule = (
        "Every reply needs at least one action."
        if request.must_call
        else "Without an action you just answer."
    )
    return msgspec.structs.replace(
        request,
        system=request.system + _HOW.replace("{rule}", rule) + listed,
        messages=_turns(request.messages),
        tools=(),
        must_call="",
    )


def read(reply: Reply, request: ModelRequest) -> Reply:
    """Return a text reply with its actions as calls; a malformed action becomes a call with a problem."""
    thoughts = _THOUGHT.findall(reply.text)
    text = _HERMES.sub(_as_action, _THOUGHT.sub("", reply.text))
    head, calls, tail = text, [], ""
    blocks = list(_BLOCK.finditer(text))
    if blocks:
        head, tail = text[: blocks[0].start()], _BLOCK.sub("", text[blocks[0].start() :])
        calls = [_call(block[1], block[2], f"{reply.text}{number}") for number, block in enumerate(blocks)]
    problem = ""
    if _OPEN in (tail if blocks else text):
        problem = "an <action> is not closed, or its first line is not as described"
    elif tail.strip():
        problem = "there is text after or between the actions"
    elif not blocks and request.must_call not in ("", "*"):
        problem = 'the reply has no <action name="NAME"> block'
    if problem:
        calls = [ToolRequest(call_id=_id(reply.text), name=NO_ACTION, arguments={}, problem=problem)]
        head = text
    return msgspec.structs.replace(
        reply,
        text=head.strip(),
        thinking="\n".join(filter(None, (reply.thinking, *map(str.strip, thoughts)))),
        requests=tuple(calls),
        stop="tool_use" if calls and reply.stop == "end_turn" else reply.stop,
    )


def _written_calls(text: str) -> bool:
    """Return whether a plain-text reply contains calls, as written by models without native calls."""
    return _OPEN in text or _HERMES.search(text) is not None


def _as_action(match: re.Match[str]) -> str:
    """Return a call of a model's own template in our form, or the text unchanged if it is not a call."""
    try:
        call = json.loads(match[1], strict=False)
        name, arguments = call["name"], call.get("arguments", call.get("parameters", {}))
    except (ValueError, TypeError, KeyError, RecursionError):
        return match[0]
    if not isinstance(name, str) or '"' in name:
        return match[0]
    return f'{_OPEN} name="{name}">\n{json.dumps(arguments)}\n</action>'


def _call(name: str, body: str, id_source: str) -> ToolRequest:
    try:
        value = json.loads(body, strict=False)  # raw line breaks in texts are common, and clear
        problem = "" if isinstance(value, dict) else "they are no JSON object"
        if levels(value) > DEEPEST:
            problem = f"they are not JSON: {too_deep()}"
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        value, problem = {}, "they hold half a character (a surrogate without its other half)"
    except (ValueError, RecursionError) as error:
        value, problem = {}, f"they are not JSON: {error}"
    return ToolRequest(
        call_id=_id(id_source), name=name or NO_ACTION, arguments={} if problem else value, problem=problem
    )


def _id(text: str) -> str:
    return f"text_{digest_of(text)[:16]}"


def _turns(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the conversation as text in alternating turns, which many chat templates demand."""
    names = {call.call_id: call.name for message in messages for call in message.requests}
    turns: list[Message] = []
    for message in messages:
        match message.role:
            case "assistant":
                text = "\n".join(filter(None, (message.text, *map(_block, message.requests)))) or "(nothing)"
            case "tool":
                failed = ", which failed" if message.is_error else ""
                text = f"Result of {names.get(message.call_id, 'the action')}{failed}:\n{message.text}"
            case _:
                text = message.text
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1].role == role:
            turns[-1] = Message(role=role, text=f"{turns[-1].text}\n\n{text}")
        else:
            turns.append(Message(role=role, text=text))
    return tuple(turns)


def _block(call: ToolRequest) -> str:
    if call.name == NO_ACTION:  # its text stays as it was written
        return ""
    return f'<action name="{call.name}">\n{msgspec.json.encode(call.arguments).decode()}\n</action>'


class _Channels:
    """Splits streamed text where the first action begins."""

    def __init__(self) -> None:
        self._held_back = ""
        self._acting = False

    def take(self, piece: str) -> list[Delta]:
        if self._acting:
            return [Delta(channel="arguments", text=piece)]
        text, self._held_back = self._held_back + piece, ""
        at = text.find(_OPEN)
        if at >= 0:
            self._acting = True
            parts: list[tuple[Literal["text", "arguments"], str]] = [
                ("text", text[:at]),
                ("arguments", text[at:]),
            ]
            return [Delta(channel=channel, text=part) for channel, part in parts if part]
        keep = next((size for size in range(len(_OPEN) - 1, 0, -1) if text.endswith(_OPEN[:size])), 0)
        text, self._held_back = text[: len(text) - keep], text[len(text) - keep :]
        return [Delta(channel="text", text=text)] if text else []
