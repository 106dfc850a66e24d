"""What both adapters promise, against servers that speak the vendors' protocols."""

import asyncio
import json
from contextlib import aclosing

import msgspec
import pytest

from alita_tui.events import ToolRequest, Usage
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Delta, Message
from tests.support.servers.lab import CALL, FIND, KEY, REQUEST, TEXT, Lab
from tests.support.servers.wire import Fault

PARALLEL = ScriptReply(
    requests=(
        ScriptRequest(name="find_tool", arguments={"query": "a" * 100}),
        ScriptRequest(name="find_tool", arguments={"query": "b"}),
        ScriptRequest(name="list_all"),
    )
)


def said(deltas: list[Delta], channel: str) -> str:
    return "".join(delta.text for delta in deltas if delta.channel == channel)


# --- replies ------------------------------------------------------------------------------


async def test_text_streams_in_pieces_and_ends_in_one_reply(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT))
    deltas, reply = await lab.ask()
    assert len(deltas) > 3
    assert said(deltas, "text") == reply.text == TEXT.text
    assert (reply.model, reply.stop, reply.requests) == (f"{lab.vendor}:served-model", "end_turn", ())


@pytest.mark.parametrize("piece", [1, 3])
async def test_characters_split_between_packets_arrive_whole(lab: Lab, piece: int) -> None:
    lab.server.plan(Fault(script=TEXT, piece=piece), Fault(script=CALL, piece=piece))
    _, reply = await lab.ask()
    assert reply.text == TEXT.text
    _, reply = await lab.ask()
    assert reply.requests[0].arguments == {"query": "mail — ✉ größe"}


async def test_thinking_is_streamed_separately(lab: Lab) -> None:
    lab.server.plan(Fault(script=ScriptReply(thinking="Let me see.", text="Done.")))
    deltas, reply = await lab.ask()
    assert (said(deltas, "thinking"), reply.thinking, reply.text) == ("Let me see.", "Let me see.", "Done.")


async def test_a_call_is_parsed_and_its_arguments_stream(lab: Lab) -> None:
    lab.server.plan(Fault(script=CALL))
    deltas, reply = await lab.ask()
    (call,) = reply.requests
    assert (call.name, call.arguments, call.problem) == ("find_tool", {"query": "mail — ✉ größe"}, "")
    assert call.call_id
    assert reply.stop == "tool_use"
    assert msgspec.json.decode(said(deltas, "arguments")) == call.arguments


async def test_parallel_calls_keep_their_order_and_ids(lab: Lab) -> None:
    lab.server.plan(Fault(script=PARALLEL))
    _, reply = await lab.ask()
    assert [(call.name, call.arguments) for call in reply.requests] == [
        ("find_tool", {"query": "a" * 100}),
        ("find_tool", {"query": "b"}),
        ("list_all", {}),
    ]
    assert len({call.call_id for call in reply.requests}) == 3


@pytest.mark.parametrize("raw", ['{"query": "a"', "not json", "[1]", '"text"', '{"query": NaN}'])
async def test_arguments_that_are_no_object_become_a_problem(lab: Lab, raw: str) -> None:
    lab.server.plan(Fault(script=ScriptReply(requests=(ScriptRequest(name="find_tool", raw_arguments=raw),))))
    _, reply = await lab.ask()
    (call,) = reply.requests
    assert (call.name, call.arguments) == ("find_tool", {})
    assert call.problem


async def test_arguments_cut_at_the_token_limit_say_so(lab: Lab) -> None:
    call = ScriptRequest(name="find_tool", raw_arguments='{"query": "a very lo')
    lab.server.plan(Fault(script=ScriptReply(requests=(call,), stop="max_tokens")))
    _, reply = await lab.ask()
    assert reply.requests[0].arguments == {}
    assert "limit of 900 tokens" in reply.requests[0].problem


