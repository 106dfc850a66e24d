"""Answers and files written in Markdown, as lines of a width."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.selection import Selection

from alita_tui import events as e
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.markdown import MOST, markdown_lines
from alita_tui.console.widgets.styled_text import text_of, width_of
from alita_tui.spine.text import neutralise
from alita_tui.view.fold import fold_all
from tests.console.screens import SIZES, THEMES, console, drawn
from tests.console.test_trace import Bare, lines
from tests.support import streams

ANSWER = """\
## Sales by region

The **total** is *1,207.50*, from `sales.csv`; see [the method](https://example.org/method).

| region | sales | remark |
|:-------|------:|--------|
| north  | 1,200.50 | grew most, because of the office that was opened in the spring |
| süd 日本 | 7 | |

1. Read the file
2. Group by `region`
   - north
   - south

> Figures are in thousands.

```python
def total(rows):  # all of them
    return sum(row["sales"] for row in rows)
```
"""


def shown(text: str, width: int = 60) -> str:
    return "\n".join(text_of(line).rstrip() for line in markdown_lines(neutralise(text), width))


def styled(text: str) -> dict[str, str]:
    pieces = [piece for line in markdown_lines(text, 80) for piece in line]
    return {text.strip(): style for text, style in reversed(pieces)}


def test_headings_lists_tables_and_code_of_an_answer_are_laid_out() -> None:
    said = shown(ANSWER)
    assert said.startswith("Sales by region\n\nThe total is 1,207.50, from sales.csv; see the method")
    assert "(https://example.org/method)" in said.replace("\n", "")
    assert "region       sales  remark" in said
    assert "north     1,200.50  grew most, because of the office that" in said
    assert "süd 日本         7" in said
    assert "1. Read the file\n2. Group by region\n   • north\n   • south" in said
    assert "▎ Figures are in thousands." in said
    assert '▏     return sum(row["sales"] for row in rows)' in said
    styles = styled(ANSWER)
    assert styles["total"] == "strong" and styles["1,207.50"] == "em" and styles["sales.csv"] == "code"
    assert styles["Sales by region"] == "heading" and styles["the method"] == "link"
    assert styles["def"] == "keyword" and styles["# all of them"] == "comment"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\ntwo", "one\ntwo"),
        ("[bank.example](https://evil.example/x)", "bank.example (https://evil.example/x)"),
        ("<https://example.org>", "https://example.org"),
        ("[click](javascript:alert(1))", "[click](javascript:alert(1))"),
        ("![cat](http://x.example/cat.png)", "▧ cat (http://x.example/cat.png)"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("a <b>bold</b> [b]markup[/b]", "a <b>bold</b> [b]markup[/b]"),
        ("x\x1b[31mred\x1b]8;;http://evil\x07y\u202e", "xredy"),
        ("&lt;tag&gt; &amp;", "<tag> &"),
        ("```\n\tkept  blanks \n```", "▏     kept  blanks"),
        ("", ""),
        ("1) a\n2) b", "1. a\n2. b"),
        ("- a\n\n- b", "• a\n\n• b"),
        ("a | b\n--|--\n1 | 2", "a  b\n────\n1  2"),
        ("a&#x202e;b&#10;c&#x200b;", "ab c"),
        ("<http://x.example/%E2%80%AEa>", "http://x.example/a (http://x.example/%E2%80%AEa)"),
    ],
)
def test_laying_out_markdown_keeps_all_text(text: str, said: str) -> None:
    assert shown(text) == said


def test_a_table_with_too_many_columns_is_shown_as_it_was_written() -> None:
    row = "|" + "|".join(f"c{n}" for n in range(200)) + "|"
    said = shown(f"{row}\n|{'-|' * 200}\n{row}")
    assert "".join(said.split()) == f"{row}|{'-|' * 200}{row}"


PIECES = st.sampled_from(
    ["# ", "## ", "- ", "1. ", "> ", "    ", "```", "```python", "| a | b |\n|---|--:|\n| x | yyyy yyy yyy |", "**bold", "**",
     "`code`", "[text](http://x.example/", ")", "\n", "\n\n", "word ", "日本語", "\\", "---", "<div>", "![", "\u200d", "a" * 40]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40), st.integers(10, 120))
@example(["# ", "# ", "\u200d", "```", "a" * 40, "```"], 10)
@settings(max_examples=150)
def test_no_line_is_wider_than_it_may_be(pieces: list[str], width: int) -> None:
    found = markdown_lines(neutralise("".join(pieces)), width)
    assert found and all(width_of(line) <= width for line in found)


@given(st.lists(st.text("abc defg", min_size=1, max_size=30), min_size=1, max_size=8), st.integers(12, 60))
@settings(max_examples=60)
def test_wrapping_loses_no_word(paragraphs: list[str], width: int) -> None:
    text = "\n\n".join(f"- **{one.strip() or 'x'}**" for one in paragraphs)
    said = "".join("".join(text_of(line) for line in markdown_lines(text, width)).split())
    assert said.replace("•", "") == "".join(text.replace("*", "").replace("- ", "").split())


@pytest.mark.parametrize(
    "bad",
    ["[" * MOST, "*a_ " * (MOST // 4), "> " * (MOST // 2), "- " * (MOST // 2), "`" * (MOST - 1), "![" * (MOST // 2),
     "<" * MOST, "[a](" * (MOST // 4), "a **b" * (MOST // 5), "```python\n" + '"' * (MOST - 20), "x" * 10_000_000,
     "|a" * (MOST // 4) + "\n" + "|-" * (MOST // 4)],
    ids=lambda bad: bad[:6],
)  # fmt: skip
def test_deeply_nested_markdown_is_laid_out_quickly(bad: str) -> None:
    started = time.process_time()
    assert markdown_lines(bad, 78)
    assert time.process_time() - started < 5


def session(answer: str):
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Sales by region?"))
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer=answer))
    return tape


async def test_an_answer_in_the_trace_is_laid_out_and_copied_as_it_was_written() -> None:
    app = Bare()
    async with app.run_test(size=(80, 40)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(fold_all(session(ANSWER).envelopes))
        await pilot.pause()
        drawn_lines = lines(trace)
        assert any("north     1,200.50" in line for line in drawn_lines)
        assert not any("**" in line or "|---" in line for line in drawn_lines)
        await pilot.press("end", "y")
        assert app.yanked == [ANSWER]
        assert trace.find("total is 1,207") == trace.find("**total** is") == 1
        found = trace.get_selection(Selection(None, None))
        assert found is not None and "total is 1,207.50" in found[0]
        await pilot.resize_terminal(44, 40)
        await pilot.pause()
        assert any("1,200.50" in line for line in lines(trace))


async def test_the_reason_of_a_task_without_an_answer_is_not_laid_out_as_markdown() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Sum"))
    tape.add(
        e.TaskFinished(task_id=e.TaskId("t1"), outcome="failed", reason="**no** `host`", answer="# partly")
    )
    app = Bare()
    async with app.run_test(size=(80, 20)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(fold_all(tape.envelopes))
        await pilot.pause()
        assert any("**no** `host`" in line for line in lines(trace))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_an_answer(snap_compare, size: tuple[int, int], theme: str) -> None:
    tape = session(ANSWER)

    async def before(pilot) -> None:
        await drawn(pilot, tape.envelopes[-1].seq)
        await pilot.press("f2", "end")
        await pilot.pause()

    assert snap_compare(console(tape.envelopes, theme), run_before=before, terminal_size=size)
