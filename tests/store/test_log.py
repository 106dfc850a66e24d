"""What a session is kept in: a table that grows, is not in memory, and is folded from file to file."""

import errno
import gc
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tinydb import TinyDB

from alita_tui.spine.errors import StoreError
from alita_tui.store.journal_reader import journal_of, load
from alita_tui.store.log import LogStorage


def row(raw: bytes, number: int) -> tuple[int, object]:
    return number, load(raw)


def opened(path: Path, mode="exclusive") -> LogStorage[Any]:
    return LogStorage(path, "events", row, mode=mode)


def put(log: LogStorage[Any], *numbers: int, barrier=False) -> None:
    for number in numbers:
        log.append([("put", "events", str(number), {"n": number, "text": 'a "quoted": {'})], barrier=barrier)


def kill(log: LogStorage[Any]) -> None:
    assert log._fd is not None
    os.close(log._fd)
    log._fd = None
    log._close_descriptors()


def numbers(path: Path) -> list[int]:
    return [number for number, _ in opened(path, "readonly").take()]


def plain(path: Path) -> list[int]:
    with TinyDB(path) as db:
        return [one.doc_id for one in db.table("events").all()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.json"


def test_the_log_grows_over_folds_kills_and_reopenings_and_plain_tinydb_reads_it(path):
    log = opened(path)
    log.append([("put", "meta", "1", {"name": "x"})])
    put(log, 1, 2)
    log.checkpoint()
    put(log, 3)
    kill(log)
    log = opened(path)
    assert (log.last, log.count, log.restored.events) == (3, 3, 3)
    assert [one for one, _ in log.take()] == [1, 2, 3]
    put(log, 4)
    log.append([("put", "meta", "1", {"name": "y"})])
    assert [one for one, _ in log.take()] == [1, 2, 3, 4], "what came since is read again"
    log.close()
    assert plain(path) == numbers(path) == [1, 2, 3, 4]
    assert json.loads(path.read_text())["meta"] == {"1": {"name": "y"}}
    assert not journal_of(path).exists()


def test_an_empty_log_opens_checkpoints_and_grows(path):
    opened(path).close()
    assert plain(path) == []
    log = opened(path)
    log.checkpoint()
    put(log, 1)
    log.close()
    assert numbers(path) == [1]


def test_a_file_written_by_tinydb_is_adopted(path):
    with TinyDB(path) as db:
        db.table("events").insert_multiple({"n": n} for n in range(1, 4))
    log = opened(path)
    put(log, 4)
    log.close()
    assert numbers(path) == plain(path) == [1, 2, 3, 4]


def test_the_growing_table_is_not_held_in_memory(path):
    log = opened(path)
    put(log, *range(1, 50))
    gc.collect()
    assert not any(isinstance(one, dict) and one.get("n") == 7 for one in gc.get_objects())
    assert "events" not in log.tables
    log.close()
    log = opened(path)
    assert len(log.take()) == 49 and log._rows is None
    log.close()


def broken(*_):
    raise OSError(errno.EIO, "Input/output error")


def test_after_a_failed_sync_everything_unconfirmed_is_written_again(path, monkeypatch):
    log = opened(path)
    put(log, 1, barrier=True)
    put(log, 2)
    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(StoreError, match="check the disk"):
        put(log, 3, barrier=True)
    monkeypatch.undo()
    # What was never confirmed is lost with the failed sync, as a disk may do it.
    with journal_of(path).open("rb+") as file:
        file.truncate(log._synced)
    before = path.stat().st_ino
    put(log, 3)
    assert path.stat().st_ino != before
    kill(log)
    assert numbers(path) == [1, 2, 3]


@pytest.mark.parametrize("call", ["os.ftruncate", "os.fsync", "alita_tui.store.disk.sync_folder"])
def test_a_fold_that_fails_anywhere_loses_and_repeats_nothing(path, monkeypatch, call):
    log = opened(path)
    put(log, 1)
    log.checkpoint()
    put(log, 2, barrier=True)
    put(log, 3)
    monkeypatch.setattr(call, broken)
    for _ in range(2):
        with pytest.raises(StoreError):
            log.checkpoint()
    monkeypatch.undo()
    assert numbers(path) == [1, 2, 3]
    put(log, 4)
    assert numbers(path) == [1, 2, 3, 4]
    log.close()
    assert numbers(path) == plain(path) == [1, 2, 3, 4]


def test_a_journal_that_someone_else_changed_is_not_folded_away(path):
    log = opened(path)
    put(log, 1, 2, barrier=True)
    raw = journal_of(path).read_bytes()
    journal_of(path).write_bytes(raw.replace(b'"n":1', b'"n":9'))
    with pytest.raises(StoreError, match="could not be saved"):
        log.close()
    log = opened(path)
    assert [one for one, _ in log.take()] == [2]
    assert "kept as x.json.journal.damaged-1" in log.restored.note
    log.close()


def test_many_pieces_are_copied_whole(path, monkeypatch):
    monkeypatch.setattr("alita_tui.store.log._PIECE", 7)
    log = opened(path)
    put(log, *range(1, 20))
    log.checkpoint()
    put(log, *range(20, 30))
    log.close()
    assert plain(path) == list(range(1, 30))


def every(log: LogStorage[Any]) -> list[tuple[int, object]]:
    """Each document by its place, forward, backward and alone: three ways that have to agree."""
    count, ahead, back = log.count, log.reader(64), log.reader(64)
    forward = [row(*ahead(place)) for place in range(count)]
    assert forward == [row(*back(place)) for place in reversed(range(count))][::-1]
    assert forward == [row(*log.document(place)) for place in range(count)]
    return forward


def test_any_document_is_found_again_whatever_was_folded_meanwhile(path, monkeypatch):
    log = opened(path)
    reading = log.reader()
    for last in range(1, 30):
        put(log, last, barrier=last % 3 == 0)
        if last == 5:
            log.append([("put", "meta", "1", {"name": "x" * 500})])  # the next file begins later
        if last % 7 == 0:
            log.checkpoint()
        if last == 16:
            monkeypatch.setattr("alita_tui.store.disk.sync_folder", broken)
            with pytest.raises(StoreError):
                log.checkpoint()
            monkeypatch.undo()
        assert [number for number, _ in every(log)] == list(range(1, last + 1))
        assert row(*reading(0)) == (1, {"n": 1, "text": 'a "quoted": {'})
    kill(log)
    log = opened(path)
    assert [number for number, _ in every(log)] == list(range(1, 30))
    log.close()
    assert [number for number, _ in every(log)] == list(range(1, 30)), "as long as nobody writes it anew"
    other = opened(path)
    put(other, 30)
    other.close()
    log._close_descriptors()
    with pytest.raises(StoreError, match="closed"):
        log.document(0)
    looking = opened(path, "readonly")
    assert [number for number, _ in every(looking)] == list(range(1, 31)) and looking.at_hand
    looking.close()


def test_a_reader_of_an_open_file_stores_no_places_in_its_journal(path):
    log = opened(path)
    put(log, 1, 2, barrier=True)
    looking = opened(path, "readonly")
    assert not looking.at_hand
    log.close()
    assert [number for number, _ in looking.take()] == [1, 2]
    looking.close()
