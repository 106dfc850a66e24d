"""What chat completions look like in the wild."""

from typing import Any

import msgspec
import pytest

from alita_tui.llm.openai_model import OpenAIModel
from alita_tui.spine.ports.models import Reply
from tests.support.servers.lab import KEY, REQUEST, Lab
from tests.support.servers.openai_server import DONE, HEAD, chunk, data
from tests.support.servers.wire import Fault

END = (chunk({}, "tool_calls"), DONE)
USAGE = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}


def piece(arguments: str | None = None, **fields: Any) -> bytes:
    """A chunk with a piece of one tool call; `name` and `arguments` belong to its function."""
    function = {"arguments": arguments} if arguments is not None else {}
    if "name" in fields:
        function["name"] = fields.pop("name")
    return chunk({"tool_calls": [{**fields, "type": "function", "function": function}]})


async def streamed(lab: Lab, *events: bytes) -> Reply:
    lab.server.plan(Fault(events=events))
    _, reply = await lab.ask()
    return reply


def calls(reply: Reply) -> list[tuple[str, Any]]:
    assert not any(call.problem for call in reply.requests)
    assert len({call.call_id for call in reply.requests}) == len(reply.requests)
    return [(call.name, call.arguments) for call in reply.requests]


A, B = ("find_tool", {"q": "a"}), ("find_tool", {"q": "b"})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [piece(index=0, id="c1", name="find_tool"), piece('{"q":', index=0), piece('"a"}', index=0)],
            [A],
            id="as documented",
        ),
        pytest.param(
            [
                piece('{"q":', index=0, id="c1", name="find_tool"),
                piece('"a"}', index=0, id="c1", name="find_tool"),
                piece("", index=0, id="c1", name="find_tool"),
            ],
            [A],
            id="id and name repeated",
        ),
        pytest.param(
            [
                piece('{"q":', index=0, id="c1", name="find_tool"),
                piece('"a"}', index=0, id="c2"),
            ],
            [A],
            id="a new id with every piece",
        ),
        pytest.param(
            [piece(index=0, id="c1", name="find"), piece('{"q":"a"}', index=0, name="_tool")],
            [A],
            id="name in pieces",
        ),
        pytest.param(
            [piece('{"q":"a"}', id="c1", name="find_tool"), piece('{"q":"b"}', id="c2", name="find_tool")],
            [A, B],
            id="no index, whole calls",
        ),
        pytest.param(
            [
                piece('{"q":', id="c1", name="find_tool"),
                piece('{"q":', id="c2", name="find_tool"),
                piece('"a"}', id="c1"),
                piece('"b"}', id="c2"),
            ],
            [A, B],
            id="no index, told apart by id",
        ),
        pytest.param(
            [piece(id="c1", name="find_tool"), piece('{"q":'), piece('"a"}')],
            [A],
            id="no index and no id after the first piece",
        ),
        pytest.param(
            [piece('{"q":"a"}', name="find_tool"), piece('{"q":"b"}', name="find_tool")],
            [A, B],
            id="neither index nor id",
        ),
        pytest.param(
            [
                piece('{"q":"a"}', index=0, id="c1", name="find_tool"),
                piece('{"q":"b"}', index=0, id="c2", name="find_tool"),
            ],
            [A, B],
            id="one index for all",
        ),
        pytest.param(
            [
                piece("", index=0, id="c1", name="list_all"),
                piece('{"q":"b"}', index=0, id="c2", name="find_tool"),
            ],
            [("list_all", {}), B],
            id="one index for all, the first without arguments",
        ),
        pytest.param(
            [
                piece('{"q":"a"}', index=1, id="same", name="find_tool"),
                piece('{"q":"b"}', index=2, id="same", name="find_tool"),
            ],
            [A, B],
            id="one id for all, indexes from 1",
        ),
        pytest.param(
            [chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "list_all"}}]})],
            [("list_all", {})],
            id="no type and no arguments",
        ),
    ],
)
async def test_calls_are_put_together(
    openai_lab: Lab, events: list[bytes], expected: list[tuple[str, Any]]
) -> None:
    assert calls(await streamed(openai_lab, *events, *END)) == expected


async def test_a_call_counts_although_the_reply_ends_with_stop(openai_lab: Lab) -> None:
    reply = await streamed(
        openai_lab, piece('{"q":"a"}', index=0, id="c1", name="find_tool"), chunk({}, "stop"), DONE
    )
    assert (calls(reply), reply.stop) == ([A], "tool_use")


async def test_a_call_without_a_name_is_left_for_the_loop_to_refuse(openai_lab: Lab) -> None:
    reply = await streamed(openai_lab, piece("{}", index=0, id="c1"), *END)
    assert [(call.name, call.call_id) for call in reply.requests] == [("", "c1")]


async def test_without_usage_the_counts_are_marked_as_estimated(openai_lab: Lab) -> None:
    reply = await streamed(openai_lab, chunk({"content": "four letters here"}), chunk({}, "stop"), DONE)
    assert not reply.usage.reported
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0


async def test_usage_beside_the_last_choice_counts_too(openai_lab: Lab) -> None:
    reply = await streamed(openai_lab, chunk({"content": "hi"}), chunk({}, "stop", usage=USAGE), DONE)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.reported) == (30, 4, True)


