"""Servers on record: what their tools may do in a session, how it adds up and how it reads."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import BuildDigest, CallId, RunReport, ToolCard, ToolName
from alita_tui.spine.envelope import Envelope, decode, encode
from alita_tui.spine.laws import check
from alita_tui.state.reduce import reduce_all
from alita_tui.view.trace import rows_for
from tests.support import streams

CARD = ToolCard(
    name=ToolName("far_hi"), version=1, description="", digest=BuildDigest("aa" * 32), state="trusted"
)
STARTED = e.ServerStarted(start_id="s1", server="far", where="https://far.example", identity="bb" * 32)
CALLED = e.ToolCalled(
    call_id=CallId("1"),
    action_id="",
    name=CARD.name,
    version=1,
    digest=CARD.digest,
    arguments={},
    server="far",
)
RETURNED = e.ToolReturned(call_id=CallId("1"), report=RunReport(status="ok", result=1))
SUSPENDED = e.ToolSuspended(name=CARD.name, version=1, server="far", reason="changed: description")
ASKED = e.BrokerAnswered(call_id=CallId("s1"), request="GET https://a.example", outcome="served")
APPROVED_AGAIN = e.LibraryLoaded(
    tools=(msgspec.structs.replace(CARD, version=2, digest=BuildDigest("cc" * 32)),)
)
SECOND = msgspec.structs.replace(CALLED, call_id=CallId("2"))
NEWER = msgspec.structs.replace(SECOND, version=2, digest=BuildDigest("cc" * 32))


def tape(*events: e.SessionEvent) -> list[Envelope]:
    made = streams.Tape()
    streams.opened(made, library=(CARD,))
    for event in events:
        made.add(event)
    return made.envelopes


def test_a_call_of_a_started_server_is_lawful_and_so_are_the_requests_of_its_start() -> None:
    stream = tape(STARTED, ASKED, CALLED, RETURNED, SUSPENDED, APPROVED_AGAIN, NEWER, end("2"))
    assert check(stream, complete=True) == []
    assert [decode(encode(one)) for one in stream] == stream


def end(call_id: str) -> e.ToolReturned:
    return msgspec.structs.replace(RETURNED, call_id=CallId(call_id))


@pytest.mark.parametrize(
    ("events", "law"),
    [
        ((CALLED, RETURNED), "start before a call"),
        ((STARTED, CALLED, RETURNED, SUSPENDED, SECOND, end("2")), "run what was approved"),
        ((ASKED, STARTED), "grants within a call"),
    ],
)
def test_each_violation_by_a_server_event_is_a_breach(events: tuple[e.SessionEvent, ...], law: str) -> None:
    assert law in {breach.law for breach in check(tape(*events), complete=True)}


def test_a_suspended_tool_leaves_the_library_of_the_session() -> None:
    assert [card.name for card in reduce_all(tape(STARTED)).library] == ["far_hi"]
    assert reduce_all(tape(STARTED, SUSPENDED)).library == ()


@pytest.mark.parametrize(
    ("event", "title", "tone"),
    [
        (STARTED, "Server far started", "muted"),
        (e.ServerStopped(server="far", reason="it ended with exit code 3", fault=True), "Server far stopped: it ended with exit code 3", "warn"),
        (e.ServerAsked(server="far", request="sampling/create\x1b[31mMessage"), "Server far asked for sampling/createMessage and was refused", "muted"),
        (e.ServerAsked(server="far", request="sampling/createMessage", granted=True, text="x"), "Server far asks a model", "normal"),
        (e.ServerAsked(server="far", request="roots/list", reason="it is no\x1b[31m folder"), "Server far asked for roots/list and was refused: it is no folder", "muted"),
        (e.ServerQuestion(question_id="q", server="far", text="The server far asks: who?", choices=("answer it", "decline")), "The server far asks: who? (1: answer it, 2: decline)", "wait"),
        (e.ServerQuestionEnded(question_id="q", server="far", text="hurry up", outcome="refused"), "hurry up", "warn"),
        (e.ServerQuestionEnded(question_id="q", server="far", outcome="withdrawn"), "The question of the server far is closed: its call is over", "muted"),
        (SUSPENDED, "far_hi v1 is suspended: the server far changed it", "warn"),
        (CALLED, "far_hi v1, at the server far", "normal"),
    ],
)  # fmt: skip
def test_each_server_event_has_a_row_in_the_trace(event: e.SessionEvent, title: str, tone: str) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    (row,) = rows_for(Envelope(seq=1, session_id="s", at=at, event=event))
    assert (row.title, row.tone) == (title, tone)
