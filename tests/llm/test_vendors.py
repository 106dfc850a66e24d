"""Each vendor's rules, kept by a server of its own: a conversation with calls, results and words goes through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest

from alita_tui.agent.actions import specs
from alita_tui.events import Usage
from alita_tui.llm.factory import ModelSpec, OpenedModel, offered, open_model
from alita_tui.llm.presets import PRESETS
from alita_tui.llm.prices import price
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Message, ModelRequest, Reply
from alita_tui.toolsmith.tool_specs import tool_spec
from tests.support.servers.lab import KEY, REQUEST, Lab
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.vendors import (
    DeepSeekServer,
    GeminiServer,
    LlamaServer,
    MistralServer,
    NewOpenAIServer,
    OllamaServer,
    OpenRouterServer,
    SmallServer,
    VllmServer,
    XaiServer,
)
from tests.support.servers.wire import Fault

TWO = ScriptReply(
    text="I look.",
    thinking="Where could it be?",
    requests=(
        ScriptRequest(name="find_tool", arguments={"query": "mail"}),
        ScriptRequest(name="run_tool", arguments={"name": "a_tool", "arguments": {"x": 1}}),
    ),
)
END = ScriptReply(text="It is done.")
ASK = msgspec.structs.replace(REQUEST, tools=specs(), max_tokens=2000)


@asynccontextmanager
async def opened(provider: str, server: OpenAIServer, **more: Any) -> AsyncIterator[OpenedModel]:
    settings = {"model": "served-model", "base_url": server.base_url, "api_key": KEY, "timeout": 20.0, **more}
    model = open_model(ModelSpec(provider=provider, **settings))
    try:
        yield model
    finally:
        await model.aclose()


async def said(model: Any, request: ModelRequest) -> Reply:
    pieces = [piece async for piece in model.reply(request)]
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


def went_on(request: ModelRequest, reply: Reply, *words: str) -> ModelRequest:
    """The conversation with this reply, results of its calls, and what the person adds."""
    results = (Message(role="tool", text="found", call_id=call.call_id) for call in reply.requests)
    turns = (
        Message(role="assistant", text=reply.text, requests=reply.requests),
        *results,
        *(Message(role="user", text=text) for text in words),
    )
    return msgspec.structs.replace(request, messages=request.messages + turns)


VENDORS: list[tuple[str, type[OpenAIServer]]] = [
    ("openai", NewOpenAIServer), ("custom", NewOpenAIServer), ("gemini", GeminiServer), ("custom", GeminiServer),
    ("deepseek", DeepSeekServer), ("custom", DeepSeekServer), ("mistral", MistralServer), ("custom", MistralServer),
    ("xai", XaiServer), ("openrouter", OpenRouterServer), ("llama.cpp", LlamaServer), ("vllm", VllmServer),
    ("ollama", OllamaServer), ("custom", OpenAIServer), ("groq", OpenAIServer), ("lmstudio", OpenAIServer),
]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "kind"), VENDORS, ids=[f"{name}-{kind.__name__}" for name, kind in VENDORS]
)
async def test_a_whole_conversation_follows_the_rules_of_the_vendor(
    provider: str, kind: type[OpenAIServer]
) -> None:
    with kind(api_key=KEY) as server:
        if isinstance(server, SmallServer):
            server.window = 32768
        async with opened(provider, server) as model:
            request = ASK
            for words in ((), ("And quickly.",), ()):
                server.play(TWO)
                reply = await said(model, request)
                assert [call.name for call in reply.requests] == ["find_tool", "run_tool"]
                assert reply.requests[1].arguments == {"name": "a_tool", "arguments": {"x": 1}}
                assert reply.thinking in ("", "Where could it be?")
                request = went_on(request, reply, *words)
            server.play(END)
            free = msgspec.structs.replace(request, must_call="")
            assert (await said(model, free)).text == "It is done."
            server.play(TWO)
            await said(
                model,
                msgspec.structs.replace(
                    request, tools=(tool_spec("submit_tool"),), must_call=tool_spec("submit_tool").name
                ),
            )


async def test_thoughts_of_another_model_are_not_sent_to_the_next_one() -> None:
    with DeepSeekServer() as deepseek, GeminiServer() as gemini:
        deepseek.play(TWO)
        gemini.play(TWO)
        async with AsyncExitStack() as stack:
            models = [
                await stack.enter_async_context(opened("deepseek", deepseek)),
                await stack.enter_async_context(opened("gemini", gemini)),
            ]
            request = ASK
            for turn in range(6):
                request = went_on(request, await said(models[turn % 2], request))
        sent = str(gemini.requests[-1].body)
        assert "Where could it be?" not in sent and "signed-" in sent
        assert "signed-" not in str(deepseek.requests[-1].body)
        assert "Where could it be?" in str(deepseek.requests[-1].body)


async def test_mistral_continues_a_conversation_with_calls_of_another_model() -> None:
    with OpenAIServer() as openai, MistralServer() as mistral:
        openai.play(TWO)
        mistral.play(TWO)
        async with opened("groq", openai) as first, opened("mistral", mistral) as second:
            request = went_on(ASK, await said(first, ASK))
            request = went_on(request, await said(second, request), "And quickly.")
            await said(second, request)
        ids = [
            call["id"]
            for turn in mistral.requests[-1].body["messages"]
            for call in turn.get("tool_calls", ())
        ]
        assert len(ids) == len(set(ids)) == 4 and all(len(one) == 9 and one.isalnum() for one in ids)


async def test_signatures_and_thoughts_survive_the_record() -> None:
    with GeminiServer() as server:
        server.play(TWO)
        async with opened("gemini", server) as model:
            reply = await said(model, ASK)
            kept = msgspec.json.decode(msgspec.json.encode(reply), type=Reply)
            server.play(END)
            await said(model, went_on(ASK, kept))
            (call, other) = server.requests[-1].body["messages"][-3]["tool_calls"]
            assert call["extra_content"] == {"google": {"thought_signature": f"signed-{call['id']}"}}
            assert "extra_content" not in other


async def test_thoughts_of_gemini_are_charged() -> None:
    with GeminiServer() as server:
        server.play(TWO)
        async with opened("gemini", server) as model:
            assert (await said(model, ASK)).usage == Usage(input_tokens=50, output_tokens=107)


async def test_a_field_that_is_refused_is_left_out_from_then_on() -> None:
    with NewOpenAIServer() as server:
        server.play(END)
        async with opened("custom", server) as model:
            long = msgspec.structs.replace(REQUEST, must_call="", max_tokens=40_000)
            await said(model, long)
            assert len(server.requests) == 3  # one refusal each for the name and for the size
            await said(model, long)
            assert len(server.requests) == 4 and server.requests[-1].body["max_completion_tokens"] == 16384


@pytest.mark.parametrize(
    ("provider", "kind"),
    [
        ("vllm", VllmServer),
        ("llama.cpp", LlamaServer),
        ("ollama", OllamaServer),
        ("openrouter", OpenRouterServer),
    ],
)
async def test_without_tool_support_the_text_protocol_is_used(provider: str, kind: type[Any]) -> None:
    acts = ScriptReply(text='<action name="find_tool">\n{"query": "mail"}\n</action>')
    with kind() as server:
        server.tools = False
        server.window = 32768
        server.play(acts)
        async with opened(provider, server) as model:
            with pytest.raises(ModelError) as caught:
                await said(model, ASK)
            assert caught.value.kind == "no_tools"
            reply = await said(model, ASK)
            assert [(call.name, call.arguments) for call in reply.requests] == [
                ("find_tool", {"query": "mail"})
            ]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "find_tool", "arguments": {"query": "x"}}\n</tool_call>',
        'Sure.\n<tool_call>{"name": "find_tool", "arguments": {"query": "x"}}',
        "<function=find_tool>\n<parameter=query>x</parameter>\n</function>",
        '[TOOL_CALLS][{"name": "find_tool", "arguments": {"query": "x"}}]',
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find_tool",
        '<|python_tag|>{"name": "find_tool", "parameters": {"query": "x"}}',
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.find_tool:0",
        '<|channel|>commentary to=functions.find_tool <|message|>{"query": "x"}',
    ],
)
async def test_a_call_in_the_words_of_a_template_is_no_answer(lab: Lab, text: str) -> None:
    lab.server.plan(Fault(script=ScriptReply(text=text)))
    assert (await lab.fail(msgspec.structs.replace(REQUEST, must_call=""))).kind == "no_tools"


async def test_a_template_call_in_the_text_protocol_is_a_call() -> None:
    raw = ScriptReply(
        text='<think>hm</think><tool_call>\n{"name": "find_tool", "arguments": {"query": "x"}}\n</tool_call>'
    )
    with OllamaServer() as server:
        server.tools = False
        server.play(raw)
        async with opened("ollama", server, tools="text") as model:
            reply = await said(model, ASK)
            assert [(call.name, call.arguments) for call in reply.requests] == [("find_tool", {"query": "x"})]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>hm, hm</think>It is 4.", "It is 4."),
        ("\n <think>\nhm\n</think>\n\nIt is 4.", "It is 4."),
        ("hm, hm\n</think>\n\nIt is 4.", "It is 4."),
        ("Well.<think>hm</think>It is 4.", "Well.It is 4."),
        ("[THINK]hm[/THINK]It is 4.", "It is 4."),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>It is 4.",
            "It is 4.",
        ),
        ("The tag `<think>` begins a thought.", "The tag `<think>` begins a thought."),
    ],
)
@pytest.mark.parametrize("piece", [0, 7])
async def test_thoughts_in_the_text_are_thoughts(lab: Lab, text: str, answer: str, piece: int) -> None:
    lab.server.plan(Fault(script=ScriptReply(text=text), piece=piece))
    deltas, reply = await lab.ask(msgspec.structs.replace(REQUEST, must_call=""))
    assert reply.text.strip() == answer
    assert ("hm" in reply.thinking) == ("hm" in text) and "hm" not in reply.text
    if text.startswith(("<think>", "[THINK]")):
        assert "hm" not in "".join(delta.text for delta in deltas if delta.channel == "text")


@pytest.mark.parametrize("text", ["<think>hm, and no end", "<think>hm</think>", "<think>hm</think>\n \n"])
async def test_nothing_but_thoughts_is_no_answer(lab: Lab, text: str) -> None:
    lab.server.plan(Fault(script=ScriptReply(text=text)))
    assert (await lab.fail(msgspec.structs.replace(REQUEST, must_call=""))).kind == "malformed"


async def test_the_error_for_an_unknown_model_names_the_known_ones(lab: Lab) -> None:
    body = msgspec.json.encode(lab.server.error_body(404, "The model `model-c` does not exist"))
    lab.server.plan(Fault(status=404, body=body))
    error = await lab.fail()
    assert error.kind == "not_found" and "model-a" in error.hint and "model-b" in error.hint


async def test_model_names_in_the_list_of_gemini_can_be_used_in_requests() -> None:
    with GeminiServer() as server:
        spec = ModelSpec(provider="gemini", base_url=server.base_url, api_key=KEY)
        assert await offered(spec) == ("gemini-3.5-flash",)


def test_every_default_model_has_a_price_and_is_not_retired() -> None:
    some = Usage(input_tokens=1000, output_tokens=1000)
    named = [one for one in PRESETS if one.model]
    assert {"anthropic", "openai", "groq", "mistral", "deepseek", "gemini", "xai"} == {
        one.name for one in named
    }
    for one in named:
        assert price(one.name, one.model, some), one.model
        assert one.model not in ("deepseek-chat", "deepseek-reasoner")  # gone since 24 July 2026


@pytest.mark.parametrize(
    ("provider", "kind"), [("vllm", VllmServer), ("llama.cpp", LlamaServer), ("ollama", OllamaServer)]
)
async def test_a_local_server_reports_its_window(provider: str, kind: type[Any]) -> None:
    with kind() as server:
        async with opened(provider, server) as model:
            assert await model.window() == (0 if provider == "ollama" else 8192)
            server.play(TWO)
            await said(model, msgspec.structs.replace(ASK, max_tokens=500))
            assert await model.window() == 8192  # Ollama knows once it has loaded the model
