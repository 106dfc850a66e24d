"""Two tasks side by side on screen: whose row is whose, one task's rows alone, and how many run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from alita_tui import events as e
from alita_tui.console.session.card_lines import draw
from alita_tui.console.session.status import StatusLine
from alita_tui.console.session.trace import Trace
from alita_tui.console.tasks.screen import TasksScreen, summary
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.events import SessionEvent
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.view.cards import Deck
from alita_tui.view.explain import explain
from alita_tui.view.fold import fold_all
from alita_tui.view.lanes import OneTask, lane_of
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending
from tests.console.screens import Sink, console, drawn
from tests.console.test_tasks_screen import opened
from tests.support import streams


def begun(task: str) -> tuple[str, int, str, SessionEvent]:
    return task, 0, task, e.TaskSubmitted(task_id=e.TaskId(task), text=f"the {task} task")


def did(task: str, step: int, what: str) -> tuple[str, int, str, SessionEvent]:
    action = f"{task}.{step}"
    return task, step, action, e.ActionChosen(action_id=action, action="find_tool", arguments={"query": what})


def ended(task: str) -> tuple[str, int, str, SessionEvent]:
    return task, 3, task, e.TaskFinished(task_id=e.TaskId(task), outcome="answered", answer=f"{task} is done")


SIDE_BY_SIDE = (
    begun("red"), did("red", 1, "red alone"),
    begun("blue"), did("red", 2, "red beside"), did("blue", 1, "blue beside"),
)  # fmt: skip
OVER = (
    ended("red"),
    did("blue", 2, "blue alone"),
    ended("blue"),
    begun("green"),
    did("green", 1, "green alone"),
)


def told(*more: tuple[str, int, str, SessionEvent]) -> list[Envelope]:
    first = ("", 0, "", e.SessionOpened(model="m", recorded=False, version="1"))
    return [
        Envelope(
            seq=n, session_id="s", at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n), task_id=e.TaskId(task), step=step,
            span=span, schema_version=SCHEMA_VERSION, event=event,
        )
        for n, (task, step, span, event) in enumerate((first, *more), 1)
    ]  # fmt: skip


def titles(view: SessionView) -> list[str]:
    return [str(row.title) for row in view.trace]


def test_rows_have_a_task_letter_only_while_several_tasks_ran() -> None:
    view = fold_all(told(*SIDE_BY_SIDE, *OVER))
    marks = {str(row.title): lane_of(row) for row in view.trace}
    assert [title for title, mark in marks.items() if not mark and "alone" in title], "alone, none is marked"
    assert not any(mark for title, mark in marks.items() if "alone" in title)
    assert [mark for title, mark in marks.items() if "red beside" in title] == ["A"]
    assert [mark for title, mark in marks.items() if "blue beside" in title] == ["B"]
    deck = Deck()
    deck.show(view.trace)
    drawn_lines = [
        text_of(line.line)
        for card in deck.cards
        if card.rows and "blue beside" in deck.rows[card.rows[0]].title
        for line in draw(deck, card.at, 60, lambda _: None)
    ]
    assert [line[:1] for line in drawn_lines] in ([], ["B"])
    deck.level = "everything"
    deck.show(view.trace)
    assert any(
        text_of(line.line).startswith("B")
        for card in deck.cards
        for line in draw(deck, card.at, 60, lambda _: None)
    )


@pytest.mark.parametrize("joined", ["before the build", "after its checks"])
@pytest.mark.parametrize("width", [24, 80, 200])
def test_a_waiting_build_has_the_letter_of_its_task(joined: str, width: int) -> None:
    opening, *rest = streams.waiting()
    events = [opening, *(replace(one, task_id="t1") for one in rest)]
    kind = e.TaskSubmitted if joined == "before the build" else e.ApprovalRequested
    place = next(n for n, envelope in enumerate(events) if isinstance(envelope.event, kind))
    place += joined == "before the build"
    other = replace(events[place], task_id="blue", span="blue", event=begun("blue")[3])
    both = [replace(one, seq=n) for n, one in enumerate((*events[:place], other, *events[place:]), 1)]
    for stream, letter in ((events, ""), (both, "A")):
        shown, name = waiting_card(stream, width)
        assert [line[0] for line in shown if line[:1].isalpha()] == [letter] * bool(letter), shown
        [title] = [line for line in shown if f"◈ {name}"[:12] in line]
        assert title.startswith(f"{letter}◈" if letter else "▌◈") and len(title) <= width


def waiting_card(events: list[Envelope], width: int) -> tuple[list[str], str]:
    """The lines of the card of the build that waits, and its name."""
    view = fold_all(events)
    [build] = pending(view)
    deck = Deck()
    deck.show(view.trace)
    [card] = [card for card in deck.cards if card.kind == "build"]
    return [text_of(line.line) for line in draw(deck, card.at, width, lambda _: build, "F8")], build.name


@pytest.mark.parametrize("task", ["red", "blue", "green"])
def test_the_rows_of_one_task_are_filtered_at_any_length_of_the_trace(task: str) -> None:
    alone, events = OneTask(e.TaskId(task)), told(*SIDE_BY_SIDE, *OVER)
    for count in range(len(events) + 1):
        shown = alone.shown(fold_all(events[:count]))
    others = {"red", "blue", "green"} - {task}
    kept = titles(shown)
    assert len(kept) >= 3 - (task == "green") and not any(
        other in title for title in kept for other in others
    )
    assert titles(OneTask(e.TaskId(task)).shown(fold_all(events))) == kept
    earlier = fold_all(events[:4])
    assert titles(alone.shown(earlier)) == titles(OneTask(e.TaskId(task)).shown(earlier)), (
        "an earlier moment is shown"
    )


def rows(pilot: Pilot[Any]) -> str:
    trace = pilot.app.screen.query_one(Trace)
    return "\n".join(text_of(trace._line(number)[1].line) for number in range(trace.virtual_size.height))


def test_a_queued_task_has_no_lane() -> None:
    waits = ("", 0, "", e.TaskQueued(queue_id="q", text="the yellow task"))
    view = fold_all(told(*SIDE_BY_SIDE, waits))
    assert any("yellow" in title for title in titles(view))
    for task in ("red", "blue"):
        shown = titles(OneTask(e.TaskId(task)).shown(view))
        assert any(f"{task} beside" in title for title in shown)
        assert not any("yellow" in title for title in shown)


def test_a_row_is_explained_by_events_of_its_task() -> None:
    events = told(*SIDE_BY_SIDE)
    place = 4  # what the first task did after the second had begun
    said = explain(events, place, fold_all(events[:place]), fold_all(events[: place + 1]))
    assert "the red task" in "\n".join(said.why) and "blue" not in "\n".join(said.why)


async def test_a_key_shows_one_task_after_another_and_then_all() -> None:
    events = told(*SIDE_BY_SIDE)
    async with console(events, sink=Sink()).run_test(size=(120, 36)) as pilot:
        await drawn(pilot, len(events))
        await pilot.press("shift+f1")
        await pilot.pause()
        assert "red beside" in rows(pilot) and "blue" not in rows(pilot)
        assert "only the red task" in str(pilot.app.screen.query_one("#title-trace", Plain).render())
        await pilot.press("shift+f1")
        await pilot.pause()
        assert "blue beside" in rows(pilot) and "red" not in rows(pilot)
        await pilot.press("shift+f1")
        await pilot.pause()
        assert "blue beside" in rows(pilot) and "red beside" in rows(pilot)


async def test_the_drawer_lists_both_tasks_and_shows_the_rows_of_the_chosen_one() -> None:
    events = told(*SIDE_BY_SIDE)
    async with console(events, sink=Sink()).run_test(size=(80, 24)) as pilot:
        assert summary(fold_all(events)) == "2 running"
        await drawn(pilot, len(events))
        assert "2 running" in str(pilot.app.screen.query_one(StatusLine).render())
        await opened(pilot, events)
        await pilot.press("end", "enter")
        await pilot.pause()
        assert not isinstance(pilot.app.screen, TasksScreen)
        assert "blue beside" in rows(pilot) and "red" not in rows(pilot)
