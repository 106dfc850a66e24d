"""The bytes of artefacts on disk: whole, private, with their session wherever it goes."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.store.artefacts import SessionArtefacts, file_name, folder_of
from alita_tui.store.sessions import SessionStore
from tests.support import streams


@pytest.fixture
def store(tmp_path: Path) -> SessionArtefacts:
    return SessionArtefacts(tmp_path / "s.artefacts", 1_000_000)


def test_the_same_bytes_are_stored_once_under_their_digest(store: SessionArtefacts, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    first, second = store.add(tmp_path / "a.csv"), store.add(tmp_path / "b.csv")
    digest = sha256(b"x,y\n1,2\n").hexdigest()
    assert first.digest == second.digest == digest and first.handle == f"art_{digest[:10]}"
    assert (first.name, second.name) == ("a.csv", "b.csv")
    assert [path.name for path in store.folder.iterdir()] == [digest]
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert store.path(first).stat().st_mode & 0o222 == 0


def test_an_added_file_does_not_change_with_its_source(store: SessionArtefacts, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("before")
    artefact = store.add(source)
    source.write_text("after!")
    assert store.path(artefact).read_text() == "before"


def test_a_refused_file_leaves_nothing(store: SessionArtefacts, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "big").write_bytes(bytes(1_000_001))
    for path in (tmp_path / "missing", tmp_path, tmp_path / "pipe", tmp_path / "big"):
        with pytest.raises(UsageError):
            store.add(path)
    with pytest.raises(UsageError):
        store.add_bytes(bytes(1_000_001), "x")
    assert not store.folder.exists() or list(store.folder.iterdir()) == []


def test_a_full_disk_leaves_nothing_and_is_reported(
    store: SessionArtefacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("x" * 1000)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StoreError, match="No space"):
        store.add(tmp_path / "a")
    with pytest.raises(StoreError, match="No space"):
        store.add_bytes(b"x", "a")
    assert list(store.folder.iterdir()) == []


def test_missing_and_changed_bytes_are_detected(store: SessionArtefacts) -> None:
    artefact = store.add_bytes(b"12345", "a")
    path = store.folder / artefact.digest
    path.chmod(0o644)
    path.write_bytes(b"1234")
    with pytest.raises(StoreError, match="changed"):
        store.path(artefact)
    path.unlink()
    with pytest.raises(StoreError, match="missing"):
        store.path(artefact)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("a.csv", "a.csv"), ("../../etc/passwd", "passwd"), ("C:\\x\\y.txt", "y.txt"), ("a\nb\u202e.png", "a_b_.png"),
        ("", "file"), ("...", "file"), ("/", "file"), (".bashrc", "bashrc"), ("a/", "a"), ("\x1b[2J", "_[2J"),
    ],
)  # fmt: skip
def test_artefact_file_names_are_plain(given: str, name: str) -> None:
    assert file_name(given) == name


def test_a_long_name_keeps_its_extension() -> None:
    name = file_name("ä" * 500 + ".parquet")
    assert name.endswith(".parquet") and len(name.encode()) <= 130


# --- with their session --------------------------------------------------------------------


@pytest.fixture
def sessions(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


def with_a_file(sessions: SessionStore) -> tuple[str, e.Artefact]:
    session_id = sessions.new_id()
    stored = sessions.artefacts(session_id, 1_000_000)
    artefact = stored.add_bytes(b"the bytes", "a.txt")
    tape = streams.Tape(session_id)
    for event in (e.SessionOpened(), e.ArtefactAdded(artefact=artefact, origin="person"), e.SessionClosed()):
        tape.add(event)
    sessions.add(session_id, tape.envelopes)
    return session_id, artefact


def test_artefacts_are_deleted_restored_and_purged_with_their_session(sessions: SessionStore) -> None:
    session_id, artefact = with_a_file(sessions)
    folder = folder_of(sessions.path(session_id))
    sessions.delete(session_id)
    assert (
        not folder.exists()
        and (folder_of(sessions.trash.folder / f"{session_id}.json") / artefact.digest).exists()
    )
    sessions.restore(session_id)
    assert sessions.artefacts(session_id, 1).path(artefact).read_bytes() == b"the bytes"
    sessions.delete(session_id)
    old = 0
    for path in sessions.trash.folder.iterdir():
        os.utime(path, (old, old))
    with_a_file(sessions)
    sessions.delete(sessions.list()[0].session_id)  # sweeps the trash
    assert not folder_of(sessions.trash.folder / f"{session_id}.json").exists()


def test_a_fork_has_the_artefacts_of_its_parent_even_after_that_is_deleted(sessions: SessionStore) -> None:
    session_id, artefact = with_a_file(sessions)
    child = sessions.fork(session_id, at=2)
    sessions.delete(session_id)
    assert sessions.artefacts(child, 1).path(artefact).read_bytes() == b"the bytes"


def test_bytes_that_were_changed_without_their_size_are_not_handed_out(store: SessionArtefacts) -> None:
    artefact = store.add_bytes(b"12345", "a")
    assert store.path(artefact)
    path = store.folder / artefact.digest
    path.chmod(0o644)
    path.write_bytes(b"54321")
    with pytest.raises(StoreError, match="changed"):
        store.path(artefact)


def test_half_written_files_of_a_killed_process_are_removed(store: SessionArtefacts) -> None:
    artefact = store.add_bytes(b"1", "a")
    (store.folder / ".new-999999999-aa").write_bytes(b"half")
    (store.folder / ".new-999999999-bb").mkdir()
    (store.folder / ".new-999999999-bb" / "0").write_bytes(b"left")
    again = SessionArtefacts(store.folder, 1_000_000)
    again.sweep()
    assert [path.name for path in store.folder.iterdir()] == [artefact.digest]
