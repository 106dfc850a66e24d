import json
import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import keyring
import msgspec
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from alita_tui import events as e
from alita_tui.spine.errors import StoreError
from alita_tui.store.approvals import standing
from alita_tui.store.audit import GENESIS, AuditLog
from alita_tui.store.crosscheck import contradictions
from alita_tui.store.entry import AuditEntry, read_entry
from alita_tui.store.forking import forked
from alita_tui.store.seal import sign
from tests.support import streams


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "audit.jsonl"


def opened(path: Path) -> AuditLog:
    return AuditLog(path, path.parent.parent / "keys")


def add(path: Path, number: int = 1, **more):
    return opened(path).append(AuditEntry(
        who="ada", digest="d" * 64, name=f"tool_{number}", version=1,
        approval_id=f"p{number}",
        **{"verdict": "approved", "session_id": "s", "seen_ms": 1234.5, "scrolled_to_end": True, **more},
    ))  # fmt: skip


def test_entries_form_a_chain_and_record_who_when_and_how_long(path):
    first, second = add(path), add(path, 2, reason='needs "care"\n\x1b', via="cli")
    assert (first.previous, second.previous, second.sequence) == (GENESIS, first.hash, 2)
    assert opened(path).entries() == (first, second) and opened(path).verify() == []
    raw = json.loads(path.read_text().splitlines()[1])
    assert (raw["who"], raw["seen_ms"], raw["scrolled_to_end"], raw["via"]) == ("ada", 1234.5, True, "cli")
    assert AuditLog(path.with_name("none.jsonl"), path.parent / "none").verify() == []


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_changed_entry_is_found(path):
    for number in range(1, 6):
        add(path, number)
    path.write_bytes(path.read_bytes().replace(b"tool_3", b"tool_X"))
    assert opened(path).verify() == [
        "line 3: entry 3 (tool_X v1, approved) was changed after it was written",
        "the log is not the one that its head counts up to entry 5",
    ]


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
        forged = msgspec.structs.replace(opened(path).entries()[2], verdict="rejected")
        found[2] = msgspec.json.encode(msgspec.structs.replace(forged, hash=forged.own_hash)) + b"\n"
    path.write_bytes(b"".join(found))
    assert opened(path).verify()


