"""The orchestrator: takes a session's commands and gives one task after another to the agent's loop.

Commands come in through `send`; what happens goes out through the bus, and nowhere else. A task is a cancellable
asyncio task: an interrupt cancels it at whatever it awaits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import ParamSpec, Protocol

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.archivist import Archivist
from alita_tui.agent.arguments import Misfit
from alita_tui.agent.blocks import ContextBlocks, NothingProvided
from alita_tui.agent.budget import declined
from alita_tui.agent.build_jobs import Builder, BuildJob, BuildJobs
from alita_tui.agent.checklist import checklist, from_person
from alita_tui.agent.given_files import GivenFiles
from alita_tui.agent.handlers import Handlers
from alita_tui.agent.handlers.building import BuildHandlers
from alita_tui.agent.handlers.conversation import ConversationHandlers
from alita_tui.agent.handlers.research import ResearchHandlers
from alita_tui.agent.handlers.running import RunHandlers
from alita_tui.agent.inner_calls import InnerCalls
from alita_tui.agent.lessons import Lessons
from alita_tui.agent.loop import AgentLoop
from alita_tui.agent.notices import unexpected
from alita_tui.agent.outcomes import Outcomes
from alita_tui.agent.planner import Planner
from alita_tui.agent.policy import Policy
from alita_tui.agent.projection import StateProjection
from alita_tui.agent.prompt import Surroundings
from alita_tui.agent.questions import Questions
from alita_tui.agent.references import References
from alita_tui.agent.task_queue import Handed, TaskQueue
from alita_tui.agent.task_runner import TaskRunner
from alita_tui.agent.tasks import UNFINISHED, CurrentTask, successors, why_not_again, why_not_retried
from alita_tui.agent.tool_runs import ToolRuns
from alita_tui.agent.working import WorkingContext
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import (
    AnswerQuestion,
    CancelTask,
    CloseSession,
    Command,
    EditTask,
    EnableModel,
    ForgetMemory,
    GiveFeedback,
    Improve,
    Interrupt,
    MoveTask,
    PutOff,
    RefreshLibrary,
    ResolveApproval,
    Retry,
    Steer,
    SubmitTask,
    SwitchBlock,
    SwitchQueue,
)
from alita_tui.spine.errors import AlitaError, StoreError
from alita_tui.spine.origin import in_task, working_on
from alita_tui.spine.ports.artefacts import Artefacts
from alita_tui.spine.ports.context import BLOCKS, Provider
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.memory import Learn, Memory
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.sandbox import Sandbox
from alita_tui.spine.ports.statistics import Estimate
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.ports.web import Web
from alita_tui.state.session import SessionState, TaskState

P = ParamSpec("P")


class Verdicts(Protocol):
    """Takes a person's verdicts. Met by `toolsmith`."""

    def resolve(self, command: ResolveApproval) -> str:
        """Hand in a verdict; return why it does not count, or an empty string."""


