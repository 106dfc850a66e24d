"""The file of drafts: private, without secrets, one for all sessions; what a dead new session held is taken over."""

from __future__ import annotations

import multiprocessing
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from alita_tui.spine.redaction import Redactor
from alita_tui.store.drafts import MOST, DraftFile

KEY = "sk-proj-" + "a1B2" * 8


def clock():
    now = [datetime(2026, 11, 26, tzinfo=UTC)]

    def tell() -> datetime:
        now[0] += timedelta(seconds=1)
        return now[0]

    return tell


NOW = clock()


def drafts(folder: Path, *, alive: bool = False) -> DraftFile:
    redactor = Redactor([("bank", "correct-horse-battery")])
    return DraftFile(folder / "drafts.json", redactor.text, now=NOW, alive=lambda _process: alive)


def test_stored_drafts_are_read_by_session_and_field(tmp_path: Path) -> None:
    drafts(tmp_path).write(
        "s1", {"composer": "line 1\nline 2", "reason:p1": "reads\u202e too much"}, fresh=False
    )
    drafts(tmp_path).write("s2", {"composer": "other"}, fresh=False)
    assert drafts(tmp_path).read("s1", fresh=False) == {
        "composer": "line 1\nline 2",
        "reason:p1": "reads\u202e too much",
    }
    drafts(tmp_path).write("s1", {"composer": ""}, fresh=False)
    assert drafts(tmp_path).read("s1", fresh=False) == {"reason:p1": "reads\u202e too much"}
    assert drafts(tmp_path).read("s2", fresh=False) == {"composer": "other"}


def test_the_file_is_private_and_holds_no_secret(tmp_path: Path) -> None:
    drafts(tmp_path).write("s1", {"composer": f"use {KEY} and correct-horse-battery"}, fresh=False)
    path = tmp_path / "drafts.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    written = path.read_bytes()
    assert KEY.encode() not in written and b"correct-horse" not in written
    assert b"use [redacted" in written


def test_without_typed_text_there_is_no_file(tmp_path: Path) -> None:
    drafts(tmp_path).write("s1", {"composer": ""}, fresh=True)
    assert drafts(tmp_path).read("s1", fresh=True) == {} and not list(tmp_path.iterdir())


def test_a_new_session_takes_over_the_newest_draft_of_a_dead_new_session(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("os.getpid", lambda: 1)
    drafts(tmp_path).write("old", {"composer": "older"}, fresh=True)
    drafts(tmp_path).write("new", {"composer": "newer"}, fresh=True)
    drafts(tmp_path).write("begun", {"composer": "belongs to its session"}, fresh=False)
    monkeypatch.setattr("os.getpid", lambda: 2)
    assert drafts(tmp_path, alive=True).read("mine", fresh=True) == {}  # their consoles are still open
    assert drafts(tmp_path).read("mine", fresh=False) == {}
    assert drafts(tmp_path).read("mine", fresh=True) == {"composer": "newer"}
    assert drafts(tmp_path).read("next", fresh=True) == {"composer": "newer"}  # mine was not begun either
    assert drafts(tmp_path).read("begun", fresh=False) == {"composer": "belongs to its session"}


@pytest.mark.parametrize("damage", [b"", b"{", b'[{"session": 3}]', b"\xff\xfe"])
def test_a_damaged_file_is_ignored_and_replaced(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "drafts.json").write_bytes(damage)
    assert drafts(tmp_path).read("s1", fresh=True) == {}
    drafts(tmp_path).write("s1", {"composer": "x"}, fresh=True)
    assert drafts(tmp_path).read("s1", fresh=True) == {"composer": "x"}


def test_the_oldest_unsent_texts_are_dropped_beyond_the_limit(tmp_path: Path) -> None:
    for n in range(MOST + 3):
        drafts(tmp_path).write(f"s{n}", {"composer": f"text {n}"}, fresh=False)
    assert drafts(tmp_path).read("s2", fresh=False) == {}
    assert drafts(tmp_path).read(f"s{MOST + 2}", fresh=False) == {"composer": f"text {MOST + 2}"}


def _types(folder: Path, session: str) -> None:
    kept = DraftFile(folder / "drafts.json", lambda text: text)
    for n in range(20):
        kept.write(session, {"composer": f"{session} {n}"}, fresh=False)


def test_consoles_that_store_unsent_texts_at_once_lose_none(tmp_path: Path) -> None:
    several = multiprocessing.get_context("spawn")
    others = [several.Process(target=_types, args=(tmp_path, f"s{n}")) for n in range(3)]
    for one in others:
        one.start()
    for one in others:
        one.join()
        assert one.exitcode == 0
    for n in range(3):
        assert drafts(tmp_path).read(f"s{n}", fresh=False) == {"composer": f"s{n} 19"}