async def test_a_usage_chunk_ends_a_stream_without_a_finish_reason(openai_lab: Lab) -> None:
    last = data({**HEAD, "choices": [], "usage": USAGE})
    reply = await streamed(openai_lab, chunk({"content": "whole"}), last, DONE)
    assert (reply.text, reply.stop) == ("whole", "end_turn")


async def test_usage_ahead_of_the_text_ends_nothing(openai_lab: Lab) -> None:
    first = data({**HEAD, "choices": [], "usage": USAGE})
    openai_lab.server.plan(Fault(events=(first, chunk({"content": "half"}))))
    assert (await openai_lab.fail()).kind == "truncated"


async def test_surrogate_halves_in_two_chunks_become_one_character(openai_lab: Lab) -> None:
    openai_lab.server.plan(
        Fault(
            events=(
                b'data: {"choices":[{"index":0,"delta":{"content":"ok \\ud83d"}}],"usage":null}\n\n',
                b'data: {"choices":[{"index":0,"delta":{"content":"\\udc4d \\ud83d!"}}],"usage":null}\n\n',
                chunk({}, "stop"),
                DONE,
            )
        )
    )
    deltas, reply = await openai_lab.ask()
    assert reply.text == "ok 👍 \ufffd!"
    assert "".join(delta.text for delta in deltas) == reply.text
    msgspec.json.encode(reply)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_of_compatible_servers_is_thinking(openai_lab: Lab, name: str) -> None:
    reply = await streamed(openai_lab, chunk({name: "Hm."}), chunk({"content": "Yes."}), chunk({}, "stop"))
    assert (reply.thinking, reply.text) == ("Hm.", "Yes.")


async def test_content_in_typed_parts_is_read(openai_lab: Lab) -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Yes."},
    ]
    reply = await streamed(openai_lab, chunk({"content": parts}), chunk({}, "stop"), DONE)
    assert (reply.thinking, reply.text) == ("Hm.", "Yes.")


async def test_a_refusal_in_words_is_an_error_with_these_words(openai_lab: Lab) -> None:
    openai_lab.server.plan(Fault(events=(chunk({"refusal": "I will "}), chunk({"refusal": "not."}, "stop"))))
    error = await openai_lab.fail()
    assert error.kind == "refused"
    assert "I will not." in error.message


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        ({"message": "busy", "type": "server_error", "code": "server_error"}, "server"),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, "rate_limit"),
        ({"message": "no more", "type": "insufficient_quota", "code": None}, "payment"),
        ({"message": "upstream busy", "code": 503}, "overloaded"),
        ({"message": "upstream", "code": 502}, "server"),
        ({"message": "the context length is exceeded", "code": None}, "context"),
        ({"message": "?"}, "server"),
        ("plain words", "server"),
    ],
)
async def test_an_error_in_mid_stream_is_classified(openai_lab: Lab, inner: object, kind: str) -> None:
    openai_lab.server.plan(Fault(events=(chunk({"content": "Half a"}), data({"error": inner}), DONE)))
    assert (await openai_lab.fail()).kind == kind


@pytest.mark.parametrize(
    ("finish", "kind"),
    [("error", "server"), ("insufficient_system_resource", "overloaded"), ("content_filter", "refused")],
)
async def test_an_end_for_a_bad_reason_is_no_reply(openai_lab: Lab, finish: str, kind: str) -> None:
    openai_lab.server.plan(Fault(events=(chunk({"content": "Half a"}), chunk({}, finish), DONE)))
    assert (await openai_lab.fail()).kind == kind


async def test_an_exhausted_quota_is_no_rate_limit(openai_lab: Lab) -> None:
    inner = {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": None}
    openai_lab.server.plan(Fault(status=429, body=msgspec.json.encode({"error": inner})))
    assert (await openai_lab.fail()).kind == "payment"


async def test_a_model_without_tools_gets_a_hint(openai_lab: Lab) -> None:
    body = msgspec.json.encode(openai_lab.server.error_body(400, "gemma does not support tools"))
    openai_lab.server.plan(Fault(status=400, body=body))
    error = await openai_lab.fail()
    assert (error.kind, "tools=text" in error.hint) == ("no_tools", True)


@pytest.mark.parametrize(
    ("provider", "limit", "options"),
    [
        ("openai", "max_completion_tokens", True),
        ("ollama", "max_tokens", True),
        ("mistral", "max_tokens", False),
    ],
)
async def test_each_provider_gets_the_fields_it_knows(
    openai_lab: Lab, provider: str, limit: str, options: bool
) -> None:
    model = OpenAIModel(provider, "m", api_key=KEY, base_url=openai_lab.server.base_url, timeout=20.0)
    openai_lab.server.plan(Fault(events=(chunk({"content": "ok"}), chunk({}, "stop"), DONE)))
    assert [type(part).__name__ async for part in model.reply(REQUEST)][-1] == "Reply"
    await model.aclose()
    body = openai_lab.server.requests[0].body
    assert body[limit] == 900
    assert len({"max_tokens", "max_completion_tokens"} & body.keys()) == 1
    assert ("stream_options" in body) is options
