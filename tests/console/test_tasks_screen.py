"""The drawer of tasks: what it lists, and what its keys ask of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.widgets import Input, OptionList

from alita_tui import events as e
from alita_tui.console.messages import CommandAsked
from alita_tui.console.session.queued import Queued
from alita_tui.console.tasks.screen import TasksScreen, summary
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.commands import CancelTask, EditTask, MoveTask, Retry, SwitchQueue
from alita_tui.spine.envelope import Envelope
from alita_tui.view.fold import fold_all
from tests.console.screens import Sink, console, covered, drawn
from tests.console.tasks_lab import told
from tests.support import goldens, streams


async def opened(pilot, events: Sequence[Envelope]) -> OptionList:
    await drawn(pilot, events[-1].seq or 0)
    await pilot.press("ctrl+k")
    await covered(pilot)
    await pilot.pause()
    assert isinstance(pilot.app.screen, TasksScreen)
    return pilot.app.screen.query_one(OptionList)


def rows(listed: OptionList) -> list[str]:
    return [str(listed.get_option_at_index(n).prompt) for n in range(listed.option_count)]


async def test_running_and_queued_tasks_are_listed_in_order_and_their_text_is_only_text() -> None:
    events = told(
        e.TaskMoved(queue_id="q3", before="q1"),
        e.TaskCancelled(queue_id="q2"),
        e.TaskEdited(queue_id="q3", text="[b]task 3[/b]\u202e\x1b[31m"),
    )
    async with console(events, sink=Sink()).run_test(size=(120, 36)) as pilot:
        shown = rows(await opened(pilot, events))
        assert [line for line in shown if "running" in line] == [
            next(x for x in shown if "the one that runs" in x)
        ]
        waiting = [line for line in shown if "in the queue" in line]
        assert len(waiting) == 2 and "[b]task 3[/b]" in waiting[0] and "[b]task 1[/b]" in waiting[1]
        assert not any("\u202e" in line or "\x1b" in line for line in shown)
        said = str(pilot.app.screen.query_one("#said", Plain).render())
        assert said == "1 running · 2 queued"


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_drawer_says_what_each_task_cost_and_how_long_it_took(size: tuple[int, int]) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("a"), text="the first"))
    tape.step = 1
    tape.add(e.BudgetSpent(call_id="c1", cost_usd=0.25, total_usd=0.25, limit_usd=None, task_usd=0.25))
    tape.add(e.TaskFinished(task_id=e.TaskId("a"), outcome="answered", answer="Done."))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("b"), text="the second"))
    tape.add(e.TaskQueued(queue_id="q1", text="the third"))
    async with console(tape.envelopes, sink=Sink()).run_test(size=size) as pilot:
        shown = rows(await opened(pilot, tape.envelopes))
    assert [" ".join(row.split()[-2:]) for row in shown] == ["$0.25 0:01", "$0.00 0:00", "the third"]
    assert len({len(row) for row in shown[:2]}) == 1, "the columns have one edge"


async def test_a_single_running_task_says_that_it_waits_for_the_person() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t"), text="the one that asks"))
    tape.add(e.QuestionAsked(question_id="q", text="Which currency?"))
    async with console(tape.envelopes, sink=Sink()).run_test(size=(120, 36)) as pilot:
        (line,) = rows(await opened(pilot, tape.envelopes))
        assert "waits for you" in line and "running" not in line
        assert str(pilot.app.screen.query_one("#said", Plain).render()) == "1 waiting for you"


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (("d",), MoveTask(queue_id="q1", before="q3")),
        (("down", "u"), MoveTask(queue_id="q2", before="q1")),
        (("down", "d"), MoveTask(queue_id="q2")),
        (("u",), None),
        (("down", "down", "d"), None),
        (("x",), CancelTask(task_id="q1")),
        (("up", "x"), CancelTask(task_id="running")),
        (("up", "d"), None),
        (("p",), SwitchQueue(paused=True)),
        (("e", "end", "!", "enter"), "edited"),
        (("e", "x", "escape"), None),
        (("r",), None),
        (("home", "r"), "retried"),
    ],
)
async def test_each_key_asks_for_one_thing_of_the_chosen_task(keys: tuple[str, ...], asked: object) -> None:
    events, sink = told(), Sink()
    async with console(events, sink=sink).run_test(size=(120, 36)) as pilot:
        await opened(pilot, events)
        await pilot.press(*keys)
        await pilot.pause()
        sent = [
            one
            for one in sink.commands
            if isinstance(one, MoveTask | CancelTask | SwitchQueue | EditTask | Retry)
        ]
        if asked == "edited":
            (edit,) = sent
            assert isinstance(edit, EditTask) and edit.queue_id == "q1" and edit.text.endswith("!")
        elif asked == "retried":
            assert [type(one) for one in sent] == [Retry]
        else:
            assert sent == ([asked] if asked else [])
        assert isinstance(pilot.app.screen, TasksScreen), "none of these closes the drawer"
        assert not pilot.app.screen.query_one(Input).has_focus or keys[0] != "e"


async def test_tasks_of_a_recording_cannot_be_changed() -> None:
    asked: list[object] = []

    class Alone(ThemedApp[None]):
        def on_mount(self) -> None:
            self.push_screen(TasksScreen(fold_all(told()), {}, may_change=False))

        def on_command_asked(self, message: CommandAsked) -> None:
            asked.append(message.command)

    async with Alone().run_test(size=(120, 36)) as pilot:
        for key in ("d", "x", "p"):
            await pilot.press(key)
            await pilot.pause()
            assert "recording" in str(pilot.app.screen.query_one("#said", Plain).render()), key
    assert asked == []


async def test_a_paused_queue_says_so_at_80_columns_and_escape_closes_the_drawer() -> None:
    events = told(e.QueueSwitched(paused=True))
    async with console(events, sink=Sink()).run_test(size=(80, 24)) as pilot:
        await opened(pilot, events)
        said = str(pilot.app.screen.query_one("#said", Plain).render())
        assert "3 queued" in said and "paused" in said
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(pilot.app.screen, TasksScreen)


def test_without_a_queue_the_summary_says_that_none_waits() -> None:
    assert "none waits" in summary(fold_all(goldens.walkthrough()))


async def test_editing_is_refused_for_text_that_the_field_would_change() -> None:
    events, sink = told(e.TaskEdited(queue_id="q1", text="one line\nand another")), Sink()
    async with console(events, sink=sink).run_test(size=(120, 36)) as pilot:
        await opened(pilot, events)
        await pilot.press("e")
        await pilot.pause()
        assert "alita tasks edit q1" in str(pilot.app.screen.query_one("#said", Plain).render())
        await pilot.press("enter")
        await pilot.pause()
        assert not [one for one in sink.commands if isinstance(one, EditTask)]


async def test_the_line_above_the_composer_shows_the_queue_after_a_change() -> None:
    events = told(e.TaskCancelled(queue_id="q2"), e.TaskEdited(queue_id="q3", text="another"))
    async with console(events, sink=Sink()).run_test(size=(120, 36)) as pilot:
        await drawn(pilot, events[-1].seq or 0)
        assert pilot.app.screen.query_one(Queued).waiting == ("[b]task 1[/b]", "another")
