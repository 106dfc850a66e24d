"""What the person says again, elsewhere or after an edit: their newest word holds where they said it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from alita_tui.events import MemoryItem
from alita_tui.memory.recall import Recollection
from alita_tui.memory.stated import fact, stated
from alita_tui.store.documents import DocumentTable

SEVENTEEN = MemoryItem(
    item_id="fact:17", memory="semantic", text="our VAT rate is 17 percent", subject="our VAT rate",
    source_session="s", source_seq=3, origin="statement",
)  # fmt: skip
NINETEEN = replace(SEVENTEEN, item_id="fact:19", text="our VAT rate is 19 percent")
ASKED = "what is our VAT rate?"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.json"


def memory(path: Path, project: str = "") -> Recollection:
    return Recollection(DocumentTable(path, "items"), project=project)


def recalled(kept: Recollection) -> list[str]:
    return [item.text for item in kept.recall(ASKED)]


@pytest.mark.parametrize("origin", ["statement", "correction"])
def test_what_is_stated_after_an_edit_replaces_the_edit(path: Path, origin: str) -> None:
    kept = memory(path)
    kept.write(SEVENTEEN)
    kept.edit("fact:17", "our VAT rate is 18 percent")
    kept.write(replace(SEVENTEEN, source_session="later", origin=origin))
    assert recalled(kept) == [SEVENTEEN.text]


def test_an_edit_is_not_undone_by_the_event_that_it_corrects_nor_by_a_result(path: Path) -> None:
    kept = memory(path)
    kept.write(SEVENTEEN)
    kept.edit("fact:17", "our VAT rate is 18 percent")
    kept.write(SEVENTEEN)
    kept.write(replace(SEVENTEEN, source_session="later", origin="result"))
    assert recalled(kept) == ["our VAT rate is 18 percent"]


def test_what_is_stated_in_two_projects_holds_in_both(path: Path) -> None:
    shop, bank = memory(path, "shop"), memory(path, "bank")
    shop.write(SEVENTEEN)
    bank.write(NINETEEN)
    bank.write(replace(SEVENTEEN, source_session="later"))
    assert recalled(bank) == recalled(shop) == [SEVENTEEN.text]


def test_what_replaces_a_shared_fact_is_shared(path: Path) -> None:
    shop, bank = memory(path, "shop"), memory(path, "bank")
    shop.write(SEVENTEEN)
    shop.move("fact:17", "")
    bank.write(replace(NINETEEN, origin="correction"))
    assert recalled(shop) == recalled(bank) == [NINETEEN.text]


def test_a_project_s_own_fact_comes_before_a_shared_one(path: Path) -> None:
    shop, bank, farm = (memory(path, project) for project in ("shop", "bank", "farm"))
    farm.write(NINETEEN)
    for kept, session in ((shop, "a"), (bank, "b")):
        kept.write(replace(SEVENTEEN, source_session=session))
    assert recalled(farm) == [NINETEEN.text] and recalled(bank) == [SEVENTEEN.text]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("room 12 is the office", "room 13 is the kitchen"),
        ("our tax in 2025 is 19 percent", "our tax in 2026 is 21 percent"),
        ("plan A is the cheap one", "plan B is the quick one"),
        ("server-1 is in Kiel", "server-2 is in Bonn"),
        ("the port of 10.0.0.1 is 80", "the port of 10.0.0.2 is 81"),
    ],
)
def test_what_differs_in_a_number_or_a_letter_is_no_contradiction(
    path: Path, first: str, second: str
) -> None:
    kept = memory(path)
    for number, text in enumerate((first, second)):
        item = said(text, number)
        assert kept.write(item) == ()
    other = said(f"{first} no longer", 3)
    assert kept.write(other) == (said(first, 0).item_id,), "the same thing is still corrected"


def said(text: str, seq: int) -> MemoryItem:
    ((subject, statement, _),) = stated(f"Remember that {text}.")
    item = fact(subject, statement, "s", seq, "statement")
    assert item is not None
    return item


def test_of_many_facts_alike_the_one_with_the_number_of_the_task_comes_first(path: Path) -> None:
    kept = memory(path)
    for number in range(1, 80):
        kept.write(said(f"the depot number {number} of kind {number % 3} is in hall {number}", number))
    first = kept.recall("where is depot number 77?")[0]
    assert first.text.startswith("the depot number 77 ")


def test_a_long_task_without_spaces_is_read_quickly(path: Path) -> None:
    kept = memory(path)
    kept.write(SEVENTEEN)
    began = time.process_time()
    kept.recall("税" * 200_000)
    assert time.process_time() - began < 2
