"""Chat completions through the `openai` SDK, of the vendor and of every compatible server.

Wire format: https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec

from alita_tui.llm.assembly import CallDraft, ReplyDraft, mend
from alita_tui.llm.remote import RemoteModel
from alita_tui.spine.ports import Delta, Message, ModelRequest, ToolSpec
from alita_tui.spine.values import Json, Usage


class OpenAIModel(RemoteModel):
    """One model behind any base URL that speaks chat completions."""

    sdk = "openai"
    lazy = "openai.resources.chat.completions"

    def _connect(self) -> Any:
        client = self._sdk.AsyncOpenAI(**self._settings())
        # OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS are for the vendor or for one
        # gateway; sent to another server they would tell it what it must not know.
        client.organization = client.project = None
        client._custom_headers = {}
        decoder = client._make_sse_decoder
        client._make_sse_decoder = lambda: _Dispatched(decoder())
        return client

    async def _stream(self, request: ModelRequest, draft: ReplyDraft) -> AsyncGenerator[Delta, None]:
        body = _body(self._at.provider, self._at.model, request)
        stream = await self._client.chat.completions.create(
            **body, stream=True, timeout=self._patience(request)
        )
        async with stream:
            draft.content_type = stream.response.headers.get("content-type", "")
            reading = _Reading(draft)
            async for chunk in stream:
                draft.events += 1
                for delta in reading.take(chunk):
                    yield delta


class _Dispatched:
    """Leaves out events without data: by the standard they are none (HTML, 9.2.6), which the SDK passes over."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder

    async def aiter_bytes(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for event in self._decoder.aiter_bytes(pieces):
            if event.data:
                yield event


class _Reading:
    """The chunks of one stream, put into a draft."""

    def __init__(self, draft: ReplyDraft) -> None:
        self._draft = draft
        self._indexes: dict[int, CallDraft] = {}
        self._stop = ""

    def take(self, chunk: Any) -> list[Delta]:
        draft = self._draft
        if chunk.usage is not None:
            draft.usage = _usage(chunk.usage)
        # By the protocol a chunk with nothing but the usage is the last: a server that never gave a
        # reason for the end has ended all the same.
        draft.stop = self._stop or ("stop" if chunk.usage is not None and not chunk.choices else "")
        found: list[Delta] = []
        for choice in (chunk.choices or ())[:1]:
            draft.stop = self._stop = choice.finish_reason or self._stop
            delta = choice.delta
            if delta is None:
                continue
            extra = delta.model_extra or {}
            draft.refusal += getattr(delta, "refusal", None) or ""
            found += draft.say("thinking", extra.get("reasoning_content") or extra.get("reasoning") or "")
            for channel, text in _parts(delta.content):
                found += draft.say("thinking" if channel == "thinking" else "text", text)
            for piece in delta.tool_calls or ():
                call = self._call_of(piece)
                found += draft.say("arguments", (piece.function and piece.function.arguments) or "", call)
        return found

    def _call_of(self, piece: Any) -> CallDraft:
        """The call that a piece belongs to: by index, where it is sent and told apart, else by id.

        Seen in the wild: no index at all, one index for all parallel calls, id or name repeated
        with every piece, a new id with every piece.
        """
        calls, index = self._draft.calls, piece.index
        name = (piece.function and piece.function.name) or ""
        call: CallDraft | None
        if index is not None:
            call = self._indexes.get(index)
        else:
            same = [one for one in calls if piece.id and one.call_id == piece.id]
            call = same[-1] if same else None if piece.id else (calls[-1] if calls else None)
        if call is None or _begins_another(call, piece.id or "", name):
            call = CallDraft()
            calls.append(call)
            if index is not None:
                self._indexes[index] = call
        call.call_id = call.call_id or piece.id or ""
        call.name = name if name.startswith(call.name) else call.name + name
        return call


def _begins_another(call: CallDraft, call_id: str, name: str) -> bool:
    """True when a piece with a name cannot go on with this call, whose index or place it has."""
    if not name or not call.name or (call_id and call_id == call.call_id):
        return False
    return call.whole or bool(call_id and call.call_id and name != call.name)


def _parts(content: object) -> list[tuple[str, str]]:
    """Content as text, or as Mistral's reasoning models send it: a list of typed parts."""
    if not content:
        return []
    if isinstance(content, str):
        return [("text", content)]
    found: list[tuple[str, str]] = []
    for part in content if isinstance(content, list) else ():
        kind = str(part.get("type", "text"))
        inner = part.get(kind)
        text = inner if isinstance(inner, str) else "".join(text for _, text in _parts(inner))
        found.append((kind, text))
    return found


def _usage(usage: Any) -> Usage:
    """Prompt tokens include the cached ones here already."""
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=getattr(details, "cached_tokens", None) or 0,
        cache_write_tokens=getattr(details, "cache_write_tokens", None) or 0,
    )


def _body(provider: str, model: str, request: ModelRequest) -> dict[str, Any]:
    system = [{"role": "system", "content": mend(request.system)}] if request.system else []
    limit = "max_completion_tokens" if provider == "openai" else "max_tokens"
    body: dict[str, Any] = {
        "model": model,
        "messages": [*system, *map(_message, request.messages)],
        limit: request.max_tokens,
    }
    if provider != "mistral":  # which sends the usage unasked, and refuses options it does not know
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        # Several servers know only the words: to force one tool, it is the only one offered.
        tools = [tool for tool in request.tools if request.must_call in ("", "*", tool.name)]
        body["tools"] = [_tool(tool) for tool in tools]
        body["tool_choice"] = "required" if request.must_call else "auto"
    return body


def _tool(tool: ToolSpec) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _message(message: Message) -> dict[str, Any]:
    match message.role:
        case "user":
            return {"role": "user", "content": mend(message.text)}
        case "tool":
            return {"role": "tool", "tool_call_id": message.call_id, "content": mend(message.text)}
        case "assistant" if message.requests:
            calls = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": msgspec.json.encode(call.arguments).decode(),
                    },
                }
                for call in message.requests
            ]
            return {"role": "assistant", "content": mend(message.text) or None, "tool_calls": calls}
        case "assistant":
            return {"role": "assistant", "content": mend(message.text)}
