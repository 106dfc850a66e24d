"""Sessions that are killed, through the product's own entry points: two tasks, a rejected and an approved build, a question.

The model decides from what it is shown, as a real one does. A stand-in for the sandbox logs what it ran. The person
answers what is asked, and types a task again if the screen does not show it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.session import LiveSession, open_session
from alita_tui.config.load import load
from alita_tui.config.paths import locate
from alita_tui.events import LeftFile, Lock, RunReport, SandboxStatus, TestCase, ToolRequest, Usage
from alita_tui.llm.router import Router
from alita_tui.spine.commands import AnswerQuestion, ResolveApproval, SubmitTask
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.models import Ability, Candidate, Message, ModelRequest, Reply
from alita_tui.spine.ports.sandbox import Job
from tests.crash.maps import MAPS

TASKS = ("double 4", "double 5")
FIVE = ("double 6", "double 7", "double 8", "double 9", "double 10")
"""Given all at once to a session that runs two of them side by side; the library has the tool already."""
GIVEN = "numbers.txt"
"""The file that comes with each task."""
WITNESS_LOG = "witness.log"
"""What subscribers received and what ran, one line each; written before alita can lose it."""
CODE = '"""Double a number."""\n\n\ndef run(x: int) -> int:\n    """Twice x."""\n    return 2 * x\n'
TESTS = "from double_it import run\n\n\ndef test_one():\n    assert run(1) == 2\n"
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
DRAFT = {
    "name": "double_it", "description": "Double a whole number.", "code": CODE, "tests": TESTS,
    "requirements": [], "input_schema": SCHEMA, "output_schema": {"type": "integer"},
}  # fmt: skip
PASSED = RunReport(status="ok", exit_code=0, cases=(TestCase(name="test_one", passed=True),))


class WitnessLog:
    """A log of what was seen outside of alita. `os.write` is no point of the fault injector."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, *words: object) -> None:
        os.write(self._fd, (" ".join(map(str, words)) + "\n").encode())


class DecidingModel:
    """Implements `Model`: looks for a tool, has it built, runs it, asks once, answers."""

    name = "test:decider"
    abilities = frozenset[Ability]({"tools"})
    recorded = False

    def __init__(self, asks: bool) -> None:
        self.asks = asks

    def price(self, usage: Usage) -> float | None:
        return (usage.input_tokens + usage.output_tokens) / 1e6

    async def warm(self) -> None:
        return

    async def window(self) -> int:
        return 0

    async def aclose(self) -> None:
        return

    async def reply(self, request: ModelRequest) -> AsyncIterator[Reply]:
        usage = Usage(input_tokens=1000, output_tokens=100)
        match request.role:
            case "orchestrator":
                name, arguments = _next(request.messages, self.asks)
            case "toolsmith":
                name, arguments = "submit_tool", DRAFT
            case _:
                yield Reply(model=self.name, text="Nothing to say.", stop="end_turn", usage=usage)
                return
        call = ToolRequest(call_id=f"c{len(request.messages)}", name=name, arguments=arguments)
        yield Reply(model=self.name, text=f"next: {name}", requests=(call,), stop="tool_use", usage=usage)


def _next(messages: Sequence[Message], asks: bool) -> tuple[str, dict[str, Any]]:
    begun = max(n for n, one in enumerate(messages) if one.role == "user" and one.text.startswith("TASK: "))
    number = int(messages[begun].text.split()[2])
    seen = [one.text for one in messages[begun + 1 :] if one.role == "tool"]
    told = "\n".join(seen)
    if re.search(rf"result \(e\d+\): {2 * number}\b", told):
        if asks and number % 4 == 0 and "The person answered" not in told:
            return "ask_user", {"question": "In words?"}
        return "answer", {"text": str(2 * number)}
    if "Approved: double_it" in told or "Tools that fit" in told:
        return "run_tool", {"name": "double_it", "arguments": {"x": number}}
    if "No tool fits" in told:
        return "build_tool", {"name": "double_it", "goal": "Double any whole number."}
    return "find_tool", {"query": "double a whole number"}


