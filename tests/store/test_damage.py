"""Checksums of closed files: what was altered is told, what was not is kept, older files are adopted."""

import json
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec
import pytest
from tinydb import TinyDB

from alita_tui import events as e
from alita_tui.store.checksums import SINCE, closing, new_sums
from alita_tui.store.damage import damages
from alita_tui.store.documents import DocumentTable
from alita_tui.store.journal import JournalDB
from alita_tui.store.journal_reader import journal_of, read
from alita_tui.store.sessions import SessionFile, SessionStore
from tests.support.goldens import walkthrough

OLDER = Path(__file__).with_name("golden") / "2"


@pytest.fixture
def shelf(tmp_path: Path) -> SessionStore:
    shelf = SessionStore(tmp_path / "data" / "sessions")
    for name in ("first", "second"):
        shelf.add(name, (msgspec.structs.replace(one, session_id=name) for one in walkthrough()))
    return shelf


def alter(path: Path, old: bytes, new: bytes) -> None:
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new, 1))


def alita(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alita_tui", "--home", home, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_altered_text_in_a_closed_session_is_detected(tmp_path, shelf):
    alter(shelf.path("first"), b"validate_email_addresses", b"validate_email_addressez")
    file = SessionFile.open(shelf.path("first"), readonly=True)
    assert file.restored.discarded == 1 and "first.json was damaged" in file.restored.note
    assert sum(isinstance(one.event, e.UnknownEvent) for one in file.envelopes()) == 1
    done = alita(tmp_path, "sessions", "verify", "--all")
    assert done.returncode == 1 and "first: file: 1 record could not be restored" in done.stdout
    assert "second: file" not in done.stdout
    assert "first: 1 record cannot be read" in alita(tmp_path, "sessions", "list").stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"schema_version":3', b'"schema_version":2'), (b'"generation"', b'"genesation"'), (b'"events":{', b'"evants":{'),
     (b'"store":{', b'"stose":{'), (b'"meta":{', b'"mete":{'), (b'{\n"store"', b'{\x0b"store"'), (b'"crc32"', b'"crc33"'),
     (b'"tables"', b'"tablez"'), (b'"session_id":"first"}', b'"session_id":"firsu"}')],
)  # fmt: skip
def test_a_flipped_bit_in_a_header_loses_no_event_and_is_reported(shelf, old, new):
    path = shelf.path("first")
    before = SessionFile.open(path, readonly=True).envelopes()
    alter(path, old, new)
    for readonly in (True, False):
        file = SessionFile.open(path, readonly=readonly)
        assert "damaged" in file.restored.note
        assert (file.envelopes(), file.session_id, file.imported) == (before, "first", False)
        file.close()
    assert path.with_name("first.json.damaged-1").exists()
    again = SessionFile.open(path)
    assert (again.envelopes(), again.restored.note) == (before, "")
    again.close()


def test_verify_continues_after_a_session_that_cannot_be_opened(tmp_path, shelf):
    shelf.path("third").mkdir()
    shelf.path("fourth").write_bytes(b"\xff" * 300)
    done = alita(tmp_path, "sessions", "verify", "--all")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        "third: file: " in done.stdout and "Is a directory" in done.stdout and "fourth: file: " in done.stdout
    )
    assert "first: audit" in done.stdout and "second: audit" in done.stdout, "those that open are looked at"
    listed = alita(tmp_path, "sessions", "list")
    assert "third" in listed.stdout and "unreadable" in listed.stdout


def test_a_file_rewritten_by_tinydb_is_read_as_unchecked_until_written(shelf):
    path = shelf.path("first")
    with TinyDB(path) as plain:
        plain.table("meta").insert({"note": "by hand"})
    file = SessionFile.open(path, readonly=True)
    assert len(file.envelopes()) == len(walkthrough())
    assert "rewritten by another program" in file.restored.note
    SessionFile.open(path).close()
    assert SessionFile.open(path, readonly=True).restored.note == ""
    assert b"\n" in path.read_bytes()[:3]


def test_an_older_file_gets_checksums_at_its_next_write(tmp_path):
    path = Path(shutil.copy(OLDER / "session.json", tmp_path))
    before = path.read_bytes()
    SessionFile.open(path, readonly=True).close()
    assert path.read_bytes() == before
    file = SessionFile.open(path)
    file.fill([msgspec.structs.replace(file.envelopes()[-1], seq=file.last_seq + 1)])
    file.close()
    with TinyDB(path) as plain:
        sums = plain.table("checksums").get(doc_id=1)["tables"]
        assert len(sums["events"]) == 8 * len(plain.table("events"))
    alter(path, b"double_it", b"double_is")
    assert "damaged" in SessionFile.open(path, readonly=True).restored.note


