"""Every verdict that a person can give on a build, and what the engine makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import Ban, Capabilities, RunReport
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import Command, ResolveApproval, SubmitTask
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.laws import check
from alita_tui.view.risk import risks
from tests.agent.lab import PASS, Lab, conversation, draft, failing, say
from tests.support import streams

TASK = SubmitTask(text="double four")
BUILD = say("build_tool", "build it", name="double_it", goal="Double any whole number.")
RUN = say("run_tool", name="double_it", arguments={"x": 4})
DONE = say("answer", text="eight")
WANTS = Capabilities(network=("api.example:443",), secrets=("TOKEN",))


def asking() -> ScriptReply:
    """A draft that asks for a host and a secret."""
    bare = draft()
    arguments = {**bare.requests[0].arguments, "capabilities": msgspec.to_builtins(WANTS)}
    return say("submit_tool", **arguments)


def lab(folder: Path, *replies: ScriptReply, smith: tuple[ScriptReply, ...] = (draft(),), **more: Any) -> Lab:
    return Lab(
        folder,
        rules=[
            Rule(role="orchestrator", match="TASK: ", replies=replies),
            Rule(role="toolsmith", match="Tool name: double_it", replies=smith),
        ],
        **more,
    )


def answers(*verdicts: dict[str, Any]) -> Callable[[e.SessionEvent], Command | None]:
    """One verdict after the other, each on what is asked then."""
    given = iter([dict(verdict) for verdict in verdicts])

    def when(event: e.SessionEvent) -> Command | None:
        if not isinstance(event, e.ApprovalRequested):
            return None
        verdict = next(given)
        edited: dict[str, Any] = {name: verdict.pop(name) for name in ("code", "tests") if name in verdict}
        return msgspec.convert(
            {"approval_id": event.approval_id, "digest": event.digest, "verdict": verdict, **edited},
            ResolveApproval,
        )

    return when


async def test_an_approval_for_the_task_lends_the_tool_and_takes_it_back(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, RUN, DONE)
    ended = await one.do(TASK, when=answers({"decision": "approved", "lasting": "task"}))
    assert ended.outcome == "answered"
    assert [event.report.result for event in one.events(e.ToolReturned)] == [4]
    assert one.events(e.ToolRegistered)[0].lasting == "task"
    assert one.view.library == one.shelf.cards() == (), "on no shelf, and gone from the screen"
    assert not list((tmp_path / "box").rglob("*.py"))
    one.rules[:] = lab(tmp_path / "other", RUN, DONE).rules
    one.reopen()
    await one.do(SubmitTask(text="double five"))
    assert "no tool double_it" in one.events(e.ActionFailed)[-1].text


async def test_a_lent_tool_may_not_run_after_its_task(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, RUN, DONE)
    await one.do(TASK, when=answers({"decision": "approved", "lasting": "task"}))
    called = one.events(e.ToolCalled)[0]
    late = msgspec.structs.replace(called, call_id="late")
    last = one.bus.history[-1]
    envelope = msgspec.structs.replace(last, seq=(last.seq or 0) + 1, event=late)
    broken = {breach.law for breach in check([*one.bus.history, envelope])}
    assert broken == {"run what was approved", "act before the end"}


async def test_the_person_may_grant_less_than_was_requested(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, RUN, DONE, smith=(asking(),))
    granted = {"network": ["api.example:443"]}
    await one.do(TASK, when=answers({"decision": "approved", "grants": granted}))
    assert one.sandbox.jobs[-1].capabilities == Capabilities(network=("api.example:443",))
    record = one.shelf.get("double_it")
    assert (record.draft.capabilities, record.granted) == (WANTS, Capabilities(network=("api.example:443",)))
    manifest = msgspec.json.decode((tmp_path / "box/double_it/v1/double_it.mcp.json").read_bytes())
    assert manifest["granted"] == granted


async def test_nothing_beyond_the_request_can_be_granted(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE)
    await one.begin()
    asked = asyncio.create_task(
        _do_unchecked(one, {"decision": "approved", "grants": {"secrets": ["TOKEN"]}})
    )
    await asked
    assert not one.shelf.cards()
    assert "more than it asks for" in one.events(e.ActionFailed)[0].text
    assert {breach.law for breach in check(one.bus.history)} == {"grant what was asked"}


async def _do_unchecked(one: Lab, verdict: dict[str, Any]) -> None:
    news = one.bus.subscribe()
    when = answers(verdict)
    one.engine.send(TASK)

    async def answer() -> None:
        async for envelope in news:
            if (reply := when(envelope.event)) is not None:
                one.engine.send(reply)

    answering = asyncio.create_task(answer())
    async with asyncio.timeout(180):
        await one.engine.run(until_idle=True)
    news.close()
    await answering


async def test_testing_again_uses_the_requested_grants_and_asks_again(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE, smith=(asking(),))
    one.sandbox.tests = [PASS, PASS, PASS, failing("no answer from api.example")]
    without = {"secrets": ["TOKEN"]}
    await one.do(
        TASK,
        when=answers(
            {"decision": "retested"}, {"decision": "retested", "grants": without}, {"decision": "approved"}
        ),
    )
    tested = one.events(e.BuildTested)
    assert [test.granted for test in tested] == [
        Capabilities(),
        WANTS,
        Capabilities(secrets=("TOKEN",)),
    ]
    assert [test.passed for test in tested] == [True, False, True]
    asked = one.events(e.ApprovalRequested)
    assert len({ask.digest for ask in asked}) == 1
    assert len({ask.approval_id for ask in asked}) == 3, "each is decided once"
    attempt = one.view.builds[-1].attempts[-1]
    assert attempt.passed, "what was seen under the draft profile stays"
    assert (attempt.granted, attempt.granted_problem) == (Capabilities(secrets=("TOKEN",)), "")


async def test_testing_again_without_a_sandbox_says_so_and_the_build_waits_on(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE)
    one.sandbox.tests = [PASS, PASS, PASS, SandboxUnavailable("Podman is gone.", hint="Fix it.")]
    ended = await one.do(TASK, when=answers({"decision": "retested"}, {"decision": "approved"}))
    assert ended is not None and ended.outcome == "answered"
    (said,) = [notice for notice in one.events(e.NoticeRaised) if notice.level == "error"]
    assert (said.text, said.hint) == ("double_it was not tested again: Podman is gone.", "Fix it.")
    assert len({ask.approval_id for ask in one.events(e.ApprovalRequested)}) == 2
    assert one.view.builds[-1].attempts[-1].passed and one.shelf.cards()


EDITED = draft(marker="Mine.").requests[0].arguments["code"]


async def test_an_edit_that_no_sandbox_could_test_waits_until_testing_is_requested(
    tmp_path: Path,
) -> None:
    """The person's text is kept and asked about with its risk; testing again gathers all the evidence."""
    one = lab(tmp_path, BUILD, DONE)
    one.sandbox.tests = [PASS, PASS, PASS, SandboxUnavailable("Podman is gone.", hint="Fix it.")]
    edited = {"decision": "edited", "code": EDITED}
    ended = await one.do(TASK, when=answers(edited, {"decision": "retested"}, {"decision": "approved"}))
    assert ended is not None and ended.outcome == "answered"
    (said,) = [notice for notice in one.events(e.NoticeRaised) if notice.level == "error"]
    assert said.text == "Your edit of double_it is kept and waits untested: Podman is gone."
    assert said.hint == "Fix it. Then test it again in the review."
    first, untested, tested = one.events(e.ApprovalRequested)
    assert first.digest != untested.digest == tested.digest
    build = one.view.builds[-1]
    waiting, proven = build.attempts[-2:]
    assert "Mine." in waiting.draft.code and waiting.passed is None
    assert "tests-not-run" in {risk.name for risk in risks(build, waiting)}
    assert proven.draft == waiting.draft and proven.passed
    assert [card.digest for card in one.shelf.cards()] == [tested.digest]


