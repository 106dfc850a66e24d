"""Pictures of every state of a card, and of the screens that no other picture shows, at three sizes, dark and light.

`make jobs` compares them: what they show is tested by behaviour elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.events import GateResult, MemoryItem, RunReport, TestCase, ToolCard
from alita_tui.events.build import CHECKS
from alita_tui.spine.envelope import Envelope
from tests.console.screens import SIZES, THEMES, console, covered, drawn
from tests.console.test_agents_shown import with_agents
from tests.support import goldens, streams

pytestmark = pytest.mark.walk


def begun() -> streams.Tape:
    """A session with a task at work."""
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(
        e.TaskSubmitted(task_id=e.TaskId("t1"), text="Compare the prices of the last two years, by region.")
    )
    return tape


class Build:
    """Writes what happens to one build."""

    def __init__(self, tape: streams.Tape, name: str) -> None:
        self.tape, self.id, self.draft = tape, e.BuildId(name), replace(streams.DRAFT, name=name)
        action = tape.turn("build_tool", {"name": name, "goal": self.draft.description})
        self.add(e.BuildStarted(build_id=self.id, action_id=action, name=name, goal=self.draft.description))

    def add(self, event: e.SessionEvent) -> Build:
        self.tape.add(event, span=self.id)
        return self

    def drafted(self, attempt: int = 1) -> Build:
        return self.add(
            e.BuildDrafted(
                build_id=self.id,
                attempt=attempt,
                author="model",
                model="openai:small",
                draft=self.draft,
                digest=self.draft.digest,
            )
        )

    def locked(self, attempt: int = 1) -> Build:
        reviewed = e.BuildReviewed(build_id=self.id, attempt=attempt, digest=self.draft.digest)
        lock = e.RequirementsLocked(build_id=self.id, attempt=attempt, lock=streams.LOCK)
        return self.add(reviewed).add(lock)

    def tested(self, *, passed: bool = True, attempt: int = 1) -> Build:
        cases = (TestCase(name="test_sums", passed=passed), TestCase(name="test_empty", passed=True))
        report = RunReport(
            status="ok",
            exit_code=0,
            stdout="2 tests\n",
            duration_ms=412,
            peak_memory_bytes=31_000_000,
            cases=cases,
        )
        return self.add(
            e.BuildTested(
                build_id=self.id,
                attempt=attempt,
                digest=self.draft.digest,
                passed=passed,
                reports=(report,),
                problem="" if passed else "test_sums: 3 is not 4",
            )
        )

    def checked(self, *states: str, attempt: int = 1) -> Build:
        for gate, state in zip(CHECKS, states, strict=False):
            result = GateResult(gate=gate, state=state, summary=f"{gate} {state}")  # type: ignore[arg-type]
            self.add(
                e.GateChecked(build_id=self.id, attempt=attempt, digest=self.draft.digest, result=result)
            )
        return self

    def asked(self) -> Build:
        return self.add(
            e.ApprovalRequested(
                approval_id=f"p-{self.id}",
                build_id=self.id,
                digest=streams.DIGEST,
                name=self.draft.name,
                version=1,
            )
        )

    def ready(self) -> Build:
        return self.drafted().locked().tested().checked(*["passed"] * len(CHECKS)).asked()

    def decided(self, decision: e.Decision, reason: str = "", lasting: e.Lasting = "library") -> Build:
        verdict = e.Verdict(decision=decision, by="ada", reason=reason, lasting=lasting)
        self.add(
            e.ApprovalResolved(
                approval_id=f"p-{self.id}", build_id=self.id, digest=streams.DIGEST, verdict=verdict
            )
        )
        if decision == "approved":
            card = ToolCard(
                name=self.draft.name,
                version=1,
                description=self.draft.description,
                digest=streams.DIGEST,
                state="provisional",
            )
            self.add(
                e.ToolRegistered(build_id=self.id, approval_id=f"p-{self.id}", card=card, lasting=lasting)
            )
        return self


def builds() -> list[Envelope]:
    """A build in every state in which a card can be found, the one that waits last."""
    tape = begun()
    Build(tape, "drafting_now")
    Build(tape, "own_tests_run").drafted().locked()
    Build(tape, "checks_run").drafted().locked().tested().checked("passed", "passed", "failed")
    Build(tape, "second_draft").drafted().locked().tested(passed=False).drafted(2)
    Build(tape, "could_not_run").drafted().locked().tested().checked("passed", "skipped").asked()
    Build(tape, "joined").ready().decided("approved")
    Build(tape, "for_this_task").ready().decided("approved", lasting="task")
    Build(tape, "turned_down").ready().decided("rejected", "Reads more than it needs.")
    Build(tape, "never_again").ready().decided("banned", "Sends what it reads.")
    Build(tape, "taken_back").ready().decided("withdrawn")
    Build(tape, "given_up").drafted().add(
        e.BuildFailed(build_id=e.BuildId("given_up"), reason="No draft passed in 5 attempts.")
    )
    later = Build(tape, "decide_later").ready()
    later.add(e.BuildPutOff(build_id=later.id, approval_id="p-decide_later"))
    Build(tape, "waits_for_you").ready()
    return tape.envelopes


def steps() -> list[Envelope]:
    """A step of each sort: found, read, run, failed; a thought, a plan, words of the person, a question, a file."""
    tape = begun()
    tape.turn("plan", {"steps": ["read", "compare", "tell"]}, "First a plan.")
    tape.add(e.PlanProposed(task_id=e.TaskId("t1"), steps=("read the file", "compare", "tell")))
    action = tape.turn("find_tool", {"query": "compare two tables"}, "The library may have this already.")
    tape.add(e.ToolSearched(action_id=action, query="compare two tables"), span=action)
    action = tape.turn("read_page", {"url": "https://example.org/prices"}, "The page has the rates.")
    page = "Prices of last year. " * 30
    tape.add(
        e.PageRead(action_id=action, url="https://example.org/prices", title="Prices", text=page),
        span=action,
    )
    for name, rows in (("csv_join", [{"region": "north", "sum": 1200.5}, {"region": "south", "sum": -6.5}]), ("parse_dates", None)):  # fmt: skip
        arguments = {"path": "sales.csv"}
        action = tape.turn("run_tool", {"name": name, "arguments": arguments}, "That is the tool.")
        call_id = e.CallId(f"c-{name}")
        called = e.ToolCalled(
            call_id=call_id,
            action_id=action,
            name=e.ToolName(name),
            version=1,
            digest=streams.DIGEST,
            arguments=arguments,
        )
        tape.add(called, span=call_id)
        if rows is not None:
            report = RunReport(status="ok", exit_code=0, result=rows, duration_ms=187)
            tape.add(e.ToolReturned(call_id=call_id, report=report), span=call_id)
        else:
            tape.add(
                e.ToolFailed(
                    call_id=call_id, reason="error", text="ValueError: no date in '32.13.'", hint=""
                ),
                span=call_id,
            )
    tape.add(e.Steered(text="The south as well, please."))
    tape.add(e.NoticeRaised(level="warning", text="The model answered slowly.", hint="alita models test"))
    tape.turn("ask_user", {"text": "Which currency?"}, "That I cannot know.")
    tape.add(
        e.QuestionAsked(
            question_id="q1", text="Which currency should the report use?", choices=("euros", "dollars")
        )
    )
    return tape.envelopes


def endings() -> list[Envelope]:
    """A task for each way in which one ends; the newest is answered, with a file and what it noted."""
    tape = streams.Tape()
    streams.opened(tape)
    outcomes: tuple[tuple[e.TaskOutcome, str], ...] = (
        ("failed", "The model gave no usable answer three times."),
        ("interrupted", "You stopped it."),
        ("budget", "Its budget of $0.80 is spent."),
        ("step_limit", "It took 40 steps."),
        ("stuck", "The same action failed four times."),
        ("rejected", "You rejected the build of sum_up."),
        ("sandbox", "Podman is not there."),
        ("parked", "The build of sum_up waits."),
    )
    for number, (outcome, reason) in enumerate(outcomes):
        task_id = e.TaskId(f"t{number}")
        tape.add(e.TaskSubmitted(task_id=task_id, text=f"Task that ended: {outcome}"))
        tape.turn("find_tool", {"query": "sums"})
        tape.add(e.TaskFinished(task_id=task_id, outcome=outcome, reason=reason, hint="Try another model."))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t9"), text="Sales by region?"))
    action = tape.turn("run_tool", {"name": "csv_join", "arguments": {}})
    tape.add(
        e.ToolCalled(
            call_id=e.CallId("c1"),
            action_id=action,
            name=e.ToolName("csv_join"),
            version=1,
            digest=streams.DIGEST,
            arguments={},
        ),
        span="c1",
    )
    file = e.Artefact(
        handle="art_aaaaaaaaaa", digest="a" * 64, name="table.csv", media_type="text/csv", size=2048
    )
    tape.add(e.ArtefactAdded(artefact=file, origin="tool", source="c1"), span="c1")
    report = RunReport(status="ok", exit_code=0, result=[], duration_ms=187)
    tape.add(e.ToolReturned(call_id=e.CallId("c1"), report=report), span="c1")
    answer = "**North leads.**\n\n| region | sum |\n| --- | ---: |\n| north | 1,200.50 |\n| south | -6.50 |"
    tape.add(e.TaskFinished(task_id=e.TaskId("t9"), outcome="answered", answer=answer))
    tape.add(e.MemoryWritten(item=MemoryItem(item_id="m1", memory="episodic", text="North leads.")))
    tape.add(e.FeedbackGiven(task_id=e.TaskId("t9"), rating="up"))
    return tape.envelopes


def asides() -> list[Envelope]:
    """What a task shows beside its steps: what it was given and costs, calls that ended otherwise, answers, faults."""
    tape = begun()
    recalled = MemoryItem(item_id="m1", memory="semantic", text="Our fiscal year starts in April.")
    tape.add(e.MemoryRecalled(task_id=e.TaskId("t1"), items=(recalled,)))
    tape.add(e.TaskEstimated(task_id=e.TaskId("t1"), tasks=10, usd=(0.004, 0.02, 0.25), seconds=(12, 30, 95)))
    reasons: tuple[e.FailureReason, ...] = ("timeout", "limit", "sandbox", "interrupted")
    for reason in reasons:
        action = tape.turn("run_tool", {"name": "csv_join", "arguments": {}})
        call_id = e.CallId(f"c-{reason}")
        called = e.ToolCalled(
            call_id=call_id,
            action_id=action,
            name=e.ToolName("csv_join"),
            version=1,
            digest=streams.DIGEST,
            arguments={},
        )
        tape.add(called, span=call_id)
        tape.add(e.ToolFailed(call_id=call_id, reason=reason, text=f"It ended: {reason}."), span=call_id)
    refused = tape.turn("run_tool", {"name": "never_approved", "arguments": {}})
    tape.add(
        e.ActionFailed(action_id=refused, action="run_tool", text="never_approved is not approved.", hint=""),
        span=refused,
    )
    tape.add(e.ActionMalformed(text="{", problem="It is no JSON."))
    tape.add(e.QuestionAsked(question_id="q1", text="Which currency?", choices=("euros", "dollars")))
    tape.add(e.QuestionAnswered(question_id="q1", text="euros"))
    tape.add(e.BudgetRaised(scope="task", unit="usd", limit=2.0))
    tape.add(
        e.ToolDemoted(name=e.ToolName("csv_join"), version=1, state="stale", reason="It failed 4 times.")
    )
    corrected = MemoryItem(item_id="m2", memory="semantic", text="Our fiscal year starts in July.")
    tape.add(e.MemoryWritten(item=corrected, closes=("m1",)))
    tape.add(
        e.NoticeRaised(level="error", text="The log of costs cannot be written.", hint="Free some space.")
    )
    tape.add(e.UnknownEvent(raw="{}", reason="it is of a newer version"))
    action = tape.turn("run_tool", {"name": "csv_join", "arguments": {"path": "sales.csv"}})
    call = e.ToolCalled(
        call_id=e.CallId("c9"),
        action_id=action,
        name=e.ToolName("csv_join"),
        version=1,
        digest=streams.DIGEST,
        arguments={"path": "sales.csv"},
    )
    tape.add(call, span="c9")
    return tape.envelopes


def writing() -> list[Envelope]:
    """An answer that is being written."""
    tape = begun()
    text = '{"text": "**North leads.**\\n\\n- north: 1,200.50\\n- south: 6'
    tape.add(e.ModelDelta(call_id="m1", role="orchestrator", channel="arguments", text=text))
    return tape.envelopes


def coding() -> list[Envelope]:
    """A draft that is being written, and how far the work is."""
    tape = begun()
    Build(tape, "compare")
    text = '{"name": "compare", "code": "def run(path: str) -> dict:\\n    rows = read(path)\\n    return {'
    tape.add(e.ModelDelta(call_id="m1", role="toolsmith", channel="arguments", text=text))
    tape.add(e.Progressed(work="checks of compare", done=3, total=9, detail="Tests passed"))
    return tape.envelopes


def unsaved() -> list[Envelope]:
    """A session whose disk is full."""
    tape = begun()
    tape.turn("find_tool", {"query": "prices"}, "The library may have this already.")
    tape.add(e.SavingStalled(text="No space left on device.", hint="Free some space."))
    return tape.envelopes


def reopened() -> list[Envelope]:
    """A session that was left at work, with a build that waits and two tasks in its queue."""
    tape = begun()
    later = Build(tape, "decide_later").ready()
    later.add(e.BuildPutOff(build_id=later.id, approval_id="p-decide_later"))
    for number, text in enumerate(("Chart the sales by region.", "Roll three dice."), 1):
        tape.add(e.TaskQueued(queue_id=f"q{number}", text=text))
    tape.add(e.SessionClosed())
    tape.add(e.SessionResumed(restored=len(tape.envelopes)))
    tape.add(e.WorkHeld(tasks=(e.TaskId("t1"),), queued=2))
    return tape.envelopes


def asked() -> list[Envelope]:
    """A question above which the person reads."""
    tape = begun()
    for number in range(60):
        tape.add(e.NoticeRaised(level="info", text=f"Page {number} of the report is read."))
    question = "Which of the two price lists counts for the branch in Basel: the one of May, or that of July?"
    tape.add(e.QuestionAsked(question_id="q1", text=question, choices=("May", "July")))
    return tape.envelopes


PICTURES: dict[str, tuple[Callable[[], list[Envelope]], tuple[str, ...]]] = {
    "builds": (builds, ("f2",)),
    "build opened": (builds, ("f2", "end", "enter")),
    "steps": (steps, ("f2",)),
    "everything": (steps, ("f2", "d", "end")),
    "first endings": (endings, ("f2", "g")),
    "endings": (endings, ("f2", "end")),
    "writing": (writing, ()),
    "coding": (coding, ()),
    "asides": (asides, ("f2",)),
    "agents": (with_agents, ("ctrl+k",)),
    "evaluations": (goldens.walkthrough, ("shift+f8",)),
    "evaluation": (goldens.walkthrough, ("shift+f8", "enter", "f")),
    "palette": (goldens.waiting, ("ctrl+p",)),
    "jump": (goldens.walkthrough, ("ctrl+x",)),
    "commands": (goldens.walkthrough, ("slash",)),
    "not saved": (unsaved, ()),
    "not continued": (reopened, ()),
    "question out of sight": (asked, ("f2", "g")),
    "what is wrong": (endings, ("f2", "end", "minus")),
    "what it should be": (endings, ("f2", "end", "equals_sign", *"north: 1,200.50")),
    "edited task": (with_agents, ("ctrl+k", "e")),
    "edited setting": (goldens.walkthrough, ("ctrl+backslash", "down", "enter")),
}
_OPENS = ("shift+f8", "ctrl+p", "ctrl+k", "ctrl+x", "ctrl+backslash")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", PICTURES)
def test_picture(snap_compare, name: str, size: tuple[int, int], theme: str) -> None:
    stream, keys = PICTURES[name]
    envelopes = stream()

    async def before(pilot) -> None:
        await drawn(pilot, next(one.seq for one in reversed(envelopes) if one.seq is not None))
        for key in keys:
            await pilot.press(key)
            if key in _OPENS:
                await covered(pilot)
            await pilot.pause()
        await pilot.pause()

    assert snap_compare(console(envelopes, theme), terminal_size=size, run_before=before)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_files_to_give(
    snap_compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], theme: str
) -> None:
    """The list over the composer, behind an @."""
    for name in ("prices.csv", "prices-of-last-year-by-region-and-branch.csv", "report.pdf", "notes.md"):
        (tmp_path / name).write_text("x", "utf-8")
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)
    envelopes = goldens.walkthrough()

    async def before(pilot) -> None:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press(*"compare ", "at", "p")
        await pilot.pause()

    assert snap_compare(console(envelopes, theme), terminal_size=size, run_before=before)