class Models:
    """Takes the place of the configured models."""

    name, recorded, problems = DecidingModel.name, False, ()

    def __init__(self, asks: bool) -> None:
        roles: tuple[e.ModelRole, ...] = ("orchestrator", "toolsmith")
        seats = {role: [Candidate(model=DecidingModel(asks))] for role in roles}
        self.router = Router(seats, lambda: 0.0, lambda: 0.5)

    async def aclose(self) -> None:
        return


class LoggingSandbox:
    """Implements `Sandbox` without running anything; logs each call of a tool."""

    def __init__(self, witness_log: WitnessLog) -> None:
        self._witness_log = witness_log

    async def status(self) -> SandboxStatus:
        return SandboxStatus(available=True)

    async def prepare(self, progress: Any) -> None:
        return

    async def warm_up(self, limits: Any, progress: Any) -> None:
        return

    async def lock(self, requirements: Any, progress: Any, *, browser: bool = False) -> Lock:
        return Lock()

    async def run(self, job: Job, on_output: Any, progress: Any) -> RunReport:
        if job.kind == "test":
            return PASSED
        if not job.digest:
            raise SandboxUnavailable("Only what is approved runs here.")  # a check then could not run
        number = job.arguments["x"]
        self._witness_log.write("ran", job.run_id, number)
        on_output("stdout", "doubling\n")
        made = f"{2 * number} is twice {number}\n"
        try:
            (Path(job.outputs) / "0").write_text(made)
        except OSError as error:  # the disk is full
            return RunReport(status="ok", exit_code=0, result=2 * number, files_lost=str(error))
        left = LeftFile(name=f"twice-{number}.txt", size=len(made))
        return RunReport(status="ok", exit_code=0, result=2 * number, files=(left,))

    async def close(self) -> None:
        return


class CrashApp(AppContext):
    """An app with the model and the sandbox of this module."""

    witness_log: WitnessLog
    asks = True

    def models(self) -> Any:
        return Models(self.asks)

    def sandbox(self, session_id: str, **_: Any) -> Any:
        return LoggingSandbox(self.witness_log)


class CrashAppWithContainers(CrashApp):
    """The same with the real sandbox."""

    def sandbox(self, session_id: str, **options: Any) -> Any:
        return AppContext.sandbox(self, session_id, **options)


def open_app(folder: Path, kind: type[CrashApp] = CrashApp, parallel: int = 1) -> CrashApp:
    paths = locate(folder / "home", {})
    made = kind(paths, load(paths, {}, {"tasks.parallel": parallel}), {})
    made.witness_log = WitnessLog(folder / WITNESS_LOG)
    return made


def given(folder: Path) -> tuple[str, ...]:
    """Write the file that the person gives, unseen by the fault injector; return its path."""
    fd = os.open(folder / GIVEN, os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"4\n5\n" * 40_000)  # more than one piece
    os.close(fd)
    return (str(folder / GIVEN),)


async def at_the_console(
    folder: Path, session_id: str | None = None, kind: type[CrashApp] = CrashApp
) -> None:
    """Take the session from where it stands to its end, with a person at the console."""
    await _to_its_end(folder, open_app(folder, kind), session_id, TASKS)


async def five_at_the_console(folder: Path, session_id: str | None = None) -> None:
    """Take a session of five tasks, given at once and two at a time, from where it stands to its end."""
    await _to_its_end(folder, open_app(folder, parallel=2), session_id, FIVE)


async def _to_its_end(folder: Path, home: CrashApp, session_id: str | None, tasks: tuple[str, ...]) -> None:
    opened = await open_session(home, session_id, parks=False)
    person = Person(opened, home.witness_log, tasks=tasks)
    for task in person.untyped_tasks():
        opened.send(SubmitTask(text=task, attach=given(folder)))
    watching = asyncio.create_task(person.watch())
    async with asyncio.timeout(180):
        await opened.run(until_idle=True)
        await watching


async def in_the_shell(folder: Path, session_id: str | None = None) -> None:
    """Do the same from a shell: a build parks its task, the verdict is left in the inbox, the session is resumed."""
    home = open_app(folder)
    home.asks = False
    async with asyncio.timeout(180):
        while True:
            opened = await open_session(home, session_id, parks=True)
            person = Person(opened, home.witness_log, answers=False)
            session_id, watching = opened.session_id, asyncio.create_task(person.watch())
            for task in [] if person.has_open_tasks() else person.untyped_tasks()[:1]:
                opened.send(SubmitTask(text=task, attach=given(folder)))
            await opened.run(until_idle=True)
            await watching
            waiting = home.inbox.pending()
            if not person.untyped_tasks() and not person.has_open_tasks():
                return
            for build in waiting:
                if not build.verdict:
                    home.inbox.leave(build.approval_id, person.verdict_on(build.approval_id, build.digest))
                    home.witness_log.write("left", build.approval_id)


