"""A whole engine on a desk: real stream, stores and gate, a scripted model, a sandbox that plays back reports."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Ledger
from alita_tui.agent.call_budget import CallBudget
from alita_tui.agent.calling import ModelCalls
from alita_tui.agent.context_window import WorkingContext
from alita_tui.agent.conversation import Conversation, Entry
from alita_tui.agent.orchestrator import Orchestrator
from alita_tui.agent.policy import Policy
from alita_tui.agent.prompt import Surroundings
from alita_tui.agent.questions import Questions
from alita_tui.agent.role import read_roles
from alita_tui.events import Lock, RunReport, SandboxStatus, TestCase, Usage, WebResult
from alita_tui.llm.router import Router
from alita_tui.llm.scripted import Rule, Script, ScriptedModel, ScriptReply, ScriptRequest
from alita_tui.llm.text_tools import TextToolsModel
from alita_tui.memory.lessons import lessons
from alita_tui.memory.recall import Recollection
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import Command, ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import RegistryError, UsageError, WebError
from alita_tui.spine.laws import check
from alita_tui.spine.ports.context import BLOCKS, Provided, Provider
from alita_tui.spine.ports.models import Asker, Candidate, Delta, Model, ModelRequest, Reply
from alita_tui.spine.ports.sandbox import Job, Limits
from alita_tui.spine.ports.statistics import Estimate
from alita_tui.spine.ports.web import Page, SearchPage, Web
from alita_tui.spine.redaction import Redactor
from alita_tui.store.artefacts import SessionArtefacts
from alita_tui.store.documents import DocumentTable
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.store.verdict_inbox import VerdictInbox
from alita_tui.toolsmith.approval_gate import ApprovalGate
from alita_tui.toolsmith.checks.case import Check
from alita_tui.toolsmith.checks.probes import misfit
from alita_tui.toolsmith.prover import Prover
from alita_tui.toolsmith.smith import Smith
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.support.simulation import VirtualTime

PASS = RunReport(
    status="ok",
    exit_code=0,
    cases=(TestCase(name="test_a", passed=True), TestCase(name="test_b", passed=True)),
)


def failing(message: str) -> RunReport:
    return RunReport(
        status="ok", exit_code=0, cases=(TestCase(name="test_a", passed=False, message=message),)
    )


def conversation(history: Iterable[Envelope]) -> tuple[Entry, ...]:
    """What a model is shown of these events."""
    told = Conversation()
    for envelope in history:
        told.apply(envelope)
    return told.entries()


def say(action: str = "", words: str = "", **arguments: Any) -> ScriptReply:
    calls = (ScriptRequest(name=action, arguments=arguments),) if action else ()
    return ScriptReply(text=words, requests=calls)


def draft(name: str = "double_it", marker: str = "", requirements: tuple[str, ...] = ()) -> ScriptReply:
    code = f'"""Double a number. {marker}"""\n\n\ndef run(x: int) -> int:\n    """Twice x."""\n    return 2 * x\n'
    tests = f"from {name} import run\n\n\ndef test_a():\n    assert run(1) == 2\n\n\ndef test_b():\n    assert run(0) == 0\n"
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    return say("submit_tool", name=name, description="Double a whole number.", code=code, tests=tests, requirements=list(requirements),
               input_schema=schema, output_schema={"type": "integer"})  # fmt: skip


class PlayedSandbox:
    """Meets `Sandbox` without running anything: reports come off a list."""

    def __init__(self) -> None:
        self.tests: list[RunReport | Exception] = []
        self.runs: list[RunReport | Exception | asyncio.Event | Callable[[Job], Any]] = []
        self.jobs: list[Job] = []
        self.locks: list[Lock | Exception] = []

    async def status(self) -> SandboxStatus:
        return SandboxStatus(available=True)

    async def prepare(self, progress: Any) -> None:
        return

    async def lock(self, requirements: Any, progress: Any, *, browser: bool = False) -> Lock:
        played = self.locks.pop(0) if self.locks else Lock()
        if isinstance(played, Exception):
            raise played
        return played

    async def run(self, job: Job, on_output: Any, progress: Any) -> RunReport:
        self.jobs.append(job)
        on_output("stdout", "printed\n")
        if job.kind == "test":
            tested = self.tests.pop(0) if self.tests else PASS
            if isinstance(tested, Exception):
                raise tested
            return tested
        played = self.runs.pop(0) if self.runs else RunReport(status="ok", exit_code=0, result=4)
        if isinstance(played, asyncio.Event):
            await played.wait()
        if isinstance(played, Exception):
            raise played
        if callable(played):
            played = played(job)
        if asyncio.iscoroutine(played):
            played = await played
        assert isinstance(played, RunReport)
        return played

    async def close(self) -> None:
        return


class NoWeb:
    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        raise WebError("The search did not answer.", hint="Check the network.")

    async def read(self, url: str) -> Page:
        raise WebError("The page did not answer.")

    async def close(self) -> None:
        return


class OnePage(NoWeb):
    """A web with one page, which comes with its bytes."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def read(self, url: str) -> Page:
        return self._page


