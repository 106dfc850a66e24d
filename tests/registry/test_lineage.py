"""What is done with versions, and taken back; how far a tool is relied on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import Move, MoveKind, ToolRecord, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.lineage import Lineages
from alita_tui.registry.reconcile import RUNNABLE
from alita_tui.registry.trust import Use
from alita_tui.spine.errors import RegistryError
from alita_tui.store.documents import DocumentTable
from tests.support import streams

NAME = streams.DRAFT.name
START = datetime(2026, 11, 21, tzinfo=UTC)


class Home:
    """A library with three versions of a tool, a clock that can be set, and ears for moves."""

    def __init__(self, folder: Path) -> None:
        self.now = START
        self.told: list[tuple[str, int, bool, str]] = []
        self.table = DocumentTable(folder / "registry.json", "tools")
        self.shelf = ToolLibrary(self.table, folder / "box", lambda: self.now)
        self.kept = Lineages(self.shelf, self.table, self.hear, lambda: self.now)
        for number in (1, 2, 3):
            draft = msgspec.structs.replace(streams.DRAFT, code=streams.CODE + f"# {number}\n")
            digest = build_digest(draft, streams.LOCK)
            self.shelf.register(draft, streams.LOCK, approval_id=f"p{number}", digest=digest, sources=())

    def hear(self, move: Move, record: ToolRecord) -> None:
        assert record.version == move.version
        self.told.append((move.kind, move.version, move.undone, move.by))

    def states(self) -> list[str]:
        return [one.state for one in self.shelf.versions(NAME)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_lineage_lists_every_version_with_its_parent(home: Home) -> None:
    found = home.kept.of(NAME)
    assert [one.version for one in found.versions] == [1, 2, 3]
    assert [one.parent_version for one in found.versions] == [None, 1, 2]
    assert (found.current, found.pinned, found.moves) == (3, None, ())
    with pytest.raises(RegistryError):
        home.kept.of("nobody")


def test_a_rollback_is_one_move_and_one_undo(home: Home) -> None:
    found = home.kept.move(NAME, "rollback", None, by="ada", reason="v3 is worse")
    assert (found.current, home.states()) == (2, ["provisional", "provisional", "archived"])
    assert home.shelf.get(NAME).version == 2
    assert home.shelf.cards()[0].version == 2, "what is found is what runs"
    assert home.kept.move(NAME, "rollback", None, by="ada").current == 1
    with pytest.raises(RegistryError, match="no earlier version"):
        home.kept.move(NAME, "rollback", None, by="ada")
    assert home.kept.undo(NAME, by="bob").current == 2
    assert home.kept.undo(NAME, by="bob").current == 3
    with pytest.raises(RegistryError, match="can be undone"):
        home.kept.undo(NAME, by="bob")
    assert home.told == [
        ("rollback", 3, False, "ada"),
        ("rollback", 2, False, "ada"),
        ("rollback", 2, True, "bob"),
        ("rollback", 3, True, "bob"),
    ]


@pytest.mark.parametrize(
    ("kind", "state"), [("archive", "archived"), ("revoke", "revoked"), ("quarantine", "quarantined")]
)
def test_an_archived_tool_does_not_run_until_restored(home: Home, kind: str, state: str) -> None:
    for version in (3, 2, 1):
        home.kept.move(NAME, msgspec.convert(kind, str), version, by="ada")
    assert home.states() == [state] * 3
    assert home.kept.of(NAME).current is None
    assert home.shelf.cards() == ()
    with pytest.raises(RegistryError, match=f"is {state} and does not run"):
        home.shelf.get(NAME, 2)
    with pytest.raises(RegistryError, match="already"):
        home.kept.move(NAME, kind, 2, by="ada")  # type: ignore[arg-type]
    assert home.kept.move(NAME, "restore", 1, by="ada").current == 1
    assert home.kept.undo(NAME, by="ada").current is None
    assert home.kept.move(NAME, "restore", None, by="ada").current == 3


@pytest.mark.parametrize("kind", ["revoke", "quarantine"])
def test_no_older_version_goes_on_with_the_bytes_that_were_taken_away(home: Home, kind: MoveKind) -> None:
    """The same bytes can be approved twice, by two sessions or two processes."""
    first = home.shelf.get(NAME, 1)
    home.shelf.register(first.draft, first.lock, approval_id="p4", digest=first.digest, sources=())
    assert home.kept.move(NAME, kind, None, by="ada").current == 3, "other bytes go on"
    assert [RUNNABLE.isdisjoint([state]) for state in home.states()] == [True, False, False, True]
    assert home.kept.undo(NAME, by="ada").current == 4, "what was named is what comes back"


def test_a_pinned_version_runs_whatever_is_newer(home: Home) -> None:
    home.kept.move(NAME, "pin", 1, by="ada")
    assert home.shelf.get(NAME).version == 1
    assert home.kept.of(NAME).pinned == 1
    with pytest.raises(RegistryError, match="already"):
        home.kept.move(NAME, "pin", 1, by="ada")
    home.kept.move(NAME, "pin", 2, by="ada")
    assert home.kept.undo(NAME, by="ada").pinned == 1
    assert home.kept.move(NAME, "unpin", None, by="ada").current == 3
    assert home.kept.undo(NAME, by="ada").current == 1
    home.kept.move(NAME, "revoke", 1, by="ada")
    assert home.shelf.get(NAME).version == 3, "what does not run is not run for being pinned"
    with pytest.raises(RegistryError, match="cannot be pinned"):
        home.kept.move(NAME, "pin", 1, by="ada")


def test_moves_outlive_the_process(home: Home, tmp_path: Path) -> None:
    home.kept.move(NAME, "archive", 3, by="ada", reason="no use")
    again = ToolLibrary(DocumentTable(tmp_path / "registry.json", "tools"), tmp_path / "box")
    (move,) = Lineages(again, DocumentTable(tmp_path / "registry.json", "tools"), home.hear).of(NAME).moves
    assert (move.kind, move.version, move.by, move.reason) == ("archive", 3, "ada", "no use")


def test_trust_follows_the_runs(home: Home) -> None:
    run = lambda ok, query="": home.shelf.record_run(NAME, 3, ok=ok, query=query)  # noqa: E731
    assert run(True, "check the addresses of the club") == "provisional"
    assert run(True, "clean the list of guests") == "trusted"
    assert run(False) == "trusted"
    assert run(False) == "provisional", "two of the last three"
    assert run(False) == "stale", "three in a row"
    assert home.shelf.get(NAME, 3).state == "stale", "it may still run, for who asks for it"
    assert run(True, "sort the members") == "provisional"
    run(True), run(True)
    assert run(True) == "trusted", "what is mended is trusted again"
    home.kept.move(NAME, "quarantine", 3, by="ada")
    assert run(True) == "quarantined", "no run undoes what a person did"
    assert home.kept.undo(NAME, by="ada").versions[2].state == "trusted"


def test_an_idle_tool_becomes_stale_unless_pinned(home: Home) -> None:
    home.shelf.record_run(NAME, 3, ok=True, query="clean the list")
    home.now = START + timedelta(days=91)
    home.kept.move(NAME, "pin", 2, by="ada")
    assert home.states() == ["stale", "provisional", "stale"]
    home.shelf.record_run(NAME, 3, ok=True, query="again")
    assert home.states()[2] != "stale"


def test_a_usage_record_of_an_earlier_version_is_read(home: Home) -> None:
    """Documents written before there was a memory of the last runs."""
    home.table.put(
        f"use:{NAME}:3",
        {"use": {"name": NAME, "version": 3, "runs": 4, "failures": 1, "queries": ["a", "b"]}},
    )
    record = home.shelf.versions(NAME)[2]
    assert (record.runs, record.failures, record.state) == (4, 1, "trusted")
    assert not Use(name=NAME, version=3, runs=9, failures=9).failing
