"""Servers that keep to one vendor's rules, and refuse what it refuses, in its words.

Where each rule is from stands beside it. `GET /v1/models` and what else a server tells is there too.
"""

from __future__ import annotations

from typing import Any

from alita_tui.llm.scripted import ScriptReply
from tests.support.servers.openai_server import DONE, FINISH, HEAD, OpenAIServer, chunk, data
from tests.support.servers.wire import words


def error(
    message: str, kind: str = "invalid_request_error", code: str | int | None = None, **more: Any
) -> Any:
    """OpenAI's form, which most others took over."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **more}}


class NewOpenAIServer(OpenAIServer):
    """OpenAI's reasoning models: https://platform.openai.com/docs/api-reference/chat/create (max_tokens)."""

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        if "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            return 400, error(said, code="unsupported_parameter")
        if body["max_completion_tokens"] > 16384:
            said = f"max_tokens is too large: {body['max_completion_tokens']}. This model supports at most 16384 completion tokens, whereas you provided {body['max_completion_tokens']}."
            return 400, error(said, code="invalid_value")
        return None


class GeminiServer(OpenAIServer):
    """Gemini 3 behind its compatible endpoint.

    Signatures: https://ai.google.dev/gemini-api/docs/thought-signatures (function calling, OpenAI compatibility);
    errors come as a list with one object (seen in reports of the endpoint). Schemas: the `Schema` object of
    https://ai.google.dev/api/caching#Schema.
    """

    KNOWN = {
        "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties",
        "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf",
        "propertyOrdering", "items", "minimum", "maximum",
    }  # fmt: skip

    def models_body(self) -> Any:
        return {"object": "list", "data": [{"id": "models/gemini-3.5-flash", "object": "model"}]}

    def error_body(self, status: int, text: str) -> Any:
        return [{"error": {"code": status, "message": text, "status": "INVALID_ARGUMENT"}}]

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        for n, tool in enumerate(body.get("tools", ())):
            place = f"GenerateContentRequest.tools[0].function_declarations[{n}].parameters"
            if "parameters" in tool["function"] and (
                wrong := self._schema(tool["function"]["parameters"], place)
            ):
                return 400, self.error_body(400, wrong)
        turns = body["messages"]
        begins = max((n for n, turn in enumerate(turns) if turn["role"] == "user"), default=0)
        for n, turn in enumerate(turns[begins:], begins):
            calls = turn.get("tool_calls") or ()
            signature = calls and calls[0].get("extra_content", {}).get("google", {}).get("thought_signature")
            if calls and signature not in (f"signed-{calls[0]['id']}", "skip_thought_signature_validator"):
                said = (
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools "
                    "to work correctly, and missing thought_signature may lead to degraded model performance. "
                    f"Additional data, function call `default_api:{calls[0]['function']['name']}` , position {n}."
                )
                return 400, self.error_body(400, said)
        return None

    def _schema(self, schema: Any, place: str) -> str:
        for key in schema:
            if key not in self.KNOWN:
                return (
                    f"Invalid JSON payload received. Unknown name \"{key}\" at '{place}': Cannot find field."
                )
        if not isinstance(schema.get("type", "string"), str):
            return f"Invalid value at '{place}.type' (type), Proto field is not repeating, cannot start list."
        if schema.get("type") == "null" or ("type" not in schema and "anyOf" not in schema):
            return f"* {place}.type: must be specified when not using one_of, any_of or all_of fields"
        if schema.get("type") == "object" and not schema.get("properties"):
            return f"* {place}.properties: should be non-empty for OBJECT type"
        parts = [(f"{place}.properties[{name}]", part) for name, part in schema.get("properties", {}).items()]
        parts += [(f"{place}.items", schema["items"])] if "items" in schema else []
        parts += [(f"{place}.any_of[{n}]", part) for n, part in enumerate(schema.get("anyOf", ()))]
        return next(filter(None, (self._schema(part, at) for at, part in parts)), "")

    def stream(self, reply: ScriptReply, body: Any) -> list[bytes]:
        events = [chunk({"role": "assistant", "content": word}) for word in words(reply.text)]
        calls = []
        for n, call in enumerate(reply.requests):
            call_id = f"function-call-{len(self.requests)}{n}"
            signed = (
                {"extra_content": {"google": {"thought_signature": f"signed-{call_id}"}}} if n == 0 else {}
            )
            function = {"name": call.name, "arguments": call.wire}
            calls.append({**signed, "function": function, "id": call_id, "type": "function", "index": n})
        usage = {
            "prompt_tokens": 50,
            "completion_tokens": 7,
            "total_tokens": 157,
        }  # thoughts only in the total
        events.append(chunk({"role": "assistant", "tool_calls": calls} if calls else {}, "stop", usage=usage))
        return [*events, DONE]


