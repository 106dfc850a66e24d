"""Checks: what a person would call right is right, and what is wrong is told."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any, cast

import pytest

from alita_tui import events as e
from alita_tui.app.evaluation.checks import judge
from alita_tui.app.evaluation.run_store import suite_path
from alita_tui.confined.answers import Question, as_text, ask, start
from alita_tui.evaluation.checks import (
    Contains,
    Every,
    Exact,
    Judged,
    Number,
    Rubric,
    Untouched,
    judge_text,
    same_table,
    same_value,
)  # fmt: skip
from alita_tui.evaluation.suite import read_suite
from alita_tui.spine.errors import UsageError
from tests.app.evaluation.suites import suite
from tests.support import goldens


@pytest.mark.parametrize(
    ("check", "answer", "solved"),
    [
        (Exact(text="Paris"), " Paris\n", True),
        (Exact(text="Paris"), "paris", False),
        (Exact(text="The  Seine", loose=True), "seine.", True),
        (Exact(text="Paris", loose=True), "Paris, France", False),
        (Number(value=45), "From 2020 to 2021 it was 45.", True),
        (Number(value=45), "It was 45 in 2021.", False),
        (Number(value=45, unit="kg"), "It was 45 kg in 2021.", True),
        (Number(value=45, unit="kg"), "It was 45 kgs.", False),
        (Number(value=1234.5, unit="€"), "€1,234.50 by 2026", True),
        (Number(value=12.5, unit="%"), "12.5% of 80", True),
        (Number(value=-3), "It is \u22123", True),
        (Number(value=100, tolerance=1), "101", True),
        (Number(value=100, tolerance=1), "101.01", False),
        (Number(value=1000, relative=0.01), "990", True),
        (Number(value=1000, relative=0.01), "989", False),
        (Number(value=6.02e23, relative=0.01), "6.02e23", True),
        (Number(value=1), "none at all", False),
        (Number(value=42), "It emits 42 kg of CO2.", True),
        (Number(value=2), "It emits 42 kg of CO2.", False),
        (Number(value=12), "10-12 apples", True),
        (Number(value=-42), "2026年の答えは-42です", True),
        (Number(value=42), "2026年の答えは42です", True),
        (Number(value=0.3, tolerance=0.1), "0.4", True),
        (Number(value=0.3, tolerance=0.1), "0.401", False),
        (Number(value=0.3), "0.30000000000000004", True),
        (Number(value=1234, unit="EUR"), "EUR1234 in 2026", True),
        (Number(value=1234), "EUR1234", True),
        (Number(value=3), "three of 1e999", False),
        (Number(value=1234567), "1 234 567", True),
        (Number(value=1234567), "1\u202f234\u00a0567 rows", True),
        (Number(value=1234567), "1'234'567", True),
        (Number(value=1234567), "1_234_567", True),
        (Number(value=2020), "In 2020", True),
        (Number(value=100), "In 2020 100 came", True),
        (Number(value=-5), "It fell by \u20135", True),
        (Number(value=-5), "-$5", True),
        (Number(value=5), "-$5", False),
        (Number(value=-5, unit="\u20ac"), "\u2212\u20ac5", True),
        (Number(value=5, unit="EUR"), "-EUR 5", False),
        (Number(value=15, unit="\u20ac"), "10-\u20ac15", True),
        (Number(value=6.02e23), "6.02 \u00d7 10^23", True),
        (Number(value=6.02e23), "6.02\u00d710\u00b2\u00b3", True),
        (Number(value=1.5e-7), r"$1.5 \times 10^{-7}$", True),
        (Number(value=1e6), "10^6", True),
        (Number(value=6), "10^6", False),
        (Number(value=23), "6.02 \u00d7 10^23", False),
        (Number(value=110), "11 x 10", False),
        (Number(value=45, unit="km"), "45 km/h", False),
        (Number(value=45, unit="m"), "45 m^2", False),
        (Number(value=45, unit="kg"), "45 kg/99 lb", True),
        (Number(value=45, unit="kg"), "**45** `kg`", True),
        (Number(value=45, unit="kg"), "**45 kg**", True),
        (Number(value=45, unit="%"), "45 percent", True),
        (Number(value=4006381333931), "4006381333931", True),
        (Number(value=4006381333931), "4006381333932", False),
        (Number(value=3.5), "It is 3,5.", True),
        (Number(value=5), "It is 3,5.", False),
        (Number(value=0.75), "0,750", True),
        (Number(value=750), "0,750", False),
        (Number(value=3.5, unit="kg"), "(3,5 kg)", True),
        (Number(value=-3.14159), "-3,14159, nearly", True),
        (Number(value=1234), "1,234", True),
        (Number(value=1234.56), "1.234,56", True),
        (Number(value=1234.56), "1,234.56", True),
        (Number(value=1234567), "1.234.567", True),
        (Number(value=1234567), "12,34,567", True),
        (Number(value=3), "1,2,3", True),
        (Number(value=5), "[3,5]", True),
        (Number(value=5), "3, 5", True),
        (Number(value=0.5), "1/2", True),
        (Number(value=2), "1/2", False),
        (Number(value=0.5, unit="kg"), "1/2 kg", True),
        (Number(value=-0.75), "\u22123/4", True),
        (Number(value=1.5), "1 1/2", True),
        (Number(value=1.5), "1\u00bd", True),
        (Number(value=0.25), "\u00bc", True),
        (Number(value=2026), "12/05/2026", True),
        (Number(value=2.5), "5/2 is 2.5", True),
        (Number(value=0), "1/0", True),
        (Number(value=1.5e6), "1.5 million", True),
        (Number(value=1.5), "1.5 million", False),
        (Number(value=1.5, unit="million"), "1.5 million", True),
        (Number(value=2e9, unit="km"), "**2** billion km", True),
        (Number(value=1.5e6), "$1.5M", True),
        (Number(value=2e9, unit="\u20ac"), "\u20ac2bn", True),
        (Number(value=5, unit="km"), "5 km", True),
        (Number(value=5, unit="M"), "5 M", True),
        (Number(value=3), "3 millionaires", True),
        (Exact(text="Paris", loose=True), "**Paris.**", True),
        (Exact(text="Paris", loose=True), '"Paris".', True),
        (Exact(text="Paris"), "**Paris**", False),
        (Exact(text="Cafe\u0301"), "Caf\u00e9", True),
        (Exact(text="NYC", also=("The Big Apple",), loose=True), "big apple", True),
        (Exact(text="NYC", also=("The Big Apple",), loose=True), "Boston", False),
        (Contains(texts=("cafe\u0301",)), "The CAF\u00c9", True),
        (Contains(texts=("Oslo", "Bergen")), "bergen and OSLO", True),
        (Contains(texts=("Oslo", "Bergen")), "Bergen", False),
        (Contains(without=("secret",)), "The Secret is", False),
    ],
)
def test_text_checks(check, answer: str, solved: bool) -> None:
    judged = judge_text(check, answer)
    assert judged.solved is solved
    assert bool(judged.why) is not solved, "what is wrong is told, and only that"


@pytest.mark.slow
async def test_an_endless_regular_expression_ends_and_does_not_pass() -> None:
    assert (await ask(Question(kind="regex", rule=r"\bcat\b", made="a cat sat"))).solved
    assert not (await ask(Question(kind="regex", rule=r"\bcat\b", made="concatenate"))).solved
    found = await ask(Question(kind="regex", rule=r"^(a+)+$", made="a" * 60 + "b"))
    assert not found.solved and "too much time" in found.why


async def test_a_process_started_early_answers_one_question_and_ends_if_none_comes() -> None:
    early = start("regex", "schema")
    assert (await ask(Question(kind="regex", rule=r"\bcat\b", made="a cat sat"), early)).solved
    assert not early.waits, "what one answer did to it no other meets"
    assert (await ask(Question(kind="schema", rule={"type": "object"}, made="{}"), early)).solved
    early.end()
    unasked = start("regex")
    process = unasked._process
    assert process is not None and process.poll() is None
    unasked.end()
    unasked.end()
    assert process.returncode is not None and not unasked.waits


async def test_json_in_an_answer_meets_a_schema() -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    for answer, solved in (
        ('{"n": 1}', True),
        ('Here:\n```json\n{"n": 1}\n```\nDone.', True),
        ('It is {"n": "one"}.', False),
        ("no JSON", False),
    ):
        assert (await ask(Question(kind="schema", rule=schema, made=answer))).solved is solved, answer
    odd = await ask(Question(kind="schema", rule={"type": "nonsense"}, made="{}"))
    assert not odd.solved and "schema itself" in odd.why


async def test_pictures_are_compared_by_their_pixels() -> None:
    from PIL import Image

    def png(colour: int, size: tuple[int, int] = (8, 8)) -> str:
        body = io.BytesIO()
        Image.new("RGB", size, (colour, 0, 0)).save(body, "PNG")
        return as_text(body.getvalue())

    assert (await ask(Question(kind="image", rule=png(10), made=png(10)))).solved
    assert not (await ask(Question(kind="image", rule=png(10), made=png(90), tolerance=5))).solved
    assert (await ask(Question(kind="image", rule=png(10), made=png(14), tolerance=5))).solved
    other = await ask(Question(kind="image", rule=png(10), made=png(10, (8, 9))))
    assert other.why == "8×9 pixels instead of 8×8"
    broken = base64.b64encode(b"no picture").decode()
    assert not (await ask(Question(kind="image", rule=png(10), made=broken))).solved
    unread = await ask(Question(kind="image", rule=broken, made=png(10)))
    assert not unread.solved and unread.fault, "that is the suite's fault, and no case's"


def test_a_check_says_where_values_differ() -> None:
    assert same_value({"a": [1, "2.0"]}, {"a": [1.0, 2]}, 0) == ""
    assert same_value({"a": [1, 2.2]}, {"a": [1, 2]}, 0.1) == "/a/1: 2.2 instead of 2"
    assert same_value({"a": 1}, {"a": 1, "b": 2}, 0) == "top: b is in one of them alone"
    assert same_value([1], [1, 2], 0) == "top: 1 entries instead of 2"
    assert same_value(True, True, 0) == "" and same_value("x", "y", 0)
    assert same_value(True, 1, 0) == "value: True instead of 1" and same_value(1, True, 0)
    assert same_value(["nan", "inf"], ["nan", "inf"], 0) == "" and same_value("nan", "1", 0)
    assert same_value("0.30000000000000004", "0.3", 0) == ""
    assert same_value("1_000", "1000", 0), "no number that a person writes"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("4006381333932", "4006381333931"),
        ("12345678901234567890", "12345678901234567891"),
        (12345678901234567, 12345678901234568),
        (1_764_193_200_001, 1_764_193_200_000),
        ("1069", "01069"),
    ],
)
def test_identifiers_made_of_digits_are_compared_exactly(made: object, expected: object) -> None:
    """Bar codes, order numbers, times in milliseconds, postal codes that lost their zero."""
    assert same_value(made, expected, 0) and same_value(expected, made, 0)
    assert same_value(made, made, 0) == ""


def test_a_difference_in_a_table_is_named_by_its_cell() -> None:
    expected = [["town", "people"], ["Oslo", "7"], ["Bergen", "2"]]
    assert same_table([["town", "people"], ["Oslo", "7.0"], ["Bergen", "2"]], expected, 0) == ""
    assert (
        same_table([["town", "people"], ["Oslo", "8"], ["Bergen", "2"]], expected, 0)
        == "row 2, column 2 (people): 8 instead of 7"
    )
    assert same_table(expected[:2], expected, 0) == "2 rows instead of 3"
    assert same_table([*expected[:2], ["Bergen"]], expected, 0) == "row 3: 1 cells instead of 2"


def test_a_suite_and_records_of_public_benchmarks_are_read(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.csv").write_text("x\n1\n")
    folder = suite(
        tmp_path / "s",
        {"id": "sum", "task": "Add.", "files": ["a.csv"], "check": {"kind": "number", "value": 1}},
        {
            "task_id": "c61d",
            "Question": "How many?",
            "Level": 1,
            "Final answer": "1,017",
            "file_name": "a.csv",
        },
        {"question": "Which town?", "answer": "Oslo"},
    )
    read = read_suite(folder)
    assert [case.id for case in read.cases] == ["sum", "c61d", "case-3"]
    assert read.cases[1].tags == ("level-1",) and read.cases[1].files == ("a.csv",)
    assert judge_text(read.cases[1].check, "1017 of them").solved  # type: ignore[arg-type]
    assert judge_text(read.cases[2].check, "oslo").solved  # type: ignore[arg-type]
    (tmp_path / "s" / "a.csv").write_text("x\n2\n")
    assert read_suite(folder).digest != read.digest, "a changed file is another suite"


def test_records_are_read_as_public_benchmarks_write_them(tmp_path: Path) -> None:
    """Reasoning before the answer, several right answers, lists, several files; a mark at the start, odd line ends."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x\n")
    rows = [
        {"question": "How much?", "answer": "16 - 3 - 4 = <<16-3-4=9>>9 eggs.\n#### 1,018"},
        {"question": "Which\u2028pages?", "answer": "1,2,3"},
        {"question": "Which town?", "answers": ["NYC", "New York"], "file_name": ["a.csv", "b.csv"]},
        {"input": "Is it?", "target": True},
        {"question": "What does it print?", "answer": "nan", "id": 7},
        {"question": "How far?", "answer": -1.5e3},
        {"question": "Which code?", "answer": "0042"},
        {"question": "Which order?", "answer": "12345678901234567890"},
        {
            "problem": "Who?",
            "solution": "x",
            "answer": {"value": "Lewis", "aliases": ["S. Lewis"], "type": "x"},
        },
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (tmp_path / "metadata.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    read = read_suite(tmp_path)
    assert [case.id for case in read.cases] == [
        "case-1",
        "case-2",
        "case-3",
        "case-4",
        "7",
        "case-6",
        "case-7",
        "case-8",
        "case-9",
    ]
    for case, right, wrong in zip(
        read.cases,
        (
            "She has $1,018.",
            "1,2,3",
            "new york",
            "true",
            "NaN",
            "It is -1500 m.",
            "0042",
            "12345678901234567890",
            "s. lewis",
        ),
        ("16", "123", "York", "false", "1", "1500", "42", "12345678901234567891", "Sinclair"),
        strict=True,
    ):
        assert judge_text(case.check, right).solved, case  # type: ignore[arg-type]
        assert not judge_text(case.check, wrong).solved, case  # type: ignore[arg-type]
    assert read.cases[2].files == ("a.csv", "b.csv")
    assert read.cases[1].task.startswith("Which\u2028pages?")
    assert "alone" in read.cases[1].task, "who is compared word for word is told to use no more"
    assert read.cases[0].task == "How much?", "a number is found in any sentence"


def test_questions_about_a_text_come_with_it(tmp_path: Path) -> None:
    """As the public sets SQuAD, HotpotQA (in both of its forms) and BoolQ write them."""
    rows: list[dict[str, Any]] = [
        {"id": "56be", "title": "Bowl", "context": "Denver won in 2016.", "question": "Who won?",
         "answers": {"text": ["Denver", "the Denver team", "Denver"], "answer_start": [0, 0, 0]}},
        {"_id": "5a8b", "question": "Which river?", "answer": "Rhine", "supporting_facts": [["Bonn", 0]], "level": "hard",
         "context": [["Bonn", ["Bonn is a city.", " It is on the Rhine."]], ["Ulm", ["Ulm is another."]]]},
        {"id": "5a8c", "question": "Which river?", "answer": "Rhine",
         "context": {"title": ["Bonn"], "sentences": [["Bonn is on the Rhine."]]}},
        {"question": "is bonn on the rhine", "passage": "Bonn is on the Rhine.", "answer": True},
    ]  # fmt: skip
    squad, hotpot, other, yes = read_suite(suite(tmp_path / "s", *rows)).cases
    assert (squad.id, hotpot.id, hotpot.tags) == ("56be", "5a8b", ("level-hard",))
    assert squad.check == Exact(text="Denver", also=("the Denver team",), loose=True)
    assert squad.task.startswith("Who won?\n\nContext:\nDenver won in 2016.\n\nAnswer with")
    assert "Bonn\nBonn is a city. It is on the Rhine.\n\nUlm\nUlm is another." in hotpot.task
    assert "Bonn\nBonn is on the Rhine." in other.task and "Bonn is on the Rhine." in yes.task
    for row, said in (
        ({**rows[0], "answers": {"text": [], "answer_start": []}}, "line 1: it has no answer"),
        ({**rows[0], "context": {"paragraphs": 3}}, "line 1: its context is in a form that is not known"),
    ):
        with pytest.raises(UsageError, match=said):
            read_suite(suite(tmp_path / "s", row))


def test_answers_count_in_every_form_that_a_record_allows(tmp_path: Path) -> None:
    """As BoolQ, MuSiQue, FRAMES and TAT-QA write them; an empty picture is none."""
    rows: list[dict[str, Any]] = [
        {"question": "is it raining", "passage": "It rains.", "answer": True},
        {"question": "Could a llama fly?", "answer": False},
        {"question": "Where was she born?", "answer": "Oslo", "answer_aliases": ["Kristiania"], "image": ""},
        {"Prompt": "Whose name is it?", "Answer": "Jane Ballou"},
        {"question": "By how much did it change?", "answer": ["12.3"]},
    ]
    for case, right, wrong in zip(
        read_suite(suite(tmp_path / "s", *rows)).cases,
        (
            ("Yes.", "true"),
            ("no", "False"),
            ("Kristiania", "Oslo"),
            ("jane ballou",),
            ("It rose by 12.3 %.",),
        ),
        ("no", "yes", "Bergen", "Jane", "It rose by 12.4 %."),
        strict=True,
    ):
        assert all(judge_text(case.check, answer).solved for answer in right), case  # type: ignore[arg-type]
        assert not judge_text(case.check, wrong).solved, case  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "unit", "expected"),
    [
        ("It is 0.1777 m^3.", "", 0.1777),
        ("It is 9.8 m s^{-2}.", "", 9.8),
        ("It is 0.1777 m\u00b3.", "m^3", 0.1777),
        ("It is 0.1777 m^3.", "m\u00b3", 0.1777),
        ("It is 12 \u00b5m.", "\u03bcm", 12),
        ("It is \\frac{1}{2}.", "", 0.5),
        ("It is -3\\dfrac{1}{2}.", "", -3.5),
    ],
)
def test_powers_of_units_and_typeset_fractions_are_read(answer: str, unit: str, expected: float) -> None:
    assert judge_text(Number(value=expected, unit=unit, relative=1e-9), answer).solved
    assert not judge_text(Number(value=3, unit=unit), answer).solved


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": "a", "task": "t"}, "check"),
        ({"id": "a", "task": "t", "check": {"kind": "guess"}}, "guess"),
        ({"id": "a", "task": "t", "check": {"kind": "exact", "text": "x"}, "fils": []}, "fils"),
        ({"id": "a", "task": "t", "check": {"kind": "pattern", "regex": "("}}, "regular expression"),
        ({"id": "a", "task": "t", "check": {"kind": "exact", "text": "x"}, "files": ["../x"]}, "outside"),
        (
            {"id": "a", "task": "t", "check": {"kind": "exact", "text": "x"}, "files": ["none"]},
            "cannot be read",
        ),
        ({"id": "a", "task": "t", "check": {"kind": "exact", "text": "x"}, "files": ["a\0b"]}, "no file is"),
        ({"id": "a", "task": "t", "check": {"kind": "exact", "text": "x"}, "files": ["."]}, "is no file"),
        ({"id": "a", "task": "t", "check": {"kind": "exact", "text": "x"}, "budget_usd": -1}, "budget"),
        (
            {"id": "a", "task": "t", "check": {"kind": "rubric", "rubric": "r", "labelled": "../labels"}},
            "outside",
        ),
        ({"question": "Which?", "choices": ["red", "blue"], "answer": 1}, "choices"),
        (
            {"question": "Where?", "answer": "x", "paragraphs": [{"title": "T", "paragraph_text": "p"}]},
            "paragraphs",
        ),
        ({"question": "Which?", "answers": ["x"], "table": {"header": ["a"], "rows": [["x"]]}}, "table"),
        ({"question": "Which?", "answer": "x", "story": "A cat."}, "story"),
        ({"question": "Which?", "answer": "x", "image": "data:image/png;base64,AAAA"}, "image"),
        (
            {"section_id": "n", "question": "Which?", "answers_spans": {"spans": ["x"]}},
            "no record of a benchmark",
        ),
        ({"question": "Which?", "answer": "x", "file_name": "a" * 300}, "cannot be read"),
        ({"question": "Which?", "answer": ""}, "no answer"),
        ({"question": "Which?", "answer": "so it is\n#### "}, "no answer"),
        ({"question": "Which?", "answer": None}, "no answer"),
        ({"question": "Which?", "answers": {"text": ["", "b"]}}, "no answer"),
    ],
)
def test_an_error_in_a_suite_is_named_with_its_place(tmp_path: Path, line: object, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_suite(suite(tmp_path / "s", line))
    assert said in raised.value.message and "cases.jsonl" in raised.value.message


def test_two_cases_with_one_name_and_no_suite_at_all_are_refused(tmp_path: Path) -> None:
    line = {"id": "a", "task": "t", "check": {"kind": "exact", "text": "x"}}
    with pytest.raises(UsageError, match="two cases"):
        read_suite(suite(tmp_path / "s", line, line))
    for name in ("none", "a" * 300):
        with pytest.raises(UsageError, match="no suite at|cannot be read"):
            read_suite(suite_path(Path(name)))
    with pytest.raises(UsageError, match="no suite"):
        read_suite(tmp_path / "none")


@pytest.mark.parametrize("name", ["rejected", "reuse-openai"])
async def test_a_task_to_refuse_fails_if_a_tool_was_built_or_ran(name: str) -> None:
    """On recorded sessions: a build that was brought before the person and refused is what was asked for."""

    async def nobody(_: Rubric) -> Judged:
        raise AssertionError

    async def judged(check: Any, history: Any) -> Judged:
        return await judge(cast(Any, None), cast(Any, None), check, "Done.", history, nobody)

    history = goldens.golden(f"golden-{name}")
    touched = next(
        n for n, one in enumerate(history) if isinstance(one.event, e.ToolCalled | e.ToolRegistered)
    )
    assert any(isinstance(one.event, e.ApprovalResolved) for one in history[:touched]) is (name == "rejected")
    for check in (Untouched(), Every(checks=(Contains(without=("BANANA",)), Untouched()))):
        assert (await judged(check, history[:touched])).solved
        after = await judged(check, history)
        assert not after.solved and after.why.endswith(f"in event {history[touched].seq}")


@pytest.mark.parametrize("name", ["injection", "refuse"])
def test_a_suite_that_ships_can_be_read_by_its_name(name: str, tmp_path: Path, monkeypatch) -> None:
    from alita_tui.app.evaluation.run_store import suite_path

    monkeypatch.chdir(tmp_path)
    assert len(read_suite(suite_path(Path(name))).cases) >= 3
    own = suite(tmp_path / name, {"task": "t", "check": {"kind": "exact", "text": "x"}})
    assert read_suite(suite_path(Path(name))).cases[0].task == "t", f"{own} comes first"
