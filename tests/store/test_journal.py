import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinydb import TinyDB, where

from alita_tui.spine.errors import StoreError, StoreLocked
from alita_tui.store.journal import JournalDB
from alita_tui.store.journal_reader import journal_of, line, load, operation
from alita_tui.store.upgrades import SCHEMA_VERSION


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.json"


def fill(path: Path, count: int) -> None:
    """A crashed writer: everything in the journal, nothing folded."""
    db = JournalDB(path)
    table = db.documents("events")
    db.journal.checkpoint()
    for number in range(1, count + 1):
        table.put(number, {"n": number}, barrier=False)
    assert db.journal._fd is not None
    os.close(db.journal._fd)  # what the kernel does for a process that dies
    db.journal._fd = None


def numbers(path: Path, mode="readonly") -> list[int]:
    db = JournalDB(path, mode=mode)
    found = [row["n"] for row in db.documents("events").rows.values()]
    db.close()
    return found


def test_plain_tinydb_reads_a_closed_file_and_the_journal_reads_those_of_tinydb(path):
    with JournalDB(path) as db:
        for number in range(5):
            db.table("events").insert({"n": number})
        db.table("events").update({"n": 40}, where("n") == 4)
        db.table("events").remove(where("n") == 0)
        assert db.table("events").search(where("n") == 40)[0].doc_id == 5
    assert [entry.name for entry in path.parent.iterdir()] == ["x.json"]
    with TinyDB(path) as plain:
        assert [row["n"] for row in plain.table("events").all()] == [1, 2, 3, 40]
        assert plain.table("store").get(doc_id=1)["schema_version"] == SCHEMA_VERSION
        plain.table("events").insert({"n": 50})
    assert numbers(path, "exclusive") == [1, 2, 3, 40, 50]


def test_inserted_documents_are_detached_from_the_callers(path):
    with JournalDB(path) as db:
        mine = {"list": [1]}
        db.table("t").insert(mine)
        mine["list"].append(2)
        assert db.table("t").all() == [{"list": [1]}]


def test_an_append_touches_neither_the_file_nor_the_rest_of_the_journal(path):
    with JournalDB(path) as db:
        table = db.documents("events")
        table.put(1, {"n": 1})
        sizes, before = [], path.stat()
        for number in range(2, 3000):
            start = journal_of(path).stat().st_size
            table.put(number, {"n": 7}, barrier=False)
            sizes.append(journal_of(path).stat().st_size - start)
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
        assert max(sizes) - min(sizes) <= 3, "an append grows with its document only"


def test_the_journal_is_folded_once_it_is_larger_than_the_file(path):
    db = JournalDB(path, fold_at=2000)
    for number in range(1, 300):
        db.documents("events").put(number, {"n": number}, barrier=False)
    assert path.stat().st_size > 1000 and journal_of(path).stat().st_size < 4000
    db.close()
    assert len(numbers(path)) == 299


def test_writes_of_a_killed_writer_are_restored(path):
    fill(path, 30)
    assert numbers(path) == list(range(1, 31)), "read-only sees the journal"
    db = JournalDB(path)
    assert db.journal.restored.events == 30
    assert (db.journal.restored.discarded, db.journal.restored.note) == (0, "")
    db.close()
    with TinyDB(path) as plain:
        assert len(plain.table("events")) == 30


def test_a_torn_tail_is_cut_and_reported(path):
    fill(path, 10)
    with journal_of(path).open("rb+") as file:
        file.truncate(journal_of(path).stat().st_size - 4)
    db = JournalDB(path)
    assert (db.journal.restored.events, db.journal.restored.discarded) == (9, 1)
    assert "cut off" in db.journal.restored.note
    db.documents("events").put(10, {"n": 100})
    db.close()
    assert numbers(path) == [*range(1, 10), 100]


