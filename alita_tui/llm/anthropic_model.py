"""The Messages API through the `anthropic` SDK.

Wire format: https://docs.anthropic.com/en/api/messages-streaming
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from alita_tui.llm.assembly import CallDraft, ReplyDraft, mend
from alita_tui.llm.remote import RemoteModel
from alita_tui.spine.ports import Delta, Message, ModelRequest
from alita_tui.spine.values import Usage

_VENDOR = "https://api.anthropic.com"
_CACHED = {"cache_control": {"type": "ephemeral"}}
"""Marks the end of a prefix that the next call will send again."""


class AnthropicModel(RemoteModel):
    """One model of Anthropic, or of a server that speaks its protocol."""

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
        # The plain events: the SDK's own accumulation turns arguments that were cut into `{}`.
        stream = await self._client.messages.create(
            **_body(self._at.model, request), stream=True, timeout=self._patience(request)
        )
        async with stream:
            draft.content_type = stream.response.headers.get("content-type", "")
            reading = _Reading(draft)
            async for event in stream:
                draft.events += 1
                for delta in reading.take(event):
                    yield delta


class _Reading:
    """The events of one stream, put into a draft."""

    def __init__(self, draft: ReplyDraft) -> None:
        self._draft = draft
        self._blocks: dict[int, CallDraft] = {}
        self._fresh = self._written = self._cached = self._output = 0

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
                return self._draft.say("thinking", block.thinking or "")
            case _:
                pass
        return []

    def _go_on(self, event: Any) -> list[Delta]:
        delta = event.delta
        match delta.type:
            case "text_delta":
                return self._draft.say("text", delta.text)
            case "thinking_delta":
                return self._draft.say("thinking", delta.thinking)
            case "input_json_delta" if (call := self._blocks.get(event.index)) is not None:
                return self._draft.say("arguments", delta.partial_json, call)
            case _:
                pass
        return []

    def _count(self, usage: Any) -> None:
        """Counts are totals so far; those that a later event leaves out keep their value."""
        if usage is None:
            return
        self._fresh = getattr(usage, "input_tokens", None) or self._fresh
        self._written = getattr(usage, "cache_creation_input_tokens", None) or self._written
        self._cached = getattr(usage, "cache_read_input_tokens", None) or self._cached
        self._output = getattr(usage, "output_tokens", None) or self._output
        if self._fresh + self._written + self._cached + self._output:
            self._draft.usage = Usage(
                input_tokens=self._fresh + self._written + self._cached,
                output_tokens=self._output,
                cached_tokens=self._cached,
                cache_write_tokens=self._written,
            )


def _body(model: str, request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": _turns(request.messages),
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


def _turns(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Alternating turns: results and words of the person that follow each other are one user turn."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns:
        turns[-1]["content"][-1].update(_CACHED)
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    """The blocks of a message; never none, and no text block without text, which the API refuses."""
    text = mend(message.text)
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": _id(message.call_id), "content": text}
        return [{**result, "is_error": True} if message.is_error else result]
    said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    said += [
        {"type": "tool_use", "id": _id(call.call_id), "name": call.name, "input": call.arguments}
        for call in message.requests
    ]
    return said or [{"type": "text", "text": "(nothing)"}]


def _id(call_id: str) -> str:
    """An id that the API takes, for calls that another provider's model made earlier."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
