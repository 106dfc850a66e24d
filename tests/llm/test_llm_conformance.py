"""What both adapters promise, against servers that speak the vendors' protocols."""

import asyncio
import socket
from contextlib import aclosing

import msgspec
import pytest
from servers.lab import FIND, KEY, REQUEST, Lab, open_lab
from servers.wire import Fault

from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.ports import Delta, Message
from alita_tui.spine.values import ToolRequest, Usage

TEXT = ScriptReply(text="Die Größe ist 3 – gut 👍.", usage=Usage(input_tokens=120, output_tokens=9))
CALL = ScriptReply(
    text="I look.", requests=(ScriptRequest(name="find_tool", arguments={"query": "mail — ✉ größe"}),)
)
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


async def test_thinking_is_a_channel_of_its_own(lab: Lab) -> None:
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
    usage = Usage(input_tokens=1000, output_tokens=50, cached_tokens=800)
    lab.server.plan(Fault(script=ScriptReply(text="ok", usage=usage)))
    _, reply = await lab.ask()
    assert reply.usage == usage


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
async def test_must_call_becomes_the_tool_choice(
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


async def test_a_conversation_with_calls_comes_back_as_it_was(lab: Lab) -> None:
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


async def test_half_a_character_in_what_is_sent_breaks_nothing(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT))
    messages = (Message(role="user", text="a\ud83d"), Message(role="tool", text="\udc4db", call_id="c"))
    await lab.ask(msgspec.structs.replace(REQUEST, messages=messages, system="s\ud83d"))
    received = lab.server.messages_of(lab.server.requests[0].body)
    assert [message.text for message in received] == ["a\ufffd", "\ufffdb"]


# --- errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (307, "not_found"),
        (400, "bad_request"),
        (401, "auth"),
        (402, "payment"),
        (403, "auth"),
        (404, "not_found"),
        (408, "timeout"),
        (409, "bad_request"),
        (413, "context"),
        (422, "bad_request"),
        (429, "rate_limit"),
        (500, "server"),
        (502, "server"),
        (503, "overloaded"),
        (504, "server"),
        (529, "overloaded"),
    ],
)
async def test_every_status_has_its_kind(lab: Lab, status: int, kind: str) -> None:
    lab.server.plan(Fault(status=status, headers={"retry-after": "7", "location": "/elsewhere"}))
    error = await lab.fail()
    assert (error.kind, error.status, error.retry_after) == (kind, status, 7.0)
    assert lab.model.name in error.message
    assert error.hint or kind == "bad_request"
    assert len(lab.server.requests) == 1  # no retry and no redirect behind our back


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "context"),
        ("This model's maximum context length is 8192 tokens.", "context"),
        ("Your credit balance is too low to access the API.", "payment"),
        ("max_tokens: 99999 > 8192, which is the maximum allowed", "bad_request"),
    ],
)
async def test_the_words_of_a_400_tell_what_it_is(lab: Lab, text: str, kind: str) -> None:
    body = msgspec.json.encode(lab.server.error_body(400, text))
    lab.server.plan(Fault(status=400, body=body))
    assert (await lab.fail()).kind == kind


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[1]", b'"text"', b"\xff\xfe"])
async def test_an_error_with_any_body_is_still_that_error(lab: Lab, body: bytes) -> None:
    lab.server.plan(Fault(status=502, body=body, headers={"content-type": "text/html"}))
    assert (await lab.fail()).kind == "server"


async def test_a_key_is_never_repeated(lab: Lab) -> None:
    body = msgspec.json.encode(lab.server.error_body(401, f"bad key {KEY}"))
    lab.server.plan(Fault(status=401, body=body))
    error = await lab.fail()
    assert KEY not in f"{error!r} {error} {lab.model!r} {vars(lab.model)['_at']!r}"
    assert error.__cause__ is None


async def test_a_refused_connection_names_the_host(lab: Lab) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
        other = open_lab(lab.vendor, lab.server, base_url=f"http://user:secret@{host}/v1")
        error = await other.fail()
        await other.model.aclose()
    assert error.kind == "connection"
    assert host in error.message
    assert "secret" not in error.message


@pytest.mark.parametrize("after", [0, 1, 4, 7])
@pytest.mark.parametrize(
    ("then", "kind"), [("end", "truncated"), ("cut", "connection"), ("reset", "connection")]
)
async def test_a_stream_that_breaks_off_is_no_reply(lab: Lab, then: str, kind: str, after: int) -> None:
    script = ScriptReply(text="One two three.", requests=CALL.requests)
    lab.server.plan(Fault(script=script, then=then, after=after), Fault(script=TEXT))
    error = await lab.fail()
    assert error.kind == kind
    assert error.hint
    await lab.ask()  # and the model works on


async def test_a_stall_ends_in_a_timeout(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="stall", after=3))
    quick = open_lab(lab.vendor, lab.server, timeout=0.3)
    error = await quick.fail()
    await quick.model.aclose()
    assert error.kind == "timeout"
    assert "0.3 seconds" in error.message
    assert await lab.server.client_left()


@pytest.mark.parametrize(
    "junk",
    [
        b"event: message_delta\ndata: {\"type\": \"mess\n\n",
        b"event: message_delta\ndata: 5\n\n",
        b"event: message_delta\ndata: [\"x\"]\n\n",
        b'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\ndata: {"choices":5}\n\n',
        b"event: message_delta\ndata: \xff\xfe\n\n",
    ],
)  # fmt: skip
async def test_a_corrupt_event_is_malformed(lab: Lab, junk: bytes) -> None:
    lab.server.plan(Fault(script=TEXT, then="send", after=4, junk=junk))
    error = await lab.fail()
    assert error.kind == "malformed"


@pytest.mark.parametrize(
    ("kind", "body"),
    [("text/html", b"<html>\n<p>data: login</p>\n</html>"), ("application/json", b'{"ok": true}')],
)
async def test_a_200_that_is_no_stream_is_malformed(lab: Lab, kind: str, body: bytes) -> None:
    lab.server.plan(Fault(body=body, headers={"content-type": kind}))
    error = await lab.fail()
    assert error.kind == "malformed"
    assert kind in error.message
    assert "base URL" in error.hint


async def test_an_empty_stream_is_truncated(lab: Lab) -> None:
    lab.server.plan(Fault(events=()))
    assert (await lab.fail()).kind == "truncated"


# --- cancelling ---------------------------------------------------------------------------


async def test_closing_the_iterator_closes_the_connection(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="stall", after=5), Fault(script=TEXT))
    async with aclosing(lab.model.reply(REQUEST)) as stream:
        await anext(stream)
    # The loop stands still while this waits: what is not closed by now would not be.
    assert lab.server.left.wait(10)
    await lab.ask()


async def test_cancelling_closes_the_connection(lab: Lab) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async with aclosing(lab.model.reply(REQUEST)) as stream:
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


async def test_a_closed_model_can_be_asked_again(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT), Fault(script=TEXT))
    await lab.ask()
    await lab.model.aclose()
    await lab.ask()
