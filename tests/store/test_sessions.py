import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tinydb import TinyDB

from alita_tui import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError, StoreLocked, UsageError
from alita_tui.spine.laws import check
from alita_tui.store import disk
from alita_tui.store.journal_reader import journal_of
from alita_tui.store.sessions import SessionFile, SessionStore
from tests.support import streams
from tests.support.rewriting import rewrite

DURABLE = [one for one in streams.walkthrough() if one.durable]


async def save(path: Path, envelopes: list[Envelope], session_id: str = "") -> None:
    file = SessionFile.create(path, session_id or envelopes[0].session_id)
    for envelope in envelopes:
        await file.record(envelope, barrier=isinstance(envelope.event, e.BARRIERS))
    file.close()


def crash(file: SessionFile) -> None:
    """Let go of the file as the kernel does for a process that dies."""
    file._writer.shutdown()
    assert file._log._fd is not None
    os.close(file._log._fd)
    file._log._fd = None
    file._log._close_descriptors()


async def test_a_recorded_session_is_read_back_and_breaks_no_law(tmp_path):
    path = tmp_path / "s.json"
    await save(path, DURABLE)
    file = SessionFile.open(path)
    assert file.envelopes() == tuple(DURABLE)
    assert check(file.envelopes(), complete=True) == []
    assert (file.session_id, file.last_seq) == (streams.Tape().session_id, len(DURABLE))
    assert (file.restored.events, file.restored.discarded, file.restored.note) == (len(DURABLE), 0, "")
    file.close()
    with TinyDB(path) as plain:
        assert len(plain.table("events")) == len(DURABLE)


async def test_a_bus_records_through_the_file_and_a_resumed_one_continues(tmp_path):
    path, clock = tmp_path / "s.json", lambda: datetime.now(UTC)
    file = SessionFile.create(path, "s")
    bus = Bus("s", file, clock)
    await asyncio.gather(*(bus.emit(e.NoticeRaised(level="info", text=str(n))) for n in range(40)))
    crash(file)
    again = SessionFile.open(path)
    assert again.restored.events == 40 == again.last_seq
    bus = Bus("s", again, clock, history=again.envelopes())
    await bus.emit(e.SessionResumed(restored=40))
    await asyncio.to_thread(again.close)
    stored = SessionFile.open(path, readonly=True).envelopes()
    assert [one.seq for one in stored] == list(range(1, 42)) and check(stored) == []


async def test_writes_happen_in_one_thread_outside_the_event_loop(tmp_path, monkeypatch):
    file = SessionFile.create(tmp_path / "s.json", "s")
    names, real = set(), os.pwrite

    def noted(fd: int, data: bytes, offset: int) -> int:
        names.add(threading.current_thread().name)
        return real(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", noted)
    for envelope in DURABLE[:5]:
        await file.record(envelope, barrier=False)
    monkeypatch.undo()
    file.close()
    assert names == {"session-writer_0"}


async def test_a_record_out_of_order_is_refused(tmp_path):
    file = SessionFile.create(tmp_path / "s.json", "s")
    await file.record(DURABLE[0], barrier=False)
    for wrong in (DURABLE[0], DURABLE[2]):
        with pytest.raises(StoreError, match="cannot follow event 1"):
            await file.record(wrong, barrier=False)
    await file.record(DURABLE[1], barrier=False)
    file.close()


async def test_damage_in_the_middle_is_a_visible_gap(tmp_path):
    path = tmp_path / "s.json"
    await save(path, DURABLE)
    raw = path.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(raw) if line.startswith(b'"7":'))
    raw[number] = raw[number][:20] + b"\x00\xff garbage" + raw[number][40:]
    path.write_bytes(b"".join(raw))
    file = SessionFile.open(path)
    found = file.envelopes()
    assert isinstance(found[6].event, e.UnknownEvent) and found[6].seq == 7
    assert [*found[:6], *found[7:]] == [*DURABLE[:6], *DURABLE[7:]]
    assert file.restored.discarded == 1 and "kept as s.json.damaged-1" in file.restored.note
    assert {breach.law for breach in check(found)} == {"readable"}
    file.close()


