"""Whatever width a terminal takes for the characters of a text, what stands beside it keeps its column."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from alita_tui import events as e
from alita_tui.console.widgets.anchored import anchored
from tests.console.screens import covered, drawn
from tests.console.test_app import console
from tests.support import streams

GARBAGE = (
    "Z" + "\u0335\u0321\u0348" * 3 + "e" + "\u0301" * 6 + " \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea"
    " \u2764\ufe0f \u0e33\u0e33 \u1100\u1161\u11a8 \U0001f9d1\U0001f3fd\u200d\U0001f680 \ufdfd \u2e3b ｗｉｄｅ end"
)  # fmt: skip
WIDTHS: dict[str, Callable[[str], int]] = {
    "every character one cell": lambda char: 1,
    "emoji two cells each, marks none": lambda char: (
        0 if unicodedata.combining(char) or char in "\u200d\ufe0f" else 2 if ord(char) > 0x1F000 else 1
    ),
    "what is not ASCII takes two": lambda char: 1 if char.isascii() or char in "│●·…❯" else 2,
}


def on_terminal(written: str, columns: int, width: Callable[[str], int]) -> list[str]:
    """What a terminal shows that goes by these widths: its rows, each cell one character."""
    rows = [["~"] * columns for _ in range(60)]
    x = y = 0
    for sequence, char in re.findall(r"\x1b\[([0-9;?]*[A-Za-z])|(.)", written, re.S):
        if char:
            for cell in range(min(width(char), columns - x)):
                rows[y][x + cell] = char
            x = min(x + width(char), columns - 1) if x + width(char) > columns - 1 else x + width(char)
            continue
        numbers = [int(one or 1) for one in re.split("[;?]", sequence[:-1]) if one.isdigit() or not one]
        if sequence.endswith("H"):
            y, x = numbers[0] - 1, numbers[1] - 1
        elif sequence.endswith("G"):
            x = numbers[0] - 1
        elif sequence.endswith("X"):
            rows[y][x : x + numbers[0]] = " " * len(rows[y][x : x + numbers[0]])
    return ["".join(row) for row in rows]


@pytest.mark.parametrize("terminal", WIDTHS)
def test_every_word_is_in_its_column_and_covers_earlier_text(terminal: str) -> None:
    line = Strip([Segment(f"{GARBAGE} last")])
    (placed,) = anchored([line], 3)
    assert placed.cell_length == line.cell_length
    assert "".join(one.text for one in placed if not one.control) == line.text
    written = "\x1b[1;4H" + "".join(segment.text for segment in placed) + "│beside"
    (row, *_) = on_terminal(written, 140, WIDTHS[terminal])
    end = 3 + line.cell_length
    assert row[end : end + 7] == "│beside" and row[end - 4 : end] == "last"
    assert row[:3] == "~~~" and "~" not in row[3:end]


@given(st.integers(0, 70))
def test_a_line_that_is_cut_beside_an_open_review_clears_nothing_behind_the_cut(at: int) -> None:
    line = Strip([Segment("❯ ok "), Segment("naïve 👩 日本 e\u0301 end")]).adjust_cell_length(70)
    cut = anchored([line], 0)[0].crop(0, at)
    written = "\x1b[1;1H" + "".join(segment.text for segment in cut)
    (row, *_) = on_terminal(written, 100, WIDTHS["emoji two cells each, marks none"])
    assert set(row[max(at, 1) + 1 :]) == {"~"}


def test_selection_follows_positions_in_the_text() -> None:
    text = f"first {GARBAGE} last"
    (placed,) = anchored([Strip([Segment(text, Style())]).apply_offsets(0, 7)], 0)
    for one in placed:
        if not one.control and one.style is not None and one.text.strip():
            x, y = one.style.meta["offset"]
            assert y == 7 and text[x : x + len(one.text)] == one.text


def test_characters_of_undisputed_width_are_left_unchanged() -> None:
    line = Strip([Segment("Größe → Привет │ ■ ❯ ✧")])
    assert anchored([line], 0) == [line]


@pytest.mark.parametrize(
    ("terminal", "width"), [*((one, 120) for one in list(WIDTHS)[1:]), (list(WIDTHS)[1], 200)]
)
async def test_control_characters_in_an_answer_move_no_divider(terminal: str, width: int) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="show"))
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="\n\n".join([GARBAGE] * 9)))
    app = console(tape.envelopes)
    async with app.run_test(size=(width, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        update: Any = app.screen._compositor.render_update(full=True)
        rows = on_terminal(update.render_segments(app.console), width, WIDTHS[terminal])
        told = [row for row in rows if "Z" in row[:8]]
        assert len(told) == 9
        assert len({row.index("│") for row in told}) == 1, "and no word stands a cell beside its place"
        side = app.main.query_one("#side").region.x
        assert {row[side] for row in rows[1:30] if "─" not in row} == {"│"}


async def test_a_line_below_another_screen_keeps_its_width() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="show"))
    tape.add(
        e.TaskFinished(
            task_id=e.TaskId("t1"),
            outcome="answered",
            answer="\n\n".join(["Valid 用户@例え.jp. Not for those who mail from elsewhere"] * 9),
        )
    )
    app = console(tape.envelopes)
    async with app.run_test(size=(200, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await pilot.press("ctrl+o")
        await covered(pilot)
        update: Any = app.screen._compositor.render_update(full=True)
        rows = on_terminal(update.render_segments(app.console), 200, cell_len)
        box = app.screen.query_one("#box").region
        assert {row[box.x] for row in rows[box.y + 1 : box.bottom - 1]} == {"│"}
