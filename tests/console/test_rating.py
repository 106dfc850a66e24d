"""👍 and 👎 on a row of the trace, with words where something is wrong."""

from __future__ import annotations

from textual.widgets import Input

from alita_tui.console.session.trace import Trace
from alita_tui.events import TaskFinished
from alita_tui.spine.commands import GiveFeedback
from alita_tui.view.fold import fold_all
from tests.console.navigating import replaying
from tests.console.screens import Sink, console, drawn
from tests.support import streams


async def test_a_key_says_that_an_answer_is_good_and_another_asks_what_is_wrong() -> None:
    envelopes = streams.walkthrough()[:-1]
    sink = Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        app.screen.query_one(Trace).focus()
        await pilot.press("plus")
        line = app.screen.query_one("#wrong", Input)
        shown = [line.display]
        await pilot.press("minus")
        shown.append(line.display)
        assert app.focused is line
        await pilot.press(*"too few", "enter")
        shown.append(line.display)
        assert isinstance(app.focused, Trace)
        await pilot.press("minus", "enter", "minus", *"never mind", "escape")
        assert (*shown, line.display, line.value) == (False, True, False, False, "")
    newest = envelopes[-1].seq or 0
    assert sink.commands == [
        GiveFeedback(rating="up", seq=newest),
        GiveFeedback(rating="down", seq=newest, text="too few"),
        GiveFeedback(rating="down", seq=newest),
    ]


async def test_the_past_is_not_rated() -> None:
    app, _, _ = replaying([one for one in streams.walkthrough() if one.durable])
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        app.screen.query_one(Trace).focus()
        await pilot.press("plus", "minus")
        assert not app.screen.query_one("#wrong", Input).display


async def test_one_key_says_what_it_should_be_and_one_takes_it_back() -> None:
    envelopes = streams.walkthrough()[:-1]
    sink = Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        app.screen.query_one(Trace).focus()
        await pilot.press("equals_sign")
        line = app.screen.query_one("#wrong", Input)
        assert app.focused is line and "should it be" in line.placeholder
        await pilot.press(*"44", "enter", "equals_sign", "enter", "u", "minus")
        assert "What is wrong" in line.placeholder
    newest = envelopes[-1].seq or 0
    assert sink.commands == [
        GiveFeedback(rating="down", seq=newest, expected="44"),
        GiveFeedback(rating="up", seq=newest, undo=True),
    ]


async def test_a_task_is_rated_by_its_answer_and_a_thought_not_at_all() -> None:
    envelopes = streams.walkthrough()[:-1]
    folded = fold_all(envelopes)
    sink = Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.screen.query_one(Trace)
        trace.focus()
        await pilot.press("home", "plus")  # the task
        await pilot.press("down", "plus")  # its steps, on one line
        await pilot.press("d", "home", "down", "down")  # open, and past the line of the steps
        assert folded.trace[trace.row].kind == "thought"
        await pilot.press("plus", "minus")
        assert not app.screen.query_one("#wrong", Input).display and app.focused is trace
    answer = next(one.seq for one in envelopes if isinstance(one.event, TaskFinished))
    assert sink.commands == [GiveFeedback(rating="up", seq=answer or 0)] * 2
