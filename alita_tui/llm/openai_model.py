"""Chat completions through the `openai` SDK, of the vendor and of every compatible server.

Wire format: https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec

from alita_tui.llm.assembly import CallDraft, ReplyDraft
from alita_tui.llm.chat_body import adapted, chat_body
from alita_tui.llm.presets import rules_of
from alita_tui.llm.remote import RemoteModel
from alita_tui.llm.schemas import unfolded
from alita_tui.llm.words import most_in
from alita_tui.spine.ports.models import Delta, ModelRequest


class OpenAIModel(RemoteModel):
    """One model behind any base URL with the chat completions protocol."""

    sdk = "openai"
    lazy = "openai.resources.chat.completions"

    def _connect(self) -> Any:
        client = self._sdk.AsyncOpenAI(**self._settings())
        # OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS are for the vendor or for one
        # gateway; another server must not see them.
        client.organization = client.project = None
        client._custom_headers = {}
        decoder = client._make_sse_decoder
        client._make_sse_decoder = lambda: _Dispatched(decoder())
        self._rules = rules_of(self._at.provider)
        return client

    async def _stream(self, request: ModelRequest, draft: ReplyDraft) -> AsyncGenerator[Delta, None]:
        stream = await self._open_stream(request)
        async with stream:
            draft.content_type = stream.response.headers.get("content-type", "")
            reading = _StreamReader(draft)
            async for chunk in stream:
                draft.events += 1
                for delta in reading.take(chunk):
                    yield delta
            draft.done = stream._decoder.done
        for call in draft.calls if self._rules.schemas == "google" else ():
            tool = next((tool for tool in request.tools if tool.name == call.name), None)
            call.arguments = unfolded(call.arguments, tool.parameters if tool else None)

    async def _open_stream(self, request: ModelRequest) -> Any:
        """Return the reply's stream; a field that the server refuses is left out from then on."""
        while True:
            body = chat_body(self._rules, self._at, request, self._most)
            try:
                return await self._client.chat.completions.create(
                    **body, stream=True, timeout=self._patience(request)
                )
            except self._sdk.APIStatusError as error:
                refusal = error.response.text
                most, changed = most_in(refusal), adapted(self._rules, refusal, error.status_code)
                if changed is None and not 0 < most < (self._most or request.max_tokens):
                    raise
                self._rules, self._most = changed or self._rules, most or self._most


class _Dispatched:
    """Drops events without data, which the standard does not count as events (HTML, 9.2.6) but the SDK does.

    Also sees the `[DONE]` that the SDK hides: the end for servers that give no reason for it.
    """

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self.done = False

    async def aiter_bytes(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for event in self._decoder.aiter_bytes(pieces):
            self.done = self.done or event.data.startswith("[DONE]")
            if event.data:
                yield event


class _StreamReader:
    """Puts the chunks of one stream into a draft."""

    def __init__(self, draft: ReplyDraft) -> None:
        self._draft = draft
        self._indexes: dict[int, CallDraft] = {}
        self._stop = ""
        self._details: list[Any] = []

    def take(self, chunk: Any) -> list[Delta]:
        draft = self._draft
        if chunk.usage is not None:
            _count(draft, chunk.usage)
        # By the protocol a chunk with nothing but the usage is the last: a server that never gave a
        # reason for the end has still ended.
        draft.stop = self._stop or ("stop" if chunk.usage is not None and not chunk.choices else "")
        deltas: list[Delta] = []
        for choice in (chunk.choices or ())[:1]:
            draft.stop = self._stop = choice.finish_reason or self._stop
            delta = choice.delta
            if delta is None:
                continue
            extra = delta.model_extra or {}
            draft.refusal += getattr(delta, "refusal", None) or ""
            if isinstance(thought := extra.get("reasoning_content"), str):
                draft.carried["reasoning"] = draft.carried.get("reasoning", "") + thought
            self._details += extra.get("reasoning_details") or []
            if self._details:
                draft.carried["details"] = msgspec.json.encode(merged(self._details)).decode()
            deltas += draft.say("thinking", thought or extra.get("reasoning") or "")
            for channel, text in _parts(delta.content):
                deltas += draft.say("thinking" if channel == "thinking" else "text", text)
            for piece in delta.tool_calls or ():
                call = self._call_of(piece)
                deltas += draft.say("arguments", (piece.function and piece.function.arguments) or "", call)
        return deltas

    def _call_of(self, piece: Any) -> CallDraft:
        """Return the call that a piece belongs to: by index if there is a distinct one, else by id.

        Servers send no index, one index for all parallel calls, id or name repeated with every piece, or a new id
        with every piece.
        """
        calls, index = self._draft.calls, piece.index
        name = (piece.function and piece.function.name) or ""
        call: CallDraft | None
        if index is not None:
            call = self._indexes.get(index)
        else:
            matches = [call for call in calls if piece.id and call.call_id == piece.id]
            call = matches[-1] if matches else None if piece.id else (calls[-1] if calls else None)
        if call is None or _begins_another(call, piece.id or "", name):
            call = CallDraft()
            calls.append(call)
            if index is not None:
                self._indexes[index] = call
        call.call_id = call.call_id or piece.id or ""
        if extra := (piece.model_extra or {}).get("extra_content"):
            call.extra = msgspec.json.encode(extra).decode()
        call.name = name if name.startswith(call.name) else call.name + name
        return call


def _begins_another(call: CallDraft, call_id: str, name: str) -> bool:
    """Return whether a piece with a name belongs to another call than the one with its index or place."""
    if not name or not call.name or (call_id and call_id == call.call_id):
        return False
    return call.whole or bool(call_id and call.call_id and name != call.name)


def _parts(content: object) -> list[tuple[str, str]]:
    """Return content as text, or as the typed parts that Mistral's reasoning models send."""
    if not content:
        return []
    if isinstance(content, str):
        return [("text", content)]
    parts: list[tuple[str, str]] = []
    for part in content if isinstance(content, list) else ():
        kind = str(part.get("type", "text"))
        inner = part.get(kind)
        text = inner if isinstance(inner, str) else "".join(text for _, text in _parts(inner))
        parts.append((kind, text))
    return parts


def merged(details: list[Any]) -> list[dict[str, Any]]:
    """Return OpenRouter's `reasoning_details` with the pieces of each thought joined, in the form to send back."""
    thoughts: list[dict[str, Any]] = []
    for piece in details:
        newest = thoughts[-1] if thoughts else {}
        if not isinstance(piece, dict):
            continue
        if not newest or any(piece.get(key) != newest.get(key) for key in ("type", "index", "id")):
            thoughts.append(dict(piece))
            continue
        for key, value in piece.items():
            joined = key in ("text", "summary", "data") and isinstance(newest.get(key), str)
            newest[key] = newest[key] + value if joined and isinstance(value, str) else value
    return thoughts


def _count(draft: ReplyDraft, usage: Any) -> None:
    """Take in the usage; prompt tokens include the cached ones here.

    Gemini and xAI leave thoughts out of the completion's tokens, but not out of the total and the bill.
    """
    details = getattr(usage, "prompt_tokens_details", None)
    input_tokens, output_tokens = usage.prompt_tokens, usage.completion_tokens
    total = getattr(usage, "total_tokens", None)
    if (
        type(input_tokens) is type(output_tokens) is type(total) is int
        and total > input_tokens + output_tokens
    ):
        output_tokens = total - input_tokens
    draft.count(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=getattr(details, "cached_tokens", None),
        cache_write_tokens=getattr(details, "cache_write_tokens", None),
    )
