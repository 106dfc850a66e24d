"""The laws catch what must never be in a session."""

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import GateResult, ToolCard, Twin
from alita_tui.spine.envelope import Envelope, decode
from alita_tui.spine.laws import check
from tests.support import streams


def without(stream: list[Envelope], kind: type) -> list[Envelope]:
    """The stream with the first event of a kind gone and the rest renumbered: a cover-up."""
    stored = [envelope for envelope in stream if envelope.durable]
    gone = next(i for i, envelope in enumerate(stored) if isinstance(envelope.event, kind))
    kept = stored[:gone] + stored[gone + 1 :]
    return [msgspec.structs.replace(envelope, seq=n) for n, envelope in enumerate(kept, 1)]


def laws(stream: list[Envelope]) -> set[str]:
    return {breach.law for breach in check(stream, complete=True)}


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (e.ApprovalResolved, "register what was approved"),
        (e.ApprovalRequested, "decide on what was asked"),
        (e.ToolRegistered, "run what was approved"),
        (e.ToolReturned, "one end per call"),
        (e.ToolCalled, "one end per call"),
        (e.BuildDrafted, "ask for what was drafted"),
    ],
)
def test_a_removed_event_is_a_breach_even_after_renumbering(kind: type, law: str) -> None:
    assert law in laws(without(streams.walkthrough(), kind))


def test_a_gap_in_the_numbering_breaks_a_law() -> None:
    stream = [envelope for envelope in streams.walkthrough() if envelope.seq != 7]
    assert "gapless" in laws(stream)


def test_approving_other_bytes_is_a_breach() -> None:
    changed = [
        msgspec.structs.replace(envelope, event=msgspec.structs.replace(envelope.event, digest="0" * 64))
        if isinstance(envelope.event, e.ApprovalResolved)
        else envelope
        for envelope in streams.walkthrough()
    ]
    assert "decide on what was asked" in laws(changed)


def test_code_changed_after_its_digest_is_a_breach() -> None:
    def tamper(envelope: Envelope) -> Envelope:
        event = envelope.event
        if not isinstance(event, e.BuildDrafted):
            return envelope
        draft = msgspec.structs.replace(event.draft, code=event.draft.code + "\nimport os")
        return msgspec.structs.replace(envelope, event=msgspec.structs.replace(event, draft=draft))

    assert "digest" in laws([tamper(envelope) for envelope in streams.walkthrough()])


def test_a_second_verdict_and_an_event_after_the_close_are_breaches() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    streams.until_approval(tape)
    for verdict in ("approved", "rejected"):
        tape.add(
            e.ApprovalResolved(
                approval_id="p1",
                build_id=e.BuildId("b1"),
                digest=streams.DIGEST,
                verdict=e.Verdict(decision=verdict),
            )
        )
    tape.add(e.SessionClosed())
    tape.add(e.Steered(text="still there?"))
    assert {"decide once", "nothing after close"} <= laws(tape.envelopes)


TWIN = Twin(name=e.ToolName("double_it"), version=1, digest=e.BuildDigest("d" * 64))


def aliased(
    *, named: Twin | None = TWIN, twins: tuple[Twin, ...] = (TWIN,), compared: str = "", target: Twin = TWIN
) -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    streams.until_approval(tape)
    looked = GateResult(gate="neighbours", state="failed", summary="alike", twins=twins)
    digest = compared or streams.DRAFT.digest
    tape.add(e.GateChecked(build_id=e.BuildId("b1"), attempt=1, digest=e.DraftDigest(digest), result=looked))
    tape.add(
        e.ApprovalResolved(
            approval_id="p1",
            build_id=e.BuildId("b1"),
            digest=streams.DIGEST,
            verdict=e.Verdict(decision="aliased", alias_of=named),
        )
    )
    tape.add(
        e.ToolAliased(build_id=e.BuildId("b1"), approval_id="p1", name=streams.DRAFT.name, target=target)
    )
    return tape.envelopes


def test_an_alias_is_a_verdict_on_a_twin_that_was_found() -> None:
    other = Twin(name=e.ToolName("other"), version=1, digest=e.BuildDigest("e" * 64))
    assert {breach.law for breach in check(aliased())} == set()
    assert {breach.law for breach in check(aliased(named=None))} == {"alias what was decided"}
    assert {breach.law for breach in check(aliased(target=other))} == {"alias what was decided"}
    assert {breach.law for breach in check(aliased(twins=(other,)))} == {"alias a twin"}
    assert {breach.law for breach in check(aliased(compared="0" * 64))} == {"alias a twin"}