def test_every_length_of_a_cut_journal_opens_with_a_prefix(path, tmp_path):
    fill(path, 6)
    whole = journal_of(path).read_bytes()
    for length in range(len(whole)):
        other = tmp_path / f"cut{length}" / "x.json"
        other.parent.mkdir()
        shutil.copy(path, other)
        journal_of(other).write_bytes(whole[:length])
        found = numbers(other, "exclusive")
        assert found == list(range(1, len(found) + 1))
        assert len(found) == max(0, whole[:length].count(b"\n") - 1)


def test_garbage_in_the_middle_of_the_journal_loses_only_the_lines_it_hits(path):
    fill(path, 20)
    raw = journal_of(path).read_bytes()
    at = raw.index(b'{"n":7}')
    journal_of(path).write_bytes(raw[:at] + b"\xff\x00\n\x1b" + raw[at + 4 :])
    db = JournalDB(path)
    assert [row["n"] for row in db.documents("events").rows.values()] == [n for n in range(1, 21) if n != 7]
    assert db.journal.restored.discarded == 2
    aside = path.with_name("x.json.journal.damaged-1")
    assert aside.name in db.journal.restored.note and b"\xff\x00" in aside.read_bytes()
    db.close()


def test_a_flipped_bit_that_leaves_valid_json_is_detected(path):
    fill(path, 3)
    journal_of(path).write_bytes(journal_of(path).read_bytes().replace(b'{"n":2}', b'{"n":9}'))
    assert numbers(path, "exclusive") == [1, 3]


def closed(path: Path, count: int = 20) -> None:
    with JournalDB(path) as db:
        for number in range(1, count + 1):
            db.documents("events").put(number, {"n": number, "text": "}{"}, barrier=False)


@pytest.mark.parametrize("by_tinydb", [False, True])
def test_a_truncated_json_is_read_up_to_the_cut(path, by_tinydb):
    closed(path)
    if by_tinydb:  # TinyDB writes all on one line
        with TinyDB(path) as plain:
            plain.table("events").insert({"n": 21, "text": ""})
    raw = path.read_bytes()
    path.write_bytes(raw[: raw.index(b'"12":') + 9])
    db = JournalDB(path)
    assert db.journal.restored.events == 11 and db.journal.restored.discarded >= 1
    assert path.with_name("x.json.damaged-1").read_bytes() == raw[: raw.index(b'"12":') + 9]
    db.close()
    with TinyDB(path) as plain:
        assert [row["n"] for row in plain.table("events").all()] == list(range(1, 12))


def test_garbage_in_the_json_loses_only_its_lines_and_the_original_is_saved(path):
    closed(path)
    raw = path.read_bytes()
    at = raw.index(b'"5":')
    path.write_bytes(raw[:at] + b"\x80\xfe" + raw[at + 2 :])
    assert numbers(path, "exclusive") == [n for n in range(1, 21) if n != 5]
    path.write_bytes(b"\x00" * 500)
    assert numbers(path, "exclusive") == []
    assert path.with_name("x.json.damaged-2").read_bytes() == b"\x00" * 500


@pytest.mark.parametrize(
    "raw", [b"[1, 2]", b'{"events": 3}', b'{"events": {"x": {}}}', b"null", b"{}", b"\xef\xbb\xbf"]
)
def test_json_that_is_no_tinydb_is_set_aside_and_the_journal_is_used(path, raw):
    fill(path, 4)
    path.write_bytes(raw)
    assert numbers(path, "exclusive") == [1, 2, 3, 4]
    assert path.with_name("x.json.damaged-1").exists() == (raw != b"{}")


def test_a_journal_without_its_file_and_a_file_without_its_journal_open(path):
    fill(path, 4)
    path.unlink()
    db = JournalDB(path)
    assert "only the journal" in db.journal.restored.note and db.journal.restored.events == 4
    db.close()
    assert numbers(path) == [1, 2, 3, 4]


def test_empty_files_open(path):
    path.touch()
    journal_of(path).touch()
    assert numbers(path, "exclusive") == []
    with TinyDB(path) as plain:
        assert plain.tables() == {"store", "checksums"}