def test_a_torn_tail_stays_and_the_chain_continues(path):
    add(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"sequence":2,"at":"2026-11-2')
    assert opened(path).verify() == [], "nobody was told that it was written"
    second = add(path, 2)
    assert second.sequence == 2 and path.read_bytes().startswith(whole + b'{"sequence":2,"at":"2026-11-2\n')
    assert opened(path).verify() == [], "the entry that was cut off was followed by a whole one"
    third = add(path, 3)
    path.write_bytes(path.read_bytes()[:-1])
    assert opened(path).verify() == ["the log is not the one that its head counts up to entry 3"], (
        "even where it is only the line's end that is missing"
    )
    path.write_bytes(path.read_bytes() + b"\n")
    assert add(path, 4).previous == third.hash and opened(path).verify() == []


@pytest.mark.parametrize(
    "tail", [b'{"sequence":2,garbled', b"\x00" * 40, b"{garbage}", b'{"sequence":7,"at":"2026']
)
def test_bytes_that_begin_no_entry_are_damage(path, tail):
    add(path)
    path.write_bytes(path.read_bytes() + tail)
    assert opened(path).verify() == ["line 2: what follows entry 1 cannot be read; it is damaged"]
    with pytest.raises(StoreError, match="not to be relied on"):
        add(path, 2)
    assert "what is not was cut off" in opened(path).repair()
    assert opened(path).verify() == [] and [one.verdict for one in opened(path).entries()] == [
        "approved", "log repaired",
    ]  # fmt: skip


@pytest.mark.parametrize("lost", ["entry", "log", "both heads", "key", "older log", "older log and its head"])
def test_a_log_with_missing_entries_is_refused_and_can_be_begun_anew(path, lost):
    add(path)
    keys, near = path.parent.parent / "keys", path.with_suffix(".head")
    old = path.read_bytes(), near.read_bytes()
    add(path, 2)
    match lost:
        case "entry" | "older log":
            path.write_bytes(old[0])
        case "log":
            path.unlink()
        case "both heads":
            near.unlink()
            (keys / "head").unlink()
        case "key":
            (keys / "key").unlink()
            (keys / "head").unlink()
        case _:
            path.write_bytes(old[0])
            near.write_bytes(old[1])
    assert opened(path).verify()
    with pytest.raises(StoreError, match="not to be relied on"):
        add(path, 3)
    assert "every tool has to be approved anew" in opened(path).repair()
    assert opened(path).verify() == [] and add(path, 3).sequence == 2
    assert opened(path).entries()[0].verdict == "log begun anew"


def test_a_new_log_has_the_bans_and_revocations_of_the_old_one(path):
    """They may stand in the log alone: the library or the policy can come from an older backup."""
    add(path, 1, verdict="banned", banned=("name", "digest"), reason="never")
    add(path, 2, verdict="banned", banned=("host:a.example:443",))
    older = path.read_bytes()
    add(path, 2, verdict="unbanned", session_id="")
    add(path, 3)
    add(path, 3, verdict="revoked", session_id="")
    add(path, 4, verdict="quarantined", session_id="")
    add(path, 4, verdict="restored", session_id="")
    opened(path).append(AuditEntry(
        who="ada", verdict="rule revoked", digest="", name="pure", version=0, session_id="", approval_id="",
    ))  # fmt: skip
    forged = read_entry(lines(path)[2])
    assert forged is not None
    forged = msgspec.structs.replace(forged, approval_id="p1")
    path.write_bytes(path.read_bytes() + forged.line + b"\nnot an entry\n" + forged.line[:60])
    (path.parent.parent / "keys" / "head").unlink()
    assert "every tool has to be approved anew" in opened(path).repair([older])
    assert opened(path).verify() == []
    now = standing(opened(path).entries())
    assert [(ban.ban_id, ban.name, ban.reason) for ban in now.bans.values()] == [("p1", "tool_1", "never")]
    assert {name: move.after for name, move in now.states.items()} == {"p3": "revoked"}
    assert (list(now.revoked_rules), now.approvals) == (["pure"], {})


def test_a_repair_keeps_a_ban_that_no_head_covers(path):
    """The heads are written after the entry, so a full disk can leave them behind."""
    add(path)
    heads = [path.with_suffix(".head"), path.parent.parent / "keys" / "head"]
    covered = [head.read_bytes() for head in heads]
    add(path, 2, verdict="banned", banned=("name",))
    for head, raw in zip(heads, covered, strict=True):
        head.write_bytes(raw)
    with path.open("ab") as log:
        log.write(b"not an entry\n")
    assert "brought back" in opened(path).repair()
    now = standing(opened(path).entries())
    assert opened(path).verify() == [] and (list(now.approvals), list(now.bans)) == (["p1"], ["p2"])


def test_a_new_log_has_the_bans_that_only_a_backup_of_the_log_still_has(path):
    add(path, 1, verdict="banned", banned=("name",))
    older = path.read_bytes()
    add(path, 2)
    path.unlink()
    assert "every tool has to be approved anew" in opened(path).repair([older])
    assert list(standing(opened(path).entries()).bans) == ["p1"]


class Ring(KeyringBackend):
    """A keyring that can be locked."""

    priority = 1.0

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked
        return self.secrets.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringLocked
        self.secrets[username] = password


def test_a_repair_while_the_keyring_is_locked_says_what_happens_once_it_is_not(path):
    before, ring = keyring.get_keyring(), Ring()
    keyring.set_keyring(ring)
    try:
        add(path)
        assert ring.secrets and not (path.parent.parent / "keys" / "key").exists()
        path.unlink()
        ring.locked = True
        said = opened(path).repair()
        assert str(path.parent.parent / "keys" / "key") in said
        assert "`alita audit repair` once more" in said, "what the person has to do later"
        assert opened(path).verify() == []
        ring.locked = False
        with pytest.raises(StoreError, match="not to be relied on"):
            add(path, 2)
        assert "every tool has to be approved anew" in opened(path).repair()
        assert opened(path).verify() == [] and add(path, 2).sequence == 2
    finally:
        keyring.set_keyring(before)


def test_a_complete_copy_is_restored(path):
    add(path)
    add(path, 2)
    whole = path.read_bytes()
    path.write_bytes(whole[:200])
    assert "brought back" in opened(path).repair([whole[:-5], whole])
    assert opened(path).verify() == [] and path.read_bytes().startswith(whole)


def test_a_log_of_an_older_version_is_adopted_unchanged(path):
    golden = (Path(__file__).with_name("golden_audit") / "1.jsonl").read_bytes()
    path.parent.mkdir()
    path.write_bytes(golden)
    assert opened(path).verify() == [] and len(opened(path).entries()) == 8
    opened(path).settle()
    assert path.read_bytes().startswith(golden) and opened(path).verify() == []
    adopted = opened(path).entries()[-1]
    assert (adopted.sequence, adopted.verdict) == (9, "log adopted")
    assert adopted.digest == sha256(golden).hexdigest() and "8 entries of an older alita" in adopted.reason
    assert add(path).sequence == 10
    path.write_bytes(path.read_bytes().replace(b'"reason":"not needed"', b'"reason":"well meant"'))
    assert "entry 6 (dice v1, revoked) was changed" in opened(path).verify()[0]


def test_an_unsigned_entry_behind_a_signed_log_is_refused(path):
    golden = (Path(__file__).with_name("golden_audit") / "1.jsonl").read_bytes()
    add(path)
    keys = path.parent.parent / "keys"
    (keys / "key").unlink()
    (keys / "head").unlink()
    path.with_suffix(".head").unlink()
    path.write_bytes(golden + path.read_bytes())
    assert any("not this home's" in one for one in opened(path).verify())
    last = opened(path.with_name("x")).entries()
    assert last == ()


def test_the_log_is_ahead_of_its_heads_after_a_crash_and_never_behind(path):
    add(path)
    keys, near = path.parent.parent / "keys", path.with_suffix(".head")
    old = near.read_bytes(), (keys / "head").read_bytes()
    add(path, 2)
    near.write_bytes(old[0])
    (keys / "head").write_bytes(old[1])
    assert opened(path).verify() == []
    opened(path).settle()
    assert b'"sequence":2' in near.read_bytes() and b'"sequence":2' in (keys / "head").read_bytes()
    near.unlink()
    opened(path).settle()
    assert near.exists() and opened(path).verify() == []


def test_the_last_entry_is_found_behind_megabytes_and_long_lines(path):
    for number in range(1, 30):
        add(path, number, reason="r" * (90_000 if number % 7 == 0 else 10))
    assert add(path, 30).sequence == 30 and opened(path).verify() == []


def test_many_writers_make_one_chain(path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add(path, number), range(40)))
    assert opened(path).verify() == [] and len(opened(path).entries()) == 40


