"""👍 and 👎 on a row of the trace, with words where something is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace
from textual.widgets import Input

from alita_tui import events as e
from alita_tui.agent.feedback import feedback_of
from alita_tui.console.session.trace import Trace
from alita_tui.console.session.trace_layout import Layout
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.events import SessionEvent, TaskFinished
from alita_tui.spine.commands import GiveFeedback
from alita_tui.spine.envelope import Envelope
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


async def test_leaving_the_rating_question_returns_to_the_row_and_keeps_the_search() -> None:
    envelopes = streams.walkthrough()[:-1]
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.screen.query_one(Trace)
        trace.focus()
        await pilot.press("slash", *"valid", "enter")
        trace.focus()
        await pilot.press("minus", *"too few", "escape")
        assert app.focused is trace
        hits = []
        for _ in range(2):
            await pilot.press("n")
            hits.append(trace.row)
        assert hits[0] != hits[1], "the next hit is still found"


async def test_an_event_of_the_past_cannot_be_rated() -> None:
    app, _, _ = replaying([one for one in streams.walkthrough() if one.durable])
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        app.screen.query_one(Trace).focus()
        await pilot.press("plus", "minus")
        assert not app.screen.query_one("#wrong", Input).display


async def test_one_key_gives_the_right_answer_and_one_takes_a_rating_back() -> None:
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


async def test_a_task_is_rated_by_its_answer_and_a_thought_cannot_be_rated() -> None:
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


def _walk() -> list[Envelope]:
    """The walk through with the task that each event belongs to, as records have it since schema 2."""
    task, walk = "", []
    for one in streams.walkthrough()[:-1]:
        task = one.event.task_id if isinstance(one.event, e.TaskSubmitted) else task
        walk.append(replace(one, task_id=task))
    return walk


def _rated(said: Iterable[SessionEvent], *, level: str = "steps") -> dict[str, str]:
    """The lines of the walk's cards of a build, a run and an answer once the person has said all of it."""
    walk = _walk()
    layout = Layout()
    layout.fit(100)
    layout.detail(level)  # type: ignore[arg-type]
    envelopes: list[Envelope] = list(walk)
    for event in (None, *said):
        if event is not None:
            envelopes.append(replace(walk[-1], seq=(envelopes[-1].seq or 0) + 1, event=event))
        view = fold_all(envelopes)
        layout.show(view.trace, view.builds, view.state.ratings)
    shown: dict[str, str] = {}
    for card in layout.cards:
        text = "\n".join(text_of(one.line) for one in layout.lines(card.at))
        shown[card.kind if card.build or card.kind == "answer" else text.split()[1] if text else ""] = text
    return shown


def test_the_mark_of_a_rating_is_on_the_card_that_was_rated() -> None:
    walk = streams.walkthrough()
    task = next(one.event.task_id for one in reversed(walk) if isinstance(one.event, TaskFinished))
    call = next(one.event.call_id for one in walk if isinstance(one.event, e.ToolReturned))
    build = next(one.event.build_id for one in walk if isinstance(one.event, e.BuildStarted))
    answer = e.FeedbackGiven(task_id=task, rating="up")
    run = e.FeedbackGiven(task_id=task, call_id=call, rating="down", text="too few")
    made = e.FeedbackGiven(task_id=task, build_id=build, rating="up")

    shown = _rated((answer, run, made), level="everything")
    assert "you: 👍" in shown["answer"]
    assert "👎" in shown["Ran"].splitlines()[0]
    assert "👍" in shown["build"].splitlines()[0]
    # Another word takes the place of the first one, and what is taken back leaves nothing.
    shown = _rated(
        (answer, replace(answer, rating="down"), run, replace(run, undone=True)), level="everything"
    )
    assert "you: 👎" in shown["answer"] and "👍" not in shown["answer"]
    assert "👎" not in shown["Ran"] and "👍" not in shown["build"]
    assert not any(mark in text for text in _rated((), level="everything").values() for mark in "👍👎")


def test_seeking_to_before_a_rating_removes_its_mark() -> None:
    walk = _walk()
    finished = next(one.event for one in walk if isinstance(one.event, TaskFinished))
    rating = e.FeedbackGiven(task_id=finished.task_id, rating="up")
    later = replace(walk[-1], seq=(walk[-1].seq or 0) + 1, event=rating)
    layout = Layout()
    layout.fit(100)
    answers = []
    for envelopes in (walk, [*walk, later], walk):
        view = fold_all(envelopes)
        layout.show(view.trace, view.builds, view.state.ratings)
        at = next(card.at for card in layout.cards if card.kind == "answer")
        answers.append("\n".join(text_of(one.line) for one in layout.lines(at)))
    assert "👍" not in answers[0] and "👍" in answers[1] and answers[2] == answers[0]


def test_every_row_of_a_build_and_of_a_run_is_rated_as_that_build_or_run() -> None:
    """The row of a build on one line is the agent's request for it, which comes before the build begins."""
    walk = _walk()
    view, layout = fold_all(walk), Layout()
    layout.fit(100)
    layout.show(view.trace, view.builds, view.state.ratings)
    build = next(one.event.build_id for one in walk if isinstance(one.event, e.ToolRegistered))
    call = next(one.event.call_id for one in walk if isinstance(one.event, e.ToolReturned))
    targets = []
    for card in layout.cards:
        if build in card.names or call in card.names:
            seqs = [layout.deck.rated(card.at, row) for row in card.rows]
            targets.append({feedback_of(walk, GiveFeedback(rating="up", seq=seq)).target[1:] for seq in seqs})
    assert targets == [{("", build)}, {(call, "")}]
