"""Chat completions as OpenAI and compatible servers stream them.

Wire format: https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from typing import Any

from alita_tui.llm.scripted import ScriptReply
from alita_tui.spine.ports.models import Message
from tests.support.servers.wire import ModelServer, pieces, words

FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}


def data(value: Any) -> bytes:
    """One event."""
    return b"data: " + json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One chunk with one choice."""
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish}
    return data({**HEAD, "choices": [choice], **more})


HEAD = {
    "id": "chatcmpl-C1",
    "object": "chat.completion.chunk",
    "created": 1763700000,
    "model": "served-model",
    "system_fingerprint": "fp_1",
}
DONE = b"data: [DONE]\n\n"


class OpenAIServer(ModelServer):
    """`/v1/chat/completions`."""

    path = "/v1/chat/completions"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    def key_of(self, headers: dict[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")

    def messages_of(self, body: Any) -> list[Message]:
        return [
            Message(role=message["role"], text=message.get("content") or "")
            for message in body["messages"]
            if message["role"] != "system"
        ]

    def tool_names(self, body: Any) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools", ())]

    def error_body(self, status: int, text: str) -> Any:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": text, "type": kind, "param": None, "code": None}}

    def models_body(self) -> Any:
        return {
            "object": "list",
            "data": [{"id": name, "object": "model"} for name in ("model-b", "model-a")],
        }

    def stream(self, reply: ScriptReply, body: Any) -> list[bytes]:
        asked = bool(body.get("stream_options", {}).get("include_usage"))
        more: dict[str, Any] = {"usage": None} if asked else {}
        events = [chunk({"role": "assistant", "content": "", "refusal": None}, **more)]
        events += [chunk({"reasoning_content": word}, **more) for word in words(reply.thinking)]
        events += [chunk({"content": word}, **more) for word in words(reply.text)]
        for place, call in enumerate(reply.requests):
            called = {"name": call.name, "arguments": ""}
            call_id = f"call_{len(self.requests)}x{place}"
            head = {"index": place, "id": call_id, "type": "function", "function": called}
            events.append(chunk({"tool_calls": [head]}, **more))
            events += [
                chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]}, **more)
                for piece in pieces(call.wire)
            ]
        events.append(chunk({}, FINISH.get(reply.ended, reply.ended), **more))
        if asked and reply.usage is not None:
            usage = {
                "prompt_tokens": reply.usage.input_tokens,
                "completion_tokens": reply.usage.output_tokens,
                "total_tokens": reply.usage.input_tokens + reply.usage.output_tokens,
                "prompt_tokens_details": {
                    "cached_tokens": reply.usage.cached_tokens,
                    "cache_write_tokens": reply.usage.cache_write_tokens,
                },
                "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
            }
            events.append(data({**HEAD, "choices": [], "usage": usage}))
        return [*events, DONE]
