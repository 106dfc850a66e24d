"""The result of a run is told in words and tables, nested ones too; one key shows it as JSON."""

from __future__ import annotations

import json

import pytest
from rich.cells import cell_len
from textual.app import ComposeResult

from alita_tui import events as e
from alita_tui.console.session.card_parts import _check
from alita_tui.console.session.result_table import result_lines
from alita_tui.console.session.trace import Trace
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.events import RunReport
from alita_tui.view.fold import fold_all
from alita_tui.view.trace_words import report_of
from tests.support import goldens, streams

RATES = [
    {"currency": "USD", "rate": 1.08, "fresh": True},
    {"currency": "Yen 円", "rate": 161.5, "fresh": False},
]


def told(value: object, room: int = 60, **more: object) -> list[str]:
    report = RunReport(status="ok", result=value, **more)  # type: ignore[arg-type]
    return [text_of(line) for line in result_lines(report_of(report), room)]


def test_records_are_a_table_with_figures_at_the_right() -> None:
    assert told(RATES) == [
        "currency   rate  fresh",
        "USD        1.08  yes",
        "Yen 円    161.5  no",
    ]


def test_single_values_stand_in_a_column_and_records_below_them() -> None:
    assert told({"base": "EUR", "days": 3, "note": None}) == ["base  EUR", "days  3", "note  none"]
    assert told({"base": "EUR", "rates": RATES})[:2] == ["base  EUR", "currency   rate  fresh"]


def test_many_rows_are_counted() -> None:
    lines = told([{"n": number} for number in range(30)], stdout="hello\n")
    assert lines[:2] == ["n", "0"] and lines[-1] == "… 22 more rows"


@pytest.mark.parametrize("value", ["text", 7, None, True])
def test_a_single_value_is_shown_unchanged(value: object) -> None:
    assert told(value) == []


@pytest.mark.parametrize("room", [24, 30, 60, 110])
def test_no_line_is_wider_than_its_room(room: int) -> None:
    lines = told([{"city": "Llanfair" * 9, "what": "円" * 40, "n": 10**30}] * 3, room)
    assert lines and all(cell_len(line) <= room for line in lines)


def test_nested_results_are_read_as_rows() -> None:
    value = {
        "city": "Bern",
        "results": [
            {"address": "ada@example.org", "valid": True, "normalized": "ada@example.org"},
            {"address": "grace@navy..mil", "valid": False, "error": "two periods in a row"},
        ],
        "weather": {"now": {"sky": "clear", "wind": None}, "days": [1, 2, 3], "tags": []},
    }
    lines = told(value, 80)
    assert lines == [
        "city  Bern",
        "results",
        "  address          valid  normalized       error",
        "  ada@example.org  yes    ada@example.org",
        "  grace@navy..mil  no                      two periods in a row",
        "weather",
        "  now",
        "    sky   clear",
        "    wind  none",
        "  days  1, 2, 3",
        "  tags  none",
    ]


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ([], ["none"]),
        ({}, ["empty"]),
        ([1, 2], ["1, 2"]),
        ({"a": {"b": 1}}, ["a", "  b  1"]),
        ([{"a": 1}, {"b": 2}], ["a  b", "1", "   2"]),
        ([{"a": [1]}], ["a", "1"]),
        ([[1, 2], ["x", None]], ["1  1, 2", "2  x, none"]),
        ([{str(n): n for n in range(9)}], [f"{'1  ' if not n else '   '}{n}  {n}" for n in range(9)]),
    ],
)
def test_results_are_shown_without_brackets(value: object, lines: list[str]) -> None:
    assert told(value) == lines


def test_a_long_text_is_wrapped_at_words_and_marked_where_it_is_cut() -> None:
    text = "every word of this stays whole " * 20
    lines = told({"summary": text, "n": 1}, 40)
    assert len(lines) == 5 and lines[3].endswith(" …")
    assert set(" ".join(line[9:] for line in lines[:4]).split()) <= {*text.split(), "…"}


@pytest.mark.parametrize("room", [8, 24, 40, 110])
def test_deep_and_large_results_are_shown_shortened(room: int) -> None:
    deep: object = "円" * 99
    for number in range(60):
        deep = {f"level {number}": deep, "list": [deep, {"x": number}]} if number < 12 else [deep, number]
    for value in (deep, {f"名{n}": {"a" * 99: [n] * 999} for n in range(500)}, [[list(range(99))] * 9] * 99):
        lines = told(value, room)
        assert 0 < len(lines) <= 40 and all(cell_len(line) <= room for line in lines)


def test_hostile_text_stays_harmless() -> None:
    lines = told({"name": "\x1b[31mred\u202e", "lines": "a\nb"})
    assert len(lines) == 2 and not any(char in "".join(lines) for char in "\x1b\u202e\n")
    assert json.dumps("x") not in lines


class Bare(ThemedApp[None]):
    """A trace alone."""

    def compose(self) -> ComposeResult:
        yield Trace(id="trace", welcome=("Nothing yet.",), level="everything")


async def test_an_opened_run_shows_its_table_and_enter_on_the_row_shows_it_as_it_came() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Rates"))
    called = e.ToolCalled(
        call_id=e.CallId("c1"),
        action_id="a1",
        name=e.ToolName("fx_rates"),
        version=1,
        digest=streams.DIGEST,
        arguments={"bases": ["EUR", "CHF"]},
    )
    tape.add(called, span="c1")
    report = RunReport(status="ok", result={"base": "EUR", "rates": RATES}, duration_ms=120)
    tape.add(e.ToolReturned(call_id=e.CallId("c1"), report=report), span="c1")
    app = Bare()
    async with app.run_test(size=(100, 30)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(fold_all(tape.envelopes))
        await pilot.pause()

        def shown() -> str:
            return "\n".join(trace.render_line(y).text for y in range(trace.size.height))

        deck = trace._layout.deck
        at = next(number for number, row in enumerate(deck.rows) if row.kind == "observation")
        card = deck.cards[deck.card_of(at)]
        if not deck.opened(card):
            trace._layout.toggle(card.at)
        trace._place()
        await pilot.pause()
        assert "currency   rate  fresh" in shown() and '"rates": [' not in shown()
        assert "EUR, CHF" in shown() and '"bases"' not in shown()
        trace._layout.toggle(card.at, at)
        trace._place()
        await pilot.pause()
        assert '"rates": [' in shown() and "currency   rate" not in shown()


def test_the_checks_of_an_opened_build_stand_in_columns() -> None:
    rows = [row for row in fold_all(goldens.waiting()).trace if row.kind == "build"]
    checks = [pieces for row in rows if (pieces := _check(row))]
    assert len(checks) >= 5
    assert len({len(pieces[0][0]) for pieces in checks}) == 1
    assert len({len(pieces[1][0]) for pieces in checks}) == 1
