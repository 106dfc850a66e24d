"""Folders of tools and questions: read as suites, searched as a library, and never run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from alita_tui.app.context import AppContext
from alita_tui.config.paths import shipped
from alita_tui.evaluation.checks import Exact, judge_text
from alita_tui.evaluation.suite import read_suite
from alita_tui.spine.errors import RegistryError, UsageError

TOOLS = {
    "tide_times": "Returns when high and low water is.",
    "chess_move": "Suggests the best move in chess.",
}


def folder(path: Path, queries: str, tools: object = None) -> Path:
    path.mkdir(exist_ok=True)
    (path / "my_tools.json").write_text(json.dumps(TOOLS if tools is None else tools))
    (path / "my_queries.csv").write_text(queries)
    return path


def test_a_question_is_solved_only_by_the_name_of_its_tool(tmp_path: Path) -> None:
    suite = read_suite(
        folder(tmp_path / "s", 'tool,query\ntide_times,"When is high water, Sir?"\n,Am I happy?\n')
    )
    first, none = suite.cases
    assert first.task.endswith("Request: When is high water, Sir?") and first.tags == ("tide_times",)
    assert isinstance(first.check, Exact) and isinstance(none.check, Exact)
    solves = {
        answer: judge_text(first.check, answer).solved for answer in ("tide_times", "chess_move", "none", "")
    }
    assert solves == {"tide_times": True, "chess_move": False, "none": False, "": False}
    assert judge_text(none.check, "None.").solved and not judge_text(none.check, "tide_times").solved
    assert dict(suite.described) == TOOLS


def test_another_description_is_another_suite(tmp_path: Path) -> None:
    queries = "tool,query\ntide_times,When?\n"
    before = read_suite(folder(tmp_path / "s", queries)).digest
    assert read_suite(folder(tmp_path / "s", queries)).digest == before
    assert (
        read_suite(folder(tmp_path / "s", queries, {**TOOLS, "chess_move": "Plays chess."})).digest != before
    )


@pytest.mark.parametrize(
    ("queries", "tools", "said"),
    [
        ("tool,query\nnobody,When?\n", None, "'nobody', which is no tool"),
        ("tool,query\ntide_times,\n", None, "row 1: it has no query"),
        ("name,text\na,b\n", None, "no query"),
        ("tool,query\n", None, "no case"),
        ("tool,query\ntide_times,When?\n", ["tide_times"], "my_tools.json"),
    ],
)
def test_an_invalid_folder_is_refused_with_the_reason(
    tmp_path: Path, queries: str, tools: object, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        read_suite(folder(tmp_path / "s", queries, tools))


def test_the_shipped_set_has_three_questions_for_each_tool() -> None:
    suite = read_suite(shipped("suites") / "retrieval")
    asked = [tag for case in suite.cases for tag in case.tags]
    assert {asked.count(name) for name, _ in suite.described} == {3} and len(suite.described) == 40
    assert asked.count("none") == 6 and len({case.task for case in suite.cases}) == len(suite.cases)


def test_described_tools_are_found_but_neither_run_nor_stored(tmp_path: Path) -> None:
    app = replace(AppContext.open(tmp_path), described=tuple(TOOLS.items()))
    found = app.library.search("When is high water?")
    assert found.hits and found.hits[0].card.name == "tide_times"
    assert [str(card.name) for card in app.library.cards()] == ["chess_move", "tide_times"]
    for version in (None, 1):
        with pytest.raises(RegistryError, match="no code to run|no tool"):
            app.library.get("tide_times", version)
    app.close()
    again = AppContext.open(tmp_path)
    assert again.library.cards() == (), "nothing of it is on disk"
    again.close()
