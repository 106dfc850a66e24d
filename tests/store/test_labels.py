"""Names, tags and bookmarks stay beside the sessions; what is deleted can be brought back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from alita_tui.spine.errors import StoreLocked, UsageError
from alita_tui.spine.sessions import Bookmark
from alita_tui.store.documents import DocumentTable
from alita_tui.store.journal_reader import journal_of
from alita_tui.store.labels import Label, Labels
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.store.trash import KEPT_DAYS
from tests.support.goldens import FOLDER, golden, walkthrough


@pytest.fixture
def labels(tmp_path: Path) -> Labels:
    return Labels(DocumentTable(tmp_path / "labels.json", "labels"))


def test_labels_hold_for_everyone_and_leave_the_session_alone(tmp_path: Path, labels: Labels) -> None:
    labels.rename("a", "My [b]title[/b]\x1b[31m\nof two lines")
    labels.tag("a", add=("#CSV", "work"))
    labels.tag("a", add=("csv",), remove=("work",))
    labels.archive("b", True)
    again = Labels(DocumentTable(tmp_path / "labels.json", "labels"))
    assert again.of("a") == Label(session_id="a", title="My [b]title[/b] of two lines", tags=("csv",))
    assert again.of("b").archived
    assert again.of("c") == Label(session_id="c")


def test_no_secret_is_written_down(tmp_path: Path) -> None:
    table = DocumentTable(tmp_path / "labels.json", "labels")
    labels = Labels(table, redact=lambda text: text.replace("hunter2", "[redacted]"))
    labels.rename("a", "the hunter2 session")
    labels.bookmark("a", 3, "hunter2 was used here")
    table.close()
    assert "hunter2" not in (tmp_path / "labels.json").read_text()
    assert labels.of("a").bookmarks[0].note == "[redacted] was used here"


def test_removed_labels_leave_nothing(labels: Labels) -> None:
    labels.rename("a", "x")
    labels.rename("a", "")
    labels.archive("a", True)
    labels.archive("a", False)
    assert labels.all() == {}


@pytest.mark.parametrize("tag", ["", "#", "two words", "a,b", "x" * 31])
def test_an_invalid_tag_is_refused(labels: Labels, tag: str) -> None:
    with pytest.raises(UsageError, match="is not a tag"):
        labels.tag("a", add=(tag,))


def test_bookmarks_are_in_order_and_can_be_changed(labels: Labels) -> None:
    labels.bookmark("a", 30, "late")
    labels.bookmark("a", 3, "early")
    labels.bookmark("a", 30, "later")
    found = labels.of("a").bookmarks
    assert [(one.seq, one.note) for one in found] == [(3, "early"), (30, "later")]
    assert all(isinstance(one, Bookmark) and one.at for one in found)
    labels.bookmark("a", 3, None)
    assert [one.seq for one in labels.of("a").bookmarks] == [30]


def test_a_damaged_label_is_ignored(tmp_path: Path, labels: Labels) -> None:
    table = DocumentTable(tmp_path / "labels.json", "labels")
    table.put("a", {"session_id": "a", "tags": 7})
    table.put("b", {"session_id": "b", "title": "whole"})
    assert set(labels.all()) == {"b"}


def test_deleting_can_be_undone(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path / "sessions")
    made = shelf.add("one", [])
    shelf.fork(shelf.add("two", list(golden("golden-walkthrough"))))
    before = shelf.path(made).read_bytes()
    assert shelf.delete("one") == "one"
    assert [one.session_id for one in shelf.list() if one.session_id == "one"] == []
    assert list((tmp_path / "sessions").glob("one*")) == []
    assert shelf.trash.ids() == ("one",)
    shelf.restore("one")
    assert shelf.path(made).read_bytes() == before
    assert shelf.trash.ids() == ()
    with pytest.raises(UsageError, match="no deleted session"):
        shelf.restore("one")


def test_a_session_that_was_never_closed_keeps_its_journal(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path)
    file = SessionFile.create(shelf.path("cut"), "cut")
    file.fill(walkthrough()[:7])
    file._writer.shutdown()
    assert file._log._fd is not None
    os.close(file._log._fd)
    file._log._fd = None
    file._log._close_descriptors()
    assert journal_of(shelf.path("cut")).stat().st_size
    shelf.delete("cut")
    shelf.restore("cut")
    opened = SessionFile.open(shelf.path("cut"))
    assert opened.last_seq == 7
    opened.close()


def test_an_open_session_is_not_deleted(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path)
    file = SessionFile.create(shelf.path("open"), "open")
    with pytest.raises(StoreLocked):
        shelf.delete("open")
    file.close()
    shelf.delete("open")


def test_a_file_outside_the_folder_is_not_deleted(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not in the folder of sessions"):
        SessionStore(tmp_path).delete(str(FOLDER / "golden-walkthrough.json"))
    assert (FOLDER / "golden-walkthrough.json").exists()


def test_a_session_of_the_same_id_is_not_overwritten(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path)
    shelf.add("one", [])
    shelf.delete("one")
    shelf.add("one", [])
    with pytest.raises(UsageError, match="nothing was put back"):
        shelf.restore("one")


def test_sessions_deleted_long_ago_are_purged(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path)
    for name in ("old", "new", "last"):
        shelf.add(name, [])
    shelf.delete("old")
    shelf.delete("new")
    long_ago = 86400 * (KEPT_DAYS + 1)
    path = shelf.trash.folder / "old.json"
    os.utime(path, (path.stat().st_atime - long_ago, path.stat().st_mtime - long_ago))
    shelf.delete("last")
    assert set(shelf.trash.ids()) == {"new", "last"}