async def test_an_edit_that_no_sandbox_could_test_outlives_the_process(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE, parks=True)
    one.sandbox.tests = [PASS, PASS, PASS, SandboxUnavailable("Podman is gone.")]
    await one.do(TASK)
    edited = {"decision": "edited", "code": EDITED}
    for verdict in (edited, {"decision": "retested"}, {"decision": "approved"}):
        waiting = one.events(e.ApprovalRequested)[-1]
        command = answers(verdict)(waiting)
        assert isinstance(command, ResolveApproval)
        one.reopen()
        one.desk.leave(waiting.approval_id, command)
        ended = await one.do()
    assert ended is not None and ended.outcome == "answered"
    proven = one.view.builds[-1].attempts[-1]
    assert "Mine." in proven.draft.code and proven.passed and one.shelf.cards()


async def test_stopping_the_run_decides_and_ends_the_task(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, RUN, DONE)
    ended = await one.do(TASK, when=answers({"decision": "stopped", "reason": "enough"}))
    assert ended is not None
    assert (ended.outcome, ended.reason) == ("interrupted", "enough")
    assert not one.events(e.ToolCalled)
    assert not one.shelf.cards()


async def test_tags_and_reason_reach_the_model_and_stay_as_a_lesson(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE)
    rejected = {"decision": "rejected", "reason": "reads too much", "tags": ["unsafe", "weak tests"]}
    await one.do(TASK, when=answers(rejected))
    told = [entry.message.text for entry in conversation(one.bus.history) if entry.message.is_error]
    assert told == ["The person rejected this build: unsafe, weak tests: reads too much"]
    assert "unsafe, weak tests: reads too much" in one.events(e.MemoryWritten)[0].item.text