def test_registering_a_tool_for_an_aliased_build_breaks_a_law() -> None:
    tape = streams.Tape()
    tape.envelopes.extend(aliased())
    card = ToolCard(
        name=streams.DRAFT.name, version=1, description="", digest=streams.DIGEST, state="provisional"
    )
    registered = e.ToolRegistered(build_id=e.BuildId("b1"), approval_id="p1", card=card)
    last = tape.envelopes[-1]
    tape.envelopes.append(msgspec.structs.replace(last, seq=(last.seq or 0) + 1, event=registered))
    assert {breach.law for breach in check(tape.envelopes)} == {"register what was approved"}


def test_page_messages_are_within_a_call_and_end_with_their_number() -> None:
    stored = [envelope for envelope in streams.walkthrough() if envelope.durable]
    called = next(i for i, one in enumerate(stored) if isinstance(one.event, e.ToolCalled))
    call = stored[called].event
    assert isinstance(call, e.ToolCalled)
    message = e.PageLogged(call_id=call.call_id, level="info", text="hello")
    number = msgspec.structs.replace(message, text="", more=7)

    def put_in(at: int, *events: e.PageLogged) -> list[Envelope]:
        new = [msgspec.structs.replace(stored[called], event=event) for event in events]
        stream = [*stored[:at], *new, *stored[at:]]
        return [msgspec.structs.replace(envelope, seq=n) for n, envelope in enumerate(stream, 1)]

    assert laws(put_in(called + 1, message, message, number)) == laws(stored)
    assert "grants within a call" in laws(put_in(called, message))
    assert "messages end with a number" in laws(put_in(called + 1, number, message))


def test_requests_of_a_call_end_with_numbers() -> None:
    stored = [envelope for envelope in streams.walkthrough() if envelope.durable]
    called = next(i for i, envelope in enumerate(stored) if isinstance(envelope.event, e.ToolCalled))
    call = stored[called].event
    assert isinstance(call, e.ToolCalled)
    served = e.BrokerAnswered(call_id=call.call_id, request="GET http://a.example/", outcome="served")
    number = msgspec.structs.replace(
        served, request="7 more requests", more=(e.RequestCount(target="a.example", count=7),)
    )
    refused = msgspec.structs.replace(number, outcome="refused")

    def put_in(*events: e.BrokerAnswered) -> list[Envelope]:
        new = [msgspec.structs.replace(stored[called], event=event) for event in events]
        stream = [*stored[: called + 1], *new, *stored[called + 1 :]]
        return [msgspec.structs.replace(envelope, seq=n) for n, envelope in enumerate(stream, 1)]

    assert laws(put_in(served, served, number, refused)) == laws(stored)
    assert "requests end with a number" in laws(put_in(number, served))


@pytest.mark.parametrize(
    "line", [b"", b"{", b'{"seq": 4, "event": {"kind": "from_the_future"}}', b"\xff\xfe", b"[1]"]
)
def test_an_unreadable_record_becomes_an_unknown_event(line: bytes) -> None:
    envelope = decode(line, session_id="s", seq=4)
    assert isinstance(envelope.event, e.UnknownEvent)
    assert (envelope.seq, envelope.session_id) == (4, "s")
    assert envelope.event.reason


def test_a_grant_is_used_only_within_a_call_or_a_build() -> None:
    stored = [envelope for envelope in streams.walkthrough() if envelope.durable]
    called = next(i for i, one in enumerate(stored) if isinstance(one.event, e.ToolCalled))
    call = stored[called].event
    assert isinstance(call, e.ToolCalled)
    used = e.BrokerAnswered(
        call_id=call.call_id, request="GET http://a.example/", outcome="served", status=200
    )

    def put_in(at: int, event: e.BrokerAnswered) -> list[Envelope]:
        one = msgspec.structs.replace(stored[called], event=event)
        stream = [*stored[:at], one, *stored[at:]]
        return [msgspec.structs.replace(envelope, seq=n) for n, envelope in enumerate(stream, 1)]

    assert laws(put_in(called + 1, used)) == laws(stored)
    assert "grants within a call" in laws(put_in(called, used))
    assert "grants within a call" in laws(
        put_in(called + 1, msgspec.structs.replace(used, call_id="another"))
    )
    build = next(one.event.build_id for one in stored if isinstance(one.event, e.BuildDrafted))
    assert laws(put_in(called, msgspec.structs.replace(used, call_id=build))) == laws(stored)