class Findings(NoWeb):
    """A web that has something else to say each time."""

    def __init__(self) -> None:
        self.asked = 0

    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        self.asked += 1
        known = {f"{word}{self.asked}" for word in ("first", "second", "third")}
        result = WebResult(title=query, url=f"https://example.org/{query}", snippet=" ".join(sorted(known)))
        return SearchPage(provider="web", results=(result,))


class Priced(ScriptedModel):
    asked: list[ModelRequest]
    """Every request, the oldest first."""
    usd: float | None = 0.01
    """What each call costs."""

    async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.asked.append(request)
        async for piece in super().reply(request):
            yield piece

    def price(self, usage: Usage) -> float | None:
        return self.usd


class NothingProvided:
    """A provider without any blocks of the context."""

    def provide(self, task: str, wanted: Collection[str]) -> Provided:
        return Provided()

    def skill_file(self, path: str) -> bytes:
        raise RegistryError("There are no skills.")


async def _no_vectors(_text: str) -> bool:
    return False


class Lab:
    """One session; `reopen` begins a new process's worth of engine on the same file."""

    def __init__(
        self,
        folder: Path,
        *,
        rules: list[Rule],
        parks: bool = False,
        secrets: tuple[tuple[str, str], ...] = (),
        retry: float | None = None,
        **policy: Any,
    ) -> None:
        self.folder = folder
        self.rules = rules
        self.parks = parks
        self.policy = policy
        self.retry = retry
        self.budget = Budget()
        self.price: float | None = 0.01
        """What each call costs; None: nobody knows."""
        self.unknown_usd = 0.0
        self.gates: tuple[Check, ...] = ()
        self.first_gates: tuple[Check, ...] = ()
        self.asking: Callable[[Asker], tuple[Check, ...]] = lambda _: ()
        """Gates that ask a model."""
        self.in_text = False
        self.window = 0
        self.summariser_window = 0
        self.web: Web = NoWeb()
        self.given = ""
        """Answers the question that is open when the lab is reopened."""
        self.asked: list[ModelRequest] = []
        self.around = Surroundings(today="Saturday, 2026-11-21")
        self.provider: Provider = NothingProvided()
        self.encode: Callable[[str], Awaitable[bool]] = _no_vectors
        """Brings what an encoder makes of what a recall lacks."""
        self.estimate: Callable[[str], Estimate] | None = None
        """What a task will take."""
        self.blocks: tuple[str, ...] = tuple(BLOCKS)
        self.roles = read_roles()
        self.sandbox = PlayedSandbox()
        self.sessions = SessionStore(folder / "sessions")
        self.redactor = Redactor(secrets)
        self.desk = VerdictInbox(folder / "desk", self.sessions, redactor=self.redactor)
        self.shelf = ToolLibrary(DocumentTable(folder / "registry.json", "tools"), folder / "box")
        self.memory = Recollection(DocumentTable(folder / "memory.json", "items"))
        self.settled: list[str] = []
        self.pages = False
        """True: what is not new is read from the file again, as in a session of the product."""
        self._ticks = itertools.count()
        self._ids = itertools.count(1)
        path = self.sessions.path("20261121-000000-lab0")
        try:
            self.file = SessionFile.open(path)  # what an earlier process left
        except UsageError:
            self.file = SessionFile.create(path, path.stem)
        self._build()

    def _build(self) -> None:
        now = lambda: datetime(2026, 11, 21, tzinfo=UTC) + timedelta(seconds=next(self._ticks))  # noqa: E731
        begun = len(self.file.envelopes())  # ids are unique in a session, whoever goes on with it
        new_id = lambda: f"id{begun}x{next(self._ids)}"  # noqa: E731
        self.bus = Bus(
            self.file.session_id,
            self.file,
            now,
            history=self.file.history() if self.pages else self.file.envelopes(),
            redactor=self.redactor,
            retry=self.retry,
        )
        priced = Priced(Script(format="alita-script/1", name="lab", rules=tuple(self.rules)))
        priced.asked, priced.usd = self.asked, self.price
        model: Model = TextToolsModel(priced, "auto") if self.in_text else priced
        time = VirtualTime()
        router = Router({"orchestrator": (Candidate(model=model),)}, time, lambda: 0.5)
        questions = Questions(self.bus, parks=self.parks, earlier_answer=self.given)
        self.given = ""
        call_budget = CallBudget(self.bus, self.budget, questions, new_id, unknown_usd=self.unknown_usd)
        asker = ModelCalls(self.bus, router, call_budget, new_id, sleep=time.sleep)
        gate = ApprovalGate(
            self.bus,
            self.desk,
            me="tester",
            parks=self.parks,
            settled=self.on_settled,
        )
        prover = Prover(
            self.bus,
            self.sandbox,
            before=self.first_gates,
            after=(*self.gates, *self.asking(asker)),
            limits=Limits(),
            progress=lambda *_: None,
        )
        shelf = TaskLibrary(self.shelf)
        smith = Smith(
            self.bus, asker, prover, shelf, gate, max_repairs=4, model_name=model.name, new_id=new_id
        )
        self.context = WorkingContext(
            self.bus, asker, lambda: self.window, lambda: self.summariser_window or self.window, self.blocks
        )
        self.engine = Orchestrator(
            self.bus, asker, smith, gate, shelf, self.sandbox, self.memory, self.web, questions, self.context,
            SessionArtefacts(self.folder / "artefacts", 10_000_000),
            policy=Policy(**self.policy), new_id=new_id, progress=lambda *_: None,
            surroundings=lambda: self.around, misfit=misfit, provider=self.provider, encode=self.encode,
            estimate=lambda text: self.estimate(text) if self.estimate else Estimate(count=0),
            blocks=self.blocks,
            learn=lambda task, proposed=(): lessons(self.bus.history, task, proposed),
            roles=self.roles, budget=call_budget,
        )  # fmt: skip

    def shared_ledger(self) -> Ledger:
        """What the session's calls and shares come to by now."""
        ledger = Ledger(self.budget)
        for envelope in self.bus.history:
            ledger.read(envelope)
        return ledger

    def on_settled(self, request: e.ApprovalRequested, _command: ResolveApproval) -> None:
        self.settled.append(request.digest)

    def reopen(self) -> None:
        self.file.close()
        self.file = SessionFile.open(self.file.path)
        self._build()

    @property
    def view(self) -> SessionView:
        return fold_all(self.bus.history)

    @property
    def requests(self) -> list[ModelRequest]:
        """What the orchestrator's model was sent."""
        return [request for request in self.asked if request.role == "orchestrator"]

    def events(self, kind: type) -> list[Any]:
        return [envelope.event for envelope in self.bus.history if isinstance(envelope.event, kind)]

    async def begin(self) -> None:
        if not self.bus.history:
            await self.bus.emit(e.SessionOpened(model="demo:lab"))
        await self.bus.emit(e.LibraryLoaded(tools=self.shelf.cards()))

    async def do(
        self, *commands: Command, when: Callable[[e.SessionEvent], Command | None] = lambda _: None
    ) -> e.TaskFinished:
        """As `play`; return the last ending."""
        await self.play(*commands, when=when)
        ended: list[e.TaskFinished] = self.events(e.TaskFinished)
        assert ended, "no task ended"
        return ended[-1]

    async def play(
        self, *commands: Command, when: Callable[[e.SessionEvent], Command | None] = lambda _: None
    ) -> None:
        """Send commands, answer events with `when`, until nothing is left to do."""
        await self.begin()
        news = self.bus.subscribe()
        for command in commands:
            self.engine.send(command)

        async def answer() -> None:
            async for envelope in news:
                reply = when(envelope.event)
                if reply is not None:
                    self.engine.send(reply)

        answering = asyncio.create_task(answer())
        async with asyncio.timeout(180):
            await self.engine.run(until_idle=True)
        news.close()
        await answering
        broken = check(self.bus.history, complete=True)
        assert broken == [], broken