@pytest.mark.parametrize(
    "raw", [b"root:x:0:0:root:/root:/bin/sh\n", b'{"name": "pkg", "version": "1"}', b"\x00" * 99]
)
def test_a_file_that_is_no_session_is_never_overwritten_by_a_repair(tmp_path, raw):
    path = tmp_path / "package.json"
    path.write_bytes(raw)
    with pytest.raises(StoreError, match="left as it is"):
        SessionFile.open(path)
    assert SessionFile.open(path, readonly=True).envelopes() == ()
    assert path.read_bytes() == raw and os.listdir(tmp_path) == ["package.json"]


async def test_an_event_of_a_newer_version_opens_as_unknown(tmp_path):
    path = tmp_path / "s.json"
    await save(path, DURABLE)
    rewrite(path, b'"kind":"plan_proposed"', b'"kind":"plan_dreamt"')
    file = SessionFile.open(path, readonly=True)
    unknown = [one.event for one in file.envelopes() if isinstance(one.event, e.UnknownEvent)]
    assert len(unknown) == 1 and "plan_dreamt" in unknown[0].raw


async def test_read_only_works_on_a_golden_file_and_beside_a_writer(tmp_path):
    path = tmp_path / "golden" / "demo.json"
    await save(path, DURABLE)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert SessionFile.open(path, readonly=True).envelopes() == tuple(DURABLE)
    finally:
        path.parent.chmod(0o755)
    assert sorted(os.listdir(path.parent)) == ["demo.json"]
    file = SessionFile.create(tmp_path / "live.json", "live")
    await file.record(DURABLE[0], barrier=False)
    assert SessionFile.open(file.path, readonly=True).last_seq == 1
    with pytest.raises(StoreLocked):
        SessionFile.open(file.path)
    file.close()
    with pytest.raises(UsageError):
        SessionFile.open(tmp_path / "none.json")
    assert not journal_of(tmp_path / "none.json").exists()


_ENGINE = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from alita_tui import events as e
from alita_tui.spine.bus import Bus
from alita_tui.store.sessions import SessionFile

async def main():
    file = SessionFile.create(Path(sys.argv[1]), "k")
    bus = Bus("k", file, lambda: datetime.now(UTC))
    await bus.emit(e.SessionOpened())
    while True:
        asked = e.ApprovalRequested(approval_id=f"p{bus.last_seq}", build_id="b", digest="d", name="n", version=1)
        done = await bus.emit(asked)
        print(done.seq, flush=True)

