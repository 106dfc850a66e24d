"""The trace alone in a bare app: following, opening, finding, copying, seeking back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from textual.geometry import Offset
from textual.selection import Selection

from alita_tui import events as e
from alita_tui.console.messages import CopyAsked
from alita_tui.console.session import trace_layout
from alita_tui.console.session.card_lines import PAPERS, draw, height
from alita_tui.console.session.side import Side
from alita_tui.console.session.trace import Trace
from alita_tui.console.session.trace_layout import Layout
from alita_tui.console.session.trace_lines import STYLES, growing, unfinished
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.styled_text import spread, text_of, width_of, wrap
from alita_tui.events import MemoryItem
from alita_tui.spine.text import SafeText, neutralise, one_line
from alita_tui.state.rows import Rows
from alita_tui.view.card_words import build_marks, section_summary
from alita_tui.view.cards import Deck, Level
from alita_tui.view.fold import fold_all
from alita_tui.view.model import Live, RowKind, SessionView, Tone, TraceRow
from tests.console.navigating import until
from tests.console.screens import CHANGED, console, covered, drawn
from tests.support import goldens, streams


class Bare(ThemedApp[None]):
    """A trace, and what it posts."""

    CSS = "Screen { layout: vertical; }"

    def __init__(self) -> None:
        super().__init__()
        self.yanked: list[str] = []
        self.unseen: list[int] = []
        self.levels: list[str] = []

    def compose(self):
        yield Trace(welcome=("Nothing here", "Write a task."))

    def on_mount(self) -> None:
        self.query_one(Trace).focus()

    def on_copy_asked(self, message: CopyAsked) -> None:
        self.yanked.append(message.text)

    def on_trace_level_chosen(self, message: Trace.LevelChosen) -> None:
        self.levels.append(message.level)

    def on_trace_follow_changed(self, message: Trace.FollowChanged) -> None:
        self.unseen.append(message.unseen)


def session(tasks: int) -> SessionView:
    tape = streams.Tape()
    streams.opened(tape)
    for number in range(tasks):
        tape.add(e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text=f"Task number {number}"))
        tape.turn("find_tool", {"query": f"need {number}"}, f"Thought number {number}.")
        tape.add(
            e.TaskFinished(task_id=e.TaskId(f"t{number}"), outcome="answered", answer=f"Answer {number}")
        )
    return fold_all(tape.envelopes)


def lines(trace: Trace) -> list[str]:
    return [trace.render_line(y).text.replace("›", " ").rstrip() for y in range(trace.size.height)]


def at_end(trace: Trace) -> bool:
    return round(trace.scroll_y) == trace.max_scroll_y


async def test_an_empty_trace_says_what_to_do() -> None:
    app = Bare()
    async with app.run_test() as pilot:
        trace = app.query_one(Trace)
        trace.advance(SessionView(title=SafeText("empty")))
        await pilot.pause()
        assert "Write a task." in "\n".join(lines(trace))
        trace.advance(session(1))
        await pilot.pause()
        assert "Write a task." not in "\n".join(lines(trace))


async def test_rows_already_on_screen_are_not_announced_as_new() -> None:
    """Steps fold when the answer comes: what was below the screen may then fit on it."""
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(session(10))
        await pilot.pause()
        trace.scroll_up(animate=False, immediate=True)
        await pilot.pause()
        trace.advance(session(11))
        await pilot.pause()
        assert app.unseen[-1] > 0
        trace.advance(session(1))
        await pilot.pause()
        assert trace.max_scroll_y == 0 and app.unseen[-1] == 0


async def test_new_rows_are_followed_until_the_person_scrolls_up() -> None:
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(session(10))
        await pilot.pause()
        assert (trace.follow, at_end(trace)) == (True, True)
        trace.scroll_up(animate=False, immediate=True)
        await pilot.pause()
        stopped, place, before = not trace.follow, trace.scroll_y, lines(trace)
        trace.advance(session(20))
        await pilot.pause()
        assert (stopped, trace.scroll_y, lines(trace)) == (True, place, before)
        new = len(session(20).trace) - len(session(10).trace)
        assert app.unseen[-1] == new
        await pilot.press("end")
        await pilot.pause()
        assert trace.follow
        assert at_end(trace)
        assert app.unseen[-1] == 0
        assert "Answer 19" in "\n".join(lines(trace))


async def test_the_reading_position_survives_cursor_moves_and_a_resize() -> None:
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(session(30))
        await pilot.pause()
        await pilot.press("g", "j", "j", "j")
        await pilot.pause()
        assert trace.row == 4, "task, folded steps, answer, and then the next task"
        assert not trace.follow
        shown = next(line for line in lines(trace) if "Task" in line).removesuffix("09:30").rstrip()
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert not trace.follow
        assert shown in [line.removesuffix("09:30").rstrip() for line in lines(trace)]


async def test_text_that_grows_never_moves_what_the_person_reads() -> None:
    app = Bare()
    view = session(10)
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(view)
        await pilot.pause()
        await pilot.press("g")
        before = lines(trace)
        for number in range(5):
            tape = streams.Tape()
            tape.add(
                e.ModelDelta(call_id="m", role="orchestrator", channel="text", text="word " * 40 * number)
            )
            trace.advance(fold_all(tape.envelopes, view))
            await pilot.pause()
            assert lines(trace) == before
        assert trace.scroll_y == 0


async def test_a_card_opens_into_its_rows_and_a_row_into_its_text_and_closes_again() -> None:
    app = Bare()
    view = fold_all(streams.waiting())
    async with app.run_test(size=(90, 60)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(view)
        await pilot.pause()
        before = lines(trace)
        assert not any("25 lines" in line for line in before), "the build is one card"
        await pilot.press("end", "enter")
        await pilot.pause()
        opened = lines(trace)
        rows = [row for row in view.trace if row.kind in ("build", "approval")]
        assert all(any(row.title[:40] in line for line in opened) for row in rows), "each row is there"
        while "draft" not in view.trace[trace.row].title:
            await pilot.press("down")
        await pilot.press("enter")
        await pilot.pause()
        code = "\n".join(lines(trace))
        assert 'results.append({"address": address, "valid": False' in code
        await pilot.press("space")
        await pilot.pause()
        at = next(number for number, line in enumerate(opened) if "is ready" in line)
        assert opened[at + 1].startswith("▌"), "the cursor takes the place of the bar in its first line alone"
        opened[at] = opened[at].replace(" ◈", "▌◈", 1)
        assert lines(trace) == opened
        trace.inner = -1
        await pilot.press("enter")
        await pilot.pause()
        assert lines(trace) == before


async def test_the_answer_leads_and_the_steps_fold_to_one_line_that_opens() -> None:
    app = Bare()
    view = fold_all(streams.walkthrough())
    async with app.run_test(size=(100, 40)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(view)
        await pilot.pause()
        folded = lines(trace)
        assert any(
            "3 steps · searched the library, searched the web, built validate_email" in one for one in folded
        )
        assert not any("Thought" in one for one in folded)
        await pilot.press("g", "j", "enter")
        await pilot.pause()
        opened = lines(trace)
        assert sum("Thought" in one for one in opened) == 5
        assert any("Build    validate_email_addresses v1  joined the library" in one for one in opened)
        assert any("from 1 tool run" in one for one in opened), "what the second answer rests on"
        await pilot.press("enter")
        await pilot.pause()
        assert lines(trace) == folded


@pytest.mark.parametrize("width", [100, 200])
async def test_the_times_of_tasks_and_of_their_steps_stand_in_one_column(width: int) -> None:
    app = Bare()
    async with app.run_test(size=(width, 40)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(fold_all(streams.walkthrough()))
        await pilot.press("g", "j", "enter")
        await pilot.pause()
        ends = {len(line) for line in lines(trace) if re.search(r"  (\d\d:\d\d|\d+ ms|[\d.]+ s)$", line)}
        assert len(ends) == 1


async def test_one_key_switches_between_answers_steps_and_everything() -> None:
    app = Bare()
    view = fold_all(streams.walkthrough())
    async with app.run_test(size=(110, 160)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(view)
        await pilot.pause()
        shown: dict[str, list[str]] = {}
        for _ in range(3):
            shown[trace.level] = lines(trace)
            await pilot.press("d")
            await pilot.pause()
        assert lines(trace) == shown["steps"], "after the third it begins again"
        for row in view.trace:
            if row.kind not in ("thought", "answer", "plan"):
                assert any(row.title[:30] in line for line in shown["everything"]), row.title
        assert app.levels == ["everything", "answer", "steps"]


def test_memory_notes_fold_and_open_with_the_steps() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    for task, steps in (("t1", True), ("t2", False)):
        tape.add(e.TaskSubmitted(task_id=e.TaskId(task), text="Chart the sales"))
        if steps:
            tape.turn("find_tool", {"query": "chart"}, "I look first.")
        tape.add(e.TaskFinished(task_id=e.TaskId(task), outcome="answered", answer="The chart is there."))
        for number in range(2):
            item = MemoryItem(item_id=f"{task}{number}", memory="episodic", text=f"note {task}-{number}")
            tape.add(e.MemoryWritten(item=item))
    rows = fold_all(tape.envelopes).trace
    deck = Deck()
    deck.show(rows)

    def shown() -> str:
        cards = range(len(deck.cards))
        return "\n".join(text_of(one.line) for at in cards for one in draw(deck, at, 100, lambda _id: None))

    def headers() -> list[str]:
        return [line for line in shown().split("\n") if "noted" in line]

    assert "note t" not in shown() and "1 step · searched the library, noted 2 things" in headers()[0]
    assert len(headers()) == 2, "also where nothing but the notes is there to open"
    for header in [card for card in deck.cards if card.kind == "steps"]:
        deck.toggle(header)
    assert all(f"Noted for later: note {task}-{n}" in shown() for task in ("t1", "t2") for n in range(2))
    for header in [card for card in deck.cards if card.kind == "steps"]:
        deck.toggle(header)
    assert "note t" not in shown()
    deck.level = "everything"
    assert shown().count("Noted for later") == 0, "a person folded them"
    deck.show(fold_all(tape.envelopes[:-1]).trace)
    assert "noted 1 thing" in headers()[1]
    fresh = Deck()
    fresh.level = "everything"
    fresh.show(rows)
    assert sum(not fresh.hidden(card) and card.kind == "note" for card in fresh.cards) == 4


@pytest.mark.parametrize("level", get_args(Level))
def test_a_file_that_the_person_gives_stays_in_sight_at_every_level(level: Level) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    deck = Deck()
    deck.level = level

    def shown(name: str) -> int:
        deck.show(fold_all(tape.envelopes).trace)
        cards = range(len(deck.cards))
        lines = [text_of(one.line) for at in cards for one in draw(deck, at, 100, lambda _id: None)]
        return sum(f"File {name}: text/csv" in line for line in lines)

    def give(name: str) -> None:
        file = e.Artefact(handle=f"art_{name}", digest="a" * 64, name=name, media_type="text/csv", size=4)
        tape.add(e.ArtefactAdded(artefact=file, origin="person"))

    give("first.csv")
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="chart @first.csv"))
    tape.turn("find_tool", {"query": "chart"}, "I look first.")
    assert shown("first.csv")
    give("steered.csv")
    tape.add(e.Steered(text="and @steered.csv"))
    give("queued.csv")
    tape.add(e.TaskQueued(queue_id="q", text="then @queued.csv"))
    assert shown("first.csv") and shown("steered.csv") and shown("queued.csv")
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="The chart is there."))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t2"), text="then @queued.csv"))
    assert all(shown(name) == 1 for name in ("first.csv", "steered.csv", "queued.csv"))


def test_the_line_of_folded_steps_names_what_was_built_and_what_was_tried() -> None:
    def asked() -> tuple[streams.Tape, str]:
        tape = streams.Tape()
        streams.opened(tape)
        tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="roll dice"))
        return tape, tape.turn("build_tool", {"name": "roll_dice", "goal": "roll"}, "I have it built.")

    def told(tape: streams.Tape) -> list[str]:
        deck = Deck()
        deck.show(fold_all(tape.envelopes).trace)
        return next(section_summary(deck, card.section)[1] for card in deck.cards if card.section)

    tape, _ = asked()
    tape.add(
        e.TaskFinished(task_id=e.TaskId("t1"), outcome="sandbox", reason="Podman's service does not start.")
    )
    assert told(tape) == ["asked for a tool"]
    tape, action = asked()
    tape.add(
        e.BuildStarted(build_id=e.BuildId("b"), action_id=action, name="roll_dice", version=1, goal="roll")
    )
    assert told(tape) == ["built roll_dice"]
    tape.add(e.BuildFailed(build_id=e.BuildId("b"), reason="it was interrupted"))
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="interrupted", reason="stopped by you"))
    assert told(tape) == ["tried to build roll_dice"]


def test_a_postponed_build_keeps_waiting_and_says_that_the_task_continues() -> None:
    view = fold_all(streams.waiting())
    deck = Deck()
    deck.show(view.trace)
    at = next(card.at for card in deck.cards if card.kind == "build")

    def card(put_off: bool) -> str:
        build = replace(view.builds[-1], put_off=put_off)
        return "\n".join(text_of(one.line) for one in draw(deck, at, 100, lambda _id: build, "F8"))

    assert "May it join your library?" in card(put_off=False)
    assert "the task continues without it" in card(put_off=True) and "F8 review" in card(put_off=True)


def test_the_bar_of_checks_is_shown_whole_or_not_at_all() -> None:
    view = fold_all(goldens.walkthrough())
    deck = Deck()
    deck.show(view.trace)
    for card in deck.cards:
        if card.section is not None:
            card.section.folded = False
    at = next(card.at for card in deck.cards if card.kind == "build")
    build = next(one for one in view.builds if one.build_id == deck.cards[at].build)
    most = len(build_marks(build))
    shown = {
        sum(text.count(mark) for mark in "■✗○")
        for width in range(30, 140)
        for text in [text_of(draw(deck, at, width, lambda _id: build)[0].line)[4:]]
    }
    assert shown == {0, most}


async def test_rows_that_wait_for_the_person_are_never_folded() -> None:
    app = Bare()
    envelopes = streams.waiting()
    async with app.run_test(size=(100, 40)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(fold_all(envelopes))
        trace.detail("answer")
        await pilot.pause()
        shown = "\n".join(lines(trace))
        assert "validate_email_addresses v1 is ready. May it join your library?" in shown
        assert "Thought" not in shown and "so far" not in shown
        tape = streams.Tape()
        tape.envelopes.extend(envelopes)
        tape.add(
            e.TaskFinished(
                task_id=envelopes[-1].task_id or e.TaskId("t1"), outcome="parked", reason="It waits."
            )
        )
        trace.advance(fold_all(tape.envelopes))
        await pilot.pause()
        assert "May it join your library?" in "\n".join(lines(trace))


async def test_an_answer_taller_than_the_screen_shows_its_head() -> None:
    app = Bare()
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t0"), text="List them"))
    before = fold_all(tape.envelopes)
    text = "\n\n".join(f"Paragraph {number}." for number in range(40))
    tape.add(e.TaskFinished(task_id=e.TaskId("t0"), outcome="answered", answer=text))
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(before)
        await pilot.pause()
        trace.advance(fold_all(tape.envelopes))
        await pilot.pause()
        await pilot.pause()
        assert "● Paragraph 0." in lines(trace)[0]
        seen = set(lines(trace))
        for _ in range(12):
            await pilot.press("pagedown")
            seen |= set(lines(trace))
        assert all(f"Paragraph {number}." in "\n".join(seen) for number in range(40)), "no page is skipped"


async def test_a_session_that_is_opened_shows_its_end_and_not_the_head_of_a_long_answer_in_it() -> None:
    app = Bare()
    tape = streams.Tape()
    streams.opened(tape)
    text = "\n\n".join(f"Paragraph {number}." for number in range(40))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t0"), text="List them"))
    tape.add(e.TaskFinished(task_id=e.TaskId("t0"), outcome="answered", answer=text))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="And now the dice"))
    recorded = len(tape.envelopes)
    tape.add(e.SessionResumed(restored=recorded))  # told on opening, so it may come with what is on record
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.opens(recorded, tape.envelopes)
        trace.advance(fold_all(tape.envelopes))
        await pilot.pause()
        await pilot.pause()
        assert trace.follow and any("And now the dice" in line for line in lines(trace)), lines(trace)


async def test_search_marks_goes_round_and_opens_what_hides_the_hit() -> None:
    app = Bare()
    view = fold_all(streams.walkthrough())
    async with app.run_test(size=(100, 30)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(view)
        await pilot.pause()
        assert trace.find("no such words") == 0
        assert trace.find("check_deliverability") == 1
        await pilot.pause()
        assert "draft" in view.trace[trace.row].title
        assert any("check_deliverability" in line for line in lines(trace))
        hits = trace.find("EMAIL")
        assert hits == sum("email" in f"{row.title} {row.detail}".lower() for row in view.trace)
        seen = set()
        for _ in range(hits):
            await pilot.press("n")
            seen.add(trace.row)
        assert len(seen) == hits
        first = trace.row
        await pilot.press("N", "n")
        assert trace.row == first
        assert trace.find("") == 0


async def test_copying_takes_the_rows_own_text() -> None:
    app = Bare()
    view = fold_all(streams.walkthrough())
    async with app.run_test(size=(60, 20)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(view)
        await pilot.pause()
        await pilot.press("end", "y")
        await pilot.pause()
        assert app.yanked == [view.trace[len(view.trace) - 1].detail]
        text, _end = trace.get_selection(Selection(Offset(0, 0), Offset(200, 0))) or ("", "")
        assert text.strip().startswith("❯ " + view.trace[0].title)


async def test_seeking_back_and_on_draws_what_playing_draws() -> None:
    app = Bare()
    envelopes = streams.walkthrough()
    async with app.run_test(size=(80, 24)) as pilot:
        trace = app.query_one(Trace)
        played: dict[int, list[str]] = {}
        for count in range(1, len(envelopes) + 1):
            trace.advance(fold_all(envelopes[:count]))
            await pilot.pause()
            played[count] = lines(trace)
        for count in (40, 12, 60, 3, len(envelopes)):
            trace.advance(fold_all(envelopes[:count]))
            await pilot.pause()
            assert lines(trace) == played[count], count


# --- the lines ----------------------------------------------------------------------------

NASTY = st.text(
    alphabet=st.one_of(
        st.characters(codec="utf-8"), st.sampled_from("[]/\\\n\t\x1b\u200b\u200d\u202e名👩‍👧🏳️‍🌈é́ —")
    ),
    max_size=400,
)
KINDS = st.sampled_from(
    "session task plan thought action observation build approval run question memory notice error answer unknown".split()
)
TONES = st.sampled_from("normal muted good warn bad wait".split())


@settings(max_examples=150)
@given(NASTY, st.integers(20, 300))
def test_wrapped_text_fits_and_nothing_is_lost(text: str, width: int) -> None:
    safe = neutralise(text)
    found = wrap(safe, width)
    assert all(cell_len(line) <= width for line in found)
    assert "".join("".join(found).split()) == "".join(safe.split())


@settings(max_examples=200)
@given(
    st.lists(st.tuples(NASTY, NASTY, KINDS, TONES, st.sampled_from(["", "a", "b"])), min_size=1, max_size=5),
    st.integers(20, 300),
    st.sampled_from(["answer", "steps", "everything"]),
    st.booleans(),
)
def test_cards_of_any_text_fit_their_width(made, width: int, level: Level, opened: bool) -> None:
    deck = Deck()
    deck.level = level
    rows = [
        TraceRow(
            n,
            streams.START,
            3,
            "a",
            kind,
            one_line(title, 400),
            neutralise(detail),
            one_line(title, 40),
            tone,
            e.TaskId("t"),
            key,
        )
        for n, (title, detail, kind, tone, key) in enumerate(made)
    ]
    deck.show(Rows[TraceRow]().append(*rows))
    for index in range(len(deck.cards)):
        if opened:
            deck.toggle(deck.cards[index])
        found = draw(deck, index, width, lambda _build: None)
        assert len(found) == height(deck, index, width, lambda _build: None)
        assert all(width_of(one.line) <= width for one in found)
        assert all("\n" not in text_of(one.line) for one in found)


@pytest.mark.parametrize("kind", get_args(RowKind))
@pytest.mark.parametrize("tone", get_args(Tone))
@pytest.mark.parametrize("level", ["steps", "everything"])
def test_every_kind_of_row_is_drawn_in_styles_that_the_screen_knows(
    kind: RowKind, tone: Tone, level: Level
) -> None:
    deck = Deck()
    deck.level = level
    row = TraceRow(
        1, streams.START, 1, "a", kind, SafeText("title"), SafeText("one\ntwo"), SafeText("m"), tone
    )
    deck.show(Rows[TraceRow]().append(row, replace(row, key="k"), replace(row, key="k")))
    for index in range(len(deck.cards)):
        for one in draw(deck, index, 60, lambda _build: None):
            assert {style for _text, style in one.line} | {one.paper} <= {*STYLES, *PAPERS, ""}


@settings(max_examples=30)
@given(st.lists(st.integers(0, 70), min_size=1, max_size=8), st.sampled_from([30, 80, 140]))
def test_every_state_of_a_build_fits_and_seeking_leaves_the_cards_that_playing_makes(
    places, width: int
) -> None:
    envelopes = streams.walkthrough()
    sought = Layout()
    sought.fit(width)
    for place in places:
        view = fold_all(envelopes[: place + 1])
        sought.show(view.trace, view.builds)
        played = Layout()
        played.fit(width)
        for count in range(place + 2):
            one = fold_all(envelopes[:count]) if count > place - 3 else None
            if one is not None:
                played.show(one.trace, one.builds)
        for layout in (sought, played):
            for index in range(len(layout.cards)):
                layout.place(index)
        drawn = [sought.line(number)[1].line for number in range(sought.end)]
        assert drawn == [played.line(number)[1].line for number in range(played.end)]
        assert all(width_of(line) <= width for line in drawn)


@settings(max_examples=100)
@given(NASTY, st.integers(20, 300))
def test_growing_text_fits_its_width(text: str, width: int) -> None:
    safe = neutralise(text)
    live = Live(
        role="toolsmith", thinking=safe, arguments=safe, work=one_line(text), work_done=3, work_total=2
    )
    assert all(width_of(line) <= width for line in growing(live, width))
    assert width_of(spread(((safe.replace("\n", " "), ""),), ("12 ms", ""), width)) <= width


def test_code_that_is_being_written_is_shown_as_code() -> None:
    assert unfinished('{"name": "x", "code": "import os\\n\\tprint(\\"a') == (
        "its code",
        'import os\n    print("a',
    )
    assert unfinished('{"name": "val') == ("its name", "val")
    assert unfinished('{"code": "a\\') == ("its code", "a")
    assert unfinished('{"na') == ("the draft", "")


def test_an_answer_is_laid_out_while_it_is_written() -> None:
    written = Live(
        role="orchestrator",
        arguments=SafeText('{"text": "# Sales\\n\\n**North** grew by 12 % and \\u001b[31m'),
    )
    drawn = [text_of(line) for line in growing(written, 60)]
    assert drawn[0] == " ● Sales"
    assert "North grew by 12 %" in drawn[-1] and "\x1b" not in drawn[-1]
    searched = Live(role="orchestrator", arguments=SafeText('{"query": "rates'))
    assert growing(searched, 60) == []


def test_a_streamed_answer_shows_no_raw_markup_and_stays_until_the_answer_is_recorded() -> None:
    answer = "Three grew.\n\n| Region | Growth |\n| :--- | ---: |\n| North | 12 % |\n\n```python\nx = 1\n```\nSo it is."
    arguments = json.dumps({"text": answer, "sources": ["a", "b"]})
    before: list[str] = []
    for length in range(arguments.index("Three") + 5, len(arguments) + 1):
        live = Live(role="orchestrator", arguments=SafeText(arguments[:length]))
        drawn = [text_of(line) for line in growing(live, 60)]
        assert not re.search(r"\||`|:-", "\n".join(drawn)), drawn
        assert len(drawn) >= len(before), "nothing vanishes"
        before = drawn
    assert "North     12 %" in "".join(before) and "So it is." in before[-1]


def long(tasks: int) -> SessionView:
    """A session of many blocks of rows, the folding of which is not what is tested."""
    some = session(20)
    rows = [replace(row, seq=number) for number, row in enumerate(list(some.trace) * (tasks // 20))]
    return replace(some, trace=type(some.trace)().append(*rows))


def is_open(deck: Deck, index: int) -> bool:
    card = deck.cards[index]
    steps = card.kind == "steps" and card.section is not None
    return not deck.folded(card.section) if steps and card.section else deck.opened(card)


def eager(view: SessionView, width: int, chosen: dict[int, bool], level: Level = "steps") -> list[str]:
    """Every line of a trace, drawn without a layout; `chosen` says which cards the person opened or closed."""
    deck = Deck()
    deck.level = level
    deck.show(view.trace)
    for index, wanted in chosen.items():
        if is_open(deck, index) != wanted:
            deck.toggle(deck.cards[index])
    return [
        text_of(one.line)
        for index in range(len(deck.cards))
        for one in draw(deck, index, width, lambda _build: None)
    ]


@settings(max_examples=25)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("width"), st.integers(20, 90)),
            st.tuples(st.just("rows"), st.integers(1, 1500)),
            st.tuples(st.just("open"), st.integers(0, 1499)),
            st.tuples(st.just("look"), st.integers(0, 3000)),
        ),
        max_size=12,
    )
)
def test_the_layout_ends_the_same_whatever_was_looked_at(steps) -> None:
    whole, layout, width = long(300), Layout(), 60
    chosen: dict[int, bool] = {}
    layout.fit(width)
    shown = whole
    layout.show(shown.trace)
    for what, number in steps:
        if what == "width":
            width = number
            layout.fit(width)
        elif what == "rows":
            trace = type(whole.trace)().append(*list(whole.trace)[:number])
            shown = replace(whole, trace=trace)
            layout.show(trace)
            chosen = {index: wanted for index, wanted in chosen.items() if index < len(layout.cards)}
        elif what == "open" and number < len(layout.cards):
            deck = Deck()
            deck.show(shown.trace)
            chosen[number] = not chosen.get(number, is_open(deck, number))
            layout.toggle(number)
        elif what == "look":
            layout.settle(number, 30)
    for index in range(len(layout.cards)):
        layout.place(index)
    assert [text_of(layout.line(number)[1].line) for number in range(layout.end)] == eager(
        shown, width, chosen
    )


async def test_scrolling_up_through_unmeasured_rows_skips_nothing() -> None:
    app = Bare()
    async with app.run_test(size=(34, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(long(400))
        await pilot.pause()
        await pilot.resize_terminal(30, 12)
        await pilot.pause()
        expected = [line.rstrip() for line in eager(long(400), trace.scrollable_content_region.width, {})]
        end = len(expected) - 12
        assert [line.rstrip() for line in lines(trace)][:11] == expected[end : end + 11]
        for up in range(1, 1200):
            trace.scroll_relative(y=-1, animate=False, immediate=True)
            assert lines(trace)[1:11] == expected[end - up + 1 : end - up + 11], up


async def test_a_resize_measures_what_is_on_screen_and_no_more(monkeypatch) -> None:
    app = Bare()
    async with app.run_test(size=(60, 20)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(long(2000))
        await pilot.pause()
        measured = []

        def counted(*at: Any) -> int:
            measured.append(1)
            return int(height(*at))

        monkeypatch.setattr("alita_tui.console.session.trace_layout.height", counted)
        await pilot.resize_terminal(50, 20)
        await pilot.pause()
        assert 0 < len(measured) <= 3 * trace_layout.BLOCK
        assert at_end(trace)
        assert "Answer 19" in "\n".join(lines(trace))


async def test_selected_text_far_down_is_the_text_on_screen() -> None:
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(long(400))
        await pilot.pause()
        top = round(trace.scroll_y)
        picked = Selection(Offset(0, top + 2), Offset(60, top + 4))
        selected = trace.get_selection(picked)
        assert selected is not None
        text, _ = selected
        assert [line.rstrip() for line in text.split("\n")] == lines(trace)[2:5]


async def test_the_trace_reflows_beside_a_review_and_after_it_closes() -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.main.query_one(Trace)
        before = trace.size.width
        await pilot.press("f8")
        await covered(pilot)
        await until(pilot, lambda: trace.size.width <= 48)
        assert trace.region.right <= 48, "nothing of it lies beneath the review"
        assert any("validate_email_addresses v1 is ready" in line for line in lines(trace))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await until(pilot, lambda: trace.size.width == before)


async def test_the_divider_is_moved_by_key_and_by_mouse_and_leaves_room_for_both() -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        side, trace = app.main.query_one(Side), app.main.query_one(Trace)
        wide = side.outer_size.width
        await pilot.press("f2", "left_curly_bracket")
        await until(pilot, lambda: side.outer_size.width == wide + 4)
        await pilot.press("right_curly_bracket", "right_curly_bracket")
        await until(pilot, lambda: side.outer_size.width == wide - 4)
        left = side.region.x
        await pilot.mouse_down(offset=(left, 10))
        await pilot.hover(offset=(left - 15, 10))
        await pilot.mouse_up(offset=(left - 15, 10))
        await until(pilot, lambda: side.region.x == left - 15)
        await pilot.hover(offset=(5, 10))
        await pilot.pause()
        assert side.region.x == left - 15, "it was let go"
        for _ in range(30):
            await pilot.press("left_curly_bracket")
        await pilot.pause()
        assert trace.size.width >= 35


async def test_on_a_wide_screen_the_side_has_what_the_trace_does_not_need_and_the_divider_moves() -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=(200, 55)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        side, trace = app.main.query_one(Side), app.main.query_one(Trace)
        assert 112 <= trace.size.width <= 114, "the times are at its right edge"
        assert side.region.right == 200
        await pilot.press("f2", *("right_curly_bracket",) * 4)
        await until(pilot, lambda: trace.size.width > 120)
        assert side.region.right == 200 and trace.region.right <= side.region.x


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_opening_the_last_card_shows_what_it_holds(size: tuple[int, int]) -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=size) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.main.query_one(Trace)
        await pilot.press("f2", "end", "enter")
        card = trace._layout.deck.cards[trace.cursor]
        await until(pilot, lambda: bool(card.opened))
        await pilot.pause()
        first, last = trace._layout.place(trace.cursor)[0], trace._layout.end_of(trace.cursor)
        assert last - first > 8, "it holds something"
        assert first >= trace.scroll_y and (
            last <= trace.scroll_y + trace.size.height or first == trace.scroll_y
        ), "it is on screen, from its first line if it is taller"


async def test_the_chosen_level_of_detail_is_remembered_and_used_in_replays() -> None:
    envelopes = streams.walkthrough()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("f2", "d")
        await until(pilot, lambda: ("console.detail", "everything") in CHANGED)
        await pilot.press("ctrl+y")
        await covered(pilot)
        await until(pilot, lambda: bool(app.screen.query(Trace)))
        assert app.screen.query_one(Trace).level == "everything"
    again = console(envelopes, detail="answer")
    async with again.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        assert again.main.query_one(Trace).level == "answer"


def _opened_again(times: int) -> list[Any]:
    """A stream that was opened again so often, each time with all that it had."""
    stream = goldens.walkthrough()
    last = stream[-1]
    for number in range(1, times + 1):
        seq = (last.seq or 0) + number
        stream.append(replace(last, seq=seq, event=e.SessionResumed(restored=seq - 1)))
    return stream


def _shown(deck: Deck) -> list[str]:
    lines = [line for at in range(len(deck.cards)) for line in draw(deck, at, 100, lambda _build: None)]
    return [text for line in lines if "Restored" in (text := text_of(line.line))]


def test_only_the_newest_reopening_of_a_session_is_shown() -> None:
    deck, stream = Deck(), _opened_again(3)
    for length in range(len(stream) - 3, len(stream) + 1):
        deck.show(fold_all(stream[:length]).trace)
        assert len(_shown(deck)) == min(1, length - len(stream) + 3)
    newest = _shown(deck)
    deck.show(fold_all(stream[:-1]).trace)
    assert len(_shown(deck)) == 1 and _shown(deck) != newest, "after a seek back it is the one before"
    deck.show(fold_all(stream[:-3]).trace)
    assert not _shown(deck)
    deck.show(fold_all(stream).trace)
    deck.level = "everything"
    assert len(_shown(deck)) == 3, "nothing is out of reach"


def test_an_earlier_reopening_is_shown_if_searched_for_or_if_it_reported_damage() -> None:
    deck, stream = Deck(), _opened_again(3)
    stream[-2] = replace(stream[-2], event=e.SessionResumed(restored=7, note="2 records were damaged"))
    rows = fold_all(stream).trace
    deck.show(rows)
    assert ["damaged" in line for line in _shown(deck)] == [True, False]
    assert not any(str(rows[-3].title) in line for line in _shown(deck))
    deck.reveal(len(rows) - 3)
    assert any(str(rows[-3].title) in line for line in _shown(deck))


def test_a_queued_task_is_in_the_trace_once_it_began() -> None:
    """Until then the line over the composer shows it, as it is now."""
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskQueued(queue_id="q1", text="roll dice"))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="roll dice", queue_id="q1"))
    tape.add(e.TaskQueued(queue_id="q2", text="draw a card"))
    tape.add(e.TaskQueued(queue_id="q3", text="draw a lot"))
    tape.add(e.TaskMoved(queue_id="q3", before="q2", text="draw a lot"))
    tape.add(e.TaskCancelled(queue_id="q3", text="draw a lot"))
    waiting = len(tape.envelopes)
    tape.turn("find_tool", {"query": "dice"}, "I look first.")
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="Six."))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t2"), text="draw a card", queue_id="q2"))

    def shown(deck: Deck, text: str) -> int:
        lines = [line for at in range(len(deck.cards)) for line in draw(deck, at, 100, lambda _build: None)]
        return sum(text in text_of(line.line) for line in lines)

    played = Deck()
    for length in (*range(waiting, len(tape.envelopes) + 1), waiting, len(tape.envelopes)):
        played.show(fold_all(tape.envelopes[:length]).trace)
        assert shown(played, "roll dice") == 1
        assert shown(played, "draw a card") == (length == len(tape.envelopes))
        assert length != waiting or shown(played, "draw a lot") == 1, "that it was cancelled"
    played.level = "everything"
    assert shown(played, "roll dice") == 2, "nothing is out of reach"


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_waiting_build_that_was_opened_still_says_what_it_waits_for_and_the_key(
    size: tuple[int, int],
) -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=size) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.main.query_one(Trace)
        card = next(card for card in trace._layout.cards if card.kind == "build")
        closed = lines(trace)
        assert any("is ready" in line for line in closed)
        assert any("F8 review   Enter opens" in line for line in closed)
        trace.focus()
        trace._go((card.at, -1))
        await pilot.press("enter")
        await until(pilot, lambda: bool(card.opened))
        opened = lines(trace)
        question = next(n for n, line in enumerate(opened) if "is ready" in line)
        key = next(n for n, line in enumerate(opened) if "F8 review   Enter closes" in line)
        row = next(n for n, line in enumerate(opened) if line.startswith(" │ "))
        assert question < key < row, "what it waits for and the key come before its rows"


async def test_on_a_wide_screen_the_trace_keeps_44_columns_beside_answers_and_code() -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=(200, 55)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.main.query_one(Trace)
        await pilot.press("f8")
        await covered(pilot)
        await until(pilot, lambda: trace.region.right <= 44)
        review = app.screen.query_one("#review").region
        assert trace.region.right <= review.x <= 45 and review.right == 200


def _doubled(lines: list[str]) -> list[int]:
    """Return where two blank lines follow each other."""
    return [at for at in range(1, len(lines)) if not lines[at - 1].strip() and not lines[at].strip()]


@pytest.mark.parametrize("level", get_args(Level))
@pytest.mark.parametrize("stream", [streams.waiting, goldens.walkthrough])
def test_one_blank_line_separates_cards_and_opened_rows(
    stream: Callable[[], list[Any]], level: Level
) -> None:
    envelopes = stream()
    layout, length = Layout(), 0
    layout.detail(level)
    layout.fit(100)

    def lines(at: int) -> list[str]:
        return [text_of(one.line) for one in layout.lines(at)]

    for length in range(1, len(envelopes) + 1):
        view = fold_all(envelopes[:length])
        layout.show(view.trace, view.builds)
        fresh = Layout()
        fresh.detail(level)
        fresh.fit(100)
        fresh.show(view.trace, view.builds)
        drawn = [line for at in range(len(layout.cards)) for line in lines(at)]
        assert drawn == [text_of(one.line) for at in range(len(fresh.cards)) for one in fresh.lines(at)]
        assert not _doubled(drawn)
    for card in [card for card in layout.cards if card.kind in ("step", "build", "thought", "plan")]:
        if not layout.deck.hidden(card) and not layout.deck.opened(card):
            layout.toggle(card.at)
        assert layout.deck.hidden(card) or lines(card.at)[-1] == ""
    whole = [layout.line(at) for at in range(layout.place(len(layout.cards) - 1)[1])]
    assert not _doubled([text_of(drawn.line) for _card, drawn in whole])


async def test_the_cursor_background_covers_blank_lines_of_an_answer() -> None:
    app = Bare()
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t"), text="sales"))
    tape.add(
        e.TaskFinished(
            task_id=e.TaskId("t"), outcome="answered", answer="# Sales\n\nNorth leads.\n\n- one\n- two"
        )
    )
    async with app.run_test(size=(80, 24)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(fold_all(tape.envelopes))
        await pilot.pause()
        await pilot.press("end")
        await pilot.pause()

        def paper(y: int) -> object:
            style = list(trace.render_line(y))[-1].style
            return style.bgcolor if style else None

        shown = lines(trace)
        first = next(y for y, line in enumerate(shown) if "● Sales" in line)
        last = next(y for y, line in enumerate(shown) if "two" in line)
        assert {paper(y) for y in range(first, last + 1)} == {paper(first)}
        assert paper(first - 1) != paper(first) != paper(last + 1), "not the blank lines around it"
