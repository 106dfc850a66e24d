"""Recall with an encoder: what means the same in other words, and what is left of it when an item is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui.events import MemoryItem
from alita_tui.memory.background import REQUESTS
from alita_tui.memory.recall import Recollection
from alita_tui.registry.index_cache import IndexCache
from alita_tui.spine.ranking.vectors import Vectors
from alita_tui.store.documents import DocumentTable
from tests.support.servers.embedding_server import vector

TASK = "settle my bill"
"""Means what the recipe `pay` answered, and shares no word with it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.json"


def memory(path: Path, encoder: str = "m") -> Recollection:
    file = IndexCache(path.with_suffix(".vectors"))
    vectors = Vectors(encoder, file, REQUESTS) if encoder else None
    return Recollection(DocumentTable(path, "items"), vectors=vectors)


def encoded(kept: Recollection, task: str = TASK) -> list[str]:
    """Have the encoder asked for what a recall lacks; return what it was asked for."""
    assert kept.vectors is not None
    kept.recall(task)
    texts = kept.vectors.missing(task)
    kept.vectors.keep(texts, [vector(text) for text in texts])
    kept.vectors.save()
    return texts


def learn(kept: Recollection, **tasks: str) -> None:
    """Remember a recipe for each of these tasks."""
    for number, (name, task) in enumerate(tasks.items()):
        kept.write(
            MemoryItem(
                item_id=name, memory="procedural", text=task, source_session="s", source_seq=number, tools=(name,)
            )
        )  # fmt: skip


def recalled(kept: Recollection, task: str = TASK) -> list[str]:
    return [one.item_id for one in kept.recall(task)]


@pytest.mark.parametrize("others", [{}, {"sky": "will it rain on Monday", "look": "shrink the photo"}])
def test_a_recipe_is_recalled_for_a_task_in_other_words(path: Path, others: dict[str, str]) -> None:
    kept = memory(path)
    learn(kept, pay="transfer the money", **others)
    assert recalled(kept) == recalled(memory(path, "")) == [], "no word is shared"
    encoded(kept)
    assert recalled(kept) == ["pay"]
    (found,) = kept.recall(TASK)
    assert found.why, "it says why"


def test_a_task_unlike_all_memories_recalls_nothing(path: Path) -> None:
    kept = memory(path)
    learn(kept, pay="transfer the money", sky="will it rain on Monday")
    for task in ("shrink a picture", "prove the theorem"):
        encoded(kept, task)
        assert recalled(kept, task) == []


def test_a_fact_is_recalled_for_a_task_in_different_words(path: Path) -> None:
    kept = memory(path)
    kept.write(
        MemoryItem(
            item_id="f", memory="semantic", text="all money goes through Mrs Olsen", subject="money", origin="statement",
            source_session="s", source_seq=1,
        )
    )  # fmt: skip
    kept.write(
        MemoryItem(
            item_id="g", memory="semantic", text="the weather station is in Kiel", subject="the weather station",
            origin="statement", source_session="s", source_seq=2,
        )
    )  # fmt: skip
    before = recalled(kept, "whom do we send the invoice bill")
    encoded(kept, "who gets this bill")
    assert recalled(kept, "who gets this bill") == ["f"]
    assert recalled(kept, "whom do we send the invoice bill") == before, (
        "without its vector a task goes by words"
    )


def test_a_recipe_is_the_mean_of_its_tasks(path: Path) -> None:
    kept = memory(path)
    learn(kept, pay="transfer the money")
    kept.write(
        MemoryItem(
            item_id="pay", memory="procedural", text="rain photo", source_session="s", source_seq=9, tools=("pay",)
        )
    )  # fmt: skip
    encoded(kept)
    assert kept.vectors is not None
    ((name, cosine),) = [(key, one) for key, one in kept.vectors.cosines(TASK).items() if key == "pay"]
    assert name == "pay" and 0.3 < cosine < 0.9


def test_forgetting_takes_the_vectors_away(path: Path) -> None:
    kept, file = memory(path), path.with_suffix(".vectors")
    learn(kept, pay="transfer the money", sky="will it rain on Monday")
    encoded(kept)
    kept.forget("pay")
    again = memory(path)
    again.recall(TASK)
    assert again.vectors is not None and "transfer the money" not in again.vectors.missing("")
    learned = Vectors("m", IndexCache(file))
    learned.know({"pay": ("", ("transfer the money",)), "sky": ("", ("will it rain on Monday",))})
    assert learned.missing("") == ["transfer the money"], "of the others nothing is lost"


def test_items_forgotten_by_another_process_are_gone_at_the_next_recall(path: Path) -> None:
    kept, other = memory(path), memory(path)
    learn(kept, pay="transfer the money", sky="will it rain on Monday")
    encoded(kept)
    other.forget("pay")
    encoded(kept, "rain in May")
    learned = Vectors("m", IndexCache(path.with_suffix(".vectors")))
    learned.know({"pay": ("", ("transfer the money",))})
    assert learned.missing("") == ["transfer the money"]


def test_forgetting_leaves_no_vectors_of_an_encoder_that_was_set_before(path: Path) -> None:
    kept, file = memory(path, "before"), path.with_suffix(".vectors")
    learn(kept, pay="transfer the money")
    encoded(kept)
    assert file.is_file()
    memory(path, "now").forget("pay")
    learned = Vectors("before", IndexCache(file))
    learned.know({"pay": ("", ("transfer the money",))})
    assert learned.missing("") == ["transfer the money"]


def test_restored_items_are_encoded_again(path: Path) -> None:
    kept = memory(path)
    learn(kept, pay="transfer the money")
    encoded(kept)
    kept.forget("pay")
    kept.bring_back("pay")
    assert "transfer the money" in encoded(kept)
    assert recalled(kept) == ["pay"]


def test_without_an_encoder_there_is_no_file(path: Path) -> None:
    kept = memory(path, "")
    learn(kept, pay="transfer the money")
    assert recalled(kept, "transfer money") == ["pay"]
    kept.forget("pay")
    assert [one.name for one in path.parent.iterdir() if "vectors" in one.name] == []