@pytest.mark.parametrize(
    ("banned", "left"),
    [
        (["name"], Ban(ban_id="", name="double_it")),
        (["digest", "secret:TOKEN"], Ban(ban_id="", digest="*", capabilities=("secret:TOKEN",))),
        (["secret:NOT_ASKED"], Ban(ban_id="")),
    ],
)
async def test_a_ban_is_stored_with_its_target(tmp_path: Path, banned: list[str], left: Ban) -> None:
    one = lab(tmp_path, BUILD, DONE, smith=(asking(),))
    await one.do(TASK, when=answers({"decision": "banned", "banned": banned, "reason": "never"}))
    (ban,) = one.shelf.bans.all()
    assert (ban.by, ban.reason) == ("tester", "never")
    assert (ban.name, ban.capabilities) == (left.name, left.capabilities)
    assert bool(ban.digest) == bool(left.digest)


async def test_a_banned_name_is_not_built_and_costs_no_call(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE)
    one.shelf.ban(Ban(ban_id="b", name="double_it", by="ada", reason="we have a calculator"))
    await one.do(TASK)
    assert "banned by ada: we have a calculator" in one.events(e.BuildFailed)[0].reason
    assert not [reply for reply in one.events(e.ModelReplied) if reply.role == "toolsmith"]


async def test_a_draft_that_requests_a_banned_grant_goes_back_for_repair(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE, smith=(asking(), draft()))
    one.shelf.ban(Ban(ban_id="b", capabilities=("secret:TOKEN",), by="ada"))
    await one.do(TASK, when=answers({"decision": "approved"}))
    assert [drafted.draft.capabilities for drafted in one.events(e.BuildDrafted)] == [Capabilities()]
    assert one.shelf.cards()


async def test_banned_bytes_neither_register_nor_run(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, RUN, DONE)
    await one.do(TASK, when=answers({"decision": "approved"}))
    digest = one.shelf.get("double_it").digest
    one.shelf.ban(Ban(ban_id="b", digest=digest, by="ada"))
    one.rules[:] = lab(tmp_path / "other", RUN, DONE).rules
    one.reopen()
    await one.do(SubmitTask(text="double five"))
    assert "banned by ada" in one.events(e.ActionFailed)[-1].text
    assert one.shelf.bans.lift("b") and not one.shelf.bans.lift("b")
    assert one.shelf.get("double_it").digest == digest


async def test_an_edit_that_does_not_parse_is_shown_unchanged(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE)
    broken = {"decision": "edited", "code": "# /// script\n# dependencies = [\n# ///\ndef run(:\n"}
    await one.do(TASK, when=answers(broken, {"decision": "rejected", "reason": "my mistake"}))
    asked = one.view.builds[-1]
    assert asked.attempts[-1].draft.code.endswith("# ///\ndef run(:\n")
    assert asked.attempts[-1].reviewed is False


async def test_the_first_verdict_counts_whichever_shell_it_came_from(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, DONE)

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.ApprovalRequested):
            other = ResolveApproval(
                approval_id="",
                digest=event.digest,
                verdict=e.Verdict(decision="rejected", reason="no", by="ada", via="cli"),
            )
            one.desk.leave(event.approval_id, other)
            return msgspec.structs.replace(
                other, approval_id=event.approval_id, verdict=e.Verdict(decision="approved")
            )
        return None

    await one.do(TASK, when=when)
    (resolved,) = one.events(e.ApprovalResolved)
    assert (resolved.verdict.decision, resolved.verdict.by) == ("rejected", "ada")
    assert not one.shelf.cards()


