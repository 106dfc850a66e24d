"""The trace alone in a bare app: following, opening, finding, copying, seeking back."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from textual.geometry import Offset
from textual.selection import Selection

from alita_tui import events as e
from alita_tui.console.session import trace_layout
from alita_tui.console.session.trace import Trace
from alita_tui.console.session.trace_layout import Layout
from alita_tui.console.session.trace_lines import fold, growing, height, unfinished
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.styled_text import spread, text_of, width_of, wrap
from alita_tui.spine.text import SafeText, neutralise, one_line
from alita_tui.view.fold import fold_all
from alita_tui.view.model import Live, RowKind, SessionView, Tone, TraceRow
from tests.support import streams


class Bare(ThemedApp[None]):
    """A trace, and what it posts."""

    CSS = "Screen { layout: vertical; }"

    def __init__(self) -> None:
        super().__init__()
        self.yanked: list[str] = []
        self.unseen: list[int] = []

    def compose(self):
        yield Trace(welcome=("Nothing here", "Write a task."))

    def on_mount(self) -> None:
        self.query_one(Trace).focus()

    def on_trace_yanked(self, message: Trace.Yanked) -> None:
        self.yanked.append(message.text)

    def on_trace_follow_changed(self, message: Trace.FollowChanged) -> None:
        self.unseen.append(message.unseen)


def session(tasks: int) -> SessionView:
    tape = streams.Tape()
    streams.opened(tape)
    for number in range(tasks):
        tape.add(e.TaskSubmitted(task_id=f"t{number}", text=f"Task number {number}"))
        tape.turn("find_tool", {"query": f"need {number}"}, f"Thought number {number}.")
        tape.add(e.TaskFinished(task_id=f"t{number}", outcome="answered", answer=f"Answer {number}"))
    return fold_all(tape.envelopes)


def lines(trace: Trace) -> list[str]:
    return [trace.render_line(y).text.replace("▌", " ").rstrip() for y in range(trace.size.height)]


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


async def test_what_comes_is_followed_until_someone_scrolls_up() -> None:
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


async def test_the_cursor_and_a_resize_leave_the_reader_in_place() -> None:
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(session(30))
        await pilot.pause()
        await pilot.press("g", "j", "j", "j", "j")
        await pilot.pause()
        assert trace.cursor == 4
        assert not trace.follow
        shown = next(line for line in lines(trace) if "Task" in line)
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert not trace.follow
        assert shown in lines(trace)


async def test_growing_text_never_moves_a_reader() -> None:
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


async def test_a_row_opens_and_closes_with_its_whole_text() -> None:
    app = Bare()
    view = fold_all(streams.waiting())
    draft = next(i for i, row in enumerate(view.trace) if "draft" in row.title)
    async with app.run_test(size=(90, 50)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(view)
        await pilot.pause()
        before = lines(trace)
        trace.cursor = draft
        await pilot.press("enter")
        await pilot.pause()
        opened = "\n".join(lines(trace))
        assert 'results.append({"address": address, "valid": False' in opened
        await pilot.press("space")
        await pilot.pause()
        assert lines(trace) == before


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
        assert "draft" in view.trace[trace.cursor].title
        assert any("check_deliverability" in line for line in lines(trace))
        hits = trace.find("EMAIL")
        assert hits == sum("email" in f"{row.title} {row.detail}".lower() for row in view.trace)
        seen = set()
        for _ in range(hits):
            await pilot.press("n")
            seen.add(trace.cursor)
        assert len(seen) == hits
        first = trace.cursor
        await pilot.press("N", "n")
        assert trace.cursor == first
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
        assert text.strip() == "❯ " + view.trace[0].title


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


@settings(max_examples=150, deadline=None)
@given(NASTY, st.integers(20, 300))
def test_wrapped_text_fits_and_nothing_is_lost(text: str, width: int) -> None:
    safe = neutralise(text)
    found = wrap(safe, width)
    assert all(cell_len(line) <= width for line in found)
    assert "".join("".join(found).split()) == "".join(safe.split())


@settings(max_examples=200, deadline=None)
@given(NASTY, NASTY, KINDS, TONES, st.integers(20, 300), st.booleans())
def test_a_row_of_any_text_fits_its_width(
    title: str, detail: str, kind: RowKind, tone: Tone, width: int, opened: bool
) -> None:
    row = TraceRow(
        1, streams.START, 3, "a", kind, one_line(title, 400), neutralise(detail), one_line(title, 40), tone
    )
    found = fold(row, None, width, opened=opened)
    assert len(found) == height(row, None, width, opened=opened)
    assert all(width_of(line) <= width for line in found)
    assert all("\n" not in text_of(line) for line in found)


@settings(max_examples=100, deadline=None)
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


def long(tasks: int) -> SessionView:
    """A session of many blocks of rows, the folding of which is not what is tested."""
    some = session(20)
    rows = [replace(row, seq=number) for number, row in enumerate(list(some.trace) * (tasks // 20))]
    return replace(some, trace=type(some.trace)().append(*rows))


def eager(view: SessionView, width: int, opened: set[int]) -> list[str]:
    """Every line of a trace, drawn without a layout."""
    lines: list[str] = []
    for index, row in enumerate(view.trace):
        before = view.trace[index - 1] if index else None
        lines += [text_of(line) for line in fold(row, before, width, opened=index in opened)]
    return lines


@settings(max_examples=25, deadline=None)
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
def test_whatever_was_looked_at_the_layout_ends_up_as_if_all_had_been_measured(steps) -> None:
    whole, layout, width = long(300), Layout(), 60
    opened: set[int] = set()
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
            kept = layout.show(trace)
            opened = {index for index in opened if index < kept}
        elif what == "open" and number < len(shown.trace):
            opened ^= {number}
            layout.toggle(number)
        elif what == "look":
            layout.settle(number, 30)
    for index in range(len(shown.trace)):
        layout.place(index)
    assert [text_of(layout.line(number)[1]) for number in range(layout.end)] == eager(shown, width, opened)


async def test_going_up_line_by_line_through_what_was_never_measured_misses_nothing() -> None:
    app = Bare()
    async with app.run_test(size=(34, 12)) as pilot:
        trace = app.query_one(Trace)
        trace.advance(long(400))
        await pilot.pause()
        await pilot.resize_terminal(30, 12)
        await pilot.pause()
        expected = [line.rstrip() for line in eager(long(400), trace.scrollable_content_region.width, set())]
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

        def counted(*at: Any, **how: Any) -> int:
            measured.append(1)
            return height(*at, **how)

        monkeypatch.setattr(trace_layout, "height", counted)
        await pilot.resize_terminal(50, 20)
        await pilot.pause()
        assert 0 < len(measured) <= 2 * trace_layout.BLOCK
        assert at_end(trace)
        assert "Answer 19" in "\n".join(lines(trace))


async def test_selected_text_far_down_is_the_text_that_is_seen() -> None:
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
