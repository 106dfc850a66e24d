"""Files of every earlier version open as of now; `golden/N` holds what version N wrote, crashed writers included.

`golden/` and the version that is written now is what becomes of each of them.
"""

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tinydb import TinyDB

from alita_tui.registry.library import ToolLibrary
from alita_tui.spine.laws import check
from alita_tui.spine.ports.models import DaySpend
from alita_tui.store.documents import DocumentTable
from alita_tui.store.journal import JournalDB
from alita_tui.store.sessions import SessionFile
from alita_tui.store.spend import SpendBook
from alita_tui.store.upgrades import SCHEMA_VERSION, STEPS

GOLDEN = Path(__file__).with_name("golden")
OLD = sorted(int(one.name) for one in GOLDEN.iterdir() if int(one.name) < SCHEMA_VERSION)
FILES = sorted(one.name for one in (GOLDEN / "1").glob("*.json"))


@pytest.fixture
def home(tmp_path: Path):
    def taken(version: int) -> Path:
        return Path(shutil.copytree(GOLDEN / str(version), tmp_path / "home"))

    return taken


def tables(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    assert found["store"]["1"].pop("schema_version") == SCHEMA_VERSION
    found["store"]["1"].pop("generation")
    found.pop("checksums", None)  # test_store_damage.py looks at these
    return found


def test_there_is_a_step_and_a_golden_folder_for_every_version():
    assert sorted(STEPS) == OLD == list(range(1, SCHEMA_VERSION))
    assert sorted(one.name for one in (GOLDEN / str(SCHEMA_VERSION)).iterdir()) == FILES


@pytest.mark.parametrize("version", OLD)
@pytest.mark.parametrize("name", FILES)
def test_an_upgraded_file_equals_the_golden_one(home, version, name):
    path = home(version) / name
    JournalDB(path).close()
    assert tables(path) == tables(GOLDEN / str(SCHEMA_VERSION) / name)
    with TinyDB(path) as plain:
        assert plain.tables() >= {"store"}
    before = path.read_bytes()
    JournalDB(path).close()
    assert path.read_bytes() == before, "an upgraded file is left alone"


@pytest.mark.parametrize("version", OLD)
def test_upgraded_files_are_read_by_their_owners(home, version):
    folder = home(version)
    book = SpendBook(folder / "spend.json", "20261121-100000-bbbb", lambda: date(2026, 11, 21))
    assert book.settle("c2", 0.1, 300) == DaySpend(usd=0.35, tokens=900)
    shelf = ToolLibrary(DocumentTable(folder / "registry.json", "tools"), folder / "mcp_box")
    assert [(card.name, card.version, card.runs) for card in shelf.cards()] == [("double_it", 1, 2)]
    assert len(DocumentTable(folder / "memory.json", "items").all()) == 4
    file = SessionFile.open(folder / "session.json")
    assert check(file.envelopes()) == [] and file.restored.note == ""
    file.close()


@pytest.mark.parametrize("version", OLD)
def test_an_older_file_is_shown_without_being_changed(home, version):
    folder = home(version)
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    for name in FILES:
        assert JournalDB(folder / name, mode="readonly").tables() > {"store"}
    assert SessionFile.open(folder / "session.json", readonly=True).envelopes()
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_lines_added_by_an_older_process_are_understood(home):
    """It still holds version 1, and this process has read it already."""
    folder = home(1)
    path = folder / "spend.json"
    looking = JournalDB(path, mode="readonly")
    journal = path.with_name("spend.json.journal")
    added = journal.read_bytes().splitlines(keepends=True)[-1]
    journal.write_bytes(journal.read_bytes() + added)
    looking.journal.refresh()
    assert all("last" in row for row in looking.documents("days").rows.values())
