import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
import streams

from alita_tui.spine import events as e
from alita_tui.spine.errors import StoreError
from alita_tui.store.audit import GENESIS, AuditLog
from alita_tui.store.testimony import contradictions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "audit.jsonl"


def add(path: Path, number: int = 1, **more):
    return AuditLog(path).append(
        who="ada", verdict="approved", digest="d" * 64, name=f"tool_{number}", version=1, session_id="s",
        approval_id=f"p{number}", **{"seen_ms": 1234.5, "scrolled_to_end": True, **more},
    )  # fmt: skip


def test_entries_chain_and_tell_who_when_and_how_long(path):
    first, second = add(path), add(path, 2, reason='needs "care"\n\x1b', via="cli")
    assert (first.previous, second.previous, second.sequence) == (GENESIS, first.hash, 2)
    assert AuditLog(path).entries() == (first, second) and AuditLog(path).verify() == []
    raw = json.loads(path.read_text().splitlines()[1])
    assert (raw["who"], raw["seen_ms"], raw["scrolled_to_end"], raw["via"]) == ("ada", 1234.5, True, "cli")
    assert AuditLog(path.with_name("none.jsonl")).verify() == []


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_changed_entry_is_found(path):
    for number in range(1, 6):
        add(path, number)
    path.write_bytes(path.read_bytes().replace(b"tool_3", b"tool_X"))
    assert AuditLog(path).verify() == ["line 3: entry 3 was changed after it was written"]


@pytest.mark.parametrize("change", ["remove", "swap", "insert", "rehash"])
def test_removed_swapped_inserted_and_rehashed_entries_are_found(path, change):
    for number in range(1, 6):
        add(path, number)
    found = lines(path)
    if change == "remove":
        del found[2]
    elif change == "swap":
        found[1], found[2] = found[2], found[1]
    elif change == "insert":
        found.insert(2, found[1])
    else:
        forged = msgspec.structs.replace(AuditLog(path).entries()[2], verdict="rejected")
        found[2] = msgspec.json.encode(msgspec.structs.replace(forged, hash=forged.own_hash)) + b"\n"
    path.write_bytes(b"".join(found))
    assert AuditLog(path).verify()


def test_a_torn_tail_is_told_stays_and_the_chain_goes_on(path):
    add(path)
    second = add(path, 2)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert AuditLog(path).verify() == ["line 2 was cut off while it was written"]
    third = add(path, 3)
    assert third.sequence == 2 and path.read_bytes().startswith(whole[:-30])
    assert AuditLog(path).verify() == [], "the entry that was cut off was followed by a whole one"
    path.write_bytes(b"{garbage of another kind}\n" + path.read_bytes())
    assert AuditLog(path).verify() == ["line 1 cannot be read"]
    path.write_bytes(whole[:-1])
    assert AuditLog(path).verify() == [], "only the line end is missing"
    assert add(path, 3).previous == second.hash and AuditLog(path).verify() == []


def test_the_last_entry_is_found_behind_megabytes_and_long_lines(path):
    for number in range(1, 30):
        add(path, number, reason="r" * (90_000 if number % 7 == 0 else 10))
    assert add(path, 30).sequence == 30 and AuditLog(path).verify() == []


def test_many_writers_make_one_chain(path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add(path, number), range(40)))
    assert AuditLog(path).verify() == [] and len(AuditLog(path).entries()) == 40


def test_what_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="could not be made"):
        add(tmp_path / "file" / "audit.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(StoreError, match="could not be saved"):
        add(tmp_path / "folder.jsonl")


def approved_in(*, last: e.SessionEvent | None = None):
    history = [
        one for one in streams.walkthrough() if one.durable and not isinstance(one.event, e.SessionClosed)
    ]
    more = [msgspec.structs.replace(history[-1], seq=history[-1].seq + 1, event=last)] if last else []
    return [*history, *more]


def test_a_verdict_that_a_crash_kept_out_is_entered_once(path):
    log, history = AuditLog(path), approved_in()
    given = [one.event for one in history if isinstance(one.event, e.ApprovalResolved)]
    assert log.catch_up("s", history) == tuple(one.approval_id for one in given) != ()
    assert [(one.approval_id, one.verdict, one.digest, one.who) for one in log.entries()] == [
        (one.approval_id, one.verdict, one.digest, one.by) for one in given
    ]
    log.catch_up("another", history)
    assert len(log.entries()) == len(given) and log.verify() == []


@pytest.mark.parametrize("last", [e.SessionClosed(), e.SessionResumed(restored=9)])
def test_verdicts_of_earlier_runs_are_left_alone(path, last):
    assert AuditLog(path).catch_up("s", approved_in(last=last)) == ()
    assert not path.exists()


def test_what_is_done_with_a_tool_later_does_not_speak_against_its_verdict(path):
    log, history = AuditLog(path), approved_in()
    log.catch_up("s", history)
    assert contradictions(log.entries(), "s", history) == []
    given = next(one.event for one in history if isinstance(one.event, e.ApprovalResolved))
    log.append(
        who="ada", verdict="archived", digest=given.digest, name="roll_dice", version=1, session_id="",
        approval_id=given.approval_id,
    )  # fmt: skip
    assert contradictions(log.entries(), "s", history) == []
    assert [line.partition(": ")[2] for line in contradictions((), "s", history)] == [
        f"the verdict {given.verdict} by {given.by} on {given.approval_id} is not in the log"
    ]
    cut = [one for one in history if one.event is not given]
    assert contradictions(log.entries(), "s", cut) == [
        f"entry 1: the session has no verdict on {given.approval_id}"
    ]
