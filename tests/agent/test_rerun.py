"""A recording done again: the same where nothing changed, and every difference where something did."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.rerun import Rerun, Rerunner
from alita_tui.events import Capabilities, Lock, RunReport, TestCase, ToolRecord
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import RegistryError, SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.agent.lab import PlayedSandbox
from tests.support.goldens import NAMES, golden, walkthrough

Change = Callable[[RunReport], RunReport]


class Echo(PlayedSandbox):
    """A sandbox that gives the recorded reports back, in order, changed where it is told to."""

    def __init__(self, envelopes: list[Envelope], change: Change = lambda report: report) -> None:
        super().__init__()
        self._reports: list[RunReport] = []
        for one in envelopes:
            if isinstance(one.event, e.BuildTested) and one.event.reports:
                self._reports.append(one.event.reports[-1])
            elif isinstance(one.event, e.ToolReturned | e.ToolFailed) and one.event.report:
                self._reports.append(one.event.report)
        self._change = change
        self.jobs: list[Job] = []

    async def run(self, job: Job, on_output, progress) -> RunReport:
        self.jobs.append(job)
        return self._change(self._reports[len(self.jobs) - 1])


class Shelf:
    """A library without tools."""

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        raise RegistryError(f"There is no tool {name} v{version} to run.")


async def rerun(
    envelopes: list[Envelope], change: Change = lambda report: report
) -> tuple[list[Rerun], Echo]:
    sandbox = Echo(envelopes, change)
    done = [one async for one in Rerunner(sandbox, Shelf(), Limits()).run(envelopes)]
    return done, sandbox


def alone(name: str) -> bool:
    """True when every tool that ran was built in the recording itself."""
    events = [one.event for one in golden(name)]
    own = {event.card.digest for event in events if isinstance(event, e.ToolRegistered)}
    return all(event.digest in own for event in events if isinstance(event, e.ToolCalled))


@pytest.mark.parametrize("name", [name for name in NAMES if alone(name)])
async def test_nothing_differs_where_nothing_changed(name: str) -> None:
    whole = golden(name)
    done, _ = await rerun(whole)
    assert {one.outcome for one in done if not one.reason} <= {"same"}
    assert {one.reason for one in done} <= {"", "it refers to files or results of its session"}
    replies = [
        one for one in whole if isinstance(one.event, e.ModelReplied) and one.event.role == "orchestrator"
    ]
    assert [one.seq for one in done if one.what == "reply"] == [one.seq for one in replies]


async def test_a_rerun_uses_the_recorded_code_and_grants_nothing() -> None:
    whole = walkthrough()
    done, sandbox = await rerun(whole)
    calls = [one.event for one in whole if isinstance(one.event, e.ToolCalled)]
    drafts = [one.event.draft for one in whole if isinstance(one.event, e.BuildDrafted)]
    runs = [job for job in sandbox.jobs if job.kind == "run"]
    assert [job.arguments for job in runs] == [call.arguments for call in calls]
    assert {job.code for job in sandbox.jobs} <= {draft.code for draft in drafts}
    assert all(job.capabilities.none and not job.digest for job in sandbox.jobs)
    assert all(job.lock.packages for job in sandbox.jobs)
    assert len([one for one in done if one.what == "tests"]) == 2


async def test_every_difference_is_reported() -> None:
    def change(report: RunReport) -> RunReport:
        if report.cases:
            cases = (replace(report.cases[0], passed=not report.cases[0].passed), *report.cases[1:])
            return replace(report, cases=(*cases, TestCase(name="test_new", passed=True)))
        return replace(report, result={"results": []}, stdout="more")

    done, _ = await rerun(walkthrough(), change)
    told = {one.seq: one.differences for one in done if one.outcome == "differs"}
    tests = [one for one in done if one.what == "tests"]
    (call,) = [one for one in done if one.what == "call"]
    assert set(told) == {*(one.seq for one in tests), call.seq}
    assert "test_new: not there → passed" in tests[0].differences
    assert any(
        text.startswith("result: {") and text.endswith('→ {"results":[]}') for text in call.differences
    )
    assert "stdout: nothing → more" in call.differences


async def test_long_values_are_shown_at_the_place_where_they_differ() -> None:
    whole = []
    for one in walkthrough():
        event = one.event
        if isinstance(event, e.ToolReturned):
            event = replace(event, report=replace(event.report, stdout="x" * 5000 + "then was"))
        whole.append(replace(one, event=event))
    done, _ = await rerun(whole, lambda report: replace(report, stdout=report.stdout.replace("was", "is")))
    (call,) = [one for one in done if one.what == "call"]
    (told,) = call.differences
    assert told.startswith("stdout: …x") and "then was → …x" in told and told.endswith("then is")


async def test_a_reply_that_is_parsed_differently_now_is_a_difference() -> None:
    changed, broken = [], []
    for one in walkthrough():
        event = one.event
        if isinstance(event, e.ActionChosen) and event.action == "find_tool":
            event = replace(event, arguments={"query": "something else"})
        changed.append(replace(one, event=event))
        if isinstance(event, e.ModelReplied) and event.requests:
            event = replace(event, requests=(replace(event.requests[0], name="no_such_action"),))
        broken.append(replace(one, event=event))
    done, _ = await rerun(changed)
    differing = [one for one in done if one.outcome == "differs"]
    assert len(differing) == sum(
        isinstance(one.event, e.ActionChosen) and one.event.action == "find_tool" for one in changed
    )
    assert all('something else"' in one.differences[0] for one in differing)
    done, _ = await rerun(broken)
    assert any("no valid action" in text for one in done for text in one.differences)


async def test_a_tool_that_was_granted_something_is_not_run_again() -> None:
    granted = Capabilities(network=("example.org:443",))
    whole: list[Envelope] = []
    call = next(one.event.call_id for one in walkthrough() if isinstance(one.event, e.ToolCalled))
    for one in walkthrough():
        whole.append(replace(one, seq=len(whole) + 1))
        if isinstance(one.event, e.ToolCalled):
            answered = e.BrokerAnswered(call_id=call, request="GET https://example.org/", outcome="served")
            whole.append(replace(one, seq=len(whole) + 1, event=answered))
        if isinstance(one.event, e.BuildTested):
            whole[-1] = replace(whole[-1], event=replace(one.event, granted=granted))
    done, sandbox = await rerun(whole)
    left = [one for one in done if one.outcome == "skipped"]
    assert {one.what for one in left} == {"tests", "call"}
    assert all("granted" in one.reason for one in left)
    assert "network:example.org:443" in left[0].reason
    assert sandbox.jobs == []


async def test_a_missing_or_changed_tool_is_not_run() -> None:
    whole = golden("golden-exit")
    done, sandbox = await rerun(whole)
    (call,) = [one for one in done if one.what == "call"]
    assert (call.outcome, sandbox.jobs) == ("differs", [])
    assert call.differences == ("the tool: v1 ran → There is no tool twice_wrong v1 to run.",)

    class Other(Shelf):
        def get(self, name: str, version: int | None = None) -> ToolRecord:
            draft = next(one.event.draft for one in walkthrough() if isinstance(one.event, e.BuildDrafted))
            return ToolRecord(
                draft=draft,
                version=1,
                digest=e.BuildDigest("00" * 32),
                state="trusted",
                lock=Lock(),
                approval_id="a",
            )

    done = [one async for one in Rerunner(sandbox, Other(), Limits()).run(whole)]
    assert any("is another one here" in told for one in done for told in one.differences)
    assert sandbox.jobs == []


async def test_a_missing_sandbox_is_no_difference() -> None:
    class Gone(Echo):
        async def run(self, job: Job, on_output, progress) -> RunReport:
            raise SandboxUnavailable("No sandbox.")

    with pytest.raises(SandboxUnavailable):
        [one async for one in Rerunner(Gone([]), Shelf(), Limits()).run(walkthrough())]


def test_a_result_is_json() -> None:
    one = Rerun(seq=1, what="call", name="x", outcome="differs", differences=("a: b → c",))
    assert msgspec.json.decode(msgspec.json.encode(one), type=Rerun) == one
