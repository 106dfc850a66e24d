"""Search over the text of all sessions finds what the trace says, and survives what happens to its file."""

from __future__ import annotations

import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.store.search import SessionSearch
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.view.trace import rows_for
from tests.support.goldens import FOLDER, golden, walkthrough

AT = datetime(2026, 11, 21, tzinfo=UTC)


def said(*texts: str, session: str) -> list[Envelope]:
    events: list[e.SessionEvent] = [
        e.SessionOpened(),
        *(e.TaskSubmitted(task_id=e.TaskId(text), text=text) for text in texts),
    ]
    return [Envelope(seq=n, session_id=session, at=AT, event=one) for n, one in enumerate(events, 1)]


@pytest.fixture
def shelf(tmp_path: Path) -> SessionStore:
    made = SessionStore(tmp_path / "sessions")
    made.add("walk", walkthrough())
    made.add("dice", golden("golden-dice-openai"))
    return made


@pytest.fixture
def search(tmp_path: Path, shelf: SessionStore) -> SessionSearch:
    return SessionSearch(tmp_path / "cache" / "sessions.db", shelf)


def test_a_hit_is_the_event_that_contains_the_words(search: SessionSearch) -> None:
    found = search.find("validate addresses")
    assert found
    for hit in found:
        whole = walkthrough() if hit.session_id == "walk" else golden("golden-dice-openai")
        rows = rows_for(next(one for one in whole if one.seq == hit.seq))
        text = "\n".join(f"{row.title}\n{row.detail}" for row in rows).lower()
        assert "validate" in text and "addresses" in text
        assert any("validate" in piece.lower() or "address" in piece.lower() for piece in hit.pieces[1::2])


@pytest.mark.parametrize("query", ["VALIDATE", "valid", '"validate"', "validate_email_addresses", "émail"])
def test_words_are_found_by_prefix_and_in_any_case(search: SessionSearch, query: str) -> None:
    assert {hit.session_id for hit in search.find(query)} == {"walk"}


@pytest.mark.parametrize("query", ["", "  ", '"', "* AND (", "-", "NEAR(", "nothinglikethis", "a" * 5000])
def test_a_query_without_words_finds_nothing(search: SessionSearch, query: str) -> None:
    assert search.find(query) == () or query == "* AND ("


def test_new_changed_and_deleted_sessions_are_noticed(shelf: SessionStore, search: SessionSearch) -> None:
    assert search.find("xylophone") == ()
    shelf.add("new", said("about a xylophone", session="new"))
    (hit,) = search.find("xylophone")
    assert (hit.session_id, hit.seq, hit.kind) == ("new", 2, "task")
    file = SessionFile.open(shelf.path("new"))
    more = said("about a xylophone", "a xylophone again", session="new")[2:]
    file.fill(more)
    assert [one.seq for one in search.find("xylophone again")] == [3], "while it is open, too"
    file.close()
    assert [one.seq for one in search.find("xylophone")] == [2, 3]
    shelf.delete("new")
    assert search.find("xylophone") == ()
    shelf.restore("new")
    assert len(search.find("xylophone")) == 2


def test_another_file_under_the_same_name_replaces_what_was_known(
    shelf: SessionStore, search: SessionSearch
) -> None:
    shelf.add("one", said("first", "second", "zebra", session="one"))
    assert search.find("zebra")
    shelf.delete("one")
    shelf.add("one", said("giraffe", session="one"))
    assert search.find("zebra") == ()
    assert len(search.find("giraffe")) == 1


def test_a_damaged_cache_is_rebuilt(tmp_path: Path, search: SessionSearch) -> None:
    before = search.find("validate")
    (tmp_path / "cache" / "sessions.db").write_bytes(b"no database at all" * 1000)
    assert search.find("validate") == before
    with sqlite3.connect(tmp_path / "cache" / "sessions.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    assert search.find("validate") == before


def test_the_cache_is_private_and_a_damaged_session_does_not_stop_a_search(
    tmp_path: Path, shelf: SessionStore, search: SessionSearch
) -> None:
    (shelf.folder / "broken.json").write_bytes(b"\x00\xff" * 5000)
    assert search.find("validate")
    assert (tmp_path / "cache" / "sessions.db").stat().st_mode & 0o077 == 0


def test_concurrent_searches_find_each_hit_once(search: SessionSearch) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(search.find, ["validate"] * 8))
    assert len(set(found)) == 1 and found[0]
    places = [(hit.session_id, hit.seq, hit.kind) for hit in found[0]]
    assert len(set(places)) == len(places)


def test_a_cache_that_cannot_be_written_is_built_in_memory(tmp_path: Path, shelf: SessionStore) -> None:
    (tmp_path / "file").write_text("")
    assert SessionSearch(tmp_path / "file" / "sessions.db", shelf).find("validate")


def test_a_cache_damaged_anywhere_is_rebuilt(tmp_path: Path, shelf: SessionStore) -> None:
    path = tmp_path / "sessions.db"
    search = SessionSearch(path, shelf)
    wanted = {hit.seq for hit in search.find("validate")}
    raw, chance = path.read_bytes(), random.Random(5)
    for _ in range(60):
        at = chance.randrange(len(raw) - 64)
        path.write_bytes(raw[:at] + b"\xd2" * 64 + raw[at + 64 :])
        search.find("validate")
    path.write_bytes(raw[:3000] + b"\xd2" * 1500 + raw[4500:])
    assert {hit.seq for hit in search.find("validate")} == wanted


def test_hostile_text_is_harmless_in_a_hit(shelf: SessionStore, search: SessionSearch) -> None:
    shelf.add("bad", said("quokka \x1b[31m\x02red\x03 \u202e [bold]x[/bold]", session="bad"))
    (hit,) = search.find("quokka")
    assert not any(char in "".join(hit.pieces) for char in "\x1b\x02\x03\u202e")
    assert "[bold]x[/bold]" in "".join(hit.pieces)
    assert FOLDER.exists()
