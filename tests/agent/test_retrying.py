"""Steps count per task, what failed is tried again on demand, queued tasks outlive the process, faults end in a notice."""

import asyncio
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import AnswerQuestion, CloseSession, ResolveApproval, Retry, SubmitTask
from alita_tui.spine.laws import check
from tests.agent.lab import Lab, say
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules


def steps(lab: Lab) -> list[int]:
    """The step of each reply, in order."""
    return [
        one.step
        for one in lab.bus.history
        if isinstance(one.event, e.ModelReplied) and one.event.role == "orchestrator"
    ]


async def test_a_parked_build_continues_with_the_steps_of_its_own_task(tmp_path: Path) -> None:
    looks = [say("find_tool", query=str(n)) for n in range(4)]
    long = Rule(role="orchestrator", match="TASK: a long one", replies=(*looks, DONE))
    lab = Lab(tmp_path, parks=True, max_steps=6, rules=[long, *rules(BUILD, RUN, DONE)])
    assert (await lab.do(SubmitTask(text="a long one"))).outcome == "answered"
    assert (await lab.do(TASK)).outcome == "parked"
    asked = lab.events(e.ApprovalRequested)[-1]
    lab.reopen()
    verdict = ResolveApproval(
        approval_id=asked.approval_id, digest=asked.digest, verdict=e.Verdict(decision="approved", via="cli")
    )
    ended = await lab.do(verdict)
    assert ended.outcome == "answered", ended.reason
    assert steps(lab) == [1, 2, 3, 4, 5, 1, 2, 3]


async def test_a_task_that_stopped_at_a_limit_is_retried_with_that_many_more_steps(tmp_path: Path) -> None:
    lab = Lab(
        tmp_path,
        max_steps=3,
        rules=rules(*(say("find_tool", query=str(n)) for n in range(4)), say("answer", text="done")),
    )
    assert (await lab.do(TASK)).outcome == "step_limit"
    lab.reopen()
    assert (await lab.do()).outcome == "step_limit", "opening alone tries nothing again"
    lab.reopen()
    ended = await lab.do(Retry())
    assert (ended.outcome, ended.answer) == ("answered", "done")
    first, second = lab.events(e.TaskSubmitted)
    assert (second.text, second.again, second.retried) == (first.text, first.task_id, True)


async def test_a_task_that_lost_its_sandbox_or_model_is_retried(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(say("nonsense"), say("nonsense"), say("answer", text="now")))
    assert (await lab.do(TASK)).outcome == "failed"
    assert (await lab.do(Retry())).answer == "now"


@pytest.mark.parametrize("end", ["nothing", "answered"])
async def test_a_task_that_cannot_be_retried_says_why(tmp_path: Path, end: str) -> None:
    lab = Lab(tmp_path, rules=rules(say("answer", text="4")))
    if end == "answered":
        await lab.do(TASK)
    await lab.play(Retry())
    (said,) = lab.events(e.NoticeRaised)
    assert ("was answered" if end == "answered" else "no task") in said.text
    assert len(lab.events(e.TaskSubmitted)) == (end == "answered")


async def test_queued_tasks_are_recorded_and_run_by_the_next_process(tmp_path: Path) -> None:
    said = {"first": (say("ask_user", question="Which?"), say("answer", text="one")), "second": (say("answer", text="two"),),
            "third": (say("answer", text="three"),)}  # fmt: skip
    lab = Lab(
        tmp_path,
        rules=[
            Rule(role="orchestrator", match=f"TASK: {task}", replies=replies)
            for task, replies in said.items()
        ],
    )
    await lab.begin()
    for text in ("first", "second", "third"):
        lab.engine.send(SubmitTask(text=text))
    running = asyncio.create_task(lab.engine.run())
    async with asyncio.timeout(180):
        while not lab.events(e.QuestionAsked) or len(lab.events(e.TaskQueued)) < 2:
            await asyncio.sleep(0)
        lab.engine.send(CloseSession())
        await running
    lab.reopen()
    question = lab.events(e.QuestionAsked)[0].question_id
    await lab.do(AnswerQuestion(question_id=question, text="this"))
    assert [one.text for one in lab.events(e.TaskSubmitted)] == ["first", "second", "third"]
    assert [one.answer for one in lab.events(e.TaskFinished)] == ["one", "two", "three"]
    lab.reopen()
    await lab.do()
    assert len(lab.events(e.TaskSubmitted)) == 3, "each is taken up once"


async def test_an_error_that_nobody_foresaw_is_on_record_and_the_session_opens_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    lab.sandbox.runs.append(TypeError("'int' object is not iterable"))
    ended = await lab.do(TASK, when=approve)
    (notice,) = lab.events(e.NoticeRaised)
    assert notice.level == "error" and "TypeError: 'int' object is not iterable" in notice.text
    assert "lab.py:" in notice.hint and (ended.outcome, ended.reason) == ("failed", notice.text)
    lab.reopen()
    assert (await lab.do(Retry())).outcome == "answered"
    assert check(lab.bus.history, complete=True) == []


async def test_a_command_that_fails_unforeseen_costs_the_session_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(tmp_path, rules=rules(say("answer", text="4")))
    monkeypatch.setattr(lab.engine._verdicts, "resolve", lambda _: 1 / 0)
    ended = await lab.do(
        ResolveApproval(approval_id="x", digest=e.BuildDigest("y"), verdict=e.Verdict(decision="approved")),
        TASK,
    )
    assert ended.outcome == "answered"
    assert "ZeroDivisionError" in lab.events(e.NoticeRaised)[0].text


async def test_a_fork_teaches_memory_nothing(tmp_path: Path) -> None:
    for teaches in (True, False):
        lab = Lab(tmp_path / str(teaches), rules=rules(BUILD, RUN, DONE), teaches=teaches)
        assert (await lab.do(TASK, when=approve)).outcome == "answered"
        assert bool(lab.memory.items()) == bool(lab.events(e.MemoryWritten)) == teaches
