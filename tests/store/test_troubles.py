"""Whatever happened to a session's files, it opens with what can be saved and says in one line what could not."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tinydb import TinyDB

from alita_tui import events as e
from alita_tui.replay.recording import Recording
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError, StoreLocked
from alita_tui.spine.laws import check
from alita_tui.store.journal_reader import journal_of
from alita_tui.store.sessions import SessionFile
from alita_tui.store.upgrades import SCHEMA_VERSION
from alita_tui.view.fold import fold_all
from tests.store.readonly_disk import freeze, frozen, path  # noqa: F401  # fixtures
from tests.support import streams
from tests.support.rewriting import rewrite

EVENTS = [
    msgspec.structs.replace(one, session_id="s")
    for one in streams.walkthrough()
    if one.durable and not isinstance(one.event, e.SessionClosed)
]
ALL = len(EVENTS)


async def saved(path: Path, *, crashed: bool) -> None:
    file = SessionFile.create(path, "s")
    for envelope in EVENTS:
        await file.record(envelope, barrier=False)
    if crashed:  # what the kernel does for a process that dies
        file._writer.shutdown()
        file._log._unlock()
    else:
        file.close()


def cut(path: Path, keep: float) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * keep)])


def spoil(path: Path) -> None:
    raw = path.read_bytes()
    middle = len(raw) // 2
    path.write_bytes(raw[:middle] + b"\x00\xff" * 150 + raw[middle + 300 :])


def cut_last_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


KEPT = "the damaged original is kept as "
TROUBLES = {
    # name: crashed, what happened, damaged file, events restored (None: some), what is said
    "a crash": (True, lambda p, j: None, None, ALL, ""),
    "a torn last line": (True, lambda p, j: cut_last_line(j), None, ALL - 1,
                         "the last record was cut off before it was complete"),
    "a journal alone": (True, lambda p, j: p.unlink(), None, ALL, "only the journal of s.json could be restored"),
    "a closed file alone": (False, lambda p, j: j.unlink(missing_ok=True), None, ALL, ""),
    "a crashed file alone": (True, lambda p, j: j.unlink(), None, 0, "its journal is missing"),
    "a file cut short": (False, lambda p, j: cut(p, 0.5), "s.json", None,
                         f"at least 1 record could not be restored; s.json was damaged; {KEPT}s.json.damaged-1"),
    "garbage in the file": (False, lambda p, j: spoil(p), "s.json", None,
                            f" could not be restored; s.json was damaged; {KEPT}s.json.damaged-1"),
    "garbage in the journal": (True, lambda p, j: spoil(j), "s.json.journal", None,
                               "could not be restored; the journal of s.json was damaged; "
                               f"{KEPT}s.json.journal.damaged-1"),
    "an empty file": (False, lambda p, j: p.write_bytes(b""), None, 0, "s.json was empty; its journal is missing"),
    "an empty file with its journal": (True, lambda p, j: p.write_bytes(b""), None, ALL,
                                       "s.json was empty; only the journal of s.json could be restored"),
    "two empty files": (True, lambda p, j: (p.write_bytes(b""), j.write_bytes(b"")), None, 0, "s.json was empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", TROUBLES)
async def test_a_damaged_session_opens_with_its_readable_events_and_continues(path: Path, name: str) -> None:
    crashed, happen, damaged, restored, said = TROUBLES[name]
    await saved(path, crashed=crashed)
    happen(path, journal_of(path))
    before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    looked = SessionFile.open(path, readonly=True)
    looked.close()
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == before, "looking changes nothing"

    file = SessionFile.open(path)
    found, told = file.envelopes(), file.restored
    assert said in told.note and (told.note == "") == (said == "") and "\n" not in told.note
    assert told.events == restored if restored is not None else 0 < told.events < ALL
    whole = [one for one in found if not isinstance(one.event, e.UnknownEvent)]
    assert len(whole) == told.events and all(one in EVENTS for one in whole)
    assert {breach.law for breach in check(found)} & {"gapless", "one session"} == set()
    if damaged:
        assert path.with_name(f"{damaged}.damaged-1").read_bytes() == before[damaged]

    bus = Bus("s", file, lambda: EVENTS[-1].at, history=found)
    await bus.emit(e.SessionResumed(restored=told.events, note=told.note))
    file.close()
    assert fold_all(bus.history).trace[-1].title.startswith(f"Restored {told.events} event")
    with TinyDB(path) as plain:
        assert len(plain.table("events")) == told.events + 1
    again, missing = SessionFile.open(path), bus.last_seq - told.events - 1
    assert (again.restored.events, again.restored.note) == (
        told.events + 1,
        f"{missing} record{'s' if missing > 1 else ''} could not be restored" if missing else "",
    )
    again.close()


async def test_a_newer_schema_is_shown_and_not_written(path: Path) -> None:
    await saved(path, crashed=False)
    newer = path.read_bytes().replace(b'"schema_version":%d' % SCHEMA_VERSION, b'"schema_version":99')
    path.write_bytes(newer)
    with pytest.raises(StoreError, match=r"newer alita \(schema 99\).*reading only"):
        SessionFile.open(path)
    assert len(SessionFile.open(path, readonly=True).envelopes()) == ALL
    assert path.read_bytes() == newer


async def test_an_event_of_another_version_stays_unchanged(path: Path) -> None:
    await saved(path, crashed=False)
    rewrite(path, b'"kind":"plan_proposed"', b'"kind":"dream_dreamt"')
    file = SessionFile.open(path)
    unread = [one.event for one in file.envelopes() if isinstance(one.event, e.UnknownEvent)]
    assert [one.reason[:14] for one in unread] == ["Invalid value "] and "dream_dreamt" in unread[0].raw
    file.close()
    assert b'"kind":"dream_dreamt"' in path.read_bytes()


async def test_a_second_process_learns_who_has_the_session_open_and_may_read_it(path: Path) -> None:
    await saved(path, crashed=False)
    held = SessionFile.open(path)
    code = (
        "import sys; from pathlib import Path; from alita_tui.store.sessions import SessionFile\n"
        "print(len(SessionFile.open(Path(sys.argv[1]), readonly=True).envelopes()))\n"
        "SessionFile.open(Path(sys.argv[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert done.stdout == f"{ALL}\n"
    assert (
        StoreLocked.__name__ in done.stderr and f"in another process (process {os.getpid()})" in done.stderr
    )
    held.close()


@pytest.mark.parametrize("crashed", [False, True])
async def test_sessions_in_a_read_only_folder_are_listed_and_say_why_they_cannot_continue(
    frozen: Path, crashed: bool
) -> None:
    path = frozen / "s.json"
    await saved(path, crashed=crashed)
    freeze(frozen)
    assert len(SessionFile.open(path, readonly=True).envelopes()) == ALL
    with pytest.raises(StoreError, match=r"could not be .*--home"):
        file = SessionFile.open(path)
        file.close()
    with pytest.raises(StoreError, match=r"could not be .*--home"):
        SessionFile.create(frozen / "new.json", "new")


async def test_a_folder_in_place_of_a_file_is_an_error_that_says_so(path: Path) -> None:
    path.mkdir()
    for readonly in (False, True):
        with pytest.raises(StoreError, match="Is a directory"):
            SessionFile.open(path, readonly=readonly)


async def test_a_clock_that_goes_backwards_changes_no_order(path: Path) -> None:
    file = SessionFile.create(path, "s")
    hours = iter(range(1000, 0, -1))
    bus = Bus("s", file, lambda: streams.START + timedelta(hours=next(hours)))
    for one in EVENTS:
        await bus.emit(one.event)
    file.close()
    again = SessionFile.open(path)
    found = again.envelopes()
    again.close()
    assert again.restored.note == "" and check(found) == []
    assert [one.event for one in found] == [one.event for one in EVENTS]
    assert fold_all(found) == fold_all(bus.history)
    recording = Recording.prepared(found)
    assert recording.view_at(len(recording)) == fold_all(found)
    assert all(isinstance(one, Envelope) for one in found)
