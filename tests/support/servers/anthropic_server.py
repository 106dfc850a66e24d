"""The Messages API as Anthropic streams it.

Wire format: https://docs.anthropic.com/en/api/messages-streaming
"""

from __future__ import annotations

import json
from typing import Any

from alita_tui.events import Usage
from alita_tui.llm.scripted import ScriptReply
from alita_tui.spine.ports.models import Message
from tests.support.servers.wire import ModelServer, pieces, words

ERRORS = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 408: "timeout_error", 413: "request_too_large", 429: "rate_limit_error",
    529: "overloaded_error", 503: "overloaded_error",
}  # fmt: skip


def event(kind: str, **fields: Any) -> bytes:
    """One named event."""
    body = json.dumps({"type": kind, **fields}, separators=(",", ":"), ensure_ascii=False)
    return f"event: {kind}\ndata: {body}\n\n".encode()


def start(usage: dict[str, int] | None = None) -> bytes:
    """The first event of every stream."""
    message: dict[str, Any] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "served-model",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 10, "output_tokens": 1},
    }
    return event("message_start", message=message)


def block(place: int, head: dict[str, Any], deltas: list[dict[str, Any]]) -> list[bytes]:
    """A content block from start to stop."""
    return [
        event("content_block_start", index=place, content_block=head),
        *(event("content_block_delta", index=place, delta=delta) for delta in deltas),
        event("content_block_stop", index=place),
    ]


def end(stop: str, output_tokens: int = 5) -> list[bytes]:
    """The last two events."""
    delta = {"stop_reason": stop, "stop_sequence": None}
    return [
        event("message_delta", delta=delta, usage={"output_tokens": output_tokens}),
        event("message_stop"),
    ]


class AnthropicServer(ModelServer):
    """`/v1/messages`."""

    path = "/v1/messages"

    @property
    def base_url(self) -> str:
        return self.origin

    def key_of(self, headers: dict[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")

    def messages_of(self, body: Any) -> list[Message]:
        found: list[Message] = []
        for turn in body["messages"]:
            content = turn["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if turn["role"] == "assistant":
                text = "".join(one["text"] for one in blocks if one["type"] == "text")
                found.append(Message(role="assistant", text=text))
                continue
            for one in blocks:
                if one["type"] == "tool_result":
                    text = one.get("content") or ""
                    found.append(Message(role="tool", text=text, call_id=one["tool_use_id"]))
                else:
                    found.append(Message(role="user", text=one["text"]))
        return found

    def tool_names(self, body: Any) -> list[str]:
        return [tool["name"] for tool in body.get("tools", ())]

    def error_body(self, status: int, text: str) -> Any:
        kind = ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_01"}

    def models_body(self) -> Any:
        names = ["model-b", "model-a"]
        shown = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
            for name in names
        ]
        return {"data": shown, "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def stream(self, reply: ScriptReply, body: Any) -> list[bytes]:
        usage = reply.usage or Usage(input_tokens=10, output_tokens=5)
        counts = {
            "input_tokens": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
            "cache_creation_input_tokens": usage.cache_write_tokens,
            "cache_read_input_tokens": usage.cached_tokens,
            "output_tokens": 1,
        }
        events, place = [start(counts), event("ping")], 0
        if reply.thinking:
            said: list[dict[str, Any]] = [
                {"type": "thinking_delta", "thinking": word} for word in words(reply.thinking)
            ]
            said.append({"type": "signature_delta", "signature": "c2lnbmVk"})
            events += block(place, {"type": "thinking", "thinking": "", "signature": ""}, said)
            place += 1
        if reply.text:
            said = [{"type": "text_delta", "text": word} for word in words(reply.text)]
            events += block(place, {"type": "text", "text": ""}, said)
            place += 1
        for call in reply.requests:
            head = {"type": "tool_use", "id": f"toolu_{len(self.requests)}x{place}", "name": call.name}
            said = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(call.wire)]]
            events += block(place, {**head, "input": {}}, said)
            place += 1
        return [*events, *end(reply.ended, usage.output_tokens)]