@pytest.mark.parametrize(
    "verdicts",
    [
        ({"decision": "approved", "lasting": "task"},),
        ({"decision": "approved", "grants": {"secrets": ["TOKEN"]}},),
        ({"decision": "retested"}, {"decision": "approved"}),
        ({"decision": "banned", "banned": ["digest"]},),
        ({"decision": "stopped"},),
    ],
    ids=lambda verdicts: verdicts[0]["decision"] + ("+" if len(verdicts[0]) > 1 else ""),
)
async def test_a_crash_after_any_event_carries_the_verdict_out_all_the_same(
    tmp_path: Path, verdicts: tuple[dict[str, Any], ...]
) -> None:
    """The process ends after each event in turn; the next one comes to the same end."""
    whole = lab(tmp_path / "whole", BUILD, RUN, DONE, smith=(asking(),))
    ended = await whole.do(TASK, when=answers(*verdicts))
    assert ended is not None
    first = next(one.seq for one in whole.bus.history if isinstance(one.event, e.ApprovalRequested))
    last = next(one.seq for one in whole.bus.history if isinstance(one.event, e.TaskFinished))
    assert first and last
    for cut in range(first, last):
        again = lab(tmp_path / str(cut), BUILD, RUN, DONE, smith=(asking(),))
        kept = [one for one in whole.bus.history if (one.seq or 0) <= cut]
        for one in kept:
            await again.file.record(
                msgspec.structs.replace(one, session_id=again.file.session_id), barrier=False
            )
        given = sum(isinstance(one.event, e.ApprovalResolved) for one in kept)
        if any(isinstance(one.event, e.ToolRegistered) and one.event.lasting == "library" for one in kept):
            continue  # the library outlives the process; this one begins with none
        again.reopen()
        if any(isinstance(one.event, e.ApprovalRequested) for one in kept) and given < len(verdicts):
            waits = [one.event for one in kept if isinstance(one.event, e.ApprovalRequested)]
            if len(waits) > given:
                pending = waits[-1]
                command = answers(verdicts[given])(pending)
                assert isinstance(command, ResolveApproval)
                again.desk.leave(pending.approval_id, command)
                given += 1
        resumed = await again.do(when=answers(*verdicts[given:]))
        assert resumed is not None
        if resumed.outcome == "failed":
            assert "recording" in resumed.reason, (cut, resumed)  # an interrupted action shifts the script
            continue
        assert resumed.outcome == ended.outcome, (cut, kept[-1].event)
        assert bool(again.shelf.bans.all()) == bool(whole.shelf.bans.all())
        assert [card.digest for card in again.shelf.cards()] == [card.digest for card in whole.shelf.cards()]


async def test_a_rejection_in_one_session_shapes_the_build_in_another(tmp_path: Path) -> None:
    first = lab(tmp_path, BUILD, DONE)
    await first.do(TASK, when=answers({"decision": "rejected", "reason": "round it", "tags": ["weak tests"]}))
    second = lab(tmp_path / "another", BUILD, DONE)
    second.memory = first.memory
    second.reopen()
    await second.do(TASK, when=answers({"decision": "approved"}))
    (begun,) = second.events(e.BuildStarted)
    assert [lesson.endswith("was rejected: weak tests: round it") for lesson in begun.lessons] == [True]
    assert second.view.builds[-1].lessons == begun.lessons
    rows = [row for row in second.view.trace if row.title.startswith("Building")]
    assert rows[0].meta == "1 past rejection shaped this build"


async def test_a_tool_that_keeps_failing_is_demoted_and_offered_for_repair(tmp_path: Path) -> None:
    failed = [
        RunReport(status="error", exit_code=1, error=f"KeyError: {n}", exception="KeyError") for n in range(3)
    ]
    runs = [say("run_tool", name="double_it", arguments={"x": n}) for n in range(3)]
    repair = say("build_tool", "repair it", name="double_it", goal="Double any number, also a big one.")
    one = lab(tmp_path, BUILD, *runs, repair, DONE, smith=(draft(), draft(marker="mended")))
    one.sandbox.runs = [*failed]
    await one.do(TASK, when=answers({"decision": "approved"}, {"decision": "approved"}))
    (demoted,) = one.events(e.ToolDemoted)
    assert (demoted.name, demoted.version, demoted.state) == ("double_it", 1, "stale")
    told = [entry.message.text for entry in conversation(one.bus.history) if entry.message.role == "user"]
    assert any("repair it: build_tool under the same name" in text for text in told)
    begun = one.events(e.BuildStarted)
    assert [build.version for build in begun] == [1, 2]
    assert begun[1].parent is not None, "a repair is a build of its own, which asks again"
    assert len(one.events(e.ApprovalRequested)) == 2
    assert {card.version: card.state for card in one.view.library} == {2: "provisional"}


@pytest.mark.parametrize("wheels", ["the same", "newer"])
async def test_banned_bytes_with_requirements_are_not_asked_about_again(tmp_path: Path, wheels: str) -> None:
    """What is banned is draft and wheels, whose digest is another than the draft's own."""
    wants = draft(requirements=("email-validator>=2",))
    newer = msgspec.structs.replace(streams.LOCK, python="3.13")
    one = lab(tmp_path, BUILD, BUILD, DONE, smith=(wants,) * 6)
    one.sandbox.locks[:] = [streams.LOCK, *([streams.LOCK if wheels == "the same" else newer] * 5)]
    await one.do(TASK, when=answers({"decision": "banned", "banned": ["digest"], "reason": "never"}))
    (asked,) = one.events(e.ApprovalRequested)
    assert asked.digest != one.events(e.BuildDrafted)[0].draft.digest
    assert "was banned by tester: never" in one.events(e.BuildFailed)[-1].reason