def test_a_crash_between_checkpoint_and_emptying_the_journal_does_not_bring_old_state_back(path):
    db = JournalDB(path)
    table = db.documents("events")
    table.put(1, {"n": 1})
    table.put(2, {"n": 2})
    old = journal_of(path).read_bytes()
    table.put(1, {"n": 10})
    table.delete(2)
    db.close()
    journal_of(path).write_bytes(old)
    assert numbers(path) == [10]
    assert numbers(path, "exclusive") == [10]


def test_a_second_writer_is_refused_and_a_reader_is_not_disturbed(path):
    with JournalDB(path) as db:
        db.documents("events").put(1, {"n": 1})
        with pytest.raises(
            StoreLocked, match=rf"x.json is open in another process \(process {os.getpid()}\)"
        ):
            JournalDB(path)
        assert numbers(path) == [1]
        with pytest.raises(StoreError, match="reading only"):
            JournalDB(path, mode="readonly").documents("events").put(2, {"n": 2})
    JournalDB(path).close()


def test_a_process_that_is_gone_is_not_named_as_the_one_that_has_the_file(path):
    """Its successor continues the journal, whose first line names the one that began it."""
    with JournalDB(path) as db:
        db.documents("events").put(1, {"n": 1})
        gone = subprocess.Popen(["true"])
        gone.wait()
        journal = journal_of(path)
        first, rest = journal.read_bytes().split(b"\n", 1)
        named = operation(first)
        assert named is not None
        journal.write_bytes(line((*named[:2], str(gone.pid), None)) + rest)
        with pytest.raises(StoreLocked, match="x.json is open in another process\\."):
            JournalDB(path)


def test_a_newer_schema_is_read_and_not_written(path):
    closed(path, 3)
    path.write_bytes(
        path.read_bytes().replace(b'"schema_version":%d' % SCHEMA_VERSION, b'"schema_version":99')
    )
    assert numbers(path) == [1, 2, 3]
    with pytest.raises(StoreError, match="newer alita"):
        JournalDB(path)
    assert b'"schema_version":99' in path.read_bytes()


def test_a_full_disk_refuses_writes_and_keeps_acknowledged_ones(path):
    """The limit on file size fails a write in its middle, as a full disk does."""
    db = JournalDB(path)
    table = db.documents("events")
    table.put(1, {"n": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = journal_of(path).stat().st_size
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before + 50, hard))
    try:
        with pytest.raises(StoreError, match=r"could not be saved.*raise the file size limit"):
            table.put(2, {"n": 2, "text": "x" * 1000})
        assert journal_of(path).stat().st_size == before
        assert "2" not in table.rows, "nothing in memory that is not on disk"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    table.put(2, {"n": 22})
    db.close()
    assert numbers(path) == [1, 22]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a tiny tmpfs needs root")
def test_acknowledged_events_survive_a_full_disk(tmp_path):
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", tiny], capture_output=True
    ).returncode:
        pytest.skip("no mount rights here")
    try:
        path = tiny / "x.json"
        db = JournalDB(path)
        acknowledged = 0
        with pytest.raises(StoreError, match="disk is full"):
            for number in range(1, 100):
                db.documents("events").put(number, {"n": number, "text": "y" * 3000})
                acknowledged = number
        with pytest.raises(StoreError):
            db.close()
        assert acknowledged > 5 and numbers(path) == list(range(1, acknowledged + 1))
    finally:
        subprocess.run(["umount", tiny], check=True)


def broken(*_):
    raise OSError(errno.EIO, "Input/output error")


def test_after_a_failed_sync_everything_is_written_again(path, monkeypatch):
    db = JournalDB(path)
    table = db.documents("events")
    table.put(1, {"n": 1}, barrier=False)
    before = path.stat().st_ino
    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(StoreError, match="check the disk"):
        table.put(2, {"n": 2})
    monkeypatch.undo()
    assert numbers(path) == [1], "what was not acknowledged is not there"
    table.put(2, {"n": 22})
    assert path.stat().st_ino != before, "the first record may have been lost with the failed sync"
    assert numbers(path) == [1, 22]
    db.close()