class DeepSeekServer(OpenAIServer):
    """DeepSeek V4, which thinks by default: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls."""

    def models_body(self) -> Any:
        return {"object": "list", "data": [{"id": "deepseek-flash", "object": "model"}]}

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        if body.get("tool_choice", "auto") not in ("auto", "none"):
            return 400, error("Thinking mode does not support this tool_choice", code="invalid_request_error")
        for n, turn in enumerate(body["messages"]):
            if turn.get("tool_calls") and "reasoning_content" not in turn:
                said = (
                    f"Missing `reasoning_content` field in the assistant message at message index {n}. For more "
                    "information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
                )
                return 400, error(said, code="invalid_request_error")
        return None

    def stream(self, reply: ScriptReply, body: Any) -> list[bytes]:
        return [b": keep-alive\n\n", *super().stream(reply, body)]


class MistralServer(OpenAIServer):
    """Mistral. The rules for ids are those of its own library, mistral-common, in its words.

    That no `user` turn follows a `tool` turn is its API's (code 3230; https://github.com/BerriAI/litellm/issues/6323).
    """

    def models_body(self) -> Any:
        return {"object": "list", "data": [{"id": "mistral-medium-latest", "object": "model"}]}

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        from mistral_common.exceptions import MistralCommonException
        from mistral_common.protocol.instruct.request import ChatCompletionRequest
        from mistral_common.protocol.instruct.validator import MistralRequestValidatorV11

        if extra := body.keys() - {"model", "messages", "max_tokens", "tools", "tool_choice", "stream"}:
            detail = [
                {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}
                for name in extra
            ]
            return 422, {
                "object": "error",
                "message": {"detail": detail},
                "type": "invalid_request_error",
                "code": "1000",
            }
        roles = [turn["role"] for turn in body["messages"]]
        if ("tool", "user") in zip(roles, roles[1:], strict=False):
            said = "Unexpected role 'user' after role 'tool'"
            return 400, {"object": "error", "message": said, "type": "invalid_request_error", "code": "3230"}
        try:
            asked = ChatCompletionRequest.from_openai(body["messages"], body.get("tools"))
            MistralRequestValidatorV11().validate_messages(asked.messages)
        except (MistralCommonException, ValueError) as wrong:
            code = "3280" if "Tool call id" in str(wrong) else "3230"
            return 400, {
                "object": "error",
                "message": str(wrong),
                "type": "invalid_request_message_order",
                "param": None,
                "code": code,
            }
        return None

    def stream(self, reply: ScriptReply, body: Any) -> list[bytes]:
        events = [
            chunk({"role": "assistant", "content": ""}),
            *(chunk({"content": word}) for word in words(reply.text)),
        ]
        calls = [
            {
                "id": f"Ab{len(self.requests):03}x{n:03}"[:9],
                "function": {"name": call.name, "arguments": call.wire},
                "index": n,
            }
            for n, call in enumerate(reply.requests)
        ]
        usage = {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57}
        finish = FINISH.get(reply.ended, reply.ended)
        return [
            *events,
            chunk({"content": "", "tool_calls": calls} if calls else {"content": ""}, finish, usage=usage),
            DONE,
        ]


