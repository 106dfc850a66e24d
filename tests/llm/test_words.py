"""The vendors' words for what went wrong, with the status and body that they come in, and where they are from.

`docs` is the vendor's documentation, `source` the server's own source, `reports` what its users report of it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from alita_tui.llm.words import most_in, wait_in, window_in
from tests.support.servers.lab import REQUEST, Lab, open_lab
from tests.support.servers.openai_server import OpenAIServer, chunk, data
from tests.support.servers.wire import Fault


def e(message: str, kind: str = "invalid_request_error", code: Any = None, **more: Any) -> Any:
    return {"error": {"message": message, "type": kind, "code": code, **more}}


def g(status: str, message: str, code: int, **more: Any) -> Any:
    return [{"error": {"code": code, "message": message, "status": status, **more}}]


def a(message: str, kind: str = "invalid_request_error") -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


WORDS: list[tuple[str, int, Any, str]] = [
    # Anthropic: docs.anthropic.com/en/api/errors; reports
    ("anthropic", 400, a("prompt is too long: 210000 tokens > 200000 maximum"), "context"),
    ("anthropic", 400, a("input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input length or `max_tokens` and try again"), "context"),
    ("anthropic", 413, a("Request exceeds the maximum size", "request_too_large"), "context"),
    ("anthropic", 400, a("Your credit balance is too low to access the Anthropic API."), "payment"),
    ("anthropic", 400, a("You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."), "payment"),
    ("anthropic", 400, a("Output blocked by content filtering policy"), "refused"),
    ("anthropic", 529, a("Overloaded", "overloaded_error"), "overloaded"),
    ("anthropic", 429, a("This request would exceed your account's rate limit. Please try again later.", "rate_limit_error"), "rate_limit"),
    ("anthropic", 404, a("model: claude-9", "not_found_error"), "not_found"),
    ("anthropic", 400, a("messages.0.content: Input should be a valid list"), "bad_request"),
    # OpenAI: platform.openai.com/docs/guides/error-codes; reports
    ("openai", 400, e("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", code="context_length_exceeded"), "context"),
    ("openai", 400, e("Your input exceeds the context window of this model. Please adjust your input and try again.", code="context_length_exceeded"), "context"),
    ("openai", 429, e("Request too large for gpt-5.4 in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40000.", "tokens", "rate_limit_exceeded"), "context"),
    ("openai", 429, e("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"), "payment"),
    ("openai", 429, e("Rate limit reached for gpt-5.4 in organization org-1 on requests per min. Please try again in 20s.", "requests", "rate_limit_exceeded"), "rate_limit"),
    ("openai", 401, e("Incorrect API key provided: sk-1.", code="invalid_api_key"), "auth"),
    ("openai", 404, e("The model `gpt-9` does not exist or you do not have access to it.", code="model_not_found"), "not_found"),
    ("openai", 400, e("The response was filtered due to the prompt triggering content management policy.", code="content_filter"), "refused"),
    ("openai", 503, e("The engine is currently overloaded, please try again later", "server_error"), "overloaded"),
    # Gemini: ai.google.dev/gemini-api/docs/troubleshooting; the list around the object: reports
    ("gemini", 400, g("INVALID_ARGUMENT", "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", 400), "context"),
    ("gemini", 400, g("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", 400), "auth"),
    ("gemini", 400, g("FAILED_PRECONDITION", "User location is not supported for the API use.", 400), "auth"),
    ("gemini", 429, g("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", 429, details=[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]), "rate_limit"),
    ("gemini", 429, g("RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.", 429), "payment"),
    ("gemini", 503, g("UNAVAILABLE", "The model is overloaded. Please try again later.", 503), "overloaded"),
    ("gemini", 404, g("NOT_FOUND", "models/gemini-9 is not found for API version v1main, or is not supported for generateContent.", 404), "not_found"),
    ("gemini", 403, g("PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key.", 403), "auth"),
    ("gemini", 500, g("INTERNAL", "An internal error has occurred.", 500), "server"),
    # xAI: docs.x.ai/docs/key-information/debugging; reports
    ("xai", 400, {"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}, "context"),
    ("xai", 400, {"code": "invalid-argument", "error": "Failed to start sampling: [input_too_large] Current message (1149677 tokens) exceeds budget (975424 tokens)"}, "context"),
    ("xai", 400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai."}, "auth"),
    ("xai", 403, {"code": "The caller does not have permission to execute the specified operation", "error": "Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai/team/1."}, "payment"),
    ("xai", 429, {"code": "Some resource has been exhausted", "error": "Your team 1 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."}, "payment"),
    ("xai", 404, {"code": "Some requested entity was not found", "error": "The model grok-9 does not exist or your team 1 does not have access to it."}, "not_found"),
    ("xai", 403, {"code": "The caller does not have permission to execute the specified operation", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}, "refused"),
    # Mistral: docs.mistral.ai/api; reports. FastAPI's form where a field is wrong.
    ("mistral", 400, {"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "type": "invalid_request_prompt", "param": None, "code": "3051"}, "context"),
    ("mistral", 401, {"detail": "Unauthorized"}, "auth"),
    ("mistral", 429, {"object": "error", "message": "Service tier capacity exceeded for this model.", "type": "service_tier_capacity_exceeded", "code": "3505"}, "overloaded"),
    ("mistral", 429, {"message": "Requests rate limit exceeded"}, "rate_limit"),
    ("mistral", 400, {"object": "error", "message": "Invalid model: mistral-9", "type": "invalid_model", "param": None, "code": "1500"}, "not_found"),
    ("mistral", 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs are not permitted"}]}, "bad_request"),
    # DeepSeek: api-docs.deepseek.com/quick_start/error_codes; reports
    ("deepseek", 402, e("Insufficient Balance", "unknown_error", "invalid_request_error"), "payment"),
    ("deepseek", 400, e("Content Exists Risk", code="invalid_request_error"), "refused"),
    ("deepseek", 400, e("This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the messages, 8000 in the completion).", code="invalid_request_error"), "context"),
    ("deepseek", 401, e("Authentication Fails (no such user)", "authentication_error", "invalid_request_error"), "auth"),
    ("deepseek", 400, e("Model Not Exist: the model `deepseek-chat` does not exist", code="invalid_request_error"), "not_found"),
    # OpenRouter: openrouter.ai/docs/api-reference/errors; reports
    ("openrouter", 402, {"error": {"message": "This request requires more credits, or fewer max_tokens. You requested up to 65535 tokens, but can only afford 5000.", "code": 402}}, "payment"),
    ("openrouter", 403, {"error": {"message": "Your chosen model requires moderation and your input was flagged", "code": 403, "metadata": {"reasons": ["violence"]}}}, "refused"),
    ("openrouter", 404, {"error": {"message": "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing", "code": 404}}, "no_tools"),
    ("openrouter", 404, {"error": {"message": "No endpoints found for some/model.", "code": 404}}, "not_found"),
    ("openrouter", 400, {"error": {"message": "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens.", "code": 400}}, "context"),
    ("openrouter", 400, {"error": {"message": "some/model is not a valid model ID", "code": 400}}, "not_found"),
    ("openrouter", 429, {"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": "some/model:free is temporarily rate-limited upstream. Please retry shortly."}}}, "rate_limit"),
    ("openrouter", 401, {"error": {"message": "No auth credentials found", "code": 401}}, "auth"),
    ("openrouter", 400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}"}}}, "context"),
    # vLLM: vllm/entrypoints/openai (source)
    ("vllm", 400, {"object": "error", "message": "This model's maximum context length is 8192 tokens. However, you requested 9192 tokens (1000 in the messages, 8192 in the completion).", "type": "BadRequestError", "param": None, "code": 400}, "context"),
    ("vllm", 400, e("The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.", "BadRequestError", 400), "context"),
    ("vllm", 400, {"object": "error", "message": "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", "type": "BadRequestError", "param": None, "code": 400}, "no_tools"),
    ("vllm", 404, {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "param": None, "code": 404}, "not_found"),
    # llama.cpp: tools/server (source), and its Python server
    ("llama.cpp", 400, e("the request exceeds the available context size. try increasing the context size or enable context shift", "exceed_context_size_error", 400, n_prompt_tokens=14429, n_ctx=8192), "context"),
    ("llama.cpp", 500, e("Input is too large to process. Either enable context shift or increase context length.", "server_error", 500), "context"),
    ("llama.cpp", 400, e("Requested tokens (2285) exceed context window of 2048"), "context"),
    ("llama.cpp", 500, e("tools param requires --jinja flag", "server_error", 500), "no_tools"),
    ("llama.cpp", 503, e("Loading model", "unavailable_error", 503), "overloaded"),
    # Ollama: server/routes.go (source); LM Studio, Groq: reports
    ("ollama", 400, e("registry.ollama.ai/library/gemma:2b does not support tools", "api_error"), "no_tools"),
    ("ollama", 404, e("model \"qwen9\" not found, try pulling it first", "api_error"), "not_found"),
    ("lmstudio", 400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}, "context"),
    ("lmstudio", 404, e("No models loaded. Please load a model in the developer page.", code="model_not_found"), "not_found"),
    ("groq", 400, e("Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", code="tool_use_failed", failed_generation="<function"), "malformed"),
    ("groq", 413, e("Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000", "tokens", "rate_limit_exceeded"), "context"),
    ("groq", 400, e("Please reduce the length of the messages or completion.", code="context_length_exceeded"), "context"),
    ("groq", 400, e("The model `m` has been decommissioned and is no longer supported.", code="model_decommissioned"), "not_found"),
    ("groq", 498, e("Flex tier capacity exceeded", code="capacity_exceeded"), "overloaded"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "status", "body", "kind"), WORDS, ids=[f"{w[0]}-{w[1]}-{w[3]}-{n}" for n, w in enumerate(WORDS)])  # fmt: skip
async def test_an_error_is_classified_by_its_words(
    openai_lab: Lab, anthropic_lab: Lab, provider: str, status: int, body: Any, kind: str
) -> None:
    lab = anthropic_lab if provider == "anthropic" else openai_lab
    lab.server.plan(*[Fault(status=status, body=msgspec.json.encode(body))] * 3)
    error = await lab.fail(msgspec.structs.replace(REQUEST, tools=(), must_call=""))
    assert error.kind == kind
    assert error.hint and error.status == status
    assert "{" not in error.message.partition("HTTP")[2] or isinstance(body, dict)


@pytest.mark.parametrize("row", [w for w in WORDS if w[0] != "anthropic" and w[3] in ("context", "refused", "payment", "rate_limit")], ids=lambda w: f"{w[0]}-{w[3]}")  # fmt: skip
async def test_the_same_words_in_mid_stream_have_the_same_meaning(openai_lab: Lab, row: Any) -> None:
    body = row[2][0] if isinstance(row[2], list) else row[2]
    if "error" not in body:
        body = {"error": body}
    openai_lab.server.plan(Fault(events=(chunk({"content": "Half a"}), data(body))))
    assert (await openai_lab.fail()).kind == row[3]


@pytest.mark.parametrize(
    ("text", "window"),
    [(str(body), size) for (_, _, body, kind), size in [
        (WORDS[0], 200000), (WORDS[1], 200000), (WORDS[10], 8192),
        *[(w, 1048576) for w in WORDS if "1048576" in str(w[2])], *[(w, 131072) for w in WORDS if "131072" in str(w[2])],
        *[(w, 975424) for w in WORDS if "975424" in str(w[2])], *[(w, 32768) for w in WORDS if "32768" in str(w[2])],
        *[(w, 8192) for w in WORDS if w[0] in ("vllm", "llama.cpp") and "8192" in str(w[2])],
        *[(w, 2048) for w in WORDS if "2048" in str(w[2])], *[(w, 4096) for w in WORDS if "only 4096" in str(w[2])],
    ]],
)  # fmt: skip
def test_a_window_is_parsed_from_the_words(text: str, window: int) -> None:
    assert window_in(text.replace("'", '"')) == window


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20), ("Please try again in 1m2.5s.", 62.5), ("try again in 6ms", 0.006),
        ('"retryDelay": "34s"', 34), ("Please retry in 12.5s.", 12.5), ("try again in 2h30m", 9000),
        ("Please try again later.", None), ("Retry after 7 seconds.", 7), ("try again in a while", None),
    ],
)  # fmt: skip
def test_a_wait_is_parsed_from_the_words(text: str, seconds: float | None) -> None:
    assert wait_in(text) == seconds


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for m", 8192),
        ("max_tokens is too large: 40000. This model supports at most 16384 completion tokens", 16384),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("`max_completion_tokens` must be less than or equal to `16384`, the maximum value", 16384),
        ("max_tokens must be a number", 0),
    ],
)
def test_the_longest_reply_is_parsed_from_the_words(text: str, most: int) -> None:
    assert most_in(text) == most


async def test_the_wait_that_gemini_requests_is_respected(openai_lab: Lab) -> None:
    body = next(w[2] for w in WORDS if "retryDelay" in str(w[2]))
    openai_lab.server.plan(Fault(status=429, body=msgspec.json.encode(body)))
    assert (await openai_lab.fail()).retry_after == 34


async def test_a_key_in_a_sentence_of_xai_is_not_repeated() -> None:
    with OpenAIServer() as server:
        lab = open_lab("openai", server, api_key="xai-secret-123")
        body = {"code": "no", "error": "Incorrect API key provided: xai-secret-123."}
        server.plan(Fault(status=400, body=msgspec.json.encode(body)))
        error = await lab.fail()
        await lab.model.aclose()
        assert error.kind == "auth" and "xai-secret" not in str(error)
