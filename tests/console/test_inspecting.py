"""The inspector: library and sandbox by default, otherwise what is selected in the trace."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from textual.pilot import Pilot

from alita_tui import events as e
from alita_tui.console.app import AlitaApp
from alita_tui.console.session.inspector_rows import about
from alita_tui.console.session.side import Side
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.text import neutralise, one_line
from alita_tui.state.rows import Rows
from alita_tui.view.cards import Deck
from alita_tui.view.fold import fold_all
from alita_tui.view.model import RowKind, SessionView, TraceRow
from tests.console.screens import console, drawn
from tests.support import goldens, streams
from tests.support.viewing import with_

AT = datetime(2026, 11, 26, 9, tzinfo=UTC)


def row(seq: int, kind: RowKind, title: str, detail: str = "", **more: str) -> TraceRow:
    return TraceRow(seq, AT, 1, more.pop("span", "s"), kind, one_line(title), neutralise(detail), **more)  # type: ignore[arg-type]


def told(rows: list[TraceRow], at: int, view: SessionView | None = None) -> tuple[str, str, str]:
    deck = Deck()
    deck.show(Rows[TraceRow]().append(*rows))
    title, subject, found = about(view or with_(), deck, at, -1, lambda _: None)
    return title, subject, "\n".join("".join(text for text, _ in (*one.gutter, *one.body)) for one in found)


def ran(result: object) -> list[TraceRow]:
    asked = json.dumps({"name": "pivot", "arguments": {"by": "region"}})
    return [
        row(1, "task", "sales", "sales"),
        row(2, "action", "Run: pivot", asked, key="a1", action="run_tool"),
        row(3, "run", "pivot v1", "{}", key="c1", within="a1"),
        row(4, "observation", "done", f"status ok\n{json.dumps(result)}", key="c1"),
    ]


def test_a_result_is_summarised_by_its_shape_and_figures() -> None:
    records = [
        {"region": "North", "growth": 12.0},
        {"region": "東京", "growth": -5.0},
        {"region": "S", "growth": 0},
    ]
    title, subject, text = told(ran({"rows": records}), 2)
    assert (title, subject) == ("Result", "pivot v1")
    assert "3 rows × 2 columns" in text
    assert "text, 3 different values" in text
    assert "number, -5 … 12" in text
    bars = {line.split()[0]: line.count("━") for line in text.splitlines() if "━" in line or "─" in line}
    assert bars == {"North": 14, "東京": 6, "S": 0}
    assert text.index("ASKED") < text.index("by         region"), "what it was asked stands below"


def test_what_a_result_escapes_stays_harmless() -> None:
    evil = "\x1b]0;owned\x07\u202egnp[bold]"
    _, _, text = told(ran([{"name": evil, "n": 1}, {"name": "b", "n": 2}]), 2)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[bold]" in text, "and is no markup"


def test_a_result_of_any_other_form_is_shown_unchanged() -> None:
    results: tuple[object, ...] = (
        [],
        {},
        7,
        None,
        "text",
        [1, 2],
        [{"a": 1}, {"b": 2}],
        [{}, {}],
        [{"a": True}, {"a": False}],
    )
    for result in results:
        assert told(ran(result), 2)[0] == "Result"
    deep = "[" * 5000 + "]" * 5000
    rows = [*ran(0)[:3], row(4, "observation", "done", f"status ok\n{deep}", key="c1")]
    assert told(rows, 2)[0] == "Result"


def test_a_page_shows_its_text_and_a_plan_its_ticks() -> None:
    page = [
        row(1, "task", "rates", "rates", span="t1"),
        row(2, "plan", "look; answer", "1. look\n2. answer", span="t1"),
        row(
            3,
            "action",
            "Read: https://ecb.example/",
            '{"url": "https://ecb.example/"}',
            key="a1",
            action="read_page",
        ),
        row(4, "observation", "12 kB", "Rates of the day\nUSD 1.09", key="a1"),
    ]
    title, _, text = told(page, 3)
    assert title == "Source page"
    assert "USD 1.09" in text and "https://ecb.example/" in text
    view = with_(plan=(one_line("✓ look"), one_line("▸ answer")))
    title, _, text = told(page, 2, view)
    assert title == "Plan"
    assert text.splitlines()[:2] == ["✓ look", "▸ answer"]


def shown(app: AlitaApp) -> str:
    """What the side shows: the inspector's title, or `panes`."""
    side = app.main.query_one(Side)
    assert side.inspecting is bool(app.main.query_one("#inspector").size.area)
    assert side.inspecting is not bool(app.main.query_one("#library").size.area)
    return str(app.main.query_one("#title-inspector").render()) if side.inspecting else "panes"


async def select(pilot: Pilot[object], trace: Trace, kind: str) -> None:
    await pilot.press("home")
    while trace._layout.cards[trace.cursor].kind != kind:
        before = (trace.cursor, trace.inner)
        await pilot.press("down")
        assert (trace.cursor, trace.inner) != before, f"no {kind}"
    await pilot.pause()


async def test_the_inspector_follows_the_selection_and_can_be_pinned_and_closed() -> None:
    envelopes = goldens.walkthrough()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.main.query_one(Trace)
        assert shown(app) == "panes"
        await pilot.press("f2")
        await pilot.pause()
        await select(pilot, trace, "answer")
        assert shown(app).startswith("Answer")
        sheet = app.main.query_one("#inspector", Sheet)
        assert "validate_email_addresses" in sheet.text(), "it names what was built"
        await pilot.press("escape")
        await pilot.pause()
        assert shown(app) == "panes"
        await pilot.press("f2", "i", "escape")
        await pilot.pause()
        assert "pinned" in shown(app)
        assert shown(app).startswith("Answer")
        await pilot.press("f2", "i")
        await pilot.pause()
        assert shown(app) == "panes", "with the focus in the trace, too"
        await pilot.press("i")
        await pilot.pause()
        assert shown(app).startswith("Answer")
        await pilot.press("f3")
        await pilot.pause()
        assert shown(app) == "panes"
        assert app.focused is app.main.query_one("#library")


def test_a_build_in_progress_shows_what_passed_and_is_not_called_risky() -> None:
    """What has not run yet is no risk: nobody can approve it now."""
    events = streams.waiting()
    tested = next(index for index, one in enumerate(events) if isinstance(one.event, e.BuildTested))
    view = fold_all(events[: tested + 1])
    assert not view.builds[-1].settled and view.builds[-1].status != "pending"
    deck = Deck()
    deck.show(view.trace)
    at = next(index for index, card in enumerate(deck.cards) if card.kind == "build")
    title, _name, rows = about(view, deck, at, -1, lambda _id: view.builds[-1])
    text = "\n".join("".join(piece for piece, _style in (*row.gutter, *row.body)) for row in rows)
    assert title == "Build" and "BEING BUILT" in text and "Own tests" in text
    assert "approving takes" not in text and "not on record" not in text


async def test_a_build_shows_its_evidence_and_a_narrow_screen_the_inspector_instead() -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=(80, 24)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.main.query_one(Trace)
        await pilot.press("f2")
        await select(pilot, trace, "build")
        assert not app.main.query_one(Side).inspecting
        await pilot.press("i")
        await pilot.pause()
        assert shown(app).startswith("Build")
        text = app.main.query_one("#inspector", Sheet).text()
        assert "AT A GLANCE" in text and "CHECKS" in text
        await pilot.press("i")
        await pilot.pause()
        assert trace.size.area
        assert not app.main.query_one(Side).size.area