def test_sums_follow_the_lines_through_folds_kills_and_repairs(tmp_path):
    path = tmp_path / "s.json"
    file, events = (
        SessionFile.create(path, "s"),
        [msgspec.structs.replace(one, session_id="s") for one in walkthrough()],
    )
    for number, one in enumerate(events):
        file.fill([one])
        if number % 9 == 0:
            file._log.checkpoint()
        if number % 20 == 0:
            file._writer.shutdown()
            file._log._unlock()
            file = SessionFile.open(path)
            assert file.restored.note == ""
    file.close()
    again = SessionFile.open(path, readonly=True)
    assert again.restored.note == "" and list(again.envelopes()) == events


def test_damage_is_found_in_a_copy(tmp_path):
    """The lines of a folded file are copied unread; their checksums go with them."""
    path = tmp_path / "s.json"
    file = SessionFile.create(path, "s")
    file.fill(msgspec.structs.replace(one, session_id="s") for one in walkthrough()[:20])
    file._log.checkpoint()
    with path.open("rb+") as raw:
        at = path.read_bytes().index(b'"10":') + 30
        raw.seek(at)
        raw.write(b"#")
    file.fill([msgspec.structs.replace(walkthrough()[20], session_id="s")])
    file.close()
    told = SessionFile.open(path, readonly=True).restored
    assert told.discarded == 1 and "damaged" in told.note


def test_a_read_only_reader_reports_a_torn_end_unless_someone_writes(tmp_path):
    path = tmp_path / "s.json"
    file = SessionFile.create(path, "s")
    file.fill(msgspec.structs.replace(one, session_id="s") for one in walkthrough()[:5])
    with journal_of(path).open("ab") as journal:
        journal.write(b"1234")
    assert SessionFile.open(path, readonly=True).restored.note == ""
    file._writer.shutdown()
    file._log._unlock()
    assert "cut off" in SessionFile.open(path, readonly=True).restored.note


def test_times_without_a_zone_and_deep_nesting_break_no_reader(tmp_path):
    path = Path(shutil.copy(OLDER / "session.json", tmp_path))
    raw = (
        path.read_bytes()
        .replace(b'07314Z"', b'07314"', 1)
        .replace(b'"span":', b'"span":' + b"[" * 3000 + b"]" * 3000 + b',"x":', 1)
    )
    path.write_bytes(raw)
    shelf = SessionStore(tmp_path)
    latest = shelf.latest()
    assert latest and latest.session_id
    assert SessionFile.open(path, readonly=True).envelopes()
    assert shelf.list()[0].events


def test_damage_to_shared_files_is_reported_with_the_place_of_the_original(tmp_path):
    path = tmp_path / "registry.json"
    table = DocumentTable(path, "tools")
    for name in ("one", "two"):
        table.put(name, {"name": name})
    raw = journal_of(path).read_bytes()
    journal_of(path).write_bytes(raw.replace(b'"name":"one"', b'"name":"onf"'))
    told = damages([path])
    assert [one.original for one in told] == [""] and "1 record could not be read" in told[0].text
    DocumentTable(path, "tools").put("three", {})
    kept = path.with_name("registry.json.journal.damaged-1")
    told = damages([path])
    assert [one.original for one in told] == [str(kept)] and "1 record could not be read" in told[0].text
    assert kept.name in told[0].hint and "alita backup" in told[0].hint
    kept.unlink()
    assert damages([path]) == ()


def test_a_whole_file_is_in_lines_and_any_json_reader_reads_it(tmp_path):
    path = tmp_path / "x.json"
    with JournalDB(path) as db:
        db.documents("t").put(1, {"text": "ü\ud800\n"})
        db.documents("empty")
    assert read(path).problems == [] and json.loads(path.read_text())["t"]["1"]["text"] == "ü\ud800\n"
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_record_without_a_number_is_dropped_when_a_damaged_file_is_restored(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b'{\n"events":{\n"1":{"a":1},\n"q":5,\n"2":{"a":2}\n}\n}\n')
    for _ in range(2):  # what was restored is written with checksums, and read again
        database = JournalDB(path)
        assert [dict(row) for row in database.table("events").all()] == [{"a": 1}, {"a": 2}]
        database.close()


def test_a_file_restored_by_an_earlier_version_with_such_a_record_opens(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    rows = {"1": b'{"a":1}', "q": b"5", "2": b'{"a":2}'}
    lines = [b'"%s":%s' % (key.encode(), value) for key, value in rows.items()]
    sums = new_sums()
    sums.extend(map(zlib.crc32, lines))
    path.write_bytes(b'{\n"events":{\n' + b",\n".join(lines) + b"\n}" + closing(1, SINCE, {"events": sums}))
    snapshot = read(path)
    assert snapshot.tables["events"] == {"1": {"a": 1}, "2": {"a": 2}}
    assert snapshot.discarded == 1
