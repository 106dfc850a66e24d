"""What the person does with the memory: forgetting holds, whatever ends the process and however it is learned again."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from alita_tui.events import Json, MemoryItem
from alita_tui.memory.recall import Recollection
from alita_tui.memory.stored import id_digest
from alita_tui.spine.errors import UsageError
from alita_tui.store.documents import DocumentTable

TOLD = MemoryItem(
    item_id="fact:1", memory="semantic", text="our fiscal year starts in April", subject="our fiscal year",
    source_session="s", source_seq=3, origin="statement",
)  # fmt: skip
ASKED = "when does our fiscal year start"


def memory(path: Path, **options) -> Recollection:
    return Recollection(DocumentTable(path, "items"), **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.json"


def test_a_forgotten_item_does_not_return_under_any_id(path: Path) -> None:
    kept = memory(path)
    kept.write(TOLD)
    assert kept.forget("fact:1") is not None and kept.forget("fact:1") is None
    again = replace(TOLD, source_session="other", source_seq=9)
    reworded = replace(TOLD, item_id="fact:2", text="Our  fiscal year starts in April!")
    assert [memory(path).write(one) for one in (TOLD, again, reworded)] == [None] * 3
    assert memory(path).recall(ASKED) == kept.items() == ()
    assert memory(path).write(replace(TOLD, item_id="fact:3", text="our fiscal year starts in July")) == ()


def test_forgotten_ids_are_distinguished_from_present_and_unknown_ones(path: Path) -> None:
    kept = memory(path)
    for item_id, text in (("fact:1", TOLD.text), ("fact:2", "the depot is in Kiel")):
        kept.write(replace(TOLD, item_id=item_id, text=text, subject=text))
    kept.forget("fact:1")
    assert memory(path).forgotten_among(("fact:1", "fact:2", "fact:3")) == {"fact:1"}
    kept.bring_back("fact:1")
    assert memory(path).forgotten_among(("fact:1",)) == set()


def test_a_forgotten_recipe_is_not_learned_again(path: Path) -> None:
    recipe = MemoryItem(item_id="recipe:1", memory="procedural", text="factor 91", tools=("prime_factors",))
    kept = memory(path)
    kept.write(recipe)
    kept.forget("recipe:1")
    assert kept.write(replace(recipe, text="factor 360", source_seq=9)) is None
    assert kept.write(replace(recipe, item_id="recipe:2", tools=("other",))) == ()


def test_forgetting_leaves_no_text_of_the_item_on_disk(path: Path) -> None:
    table = DocumentTable(path, "items")
    kept = Recollection(table)
    kept.write(TOLD)
    kept.forget("fact:1")
    table.close()
    left = b"".join(one.read_bytes() for one in path.parent.iterdir())
    assert b"fiscal" not in left and b"April" not in left and b"forgotten" in left
    (grave,) = memory(path).forgotten()
    assert len(grave.digest) == 64 and grave.at


def test_undo_restores_a_forgotten_item_in_the_same_process_only(path: Path) -> None:
    kept = memory(path)
    kept.write(TOLD)
    kept.pin("fact:1", True)
    before = kept.find("fact:1")
    kept.forget("fact:1")
    with pytest.raises(UsageError):
        memory(path).bring_back("fact:1")
    kept.bring_back("fact:1")
    assert memory(path).find("fact:1") == before and memory(path).forgotten() == ()
    with pytest.raises(UsageError):
        kept.bring_back("fact:1")


def test_a_kill_during_forgetting_leaves_the_item_whole_or_forgotten_for_good(tmp_path: Path) -> None:
    place, ended = 0, False
    while not ended:
        place += 1
        path = tmp_path / f"cut{place}" / "memory.json"
        table = DocumentTable(path, "items")
        Recollection(table).write(TOLD)
        table.close()
        # A process of its own: one that has threads cannot be forked safely.
        words = [sys.executable, "-m", "tests.memory.forgetter", str(path), str(place)]
        code = subprocess.run(words, check=False, timeout=60).returncode
        ended = code == 0
        assert ended or code == -signal.SIGKILL
        kept = memory(path)
        gone = not kept.items()
        if gone:
            assert kept.write(TOLD) is None, f"it came back after a kill at {place}"
        else:
            assert kept.items() == (TOLD,) and kept.recall(ASKED), f"it is neither there nor gone at {place}"
        assert gone or not (path.parent / "acknowledged").exists()
    assert place > 8, "every change of the disk was tried"


class Cut:
    """Documents of a process that is killed before one of its changes."""

    def __init__(self, table: DocumentTable, left: int) -> None:
        self._table, self._left = table, left

    def all(self) -> tuple[Json, ...]:
        return self._table.all()

    def put(self, key: str, document: Json, *, barrier: bool = True) -> None:
        self._count()
        self._table.put(key, document)

    def remove(self, key: str) -> None:
        self._count()
        self._table.remove(key)

    def changing(self) -> AbstractContextManager[None]:
        return self._table.changing()

    def sync(self) -> None:
        self._table.sync()

    def _count(self) -> None:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1


@pytest.mark.parametrize("minutes", [0, 1], ids=["within a second", "in a minute"])
@pytest.mark.parametrize("change", ["write", "edit"])
def test_no_kill_leaves_two_facts_true_that_contradict_each_other(
    tmp_path: Path, change: str, minutes: int
) -> None:
    july = "our fiscal year starts in July"
    newer = replace(TOLD, item_id="fact:2", text=july, source_seq=9, origin="correction")
    other = replace(TOLD, item_id="fact:2", text="the depot is in Kiel", subject="the depot", source_seq=9)

    def changed(kept: Recollection) -> None:
        kept.write(newer) if change == "write" else kept.edit("fact:2", july)

    clock = itertools.count(step=minutes)
    now = lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=next(clock))  # noqa: E731
    for left in range(3):
        table = DocumentTable(tmp_path / f"{left}.json", "items")
        Recollection(table, now=now).write(TOLD)
        if change == "edit":
            Recollection(table, now=now).write(other)
        with suppress(KeyboardInterrupt):
            changed(Recollection(Cut(table, left), now=now))
        (holds,) = Recollection(table, now=now).recall(ASKED)
        assert holds.text == (july if left else TOLD.text)
        changed(Recollection(table, now=now))  # told again, when the session is opened again
        kept = Recollection(table, now=now)
        assert [item.text for item in kept.recall(ASKED)] == [july] and not kept.find("fact:1").holds
    kept.edit("fact:1", "our fiscal year starts in May")
    assert [item.text for item in kept.recall(ASKED)] == ["our fiscal year starts in May"]


def test_an_interrupted_forgetting_is_completed_by_the_next_change(path: Path) -> None:
    table = DocumentTable(path, "items")
    Recollection(table).write(TOLD)
    with suppress(KeyboardInterrupt):
        Recollection(Cut(table, 1)).forget("fact:1")
    assert "April" in str(table.all()) and memory(path).items() == ()
    Recollection(table).write(replace(TOLD, item_id="fact:2", text="the depot is in Kiel", subject="depot"))
    assert "April" not in str(table.all()) and memory(path).forgotten_among(("fact:1",))


@pytest.mark.parametrize(
    "odd",
    [
        {"at": "yesterday"}, {"at": "2026-01-01T00:00:00"}, {"until": "later"}, {"worked": -2},
        {"failed": -2}, {"at": "9999-12-31T23:59:59+00:00"}, {"at": "0001-01-01T00:00:00+00:00"},
    ],
)  # fmt: skip
def test_invalid_handwritten_documents_are_ignored(path: Path, odd: dict[str, Json]) -> None:
    table = DocumentTable(path, "items")
    Recollection(table).write(TOLD)
    (document,) = table.all()
    damaged = replace(TOLD, item_id="fact:9", text="our fiscal year starts in May")
    table.put("fact:9", {**document, **odd, "item": to_builtins(damaged)})
    kept = memory(path)
    assert [item.item_id for item in kept.recall(ASKED)] == ["fact:1"]
    assert [one.item.item_id for one in kept.remembered()] == ["fact:1"]
    kept.forget("fact:1")
    table.put("forgotten:x", {"forgotten": id_digest("fact:7"), "content": "c", "at": "whenever"})
    assert memory(path).forgotten_among(("fact:1", "fact:7")) == {"fact:1", "fact:7"}, "a stone always holds"


def test_an_edit_is_not_overwritten_by_learning(path: Path) -> None:
    kept = memory(path)
    kept.write(TOLD)
    edited = kept.edit("fact:1", "our fiscal year starts in October")
    assert (edited.item.origin, edited.item.subject) == ("person", "our fiscal year")
    assert kept.write(TOLD) == kept.write(replace(TOLD, source_seq=77, origin="answer")) == ()
    (found,) = memory(path).recall(ASKED)
    assert found.text.endswith("October")


@pytest.mark.parametrize("text", ["", "   ", "my password is swordfish", "x" * 300])
def test_an_edit_that_is_no_fact_is_refused(path: Path, text: str) -> None:
    kept = memory(path)
    kept.write(TOLD)
    with pytest.raises(UsageError):
        kept.edit("fact:1", text)
    assert kept.items() == (TOLD,)


def test_what_is_learned_again_is_listed_as_the_newest(path: Path) -> None:
    clock = itertools.count()
    kept = memory(path, now=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=next(clock)))
    kept.write(TOLD)
    kept.write(replace(TOLD, item_id="fact:2", text="the depot is in Kiel", subject="the depot"))
    kept.write(replace(TOLD, source_seq=9))
    assert [one.item.item_id for one in kept.remembered()] == ["fact:2", "fact:1"]


def test_a_recipe_cannot_be_edited_and_an_unknown_id_is_reported(path: Path) -> None:
    kept = memory(path)
    kept.write(MemoryItem(item_id="recipe:1", memory="procedural", text="factor", tools=("a",)))
    kept.write(MemoryItem(item_id="recipe:12", memory="procedural", text="factor", tools=("b",)))
    for wrong in (lambda: kept.edit("recipe:1", "x"), lambda: kept.find("none"), lambda: kept.find("recipe:"), lambda: kept.find("")):  # fmt: skip
        with pytest.raises(UsageError):
            wrong()
    assert kept.find("recipe:1").item.tools == ("a",) and kept.find("recipe:12").item.tools == ("b",)


def test_items_of_another_project_are_not_recalled_but_recipes_without_their_task(path: Path) -> None:
    shop, bank = memory(path, project="shop"), memory(path, project="bank")
    shop.write(TOLD)
    recipe = MemoryItem(
        item_id="recipe:1", memory="procedural", text="sum the shop's ledger", tools=("add_up",)
    )
    shop.write(recipe)
    assert bank.recall(ASKED) == ()
    (found,) = bank.recall("sum the ledger of the shop")
    assert found.text == "add_up (worked 1 of 1 times)", "the other project's task is not told"
    assert shop.recall("sum the ledger of the shop")[0].text.startswith("sum the shop's ledger: add_up")
    bank.write(replace(TOLD, item_id="fact:2", text="our fiscal year starts in May"))
    assert shop.recall(ASKED)[0].text.endswith("April"), "another project's fact closes nothing"
    shop.move("fact:1", "")
    assert [item.item_id for item in bank.recall(ASKED)] == ["fact:2"], "its own comes before what is shared"
    assert [item.item_id for item in memory(path, project="inn").recall(ASKED)] == ["fact:1"]


def test_old_items_fade_until_they_are_not_recalled_unless_pinned(path: Path) -> None:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    kept = memory(path, now=lambda: clock[0])
    kept.write(TOLD)
    (fresh,) = kept.recall(ASKED)
    clock[0] += timedelta(days=365)
    (older,) = kept.recall(ASKED)
    assert older.score == pytest.approx(fresh.score / 2, rel=0.01)
    clock[0] += timedelta(days=3 * 365)
    assert kept.recall(ASKED) == ()
    kept.pin("fact:1", True)
    assert kept.recall(ASKED)[0].score == fresh.score


def test_a_memory_of_an_earlier_version_opens_and_can_be_used(path: Path) -> None:
    """As version 0.1 wrote it: no dates, projects or graphs."""
    old = {
        "items": {
            "1": {"key": "recipe:abc", "value": {"item": {"item_id": "recipe:abc", "memory": "procedural", "text": "factor 91 into primes", "source_session": "20260101-000000-old0", "source_seq": 40, "tools": ["prime_factors"]}, "worked": 2, "sources": ["20260101-000000-old0:20", "20260101-000000-old0:40"], "tasks": ["which primes divide 360", "factor 91 into primes"]}},
            "2": {"key": "rejection:x:s:1", "value": {"item": {"item_id": "rejection:x:s:1", "memory": "semantic", "text": "A build of x (Draw) was rejected: unsafe"}, "worked": 1, "sources": ["s:1"], "tasks": ["A build of x (Draw) was rejected: unsafe"]}},
        }
    }  # fmt: skip
    path.write_text(json.dumps(old))
    kept = memory(path, project="shop")
    assert [one.sort for one in kept.remembered()] == ["recipe", "rejection"]
    (found,) = kept.recall("factor 1001 into primes")
    assert found.text == "factor 91 into primes: prime_factors (worked 2 of 2 times)"
    assert kept.lessons("x", "Draw")[0].text.endswith("unsafe")
    kept.write(
        MemoryItem(item_id="recipe:abc", memory="procedural", text="factor 77", tools=("prime_factors",))
    )
    again = kept.find("recipe:abc")
    assert (again.worked, again.project) == (3, "") and again.at
