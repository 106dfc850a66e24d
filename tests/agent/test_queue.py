"""The queue of a session: what a person may do with tasks that wait, and that no process's end loses any of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import (
    AnswerQuestion,
    CancelTask,
    EditTask,
    MoveTask,
    Retry,
    SubmitTask,
    SwitchQueue,
)
from alita_tui.spine.laws import check
from alita_tui.state.reduce import reduce_all
from tests.agent.lab import Lab, say
from tests.agent.side_by_side import at_work, until

ASKS = Rule(
    role="orchestrator",
    match="TASK: first",
    replies=(say("ask_user", question="Which?"), say("answer", text="first")),
)
NAMES = ("second", "third", "fourth", "fifth")


def answering(*tasks: str) -> list[Rule]:
    return [
        ASKS,
        *(
            Rule(role="orchestrator", match=f"TASK: {task}", replies=(say("answer", text=task),) * 3)
            for task in tasks
        ),
    ]


@asynccontextmanager
async def at_work_until_reopened(lab: Lab) -> AsyncIterator[None]:
    """The engine runs; at the end the process is gone, and a new one has opened the session."""
    try:
        async with at_work(lab):
            yield
    finally:
        lab.reopen()


async def busy_with_five(lab: Lab) -> dict[str, str]:
    """Five tasks are given, the first of which asks and waits; return the queue ids of the others."""
    for text in ("first", *NAMES):
        lab.engine.send(SubmitTask(text=text))
    await until(lambda: lab.events(e.QuestionAsked) and len(lab.events(e.TaskQueued)) == 4)
    return {one.text: one.queue_id for one in lab.events(e.TaskQueued)}


async def answer_and_finish(lab: Lab) -> list[str]:
    """The next process answers the question and works until nothing is left; return the tasks in their order."""
    await lab.do(AnswerQuestion(question_id=lab.events(e.QuestionAsked)[0].question_id, text="this"))
    assert check(lab.bus.history, complete=True) == []
    return [one.text for one in lab.events(e.TaskSubmitted)]


async def test_changes_to_the_queue_survive_into_the_next_process(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=answering(*NAMES, "the third, rewritten"))
    async with at_work_until_reopened(lab):
        ids = await busy_with_five(lab)
        lab.engine.send(MoveTask(queue_id=ids["fifth"], before=ids["second"]))
        lab.engine.send(EditTask(queue_id=ids["third"], text="the third, rewritten"))
        lab.engine.send(MoveTask(queue_id=ids["second"]))
        lab.engine.send(CancelTask(task_id=ids["fourth"]))
        await until(lambda: lab.events(e.TaskCancelled))
    assert [one.text for one in reduce_all(lab.bus.history).queue] == [
        "fifth",
        "the third, rewritten",
        "second",
    ]
    assert await answer_and_finish(lab) == ["first", "fifth", "the third, rewritten", "second"]
    assert reduce_all(lab.bus.history).queue == ()


async def test_a_paused_queue_begins_nothing_until_resumed_even_in_the_next_process(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path, rules=answering(*NAMES))
    async with at_work_until_reopened(lab):
        await busy_with_five(lab)
        lab.engine.send(SwitchQueue(paused=True))
        lab.engine.send(SwitchQueue(paused=True))
        lab.engine.send(AnswerQuestion(question_id=lab.events(e.QuestionAsked)[0].question_id, text="this"))
        await until(lambda: lab.events(e.TaskFinished) and lab.engine.idle)
    assert len(lab.events(e.TaskSubmitted)) == 1
    await lab.play()
    assert len(lab.events(e.TaskSubmitted)) == 1, "a new process does not begin what was paused"
    await lab.play(SubmitTask(text="sixth"))
    assert "paused" in lab.events(e.NoticeRaised)[-1].text and len(lab.events(e.TaskSubmitted)) == 1
    lab.rules += answering("sixth")
    lab.reopen()
    await lab.do(SwitchQueue(paused=False))
    assert [one.text for one in lab.events(e.TaskSubmitted)] == ["first", *NAMES, "sixth"]
    assert check(lab.bus.history, complete=True) == []


async def test_a_task_that_began_or_never_was_says_so_and_changes_nothing(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=answering(*NAMES))
    async with at_work_until_reopened(lab):
        ids = await busy_with_five(lab)
        for command in (EditTask(queue_id="x", text="y"), MoveTask(queue_id="x"), CancelTask(task_id="x"), CancelTask(task_id=""),
                        MoveTask(queue_id=ids["second"], before="x"), Retry(task_id=e.TaskId("x"))):  # fmt: skip
            lab.engine.send(command)
        await until(lambda: len(lab.events(e.NoticeRaised)) == 6)
    assert not (lab.events(e.TaskEdited) or lab.events(e.TaskMoved) or lab.events(e.TaskCancelled))
    assert await answer_and_finish(lab) == ["first", *NAMES]


async def test_cancelling_the_running_task_stops_it_and_the_next_begins(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=answering(*NAMES))
    async with at_work_until_reopened(lab):
        await busy_with_five(lab)
        lab.engine.send(CancelTask(task_id=lab.events(e.TaskSubmitted)[0].task_id))
        await until(lambda: len(lab.events(e.TaskFinished)) == 5)
    assert [one.outcome for one in lab.events(e.TaskFinished)] == ["interrupted", *["answered"] * 4]


async def test_an_earlier_task_that_failed_is_tried_again_once_also_by_the_next_process(
    tmp_path: Path,
) -> None:
    fails = Rule(
        role="orchestrator",
        match="TASK: weak",
        replies=(say("nonsense"), say("nonsense")),
    )
    lab = Lab(tmp_path, rules=[fails, *answering(*NAMES)])
    assert (await lab.do(SubmitTask(text="weak"))).outcome == "failed"
    failed = lab.events(e.TaskSubmitted)[0].task_id
    async with at_work_until_reopened(lab):
        lab.engine.send(SubmitTask(text="first"))
        await until(lambda: lab.events(e.QuestionAsked))
        lab.engine.send(Retry(task_id=failed))
        lab.engine.send(Retry(task_id=failed))
        await until(lambda: lab.events(e.NoticeRaised))
    assert "already" in lab.events(e.NoticeRaised)[-1].text
    assert await answer_and_finish(lab) == ["weak", "first", "weak"]
    again = lab.events(e.TaskSubmitted)[-1]
    assert (again.again, again.retried) == (failed, True)


async def test_a_task_left_by_another_process_is_queued_once_however_often_submitted(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path, rules=answering("left"))
    taken: list[int] = []
    async with at_work_until_reopened(lab):
        for number in (1, 2):
            lab.engine.hand_in(SubmitTask(text="left", queue_id="note-1"), partial(taken.append, number))
        await until(lambda: len(taken) == 2 and lab.events(e.TaskFinished))
    lab.engine.hand_in(SubmitTask(text="left", queue_id="note-1"), lambda: taken.append(3))
    await lab.play()
    assert len(lab.events(e.TaskSubmitted)) == 1 and len(lab.events(e.TaskQueued)) == 1 and taken == [1, 2, 3]


CHANGES = st.lists(
    st.one_of(
        st.builds(lambda n, m: ("move", n, m), st.integers(0, 4), st.integers(0, 4)),
        st.builds(lambda n: ("cancel", n, 0), st.integers(0, 4)),
        st.builds(lambda n: ("edit", n, 0), st.integers(0, 4)),
        st.builds(lambda n: ("pause", n, 0), st.integers(0, 1)),
        st.just(("add", 0, 0)),
        st.just(("reopen", 0, 0)),
    ),
    max_size=12,
)


@given(changes=CHANGES)
@settings(max_examples=50)
def test_after_any_changes_engine_and_record_have_the_same_queue(
    changes: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    asyncio.run(_changed(Lab(tmp_path_factory.mktemp("queue"), rules=answering(*NAMES)), changes))


async def _changed(lab: Lab, changes: list[tuple[str, int, int]]) -> None:
    await lab.begin()
    lab.engine.send(SwitchQueue(paused=True))  # nothing begins: only the queue is looked at
    for text in NAMES:
        lab.engine.send(SubmitTask(text=text))
    await lab.engine.run(until_idle=True)
    expected, paused = list(NAMES), True
    for kind, n, m in changes:
        ids = {one.text: one.queue_id for one in reduce_all(lab.bus.history).queue}
        named, other = ((expected[i] if i < len(expected) else "") for i in (n, m))
        if kind == "reopen":
            lab.reopen()
        elif kind == "add":
            name = f"more{len(lab.bus.history)}"
            lab.engine.send(SubmitTask(text=name))
            expected.append(name)
        elif kind == "pause":
            lab.engine.send(SwitchQueue(paused=True))
        elif kind == "cancel":
            lab.engine.send(CancelTask(task_id=ids.get(named, "?")))
            expected = [one for one in expected if one != named]
        elif kind == "edit" and named:
            lab.engine.send(EditTask(queue_id=ids[named], text=f"{named}'"))
            expected[n] = f"{named}'"
        elif kind == "move" and named and named != other:
            lab.engine.send(MoveTask(queue_id=ids[named], before=ids.get(other, "")))
            expected.remove(named)
            expected.insert(expected.index(other) if other else len(expected), named)
        await lab.engine.run(until_idle=True)
    state = reduce_all(lab.bus.history)
    assert [one.text for one in state.queue] == expected and state.paused == paused
    assert [one.text for one in lab.engine._queue._waiting] == expected
    assert check(lab.bus.history) == []


FIVE = ("one", "two", "three", "four", "five")


async def test_a_queue_of_five_continues_wherever_the_process_ended(tmp_path: Path) -> None:
    """Each write may be the last one of a process: the next one loses no task and does none twice."""
    whole = Lab(tmp_path / "whole", rules=answering(*FIVE, "new"))
    whole.engine.send(SwitchQueue(paused=True))
    for text in FIVE:
        whole.engine.send(SubmitTask(text=text))
    await whole.play()
    ids = {one.text: one.queue_id for one in whole.events(e.TaskQueued)}
    await whole.play(
        MoveTask(queue_id=ids["five"], before=ids["one"]),
        CancelTask(task_id=ids["three"]),
        EditTask(queue_id=ids["four"], text="new"),
        SwitchQueue(paused=False),
    )
    stream = list(whole.bus.history)
    assert [one.text for one in whole.events(e.TaskSubmitted)] == ["five", "one", "two", "new"]
    for cut in range(1, len(stream)):
        lab = Lab(tmp_path / str(cut), rules=answering(*FIVE, "new"))
        for envelope in stream[:cut]:
            await lab.file.record(envelope, barrier=False)
        lab.reopen()
        left = [one.text for one in reduce_all(lab.bus.history).queue]
        begun = [one.text for one in lab.events(e.TaskSubmitted)]
        await lab.play()
        if reduce_all(lab.bus.history).paused:
            assert [one.text for one in lab.events(e.TaskSubmitted)] == begun
            await lab.play(SwitchQueue(paused=False))
        assert [one.text for one in lab.events(e.TaskSubmitted)] == begun + left, cut
        assert [one.answer for one in lab.events(e.TaskFinished)] == begun + left, cut
        assert check(lab.bus.history, complete=True) == [], cut
        lab.file.close()