async def test_a_call_cut_before_its_arguments_is_not_a_call_without_any(lab: Lab) -> None:
    call = ScriptRequest(name="find_tool", raw_arguments="")
    lab.server.plan(Fault(script=ScriptReply(requests=(call,), stop="max_tokens")))
    _, reply = await lab.ask()
    assert reply.requests[0].problem


async def test_text_cut_at_the_token_limit_is_no_reply(lab: Lab) -> None:
    lab.server.plan(Fault(script=ScriptReply(text="And so", stop="max_tokens")))
    error = await lab.fail()
    assert error.kind == "malformed"
    assert "reply_tokens" in error.hint


async def test_a_refusal_is_an_error(lab: Lab) -> None:
    lab.server.plan(Fault(script=ScriptReply(text="I cannot", stop="refusal")))
    assert (await lab.fail()).kind == "refused"


async def test_an_empty_reply_is_an_error(lab: Lab) -> None:
    lab.server.plan(
        Fault(script=ScriptReply()),
        Fault(script=ScriptReply(text=" \n")),
        Fault(script=ScriptReply(thinking="Hm")),
    )
    for _ in range(3):
        assert (await lab.fail()).kind == "malformed"


async def test_usage_counts_the_cached_tokens_into_the_input(lab: Lab) -> None:
    usage = Usage(input_tokens=1000, output_tokens=50, cached_tokens=800, cache_write_tokens=150)
    lab.server.plan(Fault(script=ScriptReply(text="ok", usage=usage)))
    _, reply = await lab.ask()
    assert reply.usage == usage


# --- lists of models ----------------------------------------------------------------------


async def test_the_server_says_which_models_it_has(lab: Lab) -> None:
    assert await lab.model.offered() == ("model-a", "model-b")
    assert lab.server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("body", [b'{"object": "list", "data": []}', b'{"data": null}'])
async def test_a_server_may_list_no_models(lab: Lab, body: bytes) -> None:
    lab.server.plan(Fault(body=body))
    assert await lab.model.offered() == ()


async def test_a_server_may_have_no_list_at_all(lab: Lab) -> None:
    lab.server.plan(Fault(status=404))
    assert await lab.model.offered() == ()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(Fault(status=401), "auth"), (Fault(body=b"<html>"), "malformed"), (Fault(body=b"[1]"), "malformed")],
)
async def test_a_list_that_cannot_be_read_is_an_error(lab: Lab, fault: Fault, kind: str) -> None:
    lab.server.plan(fault)
    with pytest.raises(ModelError) as caught:
        await lab.model.offered()
    assert caught.value.kind == kind


# --- what is sent -------------------------------------------------------------------------


