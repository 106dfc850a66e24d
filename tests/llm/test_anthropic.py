"""What is particular to the Messages API."""

import msgspec
import pytest

from alita_tui.events import ToolRequest, Usage
from alita_tui.spine.ports.models import Message
from tests.support.servers.anthropic_server import block, end, event, start
from tests.support.servers.lab import KEY, REQUEST, Lab
from tests.support.servers.wire import Fault

MARK = {"type": "ephemeral"}
TEXT = block(0, {"type": "text", "text": ""}, [{"type": "text_delta", "text": "ok"}])


async def test_system_and_last_block_are_marked_for_the_cache(anthropic_lab: Lab) -> None:
    anthropic_lab.server.plan(Fault(events=(start(), *TEXT, *end("end_turn"))))
    messages = (
        Message(role="user", text="Go."),
        Message(role="assistant", requests=(ToolRequest(call_id="c:1", name="find_tool", arguments={}),)),
        Message(role="tool", text="nothing", call_id="c:1", is_error=True),
        Message(role="user", text="Go on."),
    )
    await anthropic_lab.ask(msgspec.structs.replace(REQUEST, messages=messages))
    body = anthropic_lab.server.requests[0].body
    assert body["system"] == [{"type": "text", "text": REQUEST.system, "cache_control": MARK}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c_1", "name": "find_tool", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c_1", "content": "nothing", "is_error": True},
                {"type": "text", "text": "Go on.", "cache_control": MARK},
            ],
        },
    ]


async def test_no_text_block_is_ever_empty(anthropic_lab: Lab) -> None:
    anthropic_lab.server.plan(Fault(events=(start(), *TEXT, *end("end_turn"))))
    messages = (Message(role="user", text=" "), Message(role="assistant"), Message(role="user", text=""))
    await anthropic_lab.ask(msgspec.structs.replace(REQUEST, messages=messages, system=""))
    body = anthropic_lab.server.requests[0].body
    assert "system" not in body
    assert all(one["text"].strip() for turn in body["messages"] for one in turn["content"])


async def test_a_gateway_finds_the_key_where_the_older_protocol_has_it(anthropic_lab: Lab) -> None:
    anthropic_lab.server.plan(Fault(events=(start(), *TEXT, *end("end_turn"))))
    await anthropic_lab.ask()
    assert anthropic_lab.server.requests[0].headers["x-api-key"] == KEY


async def test_usage_is_a_running_total_over_the_events(anthropic_lab: Lab) -> None:
    counts = {
        "input_tokens": 12,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 700,
        "output_tokens": 1,
    }
    anthropic_lab.server.plan(Fault(events=(start(counts), *TEXT, *end("end_turn", 42))))
    _, reply = await anthropic_lab.ask()
    assert reply.usage == Usage(
        input_tokens=1012, output_tokens=42, cached_tokens=700, cache_write_tokens=300
    )


async def test_without_usage_the_counts_are_marked_as_estimated(anthropic_lab: Lab) -> None:
    none = {"input_tokens": 0, "output_tokens": 0}
    anthropic_lab.server.plan(Fault(events=(start(none), *TEXT, *end("end_turn", 0))))
    _, reply = await anthropic_lab.ask()
    assert not reply.usage.reported
    assert reply.usage.input_tokens > 0


async def test_arguments_may_come_whole_with_the_block(anthropic_lab: Lab) -> None:
    head = {"type": "tool_use", "id": "t1", "name": "find_tool", "input": {"query": "a"}}
    anthropic_lab.server.plan(Fault(events=(start(), *block(0, head, []), *end("tool_use"))))
    _, reply = await anthropic_lab.ask()
    assert reply.requests[0].arguments == {"query": "a"}


async def test_calls_may_be_interleaved(anthropic_lab: Lab) -> None:
    def head(place: int) -> bytes:
        one = {"type": "tool_use", "id": f"t{place}", "name": "find_tool", "input": {}}
        return event("content_block_start", index=place, content_block=one)

    def delta(place: int, text: str) -> bytes:
        inner = {"type": "input_json_delta", "partial_json": text}
        return event("content_block_delta", index=place, delta=inner)

    events = (head(0), head(1), delta(1, '{"n"'), delta(0, '{"n": 0}'), delta(1, ": 1}"))
    anthropic_lab.server.plan(Fault(events=(start(), *events, *end("tool_use"))))
    _, reply = await anthropic_lab.ask()
    assert [call.arguments for call in reply.requests] == [{"n": 0}, {"n": 1}]


async def test_unknown_events_blocks_and_deltas_are_ignored(anthropic_lab: Lab) -> None:
    future = [
        event("future_event", thing=1),
        *block(0, {"type": "future_block"}, [{"type": "future_delta", "x": 1}]),
        *block(1, {"type": "redacted_thinking", "data": "…"}, []),
        *block(2, {"type": "text", "text": "o"}, [{"type": "text_delta", "text": "k"}]),
    ]
    anthropic_lab.server.plan(Fault(events=(start(), *future, *end("end_turn"))))
    _, reply = await anthropic_lab.ask()
    assert reply.text == "ok"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limit"),
        ("api_error", "server"),
        ("authentication_error", "auth"),
        ("timeout_error", "timeout"),
        ("request_too_large", "context"),
        ("future_error", "server"),
    ],
)
async def test_an_error_in_mid_stream_is_classified(anthropic_lab: Lab, name: str, kind: str) -> None:
    failure = event("error", error={"type": name, "message": "Some words"})
    anthropic_lab.server.plan(Fault(events=(start(), TEXT[0], TEXT[1], failure)))
    error = await anthropic_lab.fail()
    assert error.kind == kind
    assert "Some words" in error.message


async def test_an_error_in_mid_stream_may_be_plain_text(anthropic_lab: Lab) -> None:
    anthropic_lab.server.plan(Fault(events=(start(), b"event: error\ndata: boom\n\n")))
    error = await anthropic_lab.fail()
    assert (error.kind, "boom" in error.message) == ("server", True)


async def test_a_full_window_is_a_context_error(anthropic_lab: Lab) -> None:
    events = (start(), *TEXT, *end("model_context_window_exceeded"))
    anthropic_lab.server.plan(Fault(events=events))
    assert (await anthropic_lab.fail()).kind == "context"
