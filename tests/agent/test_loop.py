"""The loop, the build and the gate together: every way a task can go ends in a clear, lawful state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.events import Lock, LockedPackage, RunReport
from alita_tui.llm.scripted import ScriptError, ScriptReply, ScriptRequest
from alita_tui.spine.commands import (
    AnswerQuestion,
    CloseSession,
    Command,
    Interrupt,
    ResolveApproval,
    Steer,
    SubmitTask,
)
from alita_tui.spine.errors import IndexUnreachable, SandboxUnavailable
from alita_tui.spine.laws import check
from tests.agent.lab import PASS, Lab, conversation, draft, failing, say
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules, verdict


async def test_build_approve_run_answer_remember(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(say("find_tool", query="double"), BUILD, RUN, DONE))
    ended = await lab.do(TASK, when=approve)
    assert ended.outcome == "answered" and ended.answer == "eight"
    assert [card.name for card in lab.shelf.cards()] == ["double_it"]
    assert lab.shelf.get("double_it").runs == 1
    assert lab.settled == [lab.events(e.ApprovalRequested)[0].digest]
    assert len([job for job in lab.sandbox.jobs if job.kind == "test"]) == 3
    assert lab.memory.recall("double four")


async def test_a_known_tool_is_run_without_a_build(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE))
    await lab.do(TASK, when=approve)
    lab.rules[:] = rules(say("find_tool", query="double a whole number"), RUN, DONE)
    lab.reopen()
    await lab.do(SubmitTask(text="double four again"), when=approve)
    assert lab.events(e.ToolSearched)[-1].hits[0].card.name == "double_it"
    assert len(lab.events(e.BuildStarted)) == 1


async def test_two_failures_then_a_pass(tmp_path: Path) -> None:
    lab = Lab(
        tmp_path, rules=rules(BUILD, DONE, smith=(draft(marker="1"), draft(marker="2"), draft(marker="3")))
    )
    lab.sandbox.tests = [failing("first"), failing("quite another"), PASS, PASS, PASS]
    ended = await lab.do(TASK, when=approve)
    assert ended.outcome == "answered"
    assert [event.passed for event in lab.events(e.BuildTested)] == [False, False, True]
    assert [event.attempt for event in lab.events(e.BuildDrafted)] == [1, 2, 3]


async def test_a_flaky_draft_does_not_pass(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE, smith=(draft(), draft(marker="2"))))
    lab.sandbox.tests = [PASS, failing("now and then")]
    await lab.do(TASK, when=approve)
    assert [event.passed for event in lab.events(e.BuildTested)] == [False, True]


async def test_the_same_error_again_and_again_ends_the_build(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE, smith=tuple(draft(marker=str(n)) for n in range(9))))
    lab.sandbox.tests = [failing("always this")] * 9
    await lab.do(TASK)
    assert len(lab.events(e.BuildDrafted)) <= 5
    assert "always this" in lab.events(e.BuildFailed)[0].reason
    assert not lab.shelf.cards()


async def test_an_index_that_does_not_answer_is_not_the_fault_of_the_draft(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE, smith=(draft(requirements=("idna",)),) * 5))
    lab.sandbox.locks = [IndexUnreachable("idna cannot be installed: no answer.")] * 5
    await lab.do(TASK)
    assert [event.problem for event in lab.events(e.RequirementsLocked)] == [
        "idna cannot be installed: no answer."
    ]
    assert "no answer" in lab.events(e.BuildFailed)[0].reason


async def test_a_changed_lock_breaks_the_law_of_approved_bytes(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE, smith=(draft(requirements=("idna",)),)))
    package = LockedPackage(name="idna", version="3.11", hashes=("sha256:" + "ab" * 32,))
    lab.sandbox.locks = [Lock(requirements=("idna",), packages=(package,))]
    await lab.do(TASK, when=approve)
    assert check(lab.bus.history) == []
    other = Lock(requirements=("idna",), packages=(msgspec.structs.replace(package, version="3.12"),))
    swapped = [
        msgspec.structs.replace(one, event=msgspec.structs.replace(one.event, lock=other))
        if isinstance(one.event, e.RequirementsLocked)
        else one
        for one in lab.bus.history
    ]
    assert {breach.law for breach in check(swapped)} == {"ask for what was drafted"}


async def test_a_rejection_teaches_and_the_rebuild_is_approved(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, BUILD, DONE))
    verdicts: Iterator[e.Decision] = iter(["rejected", "approved"])

    def decide(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.ApprovalRequested):
            return ResolveApproval(
                approval_id=event.approval_id,
                digest=event.digest,
                verdict=e.Verdict(decision=next(verdicts), reason="use a shift"),
            )
        return None

    ended = await lab.do(TASK, when=decide)
    assert ended.outcome == "answered"
    assert [event.verdict.decision for event in lab.events(e.ApprovalResolved)] == ["rejected", "approved"]
    assert any("use a shift" in item.text for item in lab.memory.items())


async def test_a_rejection_without_a_successor_says_so(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE))
    ended = await lab.do(TASK, when=lambda event: verdict(event, "rejected", reason="no"))
    assert (ended.outcome, ended.reason) == ("rejected", "no")


async def test_an_edit_is_tested_and_asked_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE))
    asked: list[str] = []

    def decide(event: e.SessionEvent) -> Command | None:
        if not isinstance(event, e.ApprovalRequested):
            return None
        asked.append(event.digest)
        if len(asked) == 2:
            return ResolveApproval(
                approval_id=event.approval_id, digest=event.digest, verdict=e.Verdict(decision="approved")
            )
        code = lab.events(e.BuildDrafted)[-1].draft.code.replace("2 * x", "x + x")
        return ResolveApproval(
            approval_id=event.approval_id,
            digest=event.digest,
            code=code,
            verdict=e.Verdict(decision="edited"),
        )

    ended = await lab.do(TASK, when=decide)
    assert ended.outcome == "answered"
    assert len(set(asked)) == 2
    assert [event.author for event in lab.events(e.BuildDrafted)] == ["model", "person"]
    assert "x + x" in lab.shelf.get("double_it").draft.code


@pytest.mark.parametrize("wrong", ["digest", "id", "twice"])
async def test_a_wrong_late_or_doubled_verdict_changes_nothing(tmp_path: Path, wrong: str) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, DONE))

    def decide(event: e.SessionEvent) -> Command | None:
        if not isinstance(event, e.ApprovalRequested):
            return None
        good = ResolveApproval(
            approval_id=event.approval_id,
            digest=event.digest,
            verdict=e.Verdict(decision="rejected", reason="no"),
        )
        other = {
            "digest": {"digest": "0" * 64},
            "id": {"approval_id": "nope"},
            "twice": {},
        }[wrong]
        bad = msgspec.structs.replace(good, **{"verdict": e.Verdict(decision="approved"), **other})
        for command in (good, bad) if wrong == "twice" else (bad, good):
            lab.engine.send(command)
        return None

    await lab.do(TASK, when=decide)
    assert [event.verdict.decision for event in lab.events(e.ApprovalResolved)] == ["rejected"]
    assert not lab.shelf.cards()


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (RunReport(status="exit", exit_code=3, stdout="\x1b[31m[garbage]"), "exit"),
        (RunReport(status="timeout", error="It ran longer than 20 s.", limits_hit=("wall",)), "timeout"),
        (RunReport(status="bad_result", error="no JSON"), "bad_result"),
    ],
)
async def test_a_tool_that_fails_is_an_observation(tmp_path: Path, report: RunReport, reason: str) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    lab.sandbox.runs = [report]
    ended = await lab.do(TASK, when=approve)
    assert lab.events(e.ToolFailed)[0].reason == reason
    assert ended.outcome == "answered"
    assert lab.shelf.get("double_it").failures == 1


async def test_one_malformed_action_is_repaired_two_end_the_task(tmp_path: Path) -> None:
    bad = ScriptReply(requests=(ScriptRequest(name="find_tool", raw_arguments='{"query": '),))
    lab = Lab(tmp_path / "one", rules=rules(bad, DONE))
    assert (await lab.do(TASK)).outcome == "answered"
    lab = Lab(tmp_path / "two", rules=rules(bad, say("fly", to="the moon"), DONE))
    ended = await lab.do(TASK)
    assert ended.outcome == "failed" and "fly" in ended.reason


def act(name: str, **arguments: object) -> ScriptReply:
    return ScriptReply(text=f'<action name="{name}">{json.dumps(arguments)}</action>')


@pytest.mark.parametrize(
    ("replies", "outcome", "repairs"),
    [
        ((act("find_tool", query="a"), act("answer", text="eight")), "answered", 1),
        ((ScriptReply(text="eight?"), act("answer", text="eight")), "answered", 1),
        ((ScriptReply(text="eight?"), ScriptReply(text="eight!")), "answered", 1),
    ],
)
async def test_a_model_that_only_writes_text_acts_all_the_same(
    tmp_path: Path, replies: tuple[ScriptReply, ...], outcome: str, repairs: int
) -> None:
    lab = Lab(tmp_path, rules=rules(*replies))
    lab.in_text = True
    lab._build()
    ended = await lab.do(TASK)
    assert ended.outcome == outcome
    (found_out,) = lab.events(e.ModelFailed)
    assert (found_out.error, found_out.retry_in) == ("no_tools", 0.0)
    assert len(lab.events(e.AgentNudged)) == (0 if "find_tool" in replies[0].text else repairs)


async def test_errors_from_outside_are_reported_and_survived(tmp_path: Path) -> None:
    lab = Lab(
        tmp_path,
        rules=rules(say("search_web", query="x"), say("run_tool", name="nobody", arguments={}), DONE),
    )
    ended = await lab.do(TASK)
    assert ended.outcome == "answered"
    assert [event.action for event in lab.events(e.ActionFailed)] == ["search_web", "run_tool"]


async def test_a_refused_key_fails_clearly_and_a_hiccup_is_retried(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(ScriptReply(error=ScriptError(kind="auth", text="The key is wrong."))))
    ended = await lab.do(TASK)
    assert (ended.outcome, ended.reason) == ("failed", "The key is wrong.")
    lab = Lab(tmp_path / "2", rules=rules(ScriptReply(error=ScriptError(kind="overloaded", text="Busy."))))
    await lab.do(TASK)
    assert [event.retry_in is not None for event in lab.events(e.ModelFailed)] == [True, True, False]


SEARCHES = (say("find_tool", query="a"), say("find_tool", query="b"), DONE)


async def test_without_a_person_the_budget_stops_a_task_before_the_call(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(*SEARCHES), parks=True)
    lab.budget = Budget(session=Cap(usd=0.015))
    lab._build()
    ended = await lab.do(TASK)
    assert ended.outcome == "budget" and "budget.session_usd" in ended.hint
    assert len(lab.events(e.ModelReplied)) == 1


@pytest.mark.parametrize(
    ("answers", "outcome"), [(["0.1"], "answered"), (["0.001", "$ 1"], "answered"), (["stop"], "budget")]
)
async def test_the_person_is_asked_before_the_budget_is_broken(
    tmp_path: Path, answers: list[str], outcome: str
) -> None:
    lab = Lab(tmp_path, rules=rules(*SEARCHES))
    lab.budget = Budget(session=Cap(usd=0.015))
    lab._build()
    told = iter(answers)

    def allow(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.QuestionAsked):
            assert event.about == "budget" and "$0.01 of $0.01 for the session are spent" in event.text
            assert lab.view.phase == "asking"
            return AnswerQuestion(question_id=event.question_id, text=next(told))
        return None

    ended = await lab.do(TASK, when=allow)
    assert ended.outcome == outcome
    assert len(lab.events(e.QuestionAsked)) == len(answers)
    assert [raised.limit for raised in lab.events(e.BudgetRaised)] == (
        [] if outcome == "budget" else [float(answers[-1].strip("$ "))]
    )


async def test_a_person_who_refused_more_money_is_not_asked_again_on_reopening(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(*SEARCHES))
    lab.budget = Budget(session=Cap(usd=0.015))
    lab._build()

    def stop(event: e.SessionEvent) -> Command | None:
        return (
            AnswerQuestion(question_id=event.question_id, text="stop")
            if isinstance(event, e.QuestionAsked)
            else None
        )

    ended = await lab.do(TASK, when=stop)
    assert "give the task again" in ended.hint
    for _ in range(2):
        lab.reopen()
        told = len(lab.bus.history)
        await lab.do(when=stop)
        assert not any(isinstance(one.event, e.ModelReplied) for one in lab.bus.history[told:])
    assert len(lab.events(e.QuestionAsked)) == 1 and len(lab.events(e.TaskFinished)) == 1
    lab.parks = True  # `alita resume`: a person asks for it, with a cap that does
    lab.budget = Budget(session=Cap(usd=1.0))
    lab.reopen()
    ended = await lab.do()
    assert ended.outcome == "answered"


async def test_after_a_refused_budget_a_new_task_asks_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(*SEARCHES))
    lab.budget = Budget(session=Cap(usd=0.015))
    lab._build()
    answers = iter(["stop", "1"])

    def allow(event: e.SessionEvent) -> Command | None:
        return (
            AnswerQuestion(question_id=event.question_id, text=next(answers))
            if isinstance(event, e.QuestionAsked)
            else None
        )

    await lab.do(TASK, when=allow)
    ended = await lab.do(TASK, when=allow)
    assert ended.outcome == "answered"
    assert len(lab.events(e.QuestionAsked)) == 2


async def test_a_pause_for_money_and_an_allowance_survive_the_process(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(*SEARCHES))
    lab.budget = Budget(session=Cap(usd=0.015))
    lab._build()

    def leave(event: e.SessionEvent) -> Command | None:
        return CloseSession() if isinstance(event, e.QuestionAsked) else None

    await lab.play(TASK, when=leave)
    assert lab.events(e.TaskFinished) == []
    lab.reopen()
    await lab.bus.emit(e.SessionResumed(restored=9))
    assert lab.view.question is None

    def allow(event: e.SessionEvent) -> Command | None:
        return (
            AnswerQuestion(question_id=event.question_id, text="1")
            if isinstance(event, e.QuestionAsked)
            else None
        )

    ended = await lab.do(when=allow)
    assert ended.outcome == "answered"
    lab.reopen()
    lab.rules[:] = rules(*SEARCHES)
    ended = await lab.do(TASK)  # the session's limit is still the raised one
    assert ended.outcome == "answered"


async def test_step_limit_and_going_in_circles(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(*(say("find_tool", query=str(n)) for n in range(9))), max_steps=3)
    assert (await lab.do(TASK)).outcome == "step_limit"
    lab = Lab(tmp_path / "2", rules=rules(*[say("find_tool", query="same")] * 9))
    assert (await lab.do(TASK, when=approve)).outcome == "stuck"


async def test_without_a_sandbox_the_task_ends_and_says_what_to_do(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    lab.sandbox.runs = [SandboxUnavailable("Podman is gone.", hint="Fix it.")]
    ended = await lab.do(TASK, when=approve)
    assert (ended.outcome, ended.hint) == ("sandbox", "Fix it.")


async def test_a_question_is_asked_and_its_answer_read(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(say("ask_user", question="Which four?"), DONE))

    def reply(event: e.SessionEvent) -> Command | None:
        return (
            AnswerQuestion(question_id=event.question_id, text="the first")
            if isinstance(event, e.QuestionAsked)
            else None
        )

    assert (await lab.do(TASK, when=reply)).outcome == "answered"
    assert lab.events(e.QuestionAnswered)[0].text == "the first"


async def test_steering_is_read_before_the_next_step(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(say("find_tool", query="x"), DONE))
    sent: list[bool] = []

    def steer(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.TaskSubmitted) and not sent:
            sent.append(True)
            return Steer(text="in Latin, please")
        return None

    assert (await lab.do(TASK, when=steer)).outcome == "answered"
    assert lab.events(e.Steered)


async def test_an_interrupt_keeps_the_partial_reply(tmp_path: Path) -> None:
    long = ScriptReply(text="I begin with the library, because " * 40)
    lab = Lab(tmp_path, rules=rules(long))

    def stop(event: e.SessionEvent) -> Command | None:
        return Interrupt() if isinstance(event, e.ModelDelta) and event.text else None

    ended = await lab.do(TASK, when=stop)
    assert ended.outcome == "interrupted"
    (cut,) = lab.events(e.Interrupted)
    assert cut.text and long.text.startswith(cut.text) and cut.text != long.text
    assert cut.text in conversation(lab.bus.history)[-1].message.text


async def test_a_recipe_that_led_nowhere_counts_as_failed(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    await lab.do(TASK, when=approve)
    (known,) = [item for item in lab.memory.items() if item.memory == "procedural"]
    (before,) = [item for item in lab.memory.recall("double four") if item.memory == "procedural"]
    lab.rules[:] = rules(
        say("plan", steps=["run it"], recipe=known.item_id), say("nonsense"), say("nonsense")
    )
    lab.reopen()
    ended = await lab.do(SubmitTask(text="double four again"))
    assert ended.outcome == "failed"
    (after,) = [item for item in lab.memory.recall("double four") if item.memory == "procedural"]
    assert (before.text, after.text) == (
        "double four: double_it(x=4) (worked 1 of 1 times)",
        "double four: double_it(x=4) (worked 1 of 2 times)",
    )


KINDS = [
    e.TaskSubmitted,
    e.ModelReplied,
    e.ActionChosen,
    e.BuildStarted,
    e.BuildDrafted,
    e.BuildTested,
    e.ApprovalRequested,
    e.ToolCalled,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_an_interrupt_anywhere_keeps_the_record_lawful(tmp_path: Path, kind: type) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    lab.sandbox.runs = [asyncio.Event()]

    def stop(event: e.SessionEvent) -> Command | None:
        return Interrupt() if isinstance(event, kind) else approve(event)

    ended = await lab.do(TASK, when=stop)
    assert ended.outcome == "interrupted"
    assert lab.view.phase == "idle"
    assert not [build for build in lab.view.builds if build.status == "pending"]


async def test_a_parked_build_is_decided_elsewhere_and_resumed(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE), parks=True)
    ended = await lab.do(TASK)
    assert ended.outcome == "parked"
    lab.file.close()
    (parked,) = lab.desk.pending()
    lab.desk.leave(
        parked.approval_id,
        ResolveApproval(
            approval_id=parked.approval_id,
            digest=parked.digest,
            verdict=e.Verdict(decision="approved", by="somebody", via="cli"),
        ),
    )
    lab.reopen()
    ended = await lab.do()
    assert ended.outcome == "answered"
    assert lab.events(e.ApprovalResolved)[0].verdict.by == "somebody"
    assert len(lab.events(e.ApprovalRequested)) == 1
    shown = [entry.message.text for entry in conversation(lab.bus.history)]
    assert shown[2].startswith("Approved: double_it v1 is in the library. Use run_tool to run it.\n")


async def test_a_crash_after_any_event_resumes_to_the_same_end(tmp_path: Path) -> None:
    whole = Lab(tmp_path / "whole", rules=rules(say("find_tool", query="double"), BUILD, RUN, DONE))
    await whole.do(TASK, when=approve)
    history = list(whole.bus.history)
    first = next(n for n, one in enumerate(history) if isinstance(one.event, e.TaskSubmitted)) + 1
    last = next(n for n, one in enumerate(history) if isinstance(one.event, e.TaskFinished))
    for cut in range(first, last + 1):
        lab = Lab(tmp_path / f"cut{cut}", rules=list(whole.rules))
        for envelope in history[:cut]:
            await lab.file.record(envelope, barrier=False)
            if isinstance(envelope.event, e.ToolRegistered):
                made = next(one.event for one in history if isinstance(one.event, e.BuildDrafted))
                lab.shelf.register(
                    made.draft,
                    Lock(),
                    approval_id=envelope.event.approval_id,
                    digest=e.BuildDigest(made.digest),
                    sources=(),
                )
        lab.file.close()
        for parked in lab.desk.pending():
            command = ResolveApproval(
                approval_id=parked.approval_id, digest=parked.digest, verdict=e.Verdict(decision="approved")
            )
            lab.desk.leave(parked.approval_id, command)
        lab.reopen()
        ended = await lab.do(when=approve)
        assert ended.outcome in ("answered", "failed"), (cut, ended)
        if ended.outcome == "failed":
            assert "recording" in ended.reason, (cut, ended)  # an interrupted action shifts the script
        called = [one.event.call_id for one in lab.bus.history if isinstance(one.event, e.ToolCalled)]
        assert len(called) == len(set(called))


async def test_a_crash_over_an_interrupt_leaves_the_task_interrupted(tmp_path: Path) -> None:
    whole = Lab(tmp_path / "whole", rules=rules(BUILD, RUN, DONE))

    def stop(event: e.SessionEvent) -> Command | None:
        return Interrupt() if isinstance(event, e.ApprovalRequested) else None

    ended = await whole.do(TASK, when=stop)
    assert ended.outcome == "interrupted"
    history = list(whole.bus.history)
    first = next(
        n for n, one in enumerate(history) if isinstance(one.event, e.ApprovalResolved | e.Interrupted)
    )
    last = next(n for n, one in enumerate(history) if isinstance(one.event, e.TaskFinished))
    for cut in range(first + 1, last + 1):
        lab = Lab(tmp_path / f"cut{cut}", rules=list(whole.rules))
        for envelope in history[:cut]:
            await lab.file.record(envelope, barrier=False)
        lab.reopen()
        ended = await lab.do(when=approve)
        assert (ended.outcome, ended.reason) == ("interrupted", "stopped by you")
        assert len(lab.events(e.TaskFinished)) == 1 and not lab.events(e.ToolRegistered)
        lab.file.close()


async def test_lessons_of_a_task_are_stored_even_if_the_process_ended_early(tmp_path: Path) -> None:
    whole = Lab(tmp_path / "whole", rules=rules(BUILD, RUN, DONE))
    await whole.do(TASK, when=approve)
    history = list(whole.bus.history)
    taught = [(one.item.memory, one.item.text) for one in whole.events(e.MemoryWritten)]
    ended = next(n for n, one in enumerate(history) if isinstance(one.event, e.TaskFinished))
    for cut in range(ended + 1, len(history) + 1):
        lab = Lab(tmp_path / f"cut{cut}", rules=list(whole.rules))
        for envelope in history[:cut]:
            await lab.file.record(envelope, barrier=False)
        lab.reopen()
        await lab.do()
        assert [(one.item.memory, one.item.text) for one in lab.events(e.MemoryWritten)] == taught
        lab.file.close()
