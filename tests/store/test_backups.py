import json
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.store import upgrades
from alita_tui.store.backups import Backups
from alita_tui.store.documents import DocumentTable


class Home:
    def __init__(self, folder: Path) -> None:
        self.memory = folder / "memory.json"
        self.registry = folder / "registry.json"
        self.box = folder / "mcp_box"
        self.minutes = 0
        self.backups = Backups(
            folder / "backups",
            {"registry.json": self.registry, "memory.json": self.memory},
            {"mcp_box": self.box},
            self.now,
        )

    def now(self) -> datetime:
        self.minutes += 1
        return datetime(2026, 11, 21, tzinfo=UTC) + timedelta(minutes=self.minutes)

    def tool(self, name: str, code: str) -> None:
        place = self.box / name / "v1"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.py").write_text(code)
        DocumentTable(self.registry, "tools").put(name, {"tool": name, "code": code})

    def remember(self, key: str, text: str) -> None:
        DocumentTable(self.memory, "items").put(key, {"text": text})

    def state(self) -> tuple[object, ...]:
        tables = [DocumentTable(self.registry, "tools").all(), DocumentTable(self.memory, "items").all()]
        return (*tables, {str(one.relative_to(self.box)): one.read_text() for one in self.box.rglob("*.py")})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.tool("dice", "one")
    made.remember("a", "the first")
    return made


def test_a_backup_is_restored_and_restoring_can_be_undone(home):
    first = home.state()
    kept = home.backups.create()
    assert kept.reason == "manual" and sorted(kept.files) == [
        "mcp_box/dice/v1/dice.py", "memory.json", "registry.json",
    ]  # fmt: skip
    home.tool("dice", "two")
    home.remember("b", "the second")
    DocumentTable(home.memory, "items").remove("a")
    second = home.state()
    open_elsewhere = DocumentTable(home.memory, "items")
    assert open_elsewhere.all() == ({"text": "the second"},)

    restored, before = home.backups.restore(kept.backup_id[:20])
    assert restored == kept and before.reason == "restore"
    assert home.state() == first
    assert open_elsewhere.all() == ({"text": "the first"},), "whoever has it open sees it at once"
    open_elsewhere.put("c", {"text": "the third"})

    home.backups.restore(before.backup_id)
    assert home.state() == second
    assert [one.reason for one in home.backups.list()] == ["restore", "restore", "manual"]


def test_files_of_later_tools_stay(home):
    kept = home.backups.create()
    home.tool("cards", "three")
    home.backups.restore(kept.backup_id)
    assert (home.box / "cards" / "v1" / "cards.py").read_text() == "three"
    assert [one["tool"] for one in DocumentTable(home.registry, "tools").all()] == ["dice"]


def test_automatic_backups_are_limited_and_manual_ones_stay(home):
    mine = home.backups.create()
    made = [home.backups.create("clean-up").backup_id for _ in range(14)]
    assert [one.backup_id for one in home.backups.list()] == [*reversed(made[-10:]), mine.backup_id]


@pytest.mark.parametrize("damage", ["cut", "changed", "escaping", "newer", "empty"])
def test_a_damaged_or_foreign_backup_changes_nothing(home, damage, tmp_path):
    kept = home.backups.create()
    path = Path(kept.path)
    raw = path.read_bytes()
    if damage == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        repack(path, damage)
    before = home.state()
    with pytest.raises(StoreError, match="damaged|no backup|newer"):
        home.backups.restore(kept.backup_id)
    assert home.state() == before and not (tmp_path / "evil").exists()
    assert len(list(home.backups.folder.iterdir())) == 1, "nothing was backed up for nothing"


def repack(path: Path, damage: str) -> None:
    with tarfile.open(path) as archive:
        opened = {one.name: archive.extractfile(one) for one in archive}
        files = {name: file.read() for name, file in opened.items() if file}
        assert files.keys() == opened.keys()
    if damage == "changed":
        files["memory.json"] = files["memory.json"].replace(b"first", b"worst")
    elif damage == "escaping":
        files["../evil"] = b"x"
    else:
        about = json.loads(files["backup.json"])
        files["backup.json"] = json.dumps({**about, "schema_version": 99}).encode()
    with tarfile.open(path, "w:gz") as archive:
        for name, raw in files.items():
            place = path.with_name("piece")
            place.write_bytes(raw)
            archive.add(place, name)
            place.unlink()


def test_an_unknown_id_is_reported(home):
    with pytest.raises(UsageError, match="no backup 'nope'"):
        home.backups.restore("nope")
    with pytest.raises(UsageError, match="no backup ''"):
        home.backups.restore("")


def test_an_older_file_is_backed_up_once_before_its_upgrade(home):
    assert home.backups.before_upgrade(home.memory) is None
    DocumentTable(home.memory, "items").close()
    raw = home.memory.read_text().replace(f'"schema_version":{upgrades.SCHEMA_VERSION}', '"schema_version":1')
    home.memory.write_text(raw)
    made = home.backups.before_upgrade(home.memory)
    assert made is not None and made.reason == "upgrade"
    DocumentTable(home.memory, "items")
    assert home.backups.before_upgrade(home.memory) is None
    assert f'"schema_version":{upgrades.SCHEMA_VERSION}' in home.memory.read_text()


def test_a_full_disk_leaves_no_half_a_backup(home, monkeypatch):
    def broken(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        with pytest.raises(StoreError, match="disk is full"):
            home.backups.create()
    assert home.backups.list() == () and list(home.backups.folder.iterdir()) == []