class Orchestrator:
    """The agent's side of a session. Meets `CommandSink`."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        builder: Builder,
        verdicts: Verdicts,
        shelf: ToolShelf,
        sandbox: Sandbox,
        memory: Memory,
        web: Web,
        questions: Questions,
        context: WorkingContext,
        artefacts: Artefacts,
        *,
        policy: Policy,
        learn: Learn,
        new_id: Callable[[], str],
        progress: Progress,
        misfit: Misfit,
        known_state: Callable[[], SessionState | None] = lambda: None,
        surroundings: Callable[[], Surroundings] = Surroundings,
        estimate: Callable[[str], Estimate] | None = None,
        provider: Provider | None = None,
        encode: Callable[[str], Awaitable[bool]] | None = None,
        blocks: Collection[str] = tuple(BLOCKS),
    ) -> None:
        """`known_state`: see `StateProjection`. `misfit` checks arguments against schemas.

        `surroundings`, `estimate` and `provider` are called in a thread as a task begins; `blocks` are those of
        the context that are on where the person switched nothing. `encode`: see `Lessons`.
        """
        self._bus = bus
        self._asker = asker
        self._verdicts = verdicts
        self._shelf = shelf
        self._questions = questions
        self._projection = StateProjection(bus, known_state)
        self._inbox: asyncio.Queue[Command | BuildJob | Handed] = asyncio.Queue()
        """Commands, and builds that were put off and have ended."""
        self._queue = TaskQueue(bus, new_id)
        self._task = CurrentTask(bus, self._projection)
        self._jobs = BuildJobs(bus, self._projection, self._task, builder, self._inbox.put_nowait)
        provider = provider or NothingProvided()
        self._blocks = ContextBlocks(
            bus, self._projection, self._task, context, surroundings, provider, blocks
        )
        self._lessons = Lessons(
            bus,
            memory,
            self._task,
            learn=learn,
            new_id=new_id,
            archivist=None if policy.propose_usd is None else Archivist(bus, asker, policy.propose_usd),
            teaches=policy.teaches,
            recall_tokens=policy.recall_tokens,
            recalls=lambda: "memory" not in self._blocks.off,
            encode=encode,
        )
        self._outcomes = Outcomes(bus, shelf, teaches=policy.teaches)
        self._builds = BuildHandlers(
            bus, self._task, shelf, self._jobs, self._queue, self._lessons, sandbox, progress
        )
        self._files = GivenFiles(bus, artefacts)
        references = References(bus, self._projection, artefacts)
        tool_runs = ToolRuns(
            bus, shelf, sandbox, artefacts, limits=policy.run_limits, progress=progress, misfit=misfit
        )
        self.inner_calls = InnerCalls(tool_runs, shelf, new_id=new_id, misfit=misfit)
        """What the tools that run here call other tools by."""
        runs = RunHandlers(
            bus, self._projection, self._task, shelf, references, tool_runs, new_id=new_id, misfit=misfit
        )
        planner = Planner(bus, asker, shelf, memory, self._task, candidates=policy.plans)
        conversation = ConversationHandlers(
            bus, self._task, questions, context, references, planner, artefacts, provider.skill_file
        )
        research = ResearchHandlers(bus, self._task, shelf, web, artefacts)
        loop = AgentLoop(
            bus,
            asker,
            context,
            Handlers(conversation.table, research.table, runs.table, self._builds.table),
            self._task,
            self._queue.news,
            self._blocks,
            references.needs,
            questions,
            planner,
            max_steps=policy.max_steps,
            reply_tokens=policy.reply_tokens,
        )
        self._runner = TaskRunner(
            bus,
            self._projection,
            self._task,
            loop,
            self._jobs,
            self._builds,
            self._lessons,
            self._outcomes,
            questions,
            asker,
            shelf,
            new_id,
            estimate,
        )
        self._work: asyncio.Task[None] | None = None

    # --- commands -------------------------------------------------------------------------

    def send(self, command: Command) -> None:
        """Take a command; it is carried out when its turn comes."""
        self._inbox.put_nowait(command)

    def hand_in(self, command: Command, done: Callable[[], None]) -> None:
        """Take a command that another process left; `done` is called when it was carried out."""
        self._inbox.put_nowait(Handed(command, done))

    async def run(self, *, until_idle: bool = False) -> None:
        """Serve commands until the session is closed, or (headless) until nothing is left to do."""
        await asyncio.to_thread(lambda: self._projection.state)  # a long session takes a while
        try:
            await self._safely(self._take_up_unfinished)
            while True:
                if self._work is None and (task := self._queue.next()):
                    self._start(self._runner.begin(task))
                if until_idle and self.idle:
                    return
                command = await self._next_command()
                if isinstance(command, CloseSession):
                    return
                if command is not None:
                    await self._safely(self._carry_out, command)
        finally:
            await self._stop()

    async def _next_command(self) -> Command | BuildJob | Handed | None:
        """Wait for a command or for the end of the running task; return the command, if one came."""
        getter = asyncio.ensure_future(self._inbox.get())
        waits: set[asyncio.Future[object]] = {getter}  # type: ignore[arg-type]
        if self._work:
            waits.add(self._work)  # type: ignore[arg-type]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not getter.done():
                getter.cancel()
        if self._work and self._work.done():
            work, self._work = self._work, None
            await self._safely(work.result)
        return getter.result() if getter.done() and not getter.cancelled() else None

    async def _safely(
        self, work: Callable[P, Coroutine[None, None, None] | None], *args: P.args, **options: P.kwargs
    ) -> None:
        """Do something; an error that the code did not foresee becomes a notice, and the session goes on."""
        try:
            if (awaitable := work(*args, **options)) is not None:
                await awaitable
        except AlitaError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, the session outlives it
            await self._bus.emit(unexpected(error))

    @property
    def idle(self) -> bool:
        """True while nothing is done and nothing waits to be."""
        busy = self._work or self._queue.ready or self._jobs.running
        return not busy and self._inbox.empty()

    async def _carry_out(self, command: Command | BuildJob | Handed) -> None:  # noqa: C901  # one match over all kinds
        match command:
            case Handed():
                await self._carry_out(command.command)
                command.done()
            case SubmitTask():
                await self._submit(command)
            case Retry(task_id=task_id) if task_id:
                await self._retry_one(task_id)
            case Retry():
                await self._retry()
            case CancelTask(task_id=task_id) if task_id and task_id == self._task.id:
                self._interrupt()
            case EditTask() | MoveTask() | CancelTask() | SwitchQueue():
                await self._queue.change(command)
            case Steer(text=text, attach=attach):
                await self._steer(text, attach)
            case PutOff(approval_id=approval_id):
                await self._jobs.put_off(approval_id)
            case BuildJob():
                await self._conclude(command)
            case AnswerQuestion(question_id=question_id, text=text):
                self._questions.answer(question_id, text)
            case ResolveApproval():
                if problem := self._verdicts.resolve(command):
                    await self._bus.emit(e.NoticeRaised(level="info", text=problem))
            case Interrupt():
                self._interrupt()
            case EnableModel(model=model):
                await self._asker.enable(model)
            case SwitchBlock(block=block, on=on):
                await self._blocks.switch(block, on)
            case ForgetMemory(item_id=item_id, back=back):
                await self._bus.emit(e.MemoryForgotten(item_id=item_id, back=back))
            case Improve() if self._work is None and not len(self._queue):
                self._start(self._runner.improve(command))
            case Improve():
                text = "Not built: a task comes first. Ask for it again once that has ended."
                await self._bus.emit(e.NoticeRaised(level="info", text=text))
            case GiveFeedback():
                await self._outcomes.feedback(command)
            case RefreshLibrary():
                await self._bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._shelf.cards)))
            case CloseSession():
                pass  # ends `run`

    async def _submit(self, task: SubmitTask) -> None:
        """Take the files of a task in and queue it; a file that cannot be read keeps the task from beginning."""
        if (files := await self._files.take_in(task.attach, "The task is not begun.")) is not None:
            task = SubmitTask(text=task.text.strip(), files=files, queue_id=task.queue_id)
            await self._queue.submit(task, busy=self._work is not None)

    async def _steer(self, text: str, attach: tuple[str, ...]) -> None:
        """Add to the running task; without one it is a task of its own."""
        if self._work is None:
            await self._submit(SubmitTask(text=text, attach=attach))
            return
        files = await self._files.take_in(attach, "Nothing was added to the task.")
        if files is None:
            return
        with working_on(in_task(self._task.id)):
            await self._bus.emit(e.Steered(text=text, files=files))
            if steps := from_person(text):
                before = self._task.plan(self._task.id)
                plan = checklist(self._task.id, steps, before, before.recipe if before else "")
                await self._bus.emit(replace(plan, by="person"))
        self._queue.news.set()

    async def _retry(self) -> None:
        """Try the last task again, or say why not. A task that is still going is left alone."""
        task = self._task.latest
        if self._task.id or len(self._queue) or (task and task.outcome in (None, "parked")):
            return
        if reason := why_not_again(task):
            await self._bus.emit(e.NoticeRaised(level="info", text=reason))
        elif task is not None and task.outcome == "budget":
            self._start(self._runner.resume(task.task_id))
        elif task is not None:
            self._queue.add(self._task.again(task.task_id, retried=True))

    async def _retry_one(self, task_id: str) -> None:
        """Queue an earlier task to be tried again, or say why not."""
        if reason := why_not_retried(task_id, self._projection.state):
            await self._bus.emit(e.NoticeRaised(level="info", text=reason))
        else:
            again = self._task.again(task_id, retried=True)
            await self._queue.submit(again, busy=self._work is not None)

    def _interrupt(self) -> None:
        if self._work is not None and not self._runner.interrupted:  # a second one would cut off its ending
            self._runner.interrupted = True
            self._work.cancel()

    # --- tasks ----------------------------------------------------------------------------

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._runner.interrupted = False
        self._work = asyncio.create_task(work, name="alita task")

    async def _stop(self) -> None:
        """Let a running task go without ending it: it is taken up again with the session."""
        work, self._work = self._work, None
        if work is not None and not work.done():
            work.cancel()
            await asyncio.wait((work,))
            if not work.cancelled():
                work.exception()  # retrieved, or asyncio complains; closing the session reports it
        await self._jobs.cancel()

    def _take_up_unfinished(self) -> None:
        """Take up what an earlier process left: builds that were put off, the last task, queued tasks."""
        task = self._task.latest
        if task is not None:
            self._take_up_put_off(task)
            self._take_up_last(task)
        self._queue.restore(self._projection.state)

    def _take_up_last(self, task: TaskState) -> None:
        if task.outcome not in UNFINISHED:
            self._work = asyncio.create_task(self._remember(task.task_id), name="alita memory")
            return
        if task.outcome == "budget" and not self._questions.parks and declined(self._bus.history):
            return  # nobody is asked twice; without a console there is nobody to ask
        self._start(self._runner.resume(task.task_id))

    async def _remember(self, task_id: str) -> None:
        with working_on(in_task(task_id)):
            await self._outcomes.settle(task_id)
            if not self._task.improves:
                await self._lessons.remember(task_id)

    def _take_up_put_off(self, latest: TaskState) -> None:
        """Resume builds that were put off, and queue parked tasks that wait for nothing any more."""
        continuing = latest.task_id if latest.outcome in UNFINISHED else ""
        waiting = self._jobs.resume_put_off(continuing)
        tasks = self._projection.state.tasks
        continued = successors(tasks)
        for task in tasks:
            if task.outcome == "parked" and task.task_id not in (*continued, *waiting, continuing):
                self._queue.add(self._task.again(task.task_id))

    async def _conclude(self, job: BuildJob) -> None:
        """A build that was put off has ended: draw its consequences, and let its task go on."""
        self._queue.news.set()
        if not self._jobs.take(job):
            return
        try:
            with working_on(in_task(job.task_id)):
                end = await self._builds.settle(job, job.work.result())
        except StoreError:
            raise
        except AlitaError as error:
            text = f"The build of {job.name} cannot go on: {error.message}"
            await self._bus.emit(e.NoticeRaised(level="error", text=text, hint=error.hint))
            end = None
        if job.task_id == self._task.id:
            if end:
                self._interrupt()
            return
        parked = any(
            task.task_id == job.task_id and task.outcome == "parked" for task in self._projection.state.tasks
        )
        if parked and not end:
            self._queue.add(self._task.again(job.task_id), first=True)