class Person:
    """Rejects the first build, approves the next and answers the question, knowing only what a subscriber receives."""

    def __init__(
        self,
        session: LiveSession,
        witness_log: WitnessLog,
        *,
        answers: bool = True,
        tasks: tuple[str, ...] = TASKS,
    ) -> None:
        self._tasks = tasks
        self._session = session
        self._witness_log = witness_log
        self._answers = answers
        self._news = session.bus.subscribe()
        self._seen = [envelope.event for envelope in session.bus.history]

    def untyped_tasks(self) -> list[str]:
        """Return the tasks that the screen does not show."""
        shown = {one.text for one in self._seen if isinstance(one, e.TaskSubmitted | e.TaskQueued)}
        return [task for task in self._tasks if task not in shown]

    def has_open_tasks(self) -> bool:
        """Return True while a task is not done."""
        ended = {one.task_id for one in self._all(e.TaskFinished) if one.outcome != "parked"}
        begun = {one.queue_id for one in self._all(e.TaskSubmitted)}
        queued = any(one.queue_id not in begun for one in self._all(e.TaskQueued))
        return queued or any(one.task_id not in ended for one in self._all(e.TaskSubmitted))

    async def watch(self) -> None:
        for event in list(self._seen):
            self._react(event)
        async for envelope in self._news:
            if envelope.seq is not None:
                self._witness_log.write("received", envelope.seq, type(envelope.event).__name__)
                self._seen.append(envelope.event)
                self._react(envelope.event)

    def verdict_on(self, approval_id: str, digest: str) -> ResolveApproval:
        """Return the verdict on a build: the first is rejected, the next approved."""
        from alita_tui.view.queries import build_of
        from alita_tui.view.risk import names_to_accept, risks

        first = self._all(e.ApprovalRequested)[0].approval_id == approval_id
        asked = next(one for one in self._all(e.ApprovalRequested) if one.approval_id == approval_id)
        made = build_of(self._session.bus.history, asked.build_id)
        names = names_to_accept(risks(made, made.presented)) if made and made.presented and not first else ()
        verdict: Literal["approved", "rejected"] = "rejected" if first else "approved"
        return ResolveApproval(approval_id=approval_id, digest=e.BuildDigest(digest), verdict=e.Verdict(decision=verdict, reason="use a shift", by="ada", seen_ms=1000.0, accepted=names, via="console" if self._answers else "cli"))  # fmt: skip

    def _react(self, event: e.SessionEvent) -> None:
        if not self._answers:
            return
        match event:
            case e.ApprovalRequested(approval_id=approval_id, digest=digest):
                if approval_id not in {one.approval_id for one in self._all(e.ApprovalResolved)}:
                    self._session.send(self.verdict_on(approval_id, digest))
            case e.QuestionAsked(question_id=question_id):
                if question_id not in {one.question_id for one in self._all(e.QuestionAnswered)}:
                    self._session.send(AnswerQuestion(question_id=question_id, text="no"))
            case _:
                pass

    def _all(self, kind: type) -> list[Any]:
        return [one for one in self._seen if isinstance(one, kind)]


async def in_containers(folder: Path, session_id: str | None = None) -> None:
    """Do what `at_the_console` does, with real containers."""
    await at_the_console(folder, session_id, CrashAppWithContainers)


SCENES = {"console": at_the_console, "shell": in_the_shell, "five": five_at_the_console, **MAPS}


def prepare(folder: Path, scene: str) -> None:
    """Make the folder as it is before a scene begins; for five tasks its library has the tool."""
    if scene == "five":
        folder.mkdir()
        asyncio.run(at_the_console(folder))
        for path in (folder / "home" / "data" / "sessions").glob("*.json"):
            path.unlink()
        (folder / WITNESS_LOG).unlink()
