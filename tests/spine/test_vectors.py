"""Vectors of the library: which are missing, what is kept of them, and what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui.registry.index_cache import IndexCache
from alita_tui.spine.ranking import Ranker
from alita_tui.spine.ranking.vectors import Vectors

TOOLS = {"a": ("own a", ("need 1", "need 2")), "b": ("own b", ())}
X, Y = [1.0, 0.0], [0.0, 1.0]


def vectors(folder: Path, encoder: str = "m") -> Vectors:
    return Vectors(encoder, IndexCache(folder / "v"))


def test_missing_vectors_start_with_the_query_and_own_words(tmp_path: Path) -> None:
    made = vectors(tmp_path)
    made.know(TOOLS)
    assert made.missing("q") == ["q", "own a", "own b", "need 1", "need 2"]
    made.keep(["q", "own a"], [X, X])
    assert made.missing("q") == ["own b", "need 1", "need 2"]
    assert made.cosines("q") == {"a": pytest.approx(1.0)}, "a tool without a vector is not compared"


def test_the_vector_of_a_tool_is_half_its_words_and_half_its_needs(tmp_path: Path) -> None:
    made = vectors(tmp_path)
    made.know(TOOLS)
    made.keep(["q", "own a", "own b", "need 1", "need 2"], [X, Y, Y, X, X])
    assert made.cosines("q") == {"a": pytest.approx(0.5**0.5), "b": pytest.approx(0.0)}


def test_the_file_holds_vectors_of_the_library_for_one_encoder(tmp_path: Path) -> None:
    made = vectors(tmp_path)
    made.know(TOOLS)
    made.keep(["q", "own a", "own b"], [X, X, Y])
    made.know({"b": TOOLS["b"]})
    made.save()
    again = vectors(tmp_path)
    again.know(TOOLS)
    assert again.missing("q") == ["q", "own a", "need 1", "need 2"]
    other = vectors(tmp_path, "n")
    other.know(TOOLS)
    assert "own b" in other.missing("")


@pytest.mark.parametrize("bad", [[0.0, 0.0], [float("nan"), 1.0], [1.0, 2.0, 3.0], []])
def test_a_vector_of_another_shape_counts_as_missing(tmp_path: Path, bad: list[float]) -> None:
    made = vectors(tmp_path)
    made.know(TOOLS)
    made.keep(["own a", "own b"], [X, bad])
    assert "own b" in made.missing("")
    made.keep(["q"], [X])
    assert [*made.cosines("q")] == ["a"]


def test_vectors_find_texts_without_shared_words_and_do_not_outrank_full_matches() -> None:
    ranker = Ranker()
    texts = {"mail": "send electronic mail", "sky": "rain forecast", "sum": "add numbers", "map": "draw maps"}
    for key, text in texts.items():
        ranker.put(key, [(text, 1.0)])
    cosines = {"mail": 0.1, "sky": 0.1, "sum": 0.1, "map": 0.6}
    assert [one.key for one in ranker.rank("umbrella today", cosines=cosines)] == ["map"]
    assert ranker.rank("umbrella today") == []
    assert ranker.rank("rain forecast", cosines=cosines)[0].key == "sky"
    assert ranker.rank("rain forecast", cosines={"gone": 0.9})[0].key == "sky", "a tool that is no more"


def test_of_tools_with_the_same_words_the_nearer_comes_first() -> None:
    ranker = Ranker()
    for key in ("a", "b", "c", "d"):
        ranker.put(key, [(f"rain {key}{key}{key}", 1.0)])
    far = {"a": 0.1, "b": 0.1, "d": 0.1}
    assert [one.key for one in ranker.rank("rain")][0] == "a"
    assert [one.key for one in ranker.rank("rain", cosines={**far, "c": 0.6})][0] == "c"


def test_cosines_count_against_a_background_once_most_of_that_is_known(tmp_path: Path) -> None:
    made = Vectors("m", IndexCache(tmp_path / "v"), ["any 1", "any 2", "any 3"])
    made.know(TOOLS)
    assert made.missing("q")[:4] == ["q", "any 1", "any 2", "any 3"], "the background comes before all else"
    made.keep(["q", "own a", "any 1"], [X, X, Y])
    assert not made.near("q").cosines and made.cosines("q"), "one of three says little"
    made.keep(["any 2"], [Y])
    near = made.near("q")
    assert near.cosines == {"a": pytest.approx(1.0)} and near.background == (0.0, 0.0)


def test_a_single_text_is_compared_with_a_background() -> None:
    ranker = Ranker()
    ranker.put("mail", [("send electronic mail", 1.0)])
    assert ranker.rank("write to ada", cosines={"mail": 0.6}) == []
    (found,) = ranker.rank("write to ada", cosines={"mail": 0.6}, background=[0.0, 0.1] * 10)
    assert found.close > 5


def test_removed_texts_leave_the_file(tmp_path: Path) -> None:
    made = vectors(tmp_path)
    made.know(TOOLS)
    made.keep(["own a", "own b"], [X, Y])
    made.save()
    made.clear()
    assert not (tmp_path / "v").exists()
    made.know({"b": TOOLS["b"]})
    made.save()
    again = vectors(tmp_path)
    again.know(TOOLS)
    assert "own a" in again.missing("") and "own b" not in again.missing("")
