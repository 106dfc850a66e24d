"""Habits of servers that both adapters have to live with: pauses, comments, words for the end, tools passed over."""

from __future__ import annotations

import pytest

from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from tests.support.servers.lab import CALL, REQUEST, TEXT, Lab, open_lab
from tests.support.servers.wire import Fault

KEEP_ALIVES = [
    b": keep-alive\n\n",
    b":\n\n",
    b"\n\n\n",
    b": OPENROUTER PROCESSING\r\n\r\n",
    b"retry: 3000\n\n",
    b"id: 7\n\n: still here\n\n",
]


@pytest.mark.parametrize("after", [0, 2, 5])
@pytest.mark.parametrize("junk", KEEP_ALIVES)
async def test_comments_and_keep_alives_are_ignored(lab: Lab, junk: bytes, after: int) -> None:
    whole = ScriptReply(text=TEXT.text, requests=CALL.requests)
    lab.server.plan(Fault(script=whole, then="send", after=after, junk=junk * 3))
    _, reply = await lab.ask()
    assert (reply.text, reply.requests[0].arguments) == (TEXT.text, CALL.requests[0].arguments)


async def test_keep_alives_alone_are_no_reply(lab: Lab) -> None:
    lab.server.plan(Fault(events=tuple(KEEP_ALIVES)))
    assert (await lab.fail()).kind == "truncated"


async def test_a_slow_first_byte_is_waited_for(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="hold", after=0))
    await lab.model.warm()
    stream = lab.model.reply(REQUEST)
    first = stream.__anext__()
    lab.server.release()
    pieces = [await first] + [piece async for piece in stream]
    assert pieces[-1].text == TEXT.text


async def test_a_missing_first_byte_ends_in_a_timeout(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="stall", after=0))
    quick = open_lab(lab.vendor, lab.server, timeout=0.3)
    error = await quick.fail()
    await quick.model.aclose()
    assert error.kind == "timeout"
    assert await lab.server.client_left()


@pytest.mark.parametrize(
    ("script", "stop"),
    [
        (ScriptReply(text="Done."), "end_turn"),
        (CALL, "tool_use"),
        (
            ScriptReply(requests=(*CALL.requests, ScriptRequest(name="list_all")), stop="max_tokens"),
            "max_tokens",
        ),
    ],
)
async def test_the_reason_for_the_end_is_the_same_word_everywhere(
    lab: Lab, script: ScriptReply, stop: str
) -> None:
    lab.server.plan(Fault(script=script))
    _, reply = await lab.ask()
    assert reply.stop == stop


async def test_a_server_that_ignores_tools_replies_in_words(lab: Lab) -> None:
    lab.server.plan(Fault(script=ScriptReply(text="I would look for a tool.")))
    _, reply = await lab.ask()
    assert (reply.text, reply.requests) == ("I would look for a tool.", ())
