import json
import multiprocessing
from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.store.audit import AuditLog
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.store.verdict_inbox import VerdictInbox, VerdictNote
from tests.support import streams

DIGEST = streams.DIGEST


async def session(
    shelf: SessionStore, session_id: str, suffix: str, *, until: str = "waiting"
) -> SessionFile:
    """A session that waits for a verdict, with ids of its own."""
    stream = streams.waiting() if until == "waiting" else streams.walkthrough()
    file = SessionFile.create(shelf.path(session_id), session_id)
    for one in (one for one in stream if one.durable):
        changes = {
            field: getattr(one.event, field) + suffix
            for field in ("approval_id", "build_id")
            if hasattr(one.event, field)
        }
        event = msgspec.structs.replace(one.event, **changes)
        await file.record(Envelope(seq=one.seq, session_id=session_id, at=one.at, event=event), barrier=False)
    return file


@pytest.fixture
def shelf(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


@pytest.fixture
def desk(tmp_path: Path, shelf: SessionStore) -> VerdictInbox:
    return VerdictInbox(tmp_path / "desk", shelf)


def say(decision="approved", digest=DIGEST, by="ada", **more) -> ResolveApproval:
    return ResolveApproval(
        approval_id="", digest=digest, verdict=e.Verdict(decision=decision, by=by, via="cli", **more)
    )


async def test_builds_of_open_and_closed_sessions_wait_in_one_inbox(shelf, desk):
    live = await session(shelf, "20261120-100000-aaaa", "-one")
    (await session(shelf, "20261120-110000-bbbb", "-two")).close()
    (await session(shelf, "20261120-120000-cccc", "-three", until="end")).close()
    assert [(build.approval_id, build.session_id) for build in desk.pending()] == [
        ("p1-one", "20261120-100000-aaaa"),
        ("p1-two", "20261120-110000-bbbb"),
    ]
    build, events = desk.show("p1-o")
    assert (build.build_id, build.digest) == ("b1-one", DIGEST)
    kinds = [type(one.event) for one in events]
    assert kinds[0] is e.BuildStarted and kinds[-1] is e.ApprovalRequested and e.BuildTested in kinds
    assert desk.show("b1-two")[0].session_id == "20261120-110000-bbbb"
    with pytest.raises(UsageError, match="More than one build begins with 'p1'"):
        desk.show("p1")
    live.close()


async def test_a_verdict_is_left_read_and_cleared(shelf, desk):
    live = await session(shelf, "20261120-100000-aaaa", "-one")
    assert desk.verdict("p1-one") is None
    desk.leave("b1-one", say(digest=DIGEST, reason="fine"))
    left = desk.verdict("p1-one")
    assert (left.verdict.by, left.digest, left.approval_id, left.verdict.reason) == (
        "ada",
        DIGEST,
        "p1-one",
        "fine",
    )
    assert [build.verdict for build in desk.pending()] == ["approved"]
    with pytest.raises(UsageError, match="was approved by ada at .*the first verdict stands"):
        desk.leave("p1-one", say("rejected", by="bob"))
    desk.taken("p1-one")
    desk.taken("p1-one")
    assert desk.verdict("p1-one") is None
    live.close()


@pytest.mark.parametrize("digest", ["", DIGEST[:63], DIGEST[:12], "0" * 64, DIGEST + "0", "f" * 12])
async def test_only_the_digest_that_waits_can_be_decided_on(shelf, desk, digest):
    (await session(shelf, "20261120-100000-aaaa", "-one")).close()
    with pytest.raises(UsageError):
        desk.leave("p1-one", say(digest=digest))
    assert desk.verdict("p1-one") is None


async def test_a_decided_build_says_who_decided(shelf, desk):
    (await session(shelf, "20261120-100000-aaaa", "-one", until="end")).close()
    with pytest.raises(UsageError, match="p1-one was approved by ada before"):
        desk.leave("p1-one", say(by="bob"))
    with pytest.raises(UsageError, match="No build 'nothing' waits"):
        desk.leave("nothing", say(by="bob"))


async def test_a_damaged_note_is_no_verdict_and_does_not_block(shelf, desk, tmp_path):
    (await session(shelf, "20261120-100000-aaaa", "-one")).close()
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "p1-one.json").write_text('{"command": {"verdict": "approved"}')
    assert desk.verdict("p1-one") is None and desk.pending()[0].verdict == ""
    desk.leave("p1-one", say("rejected"))
    assert desk.verdict("p1-one").verdict.decision == "rejected"
    assert desk.verdict("../sessions/20261120-100000-aaaa") is None


