import multiprocessing
import threading
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from tinydb import TinyDB

from alita_tui.spine.redaction import Redactor
from alita_tui.store.documents import CleanDocuments, DocumentTable
from alita_tui.store.journal_reader import journal_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "registry.json"


def test_put_replaces_in_place_and_remove_removes(path):
    table = DocumentTable(path, "tools")
    for key in ("a", "b", "c"):
        table.put(key, {"name": key})
    table.put("a", {"name": "A"})
    table.remove("b")
    table.remove("never")
    assert table.all() == ({"name": "A"}, {"name": "c"})
    assert table.all() is table.all()
    table.close()
    with TinyDB(path) as plain:
        assert [row["value"]["name"] for row in plain.table("tools").all()] == ["A", "c"]
    assert DocumentTable(path, "tools").all() == ({"name": "A"}, {"name": "c"})


def test_two_openers_see_changes_of_each_other_at_once(path):
    one, two = DocumentTable(path, "tools"), DocumentTable(path, "tools")
    one.put("a", 1)
    two.put("b", 2)
    one.put("c", 3)
    assert one.all() == two.all() == (1, 2, 3)
    one.close()  # folds: the other one has to notice
    two.put("d", 4)
    assert one.all() == two.all() == (1, 2, 3, 4)
    two.remove("a")
    two.close()
    one.put("b", 20)
    assert DocumentTable(path, "tools").all() == (20, 3, 4)


def test_two_tables_share_a_file(path):
    tools, other = DocumentTable(path, "tools"), DocumentTable(path, "other")
    tools.put("k", 1)
    other.put("k", 2)
    assert (tools.all(), other.all()) == ((1,), (2,))


def test_a_put_writes_only_its_own_document(path):
    table = DocumentTable(path, "tools")
    table.put("big", "x" * 100_000)
    before, start = path.stat(), journal_of(path).stat().st_size
    table.put("small", 1)
    assert path.stat() == before and journal_of(path).stat().st_size - start < 200


def test_a_torn_record_of_a_dead_writer_is_cut_off(path):
    table = DocumentTable(path, "tools")
    table.put("a", 1)
    with journal_of(path).open("ab") as journal:
        journal.write(b'0badf00d ["put","tools","2",{"key":"b","val')
    assert table.all() == (1,)
    table.put("c", 3)
    assert table.all() == DocumentTable(path, "tools").all() == (1, 3)
    assert b"badf00d" not in journal_of(path).read_bytes()


def test_a_damaged_file_is_repaired_at_the_next_write(path):
    table = DocumentTable(path, "tools")
    for number in range(5):
        table.put(f"k{number}", number)
    table.close()
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'"value":2', b'"valu\x00'))
    again = DocumentTable(path, "tools")
    assert again.all() == (0, 1, 3, 4)
    again.put("k5", 5)
    assert path.with_name("registry.json.damaged-1").exists()
    again.close()
    with TinyDB(path) as plain:
        assert len(plain.table("tools")) == 5


def _work(path: Path, name: str, count: int) -> None:
    table = DocumentTable(path, "tools")
    for number in range(count):
        table.put(f"{name}{number}", {"name": f"{name}{number}", "pad": "p" * 200})
        if number % 17 == 0:
            table.close()


def test_processes_and_threads_lose_nothing(path):
    context = multiprocessing.get_context("spawn")
    workers: list[BaseProcess | threading.Thread] = [
        *(context.Process(target=_work, args=(path, name, 60)) for name in ("a", "b"))
    ]
    mine = DocumentTable(path, "tools")

    def put() -> None:
        for n in range(60):
            mine.put(f"t{n}", {"name": f"t{n}"})

    workers += [threading.Thread(target=put)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    names = {row["name"] for row in DocumentTable(path, "tools").all()}
    assert names == {f"{name}{number}" for name in "abt" for number in range(60)}
    mine.close()
    with TinyDB(path) as plain:
        assert len(plain.table("tools")) == 180


def test_a_document_with_a_secret_is_not_stored(tmp_path: Path) -> None:
    redactor = Redactor([("HOUSE_KEY", "open sesame 7731")])
    table = CleanDocuments(DocumentTable(tmp_path / "pages.json", "pages"), redactor.value)
    table.put("a", {"key": "a", "text": "Nothing to hide."})
    table.put("b", {"key": "b", "page": {"text": ["Say open sesame 7731 to enter."]}})
    assert [one["key"] for one in table.all()] == ["a"]
    assert not any(b"7731" in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    table.remove("a")
    assert table.all() == ()
