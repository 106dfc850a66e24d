"""Other names of tools: found by them, run as the tool, and no way round what keeps a tool from running."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from alita_tui.events import (
    Alias,
    Ban,
    BuildDigest,
    Move,
    MoveKind,
    ToolDraft,
    ToolName,
    ToolRecord,
    Twin,
    build_digest,
)
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.lineage import Lineages
from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.store.documents import DocumentTable
from tests.support import streams

NAME, OTHER = streams.DRAFT.name, "sift_postbox"
TWIN = Twin(name=NAME, version=1, digest=streams.DIGEST)
SAYS = "Sift the postbox by its senders."


class Home:
    """A library with one tool, and ears for moves."""

    def __init__(self, folder: Path) -> None:
        self.told: list[Move] = []
        self.table = DocumentTable(folder / "registry.json", "tools")
        self.shelf = ToolLibrary(self.table, folder / "box")
        self.kept = Lineages(self.shelf, self.table, lambda move, _: self.told.append(move))
        self.add(streams.DRAFT, "p1")

    def add(self, draft: ToolDraft, approval_id: str) -> ToolRecord:
        digest = build_digest(draft, streams.LOCK)
        return self.shelf.register(draft, streams.LOCK, approval_id=approval_id, digest=digest, sources=())

    def alias(self, twin: Twin = TWIN, approval_id: str = "p2", name: str = OTHER) -> Alias:
        return self.shelf.alias(name, SAYS, twin, approval_id=approval_id, by="ada")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_an_alias_runs_the_same_bytes_and_is_no_separate_tool(home: Home) -> None:
    home.alias()
    assert home.shelf.get(OTHER) == home.shelf.get(NAME) == home.shelf.get(OTHER, 1)
    assert [card.name for card in home.shelf.cards()] == [NAME]
    assert home.shelf.versions(OTHER) == () and home.shelf.next_version(OTHER) == 1
    with pytest.raises(RegistryError):
        home.shelf.get(OTHER, 2)


def test_a_search_for_an_alias_or_its_description_finds_the_tool(home: Home) -> None:
    assert home.shelf.search("sift postbox").hits == ()
    home.alias()
    for query in ("sift postbox", "sift the postbox by senders", NAME.replace("_", " ")):
        assert [hit.card.name for hit in home.shelf.search(query).hits] == [NAME], query
    home.kept.unalias(OTHER, by="ada")
    assert home.shelf.search("sift postbox").hits == ()


@pytest.mark.parametrize("move", ["archive", "revoke", "quarantine"])
def test_a_tool_that_may_not_run_does_not_run_by_its_alias(home: Home, move: MoveKind) -> None:
    home.alias()
    home.kept.move(NAME, move, None, by="ada")
    for version in (None, 1):
        with pytest.raises(RegistryError):
            home.shelf.get(OTHER, version)
    home.kept.move(NAME, "restore", None, by="ada")
    assert home.shelf.get(OTHER).digest == streams.DIGEST


def test_banned_or_changed_bytes_do_not_run_by_an_alias(home: Home, tmp_path: Path) -> None:
    home.alias()
    home.shelf.ban(Ban(ban_id="b", digest=streams.DIGEST, by="ada"))
    with pytest.raises(RegistryError, match="banned by ada"):
        home.shelf.get(OTHER)
    home.shelf.bans.lift("b")
    file = tmp_path / "box" / NAME / "v1" / f"{NAME}.py"
    file.chmod(0o644)
    file.write_text(file.read_text() + "import os\n")
    with pytest.raises(DigestMismatch):
        home.shelf.get(OTHER)


def test_an_alias_runs_the_newest_version_of_its_tool(home: Home) -> None:
    home.alias()
    newer = home.add(msgspec.structs.replace(streams.DRAFT, code=streams.CODE + "# 2\n"), "p3")
    assert home.shelf.get(OTHER).digest == newer.digest


def test_the_name_of_a_tool_takes_precedence_over_an_alias(home: Home) -> None:
    with pytest.raises(RegistryError, match="already"):
        home.alias(name=NAME)
    home.alias()
    mine = home.add(msgspec.structs.replace(streams.DRAFT, name=OTHER), "p3")
    assert home.shelf.get(OTHER).digest == mine.digest


@pytest.mark.parametrize(
    ("twin", "error"),
    [
        (Twin(name=ToolName("nobody"), version=1, digest=streams.DIGEST), RegistryError),
        (Twin(name=NAME, version=2, digest=streams.DIGEST), RegistryError),
        (Twin(name=NAME, version=1, digest=BuildDigest("0" * 64)), DigestMismatch),
    ],
)
def test_an_alias_needs_the_compared_version_to_be_runnable(
    home: Home, twin: Twin, error: type[Exception]
) -> None:
    with pytest.raises(error):
        home.alias(twin)
    home.alias()
    with pytest.raises(DigestMismatch):
        home.alias(Twin(name=ToolName(OTHER), version=1, digest=streams.DIGEST), "p9", name="third_name")
    assert [one.name for one in home.shelf.aliases.all()] == [OTHER]


def test_an_alias_is_a_move_that_can_be_undone_and_redone(home: Home) -> None:
    home.alias()
    home.alias()
    found = home.kept.of(NAME)
    assert found.aliases == (OTHER,)
    assert [(move.kind, move.after, move.by) for move in found.moves] == [("alias", OTHER, "ada")]
    assert home.kept.undo(NAME, by="bob").aliases == ()
    with pytest.raises(RegistryError):
        home.shelf.get(OTHER)
    assert home.alias().removed, "the same verdict once more, after a crash, changes nothing"
    home.alias(approval_id="p7")
    assert home.kept.unalias(OTHER, by="bob", reason="confusing").aliases == ()
    assert home.kept.undo(NAME, by="bob").aliases == (OTHER,)
    assert home.shelf.get(OTHER).digest == streams.DIGEST
    assert [(move.kind, move.undone) for move in home.told] == [
        ("alias", True), ("unalias", False), ("unalias", True),
    ]  # fmt: skip
    with pytest.raises(RegistryError, match="no other name"):
        home.kept.unalias("nobody", by="bob")


def test_an_alias_does_not_take_a_name_given_to_another_tool_meanwhile(home: Home) -> None:
    home.alias()
    other = home.add(
        msgspec.structs.replace(streams.DRAFT, name="second_tool", description="Does it too."), "p3"
    )
    home.alias(Twin(name=ToolName("second_tool"), version=1, digest=other.digest), "p4")
    with pytest.raises(RegistryError, match="something else"):
        home.kept.undo(NAME, by="bob")
    assert home.shelf.get(OTHER).draft.name == "second_tool"


def test_other_processes_see_an_alias_and_unreadable_ones_are_ignored(home: Home, tmp_path: Path) -> None:
    home.alias()
    home.table.put("alias:odd", {"alias": {"name": 5}})
    again = ToolLibrary(home.table, tmp_path / "box")
    assert again.get(OTHER).draft.name == NAME
    assert [one.name for one in again.aliases.all()] == [OTHER]
