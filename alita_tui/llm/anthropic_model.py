"""The Messages API through the `anthropic` SDK.

Wire format: https://docs.anthropic.com/en/api/messages-streaming
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from alita_tui.llm.assembly import CallDraft, ReplyDraft, mend, mend_value
from alita_tui.llm.faults import Endpoint
from alita_tui.llm.remote import RemoteModel
from alita_tui.llm.words import most_in
from alita_tui.spine.ports.models import Delta, Message, ModelRequest

_VENDOR = "https://api.anthropic.com"
_CACHED = {"cache_control": {"type": "ephemeral"}}
"""Marks the end of a prefix that the next call will send again."""


class AnthropicModel(RemoteModel):
    """One model of Anthropic, or of a server with its protocol."""

    sdk = "anthropic"
    lazy = "anthropic.resources.messages"

    def _connect(self) -> Any:
        client = self._sdk.AsyncAnthropic(**self._settings())
        # Headers from ANTHROPIC_CUSTOM_HEADERS are meant for one gateway, which this need not be.
        # Gateways of the older protocol look for the key in X-Api-Key.
        vendor = self._at.base_url.startswith(_VENDOR)
        client._custom_headers = {} if vendor else {"X-Api-Key": self._at.key or "none"}
        return client

    async def _stream(self, request: ModelRequest, draft: ReplyDraft) -> AsyncGenerator[Delta, None]:
        try:
            stream = await self._sent(request)
        except self._sdk.APIStatusError as error:
            most = most_in(error.response.text)
            if not 0 < most < (self._most or request.max_tokens):
                raise
            self._most = most
            stream = await self._sent(request)
        async with stream:
            draft.content_type = stream.response.headers.get("content-type", "")
            reading = _StreamReader(draft)
            async for event in stream:
                draft.events += 1
                for delta in reading.take(event):
                    yield delta

    async def _sent(self, request: ModelRequest) -> Any:
        # The plain events: the SDK's own accumulation turns arguments that were cut into `{}`.
        return await self._client.messages.create(
            **_body(self._at, request, self._most), stream=True, timeout=self._patience(request)
        )


class _StreamReader:
    """Puts the events of one stream into a draft."""

    def __init__(self, draft: ReplyDraft) -> None:
        self._draft = draft
        self._blocks: dict[int, CallDraft] = {}
        self._thoughts: dict[int, dict[str, Any]] = {}
        """Thoughts of models that think before they call, which have to be sent back as they were."""
        self._counts: dict[str, Any] = {}

    def take(self, event: Any) -> list[Delta]:
        match event.type:
            case "message_start":
                self._count(event.message.usage)
            case "content_block_start":
                return self._begin(event)
            case "content_block_delta":
                return self._go_on(event)
            case "message_delta":
                self._draft.stop = event.delta.stop_reason or self._draft.stop
                self._count(event.usage)
            case "message_stop":
                self._draft.done = True
            case _:  # pings, ends of blocks, and what later versions add
                pass
        return []

    def _begin(self, event: Any) -> list[Delta]:
        block = event.content_block
        match block.type:
            case "tool_use":
                call = self._blocks[event.index] = CallDraft(block.id or "", block.name or "")
                self._draft.calls.append(call)
                if block.input:  # some gateways send the arguments here, whole
                    return self._draft.say("arguments", msgspec.json.encode(block.input).decode(), call)
            case "text":
                return self._draft.say("text", block.text or "")
            case "thinking":
                thought = {
                    "type": "thinking",
                    "thinking": block.thinking or "",
                    "signature": block.signature or "",
                }
                self._thoughts[event.index] = thought
                return self._draft.say("thinking", block.thinking or "")
            case "redacted_thinking":
                self._thoughts[event.index] = {"type": "redacted_thinking", "data": block.data}
                self._carry()
            case _:
                pass
        return []

    def _go_on(self, event: Any) -> list[Delta]:
        delta = event.delta
        match delta.type:
            case "text_delta":
                return self._draft.say("text", delta.text)
            case "signature_delta" if (thought := self._thoughts.get(event.index)) is not None:
                thought["signature"] = delta.signature
                self._carry()
            case "thinking_delta":
                if (thought := self._thoughts.get(event.index)) is not None:
                    thought["thinking"] += delta.thinking
                return self._draft.say("thinking", delta.thinking)
            case "input_json_delta" if (call := self._blocks.get(event.index)) is not None:
                return self._draft.say("arguments", delta.partial_json, call)
            case _:
                pass
        return []

    def _count(self, usage: Any) -> None:
        """Take in counts, which are totals so far; those that a later event leaves out keep their value."""
        if usage is None:
            return
        for name in (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        ):
            if (count := getattr(usage, name, None)) or name not in self._counts:
                self._counts[name] = count or 0
        uncached, cache_written, cached, output = self._counts.values()
        all_ints = all(type(count) is int for count in (uncached, cache_written, cached))
        self._draft.count(
            input_tokens=uncached + cache_written + cached if all_ints else -1,
            output_tokens=output,
            cached_tokens=cached,
            cache_write_tokens=cache_written,
        )

    def _carry(self) -> None:
        thoughts = [
            thought
            for _, thought in sorted(self._thoughts.items())
            if thought.get("signature") or "data" in thought
        ]
        self._draft.carried["blocks"] = msgspec.json.encode(thoughts).decode()


def _body(at: Endpoint, request: ModelRequest, most: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": at.model,
        "max_tokens": min(request.max_tokens, most or request.max_tokens),
        "messages": _turns(at.name, request.messages),
    }
    if request.system:
        body["system"] = [{"type": "text", "text": mend(request.system), **_CACHED}]
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        body["tool_choice"] = _choice(request.must_call)
    return body


def _choice(must_call: str) -> dict[str, str]:
    match must_call:
        case "":
            return {"type": "auto"}
        case "*":
            return {"type": "any"}
        case name:
            return {"type": "tool", "name": name}


def _turns(name: str, messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return alternating turns: results and texts of the person in a row are one user turn."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(name, message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns:
        turns[-1]["content"][-1].update(_CACHED)
    return turns


def _blocks(name: str, message: Message) -> list[dict[str, Any]]:
    """Return the blocks of a message; never an empty list or a text block without text, which the API refuses."""
    text = mend(message.text)
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": _id(message.call_id), "content": text}
        return [{**result, "is_error": True} if message.is_error else result]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    carried = message.requests[0].carried if message.requests else {}
    if "blocks" in carried and carried.get("by") == name:
        blocks = msgspec.json.decode(carried["blocks"]) + blocks
    blocks += [
        {"type": "tool_use", "id": _id(call.call_id), "name": call.name, "input": mend_value(call.arguments)}
        for call in message.requests
    ]
    return blocks or [{"type": "text", "text": "(nothing)"}]


def _id(call_id: str) -> str:
    """Return an id that the API accepts, for calls that another provider's model made."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
