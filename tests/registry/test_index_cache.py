"""The index of a large library is read from a file, and a file that is not what it should be does no harm."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from alita_tui.events import ToolRecord
from alita_tui.registry.index_cache import IndexCache
from alita_tui.registry.search import ToolIndex
from alita_tui.spine.ranking import Served
from alita_tui.spine.ranking.index import Index
from alita_tui.spine.ranking.segment import Entry
from tests.benchmarks.retrieval_set import made_up

TOOLS = list(made_up(150, 3))
QUERIES = [served[0].query for _, served in TOOLS[::10]]


def answers(index: ToolIndex) -> list[tuple[str, ...]]:
    found = (index.search(query, 5) for query in QUERIES)
    return [(*(hit.card.name for hit in one.hits), *(miss.name for miss in one.near_misses)) for one in found]


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was indexed rather than read."""
    seen: list[str] = []
    put = Index.put

    def watched(self: Index, key: str, entry: Entry) -> None:
        seen.append(key)
        put(self, key, entry)

    monkeypatch.setattr(Index, "put", watched)
    return seen


def opened(path: Path, tools: Sequence[tuple[ToolRecord, Sequence[Served]]] = TOOLS) -> ToolIndex:
    index = ToolIndex(IndexCache(path))
    index.update(tools)
    return index


def test_a_large_index_is_loaded_and_only_changes_are_indexed(tmp_path: Path, indexed: list[str]) -> None:
    path = tmp_path / "tools.index"
    first = answers(opened(path))
    assert path.stat().st_mode & 0o777 == 0o600 and len(indexed) == len(TOOLS)
    assert [one.name for one in tmp_path.iterdir()] == ["tools.index"]
    indexed.clear()
    assert answers(opened(path)) == first and indexed == []
    (record, served), gone = TOOLS[3], TOOLS[7][0].draft.name
    changed = [
        *TOOLS[:3],
        (record, [*served, Served(query="an umbrella for the penguin")]),
        *TOOLS[4:7],
        *TOOLS[8:],
    ]
    index = opened(path, changed)
    assert index.search("penguin umbrella", 5).hits[0].card.name == record.draft.name
    assert indexed == [record.draft.name]
    assert all(gone not in one for one in answers(index))


def test_a_small_library_has_no_file(tmp_path: Path) -> None:
    path = tmp_path / "tools.index"
    index = ToolIndex(IndexCache(path))
    index.update(TOOLS[:20])
    index.search("anything", 5)
    assert not path.exists()


def flipped(data: bytes) -> bytes:
    at = random.Random(5).randrange(len(data))
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


@pytest.mark.parametrize(
    "damage",
    [flipped, lambda data: data[:-9], lambda data: b"", lambda data: b"\0" * 99, lambda data: data + b"x"],
)
def test_a_damaged_file_counts_as_missing(
    tmp_path: Path, indexed: list[str], damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "tools.index"
    first = answers(opened(path))
    path.write_bytes(damage(path.read_bytes()))
    indexed.clear()
    assert answers(opened(path)) == first and len(indexed) == len(TOOLS)
    indexed.clear()
    assert answers(opened(path)) == first and indexed == [], "it was written anew"


def test_search_works_without_a_place_for_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert answers(opened(tmp_path / "file" / "tools.index"))[0]
    (tmp_path / "tools.index").mkdir()
    assert answers(opened(tmp_path / "tools.index"))[0]
    target = tmp_path / "target"
    target.write_text("precious")
    link = tmp_path / "link"
    link.symlink_to(target)
    assert answers(opened(link))[0]
    assert target.read_text() == "precious"