def _leave(folder: Path, sessions: Path, name: str, start, results) -> None:
    desk = VerdictInbox(folder, SessionStore(sessions))
    start.wait()
    try:
        desk.leave("p1-one", say("approved" if name == "ada" else "rejected", reason=name, by=name))
        results.put((name, "decided"))
    except UsageError as error:
        results.put((name, str(error)))


async def test_of_two_concurrent_verdicts_one_counts(shelf, desk, tmp_path):
    (await session(shelf, "20261120-100000-aaaa", "-one")).close()
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(2), context.Queue()
    people = [
        context.Process(target=_leave, args=(tmp_path / "desk", shelf.folder, name, start, results))
        for name in ("ada", "bob")
    ]
    for person in people:
        person.start()
    said = dict(results.get(timeout=20) for _ in people)
    for person in people:
        person.join()
    results.close()
    results.join_thread()
    (winner,) = [name for name, text in said.items() if text == "decided"]
    (loser,) = set(said) - {winner}
    assert f"by {winner}" in said[loser] and desk.verdict("p1-one").verdict.by == winner
    assert [path.suffix for path in (tmp_path / "desk").iterdir()] == [".json"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"by": "somebody-else"}, ""),  # the process says who it is; it is the signature that is checked
        ({"at": "2999-01-01T00:00:00+00:00"}, "in the future"),
        ({"at": "yesterday"}, "does not say when"),
        ({"command": {"seen_ms": 100_000.0}}, "looked at on screen"),
        ({"command": {"scrolled_to_end": True}}, "looked at on screen"),
        ({"command": {"via": "console", "seen_ms": -1.0}}, "for so long"),
        ({"command": {"via": "console", "seen_ms": 1e12}}, "for so long"),
        ({"signature": ""}, "no process of this home signed it"),
        ({"signature": "another home's"}, "no process of this home signed it"),
    ],
)
async def test_a_note_counts_only_if_it_is_signed_and_plausible(shelf, tmp_path, change, why):
    """What a signed note may say is bounded as well; what is set aside is told and stays no verdict."""
    (await session(shelf, "20261120-100000-aaaa", "-one")).close()
    log = AuditLog(tmp_path / "data" / "audit.jsonl", tmp_path / "keys")
    told: list[str] = []
    desk = VerdictInbox(tmp_path / "desk", shelf, sealing=log)
    desk.report = told.append
    desk.leave("p1-one", say(seen_ms=9000.0))
    path = tmp_path / "desk" / "p1-one.json"
    note = json.loads(path.read_text())
    assert note["command"]["verdict"].get("seen_ms", 0.0) == 0.0, "nothing was on screen"
    verdict = {**note["command"]["verdict"], **change.get("command", {})}
    note |= {**change, "command": {**note["command"], "verdict": verdict}, "signature": ""}
    sealing = (
        AuditLog(tmp_path / "b" / "audit.jsonl", tmp_path / "b" / "keys") if "signature" in change else log
    )
    bare = msgspec.convert(note, VerdictNote)
    text = msgspec.json.encode(bare, order="sorted").decode()
    signature = change.get("signature", "x") and sealing.signed("desk note", text)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(bare, signature=signature)))
    found = desk.verdict("p1-one")
    assert (found is not None) is (why == "")
    assert [why in one and "It still waits" in one for one in told] == ([True] if why else [])
    assert path.exists() is (why == "") and desk.verdict("p1-one") == found


async def test_a_note_of_an_older_alita_counts_with_its_own_signature(shelf, tmp_path):
    """Its verdict lies flat in the command; it is upgraded after the signature was checked over what was written."""
    (await session(shelf, "20261120-100000-aaaa", "-one")).close()
    log = AuditLog(tmp_path / "data" / "audit.jsonl", tmp_path / "keys")
    desk = VerdictInbox(tmp_path / "desk", shelf, sealing=log)
    flat = {"approval_id": "p1-one", "digest": DIGEST, "verdict": "approved", "lasting": "task", "via": "cli"}
    bare = VerdictNote(command=flat, by="ada", at="2026-11-20T10:00:00+00:00")
    signature = log.signed("desk note", msgspec.json.encode(bare, order="sorted").decode())
    (tmp_path / "desk").mkdir()
    note = msgspec.structs.replace(bare, signature=signature)
    (tmp_path / "desk" / "p1-one.json").write_bytes(msgspec.json.encode(note))
    verdict = e.Verdict(decision="approved", lasting="task", by="ada", via="cli")
    assert desk.verdict("p1-one") == ResolveApproval(approval_id="p1-one", digest=DIGEST, verdict=verdict)
    assert [build.verdict for build in desk.pending()] == ["approved"]