class XaiServer(OpenAIServer):
    """xAI: the error is a sentence beside its code (seen in reports of its answers)."""

    def models_body(self) -> Any:
        return {"object": "list", "data": [{"id": "grok-4.7", "object": "model"}]}

    def error_body(self, status: int, text: str) -> Any:
        code = {404: "Some requested entity was not found"}.get(
            status, "Client specified an invalid argument"
        )
        return {"code": code, "error": text}


class SmallServer(OpenAIServer):
    """A local server with a small window. It counts four characters as one token."""

    window = 8192
    tools = True

    def size(self, body: Any) -> int:
        return len(str(body["messages"]) + str(body.get("tools", ""))) // 4


class VllmServer(SmallServer):
    """vLLM: `vllm/entrypoints/openai/serving_engine.py` (`_validate_input`), `serving_chat.py` (tool choice)."""

    def models_body(self) -> Any:
        return {
            "object": "list",
            "data": [{"id": "served-model", "object": "model", "max_model_len": self.window}],
        }

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        if body.get("tools") and not self.tools:
            said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            return 400, {
                "object": "error",
                "message": said,
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        sent, most = self.size(body), body.get("max_tokens", 0)
        if sent + most > self.window:
            said = (
                f"'max_tokens' or 'max_completion_tokens' is too large: {most}. This model's maximum context length is "
                f"{self.window} tokens and your request has {sent} input tokens ({most} > {self.window} - {sent})."
            )
            return 400, error(said, "BadRequestError", 400)
        return None


class LlamaServer(SmallServer):
    """llama.cpp: `tools/server/server.cpp` (exceed_context_size_error), `json-schema-to-grammar.cpp` (pattern)."""

    def models_body(self) -> Any:
        return {
            "object": "list",
            "data": [{"id": "served-model", "object": "model", "meta": {"n_ctx_train": 40960}}],
        }

    def plain_answer(self, path: str) -> Any:
        return {"default_generation_settings": {"n_ctx": self.window}} if path == "/props" else None

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        if body.get("tools") and not self.tools:
            return 500, error("tools param requires --jinja flag", "server_error", 500)
        if '"pattern"' in str(body.get("tools", "")).replace("'", '"'):
            return 400, error(
                'Failed to parse grammar: Pattern must start with "^" and end with "$"', code=400
            )
        sent = self.size(body)
        if sent > self.window:
            said = f"the request exceeds the available context size ({self.window} tokens), try increasing it"
            return 400, error(said, "exceed_context_size_error", 400, n_prompt_tokens=sent, n_ctx=self.window)
        return None


class OllamaServer(SmallServer):
    """Ollama: `server/routes.go` (capabilities), `docs/openai.md`; `/api/ps` lists what is loaded."""

    def plain_answer(self, path: str) -> Any:
        loaded = [{"name": "served-model", "model": "served-model", "context_length": self.window}]
        return (
            {"models": loaded if any(one.method == "POST" for one in self.requests) else []}
            if path == "/api/ps"
            else None
        )

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        if body.get("tools") and not self.tools:
            said = "registry.ollama.ai/library/served-model:latest does not support tools"
            return 400, error(said, "api_error")
        return None


class OpenRouterServer(OpenAIServer):
    """OpenRouter: comments while it waits, errors with a number (https://openrouter.ai/docs/api-reference/errors)."""

    tools = True

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        if body.get("tools") and not self.tools:
            said = "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing"
            return 404, {"error": {"message": said, "code": 404}}
        if body.get("tools") and body.get("tool_choice") == "required":
            said = "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing"
            return 404, {"error": {"message": said, "code": 404}}
        return None

    def stream(self, reply: ScriptReply, body: Any) -> list[bytes]:
        waits = [b": OPENROUTER PROCESSING\n\n"] * 3
        thought = [
            {
                "type": "reasoning.encrypted",
                "data": "c2VjcmV0",
                "id": "r1",
                "index": 0,
                "format": "google-gemini-v1",
            }
        ]
        details = [chunk({"reasoning_details": thought})] if reply.requests else []
        return [*waits, *details, *super().stream(reply, body)]


__all__ = ["HEAD", "data"]
