"""What is lent stands in front of the library for one session, and leaves it as it was."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from alita_tui.events import Ban, Capabilities, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.spine.ports.library import FinishedRun
from alita_tui.store.documents import DocumentTable
from tests.support import streams

DRAFT, LOCK = streams.DRAFT, streams.LOCK
LATER = msgspec.structs.replace(DRAFT, code=DRAFT.code + "# later\n", description="Another one.")
NAME = DRAFT.name


@pytest.fixture
def shelf(tmp_path: Path) -> ToolLibrary:
    found = ToolLibrary(DocumentTable(tmp_path / "registry.json", "tools"), tmp_path / "box")
    found.register(DRAFT, LOCK, approval_id="p1", digest=streams.DIGEST, sources=())
    return found


def lend(on: TaskLibrary) -> None:
    digest = build_digest(LATER, LOCK)
    on.lend(LATER, LOCK, version=2, approval_id="p2", digest=digest, grants=Capabilities())


def test_a_lent_tool_comes_first_and_is_given_back(shelf: ToolLibrary) -> None:
    mine, other = TaskLibrary(shelf), TaskLibrary(shelf)
    lend(mine)
    assert (mine.get(NAME).version, mine.get(NAME, 1).draft, mine.get(NAME, 2).draft) == (2, DRAFT, LATER)
    assert [card.version for card in mine.cards()] == [2]
    assert mine.next_version(NAME) == 3, "the number is taken while it is lent"
    assert [card.version for card in other.cards()] == [1], "another session has nothing of it"
    assert mine.search("validate email addresses").hits[0].card.version == 1
    assert mine.give_back() and not mine.give_back()
    assert mine.get(NAME).version == 1
    with pytest.raises(RegistryError):
        mine.get(NAME, 2)


def test_runs_of_a_lent_tool_are_not_counted(shelf: ToolLibrary) -> None:
    mine = TaskLibrary(shelf)
    lend(mine)
    lent = FinishedRun(name=NAME, version=2, ok=False, query="x")
    kept = FinishedRun(name=NAME, version=1, ok=True, query="x")
    assert mine.record_runs([lent, lent, kept, lent]) == ("provisional",) * 4
    assert [(one.version, one.runs) for one in shelf.versions(NAME)] == [(1, 1)]


def test_only_approved_builds_are_lent(shelf: ToolLibrary) -> None:
    mine = TaskLibrary(shelf)
    with pytest.raises(DigestMismatch):
        mine.lend(LATER, LOCK, version=2, approval_id="p2", digest=streams.DIGEST)
    mine.ban(Ban(ban_id="b", digest=build_digest(LATER, LOCK), by="ada"))
    with pytest.raises(RegistryError, match="banned by ada"):
        lend(mine)


def test_a_build_that_joins_the_library_is_no_longer_lent(shelf: ToolLibrary) -> None:
    mine = TaskLibrary(shelf)
    lend(mine)
    mine.register(LATER, LOCK, approval_id="p3", digest=build_digest(LATER, LOCK), sources=())
    assert not mine.give_back()
    assert mine.get(NAME).approval_id == "p3"