async def test_the_key_goes_out_and_nothing_of_the_environment(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for vendor in ("ANTHROPIC", "OPENAI"):
        for name in ("API_KEY", "AUTH_TOKEN", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
            monkeypatch.setenv(f"{vendor}_{name}", "leak")
        monkeypatch.setenv(f"{vendor}_CUSTOM_HEADERS", "x-gateway: leak")
        monkeypatch.setenv(f"{vendor}_BASE_URL", "http://127.0.0.1:9/leak")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    lab.server.plan(Fault(script=TEXT))
    await lab.ask()
    (received,) = lab.server.requests
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert "leak" not in str(received)


@pytest.mark.parametrize(
    ("must_call", "anthropic", "openai"),
    [
        ("", {"type": "auto"}, "auto"),
        ("*", {"type": "any"}, "required"),
        ("find_tool", {"type": "tool", "name": "find_tool"}, "required"),
    ],
)
async def test_a_required_call_becomes_the_tool_choice(
    lab: Lab, must_call: str, anthropic: object, openai: object
) -> None:
    other = msgspec.structs.replace(FIND, name="other")
    lab.server.plan(Fault(script=CALL))
    await lab.ask(msgspec.structs.replace(REQUEST, tools=(FIND, other), must_call=must_call))
    body = lab.server.requests[0].body
    assert body["tool_choice"] == (anthropic if lab.vendor == "anthropic" else openai)
    if lab.vendor == "openai" and must_call == "find_tool":
        assert lab.server.tool_names(body) == ["find_tool"]
    else:
        assert lab.server.tool_names(body) == ["find_tool", "other"]


async def test_without_tools_none_are_mentioned(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT))
    await lab.ask(msgspec.structs.replace(REQUEST, tools=(), must_call=""))
    assert not {"tools", "tool_choice"} & lab.server.requests[0].body.keys()


async def test_a_conversation_with_calls_is_sent_back_unchanged(lab: Lab) -> None:
    calls = (
        ToolRequest(call_id="call_1.a", name="find_tool", arguments={"query": "ö"}),
        ToolRequest(call_id="call_2", name="find_tool", arguments={}, problem="they are not JSON"),
    )
    messages = (
        Message(role="user", text="Validate."),
        Message(role="assistant", text="", requests=calls),
        Message(role="tool", text="nothing found", call_id="call_1.a"),
        Message(role="tool", text="no JSON", call_id="call_2", is_error=True),
        Message(role="user", text="Go on."),
    )
    lab.server.plan(Fault(script=TEXT))
    await lab.ask(msgspec.structs.replace(REQUEST, messages=messages))
    received = lab.server.messages_of(lab.server.requests[0].body)
    assert [(message.role, message.text) for message in received] == [
        ("user", "Validate."),
        ("assistant", ""),
        ("tool", "nothing found"),
        ("tool", "no JSON"),
        ("user", "Go on."),
    ]


async def test_a_lone_surrogate_in_a_request_does_no_harm(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT))
    call = ToolRequest(call_id="c", name="t", arguments={"half \ud835": ["\udc4d", 1]})
    messages = (
        Message(role="user", text="a\ud83d"),
        Message(role="assistant", text="", requests=(call,)),
        Message(role="tool", text="\udc4db", call_id="c"),
    )
    await lab.ask(msgspec.structs.replace(REQUEST, messages=messages, system="s\ud83d"))
    received = lab.server.messages_of(lab.server.requests[0].body)
    assert [message.text for message in received] == ["a\ufffd", "", "\ufffdb"]
    assert "half \ufffd" in json.dumps(lab.server.requests[0].body, ensure_ascii=False)


# --- cancelling ---------------------------------------------------------------------------


async def test_closing_the_iterator_closes_the_connection(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="stall", after=5), Fault(script=TEXT))
    async with aclosing(lab.model.reply(REQUEST)) as stream:  # type: ignore[type-var]  # async generators
        await anext(stream)
    # The loop stands still while this waits: what is not closed by now would not be.
    assert lab.server.left.wait(10)
    await lab.ask()


async def test_cancelling_closes_the_connection(lab: Lab) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async with aclosing(lab.model.reply(REQUEST)) as stream:  # type: ignore[type-var]  # async generators
            async for _ in stream:
                begun.set()

    lab.server.plan(Fault(script=TEXT, then="stall", after=5), Fault(script=TEXT))
    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await lab.server.client_left()
    await lab.ask()


async def test_cancelling_while_the_server_is_silent_closes_the_connection(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="stall", after=0))
    await lab.model.warm()
    task = asyncio.create_task(lab.ask())
    while not lab.server.requests:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await lab.server.client_left()


async def test_calls_run_side_by_side_on_one_client(lab: Lab) -> None:
    lab.server.plan(*[Fault(script=ScriptReply(text=f"reply {n}")) for n in range(6)])
    replies = await asyncio.gather(*(lab.ask() for _ in range(6)))
    assert {reply.text for _, reply in replies} == {f"reply {n}" for n in range(6)}


async def test_a_closed_model_holds_no_connection_and_can_be_asked_again(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT), Fault(script=TEXT))
    await lab.ask()
    await lab.model.aclose()
    assert await asyncio.to_thread(lab.server.all_left.wait, 10)
    await lab.ask()