def test_a_log_of_ten_thousand_entries_is_judged_once_and_again_when_a_byte_changes(path):
    """What is unchanged byte for byte is not judged again; the first look of a process trusts the signed head."""
    log = opened(path)
    entry = add(path, evidence=tuple(f"finding {n}: what could be seen of the build" for n in range(10)))
    private, many = log._seal.private(), []
    assert private is not None
    for _ in range(9_999):
        entry = msgspec.structs.replace(entry, sequence=entry.sequence + 1, previous=entry.hash)
        entry = msgspec.structs.replace(entry, hash=entry.own_hash)
        entry = msgspec.structs.replace(entry, signature=sign(private, "audit entry", entry.hash))
        many.append(entry.line + b"\n")
    with path.open("ab") as file:
        file.write(b"".join(many))
    log.settle()
    first = log.checked()
    assert log.checked() is first and len(first.chain.entries) == 10_000
    raw = path.read_bytes()
    stat = path.stat()
    at = raw.index(b'"sequence":5000,')
    path.write_bytes(raw[:at] + raw[at:].replace(b'"verdict":"approved"', b'"verdict":"rejected"', 1))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "entry 5000 (tool_1 v1, rejected) was changed" in log.checked().problems[0]


def test_a_failed_write_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="could not be made"):
        add(tmp_path / "file" / "audit.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(StoreError, match="could not be saved"):
        add(tmp_path / "folder.jsonl")


def approved_in(log: AuditLog, *, last: e.SessionEvent | None = None):
    """A session in which a verdict was given that this home signed."""
    history = [
        one for one in streams.walkthrough() if one.durable and not isinstance(one.event, e.SessionClosed)
    ]
    asked = {
        one.event.approval_id: one.event for one in history if isinstance(one.event, e.ApprovalRequested)
    }
    history = [
        msgspec.structs.replace(one, event=log.sign_verdict(asked[one.event.approval_id], one.event))
        if isinstance(one.event, e.ApprovalResolved)
        else one
        for one in history
    ]
    more = [msgspec.structs.replace(history[-1], seq=(history[-1].seq or 0) + 1, event=last)] if last else []
    return [*history, *more]


def test_a_verdict_missing_because_of_a_crash_is_entered_once(path):
    log = opened(path)
    history = approved_in(log)
    given = [one.event for one in history if isinstance(one.event, e.ApprovalResolved)]
    assert log.catch_up("s", history) == tuple(one.approval_id for one in given) != ()
    assert [(one.approval_id, one.verdict, one.digest, one.who) for one in log.entries()] == [
        (one.approval_id, one.verdict.decision, one.digest, one.verdict.by) for one in given
    ]
    log.catch_up("another", history)
    assert len(log.entries()) == len(given) and log.verify() == []


def test_a_verdict_missing_in_a_closed_session_is_entered(path):
    """The disk was full when the verdict was to be entered, and the session gave up and closed."""
    log = opened(path)
    given = log.catch_up("s", approved_in(log, last=e.SessionClosed()))
    assert given and [one.approval_id for one in log.entries()] == [*given]


def test_verdicts_of_earlier_runs_are_left_alone(path):
    log = opened(path)
    assert log.catch_up("s", approved_in(log, last=e.SessionResumed(restored=9))) == () == log.entries()


def test_verdicts_of_a_parent_are_not_entered_for_its_fork(path):
    log = opened(path)
    history = approved_in(log)
    fork = forked(history, None, "fork", lambda: "new")
    assert log.catch_up("fork", fork) == () == log.entries()


@pytest.mark.parametrize("last", [None, e.SessionClosed()])
def test_an_approval_from_before_a_new_log_does_not_return(path, last):
    """Every tool has to be approved again then: an entry that is lost may have revoked this one."""
    add(path)
    log = opened(path)
    history = approved_in(log, last=last)
    path.unlink()
    assert "every tool has to be approved anew" in opened(path).repair()
    assert opened(path).catch_up("s", history) == ()
    assert [one.verdict for one in opened(path).entries()] == ["log begun anew"]
    log = opened(path)
    assert log.catch_up("s", approved_in(log)) != (), "what is approved since then is entered"


def test_later_changes_to_a_tool_do_not_contradict_its_verdict(path):
    log = opened(path)
    history = approved_in(log)
    log.catch_up("s", history)
    assert contradictions(log.entries(), "s", history) == []
    given = next(one.event for one in history if isinstance(one.event, e.ApprovalResolved))
    log.append(AuditEntry(
        who="ada", verdict="archived", digest=given.digest, name="roll_dice", version=1, session_id="",
        approval_id=given.approval_id,
    ))  # fmt: skip
    assert contradictions(log.entries(), "s", history) == []
    assert [line.partition(": ")[2] for line in contradictions((), "s", history)] == [
        f"the verdict {given.verdict.decision} by {given.verdict.by} on {given.approval_id} is not in the log"
    ]
    cut = [one for one in history if one.event is not given]
    assert contradictions(log.entries(), "s", cut) == [
        f"entry 1 ({log.entries()[0].name} v1, approved): the session has no verdict on {given.approval_id}"
    ]


def test_a_verdict_entered_twice_is_one_entry(path):
    first = add(path, 1, session_id="s1")
    assert add(path, 1, session_id="s1") == first
    add(path, 1, session_id="a fork of it")
    assert [one.session_id for one in opened(path).entries()] == ["s1", "a fork of it"]
    assert opened(path).verify() == []


def test_a_head_changed_in_the_case_of_a_letter_is_detected(path):
    for number in range(1, 4):
        add(path, number)
    for head in (path.with_name("audit.head"), path.parent.parent / "keys" / "head"):
        whole = head.read_bytes()
        letters = [at for at, byte in enumerate(whole) if chr(byte).isalpha()]
        for at in letters:
            head.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
            assert opened(path).verify(), at
        head.write_bytes(whole)
    assert opened(path).verify() == []