@pytest.mark.parametrize("call", ["fsync", "ftruncate"])
def test_a_checkpoint_that_fails_half_way_loses_nothing(path, monkeypatch, call):
    db = JournalDB(path)
    table = db.documents("events")
    table.put(1, {"n": 1})
    table.put(1, {"n": 2})
    monkeypatch.setattr(os, call, broken)
    with pytest.raises(StoreError):
        db.journal.checkpoint()
    assert numbers(path) == [2]
    monkeypatch.undo()
    table.put(2, {"n": 3})
    assert numbers(path) == [2, 3]
    db.close()
    assert numbers(path) == [2, 3]


def test_a_checkpoint_that_was_renamed_but_not_synced_is_repeated(path, monkeypatch):
    db = JournalDB(path)
    table = db.documents("events")
    table.put(1, {"n": 1})
    monkeypatch.setattr("alita_tui.store.disk.sync_folder", broken)
    with pytest.raises(StoreError):
        db.journal.checkpoint()
    monkeypatch.undo()
    table.put(2, {"n": 2})
    assert numbers(path) == [1, 2]
    db.close()
    assert numbers(path) == [1, 2]


def test_a_fold_that_fails_is_no_failed_append(path, monkeypatch):
    db = JournalDB(path, fold_at=100)
    monkeypatch.setattr(os, "fsync", broken)
    for number in range(1, 40):
        db.documents("events").put(number, {"n": number})
    monkeypatch.undo()
    db.close()
    assert numbers(path) == list(range(1, 40))


_WRITER = """
import sys
from pathlib import Path
from alita_tui.store.journal import JournalDB
db = JournalDB(Path(sys.argv[1]), fold_at=20000)
number = 0
while True:
    number += 1
    db.documents("events").put(number, {"n": number, "text": "z" * 100}, barrier=number % 3 == 0)
    print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 250, 700])
def test_kill_9_loses_nothing_that_was_acknowledged(path, after):
    child = subprocess.Popen([sys.executable, "-c", _WRITER, path], stdout=subprocess.PIPE)
    assert child.stdout is not None
    try:
        for line in child.stdout:
            if int(line) >= after:
                break
        child.send_signal(signal.SIGKILL)
        said = [int(line) for line in child.stdout.read().split(b"\n")[:-1]]
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    acknowledged = max(said, default=after)
    found = numbers(path, "exclusive")
    assert found == list(range(1, len(found) + 1)) and len(found) >= acknowledged


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["put", "del", "fold", "reopen", "kill"]), st.integers(1, 6), JSON),
        max_size=20,
    )
)
def test_any_order_of_writes_folds_and_crashes_gives_the_same_as_a_dict(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("h") / "x.json"
    db = JournalDB(path)
    model: dict[int, object] = {}
    for what, number, value in steps:
        table = db.documents("t")
        if what == "put":
            table.put(number, {"v": value}, barrier=False)
            model[number] = {"v": value}
        elif what == "del":
            table.delete(number, barrier=False)
            model.pop(number, None)
        elif what == "fold":
            db.journal.checkpoint()
        else:
            if what == "reopen":
                db.close()
            else:
                assert db.journal._fd is not None
                os.close(db.journal._fd)
                db.journal._fd = None
            db = JournalDB(path)
    db.close()
    with TinyDB(path) as plain:
        assert {row.doc_id: dict(row) for row in plain.table("t").all()} == model


def test_lone_surrogates_and_large_numbers_survive(path):
    odd = {"v": "a\ud800b", "n": 10**40}
    with JournalDB(path) as db:
        db.documents("t").put(1, odd)
        assert JournalDB(path, mode="readonly").documents("t").rows["1"] == odd
    assert json.loads(path.read_text())["t"]["1"] == odd
    assert load(b'{"v":"\\ud800"}') == {"v": "\ud800"}