asyncio.run(main())
"""


def test_kill_9_keeps_every_acknowledged_barrier(tmp_path):
    path = tmp_path / "k.json"
    child = subprocess.Popen([sys.executable, "-c", _ENGINE, path], stdout=subprocess.PIPE)
    assert child.stdout is not None
    try:
        for line in child.stdout:
            if int(line) >= 120:
                break
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split(b"\n")[:-1]
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    file = SessionFile.open(path)
    found = file.envelopes()
    assert [one.seq for one in found] == list(range(1, len(found) + 1))
    assert len(found) >= int(rest[-1] if rest else line)
    assert not [breach for breach in check(found) if breach.law in ("gapless", "readable")]
    file.close()


EVENTS = st.one_of(
    st.builds(e.NoticeRaised, level=st.sampled_from(["info", "error"]), text=st.text()),
    st.builds(e.TaskSubmitted, task_id=st.text(max_size=3), text=st.text()),
    st.builds(e.ActionChosen, action_id=st.text(max_size=3), action=st.just("plan"),
              arguments=st.dictionaries(st.text(), st.lists(st.integers(-(2**63), 2**64 - 1) | st.text()), max_size=3)),
)  # fmt: skip


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENTS, max_size=8), cut=st.integers(0, 400), fold=st.booleans())
def test_any_events_are_read_back_and_a_cut_leaves_a_prefix(tmp_path_factory, events, cut, fold):
    path = tmp_path_factory.mktemp("h") / "s.json"
    start = datetime(2026, 1, 1, tzinfo=UTC)
    given_ = [
        Envelope(seq=n, session_id="s", at=start + timedelta(seconds=n), event=event)
        for n, event in enumerate(events, 1)
    ]

    async def write() -> None:
        file = SessionFile.create(path, "s")
        for envelope in given_:
            await file.record(envelope, barrier=False)
        file.close() if fold else crash(file)

    asyncio.run(write())
    if not fold:
        raw = journal_of(path).read_bytes()
        journal_of(path).write_bytes(raw[: len(raw) - cut] if cut < len(raw) else b"")
    file = SessionFile.open(path)
    found = list(file.envelopes())
    file.close()
    assert found == given_[: len(found)] and check(found) == []
    assert len(found) == len(given_) or (cut and not fold)


# --- the shelf


async def shelf_with(tmp_path: Path, ids: list[str]) -> SessionStore:
    shelf = SessionStore(tmp_path / "sessions")
    for one in ids:
        stream = [Envelope(seq=x.seq, session_id=one, at=x.at, step=x.step, event=x.event) for x in DURABLE]
        await save(shelf.path(one), stream, one)
    return shelf


async def test_the_list_summarises_each_session(tmp_path):
    shelf = await shelf_with(tmp_path, ["20261120-093000-aaaa"])
    live = SessionFile.create(shelf.path("20261121-093000-bbbb"), "20261121-093000-bbbb")
    waiting = [one for one in streams.waiting() if one.durable]
    for envelope in waiting:
        await live.record(envelope, barrier=False)
    newest, oldest = shelf.list()
    assert (oldest.session_id, oldest.state, oldest.outcome) == ("20261120-093000-aaaa", "closed", "answered")
    assert oldest.title == "Create a tool to validate email addresses." and oldest.model == "openai:small"
    assert (oldest.events, oldest.tasks, oldest.tools_built) == (len(DURABLE), 2, 1)
    assert oldest.cost_usd == pytest.approx(DURABLE_COST) and oldest.pending == ()
    assert (oldest.started, oldest.last_activity) == (DURABLE[0].at, DURABLE[-1].at)
    assert (newest.state, len(newest.pending), newest.pending[0].name) == ("open", 1, streams.DRAFT.name)
    assert newest.pending[0].task == "Create a tool to validate email addresses."
    crash(live)
    assert shelf.list()[0].state == "stopped"
    latest = shelf.latest()
    assert latest and latest.session_id in {newest.session_id, oldest.session_id}


DURABLE_COST = [one.event.total_usd for one in DURABLE if isinstance(one.event, e.BudgetSpent)][-1]


async def test_unchanged_files_are_not_read_again_and_changed_ones_are(tmp_path, monkeypatch):
    shelf = await shelf_with(tmp_path, [f"20261120-0930{n:02d}-aaaa" for n in range(6)])
    first = shelf.list()
    opened = []
    open_fd = os.open

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def noted(path: Any, *how: Any, **more: Any) -> Any:
            if real is not open_fd or not str(path).endswith(
                ".journal"
            ):  # opened to see whether it is locked
                opened.append(Path(path).name)
            return real(path, *how, **more)

        return noted

    monkeypatch.setattr(Path, "open", watched(Path.open))
    monkeypatch.setattr(os, "open", watched(open_fd))
    assert shelf.list() == first == SessionStore(shelf.folder).list()
    assert set(opened) == {"summaries.cache"}
    file = SessionFile.open(Path(first[0].path))
    await file.record(
        Envelope(
            seq=len(DURABLE) + 1,
            session_id=first[0].session_id,
            at=datetime.now(UTC),
            event=e.SessionResumed(restored=1),
        ),
        barrier=False,
    )
    opened.clear()
    assert shelf.list()[0].events == len(DURABLE) + 1
    assert "20261120-093005-aaaa.json" not in opened, "only what came since is read"
    assert not any(name.startswith("20261120-093004") for name in opened)
    file.close()
    (shelf.folder / "summaries.cache").write_bytes(b"\x00garbage")
    assert len(shelf.list()) == 6


async def test_damaged_and_foreign_files_do_not_break_the_list(tmp_path):
    shelf = await shelf_with(tmp_path, ["20261120-093000-aaaa"])
    (shelf.folder / "notes.json").write_text("hello")
    (shelf.folder / "lost.json.journal").write_bytes(b"")
    assert {summary.session_id for summary in shelf.list()} == {"20261120-093000-aaaa", "notes", "lost"}
    assert SessionStore(tmp_path / "nowhere").list() == ()
    assert SessionStore(tmp_path / "nowhere").latest() is None


async def test_find_by_id_prefix_and_path(tmp_path):
    shelf = await shelf_with(tmp_path, ["20261120-093000-aaaa", "20261121-093000-bbbb"])
    assert shelf.find("20261121").stem == "20261121-093000-bbbb"
    assert shelf.find("20261120-093000-aaaa").stem == "20261120-093000-aaaa"
    path = str(shelf.path("20261120-093000-aaaa"))
    assert str(shelf.find(path)) == path
    with pytest.raises(UsageError, match="More than one session begins with '2026112'"):
        shelf.find("2026112")
    with pytest.raises(UsageError, match="Did you mean 20261121-093000-bbbb"):
        shelf.find("20261121-093001-bbbb")
    for bad in ("", "../../etc/passwd", "a/b"):
        with pytest.raises(UsageError):
            shelf.find(bad)
    with pytest.raises(UsageError):
        shelf.path("../x")


def test_new_ids_sort_by_time_and_are_unused(tmp_path):
    now = datetime(2026, 11, 21, 1, 42, 33, tzinfo=UTC)
    shelf = SessionStore(tmp_path, clock=lambda: now)
    first = shelf.new_id()
    assert first.startswith("20261121-014233-") and len(first) == 20
    SessionFile.create(shelf.path(first), first).close()
    with pytest.raises(StoreError, match="already"):
        SessionFile.create(shelf.path(first), first)
    now += timedelta(seconds=1)
    assert shelf.new_id() > first


def test_a_new_session_is_on_disk_whole_after_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []
    replace = disk.replace

    def noted(path: Path, pieces: Iterable[bytes]) -> None:
        written.append(path)
        replace(path, pieces)

    monkeypatch.setattr(disk, "replace", noted)
    path = tmp_path / "s.json"
    file = SessionFile.create(path, "s", imported=True)
    assert written == [path]
    assert json.loads(path.read_text())["meta"]["1"] == {"session_id": "s", "imported": True}
    file.close()
    again = SessionFile.open(path)
    assert (again.session_id, again.imported, len(again)) == ("s", True, 0)
    again.close()


@pytest.mark.parametrize("name", ["my session", "20261129-021049-9d21 (copy)", "Invoices (2)"])
def test_a_session_whose_file_was_renamed_or_copied_is_listed_and_opens(tmp_path: Path, name: str) -> None:
    shelf = SessionStore(tmp_path / "sessions")
    shelf.add("sound", DURABLE)
    shelf.path("sound").rename(shelf.folder / f"{name}.json")
    assert [one.session_id for one in shelf.list()] == [name]
    shelf.check_available(name)
    file = SessionFile.open(shelf.find_own(name))
    assert len(file) == len(DURABLE)
    file.close()


def test_a_link_to_nothing_is_listed_as_one_and_can_be_deleted_and_put_back(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path / "sessions")
    shelf.add("sound", DURABLE)
    shelf.path("odd").symlink_to(tmp_path / "gone.json")
    odd = next(one for one in shelf.list() if one.session_id == "odd")
    assert odd.state == "unreadable" and "gone.json, which is not there" in odd.title
    shelf.delete("odd")
    assert [one.session_id for one in shelf.list()] == ["sound"]
    shelf.restore("odd")
    assert shelf.path("odd").is_symlink()


@pytest.mark.parametrize("kind", ["noise", "other JSON", "pipe", "device", "dangling"])
def test_what_is_no_session_is_told_before_anything_is_opened(tmp_path: Path, kind: str) -> None:
    shelf = SessionStore(tmp_path / "sessions")
    shelf.add("sound", DURABLE)
    odd = shelf.path("odd")
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "noise":
        odd.write_bytes(bytes(range(256)) * 9)
    elif kind == "other JSON":
        odd.write_text('{"name": 1}')
    else:
        odd.symlink_to("/dev/zero" if kind == "device" else "nowhere")
    with pytest.raises((StoreError, UsageError), match="odd"):
        shelf.check_available("odd")
    shelf.check_available("sound")
