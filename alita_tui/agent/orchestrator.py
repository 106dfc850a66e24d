"""The orchestrator: takes a session's commands and gives its tasks to the agent's loop, as many at once as it may.

Commands come in through `send`; what happens goes out through the bus, and nowhere else. An interrupt cancels a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import ParamSpec

from alita_tui import events as e
from alita_tui.agent.acting import Acting
from alita_tui.agent.arguments import Misfit
from alita_tui.agent.blocks import ContextBlocks
from alita_tui.agent.build_jobs import Builder, BuildJob, BuildJobs, Verdicts
from alita_tui.agent.call_budget import CallBudget
from alita_tui.agent.context_window import WorkingContext
from alita_tui.agent.delegation import Delegation
from alita_tui.agent.director import Director
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
from alita_tui.agent.role import Role, Roles
from alita_tui.agent.slots import Slots
from alita_tui.agent.specialist import SpecialistLoop
from alita_tui.agent.steering import Steering, take_in
from alita_tui.agent.task_queue import RemoteCommand, TaskQueue
from alita_tui.agent.task_runner import TaskRunner
from alita_tui.agent.tasks import CurrentTask, why_not_again, why_not_retried
from alita_tui.agent.tool_runs import ToolRuns
from alita_tui.agent.unfinished_work import UnfinishedWork
from alita_tui.agent.verifier import Verifier
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import (
    AnswerQuestion,
    CancelTask,
    CloseSession,
    Command,
    Continue,
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
from alita_tui.spine.ports.context import Provider
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.memory import Learn, Memory
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.sandbox import Sandbox
from alita_tui.spine.ports.statistics import Estimate
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.ports.web import Web
from alita_tui.state.session import SessionState

P = ParamSpec("P")


class Orchestrator:
    """The agent's side of a session. Implements `CommandSink`."""

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
        surroundings: Callable[[], Surroundings],
        estimate: Callable[[str], Estimate],
        provider: Provider,
        encode: Callable[[str], Awaitable[bool]],
        blocks: Collection[str],
        roles: Roles,
        budget: CallBudget,
    ) -> None:
        """`known_state` returns a state that another part has already reduced. `misfit` checks arguments.

        `surroundings`, `estimate` and `provider` are called in a thread as a task begins; `blocks` are the context
        blocks that are on by default. `encode` fetches the vectors that recall lacks. Parts of tasks are delegated to
        agents of `roles`, paid from shares of `budget`.
        """
        self._bus = bus
        self._asker = asker
        self._verdicts = verdicts
        self._shelf = shelf
        self._questions = questions
        projection = StateProjection(bus, known_state)
        self._inbox: asyncio.Queue[Command | BuildJob | RemoteCommand | None] = asyncio.Queue()
        """Commands, and put-off builds that have ended; None: look whether a task may begin."""
        self._slots = Slots(policy.parallel, lambda: self._inbox.put_nowait(None))
        self._new_id = new_id
        questions.on_wait = self._question_waits
        verdicts.on_wait = self._build_waits
        self._queue = TaskQueue(bus, new_id)
        self._task = CurrentTask(bus, projection)
        self._jobs = BuildJobs(bus, self._task, builder, self._inbox.put_nowait)
        self._blocks = ContextBlocks(bus, self._task, context, surroundings, provider, blocks)
        self._lessons = Lessons(
            bus, asker, memory, self._task, policy, learn=learn, new_id=new_id, encode=encode,
            recalls=lambda: "memory" not in self._blocks.off,
        )  # fmt: skip
        self._outcomes = Outcomes(bus, shelf, memory, teaches=policy.teaches)
        self._builds = BuildHandlers(
            bus, self._task, shelf, self._jobs, self._queue, self._lessons, sandbox, progress
        )
        self._artefacts = artefacts
        references = References(bus, projection, artefacts)
        tool_runs = ToolRuns(
            bus, shelf, sandbox, artefacts, limits=policy.run_limits, progress=progress, misfit=misfit
        )
        self.inner_calls = InnerCalls(tool_runs, shelf, new_id=new_id, misfit=misfit)
        """Runs the calls of tools by tools."""
        planner = Planner(bus, asker, shelf, memory, self._task, candidates=policy.plans)
        director = Director(bus, self._task, roles, policy.director)
        verifier = Verifier(bus, asker, self._task, roles, policy.verify, policy.verify_usd)

        def loop_of(role: Role, depth: int) -> SpecialistLoop:
            return SpecialistLoop(role, roles, depth, *parts, reply_tokens=policy.reply_tokens)

        delegation = self._delegation = Delegation(
            bus, self._task, context, references, self._jobs, roles, budget, loop_of, parallel=policy.agents
        )
        runs = RunHandlers(
            bus, self._task, shelf, references, tool_runs, new_id=new_id, misfit=misfit,
            may=delegation.may,
        )  # fmt: skip
        conversation = ConversationHandlers(
            bus, self._task, questions, context, references, planner, artefacts, provider.skill_file,
            director, verifier,
        )  # fmt: skip
        research = ResearchHandlers(
            bus, self._task, shelf, web, artefacts, delegation.may, lambda: self._blocks.browser
        )
        acting = Acting(
            bus, references.needs, conversation.table, research.table, runs.table, self._builds.table,
            delegation.table,
        )  # fmt: skip
        parts = (
            bus, asker, context, acting, self._task, self._queue.news, self._blocks, questions, planner,
            director, self._slots.wait_for_slot,
        )  # fmt: skip
        loop = AgentLoop(*parts, max_steps=policy.max_steps, reply_tokens=policy.reply_tokens)
        self._steering = Steering(bus, self._task, artefacts, self._queue, delegation, director)
        self._runner = TaskRunner(
            bus, self._task, loop, self._jobs, self._builds, self._lessons, self._outcomes,
            questions, asker, shelf, self._slots, self._blocks, delegation, director, estimate,
        )  # fmt: skip
        self._unfinished_work = UnfinishedWork(
            bus, self._task, self._queue, self._jobs, self._runner, self._lessons,
            self._outcomes, questions, self._steering, self._start, self.send,
        )  # fmt: skip
        self._asyncio_tasks: dict[e.TaskId, asyncio.Task[None]] = {}
        """Task id -> the asyncio task that works on it."""
        self.kept_open = False  # true while a viewer is attached: being idle then does not end `run`

    # --- commands -------------------------------------------------------------------------

    def send(self, command: Command | None) -> None:
        """Queue a command; with None, only look whether a task may begin."""
        self._inbox.put_nowait(command)

    def hand_in(self, command: Command, done: Callable[[], None]) -> None:
        """Take a command that another process left; `done` is called when it was carried out."""
        self._inbox.put_nowait(RemoteCommand(command, done))

    async def run(self, *, until_idle: bool = False, hold: bool = False) -> None:
        """Serve commands until the session is closed, or with `until_idle` until nothing is left to do.

        With `hold`, unfinished work of an earlier process waits until the person continues it.
        """
        await asyncio.to_thread(lambda: self._task.state)  # reading a long session takes a while
        try:
            await self._safely(self._unfinished_work.begin, hold=hold)
            while True:
                while not self._unfinished_work.held and self._slots.free and (task := self._queue.next()):
                    task_id = e.TaskId(self._new_id())
                    self._start(task_id, self._runner.begin(task_id, task))
                    await self._runner.on_record(task_id, self._asyncio_tasks[task_id])
                if until_idle and self.idle and not self.kept_open:
                    return
                command = await self._next_command()
                if isinstance(command, CloseSession):
                    return
                if command is not None:
                    await self._safely(self._carry_out, command)
        finally:
            await self._stop()

    async def _next_command(self) -> Command | BuildJob | RemoteCommand | None:
        """Wait for a command or for the end of a running task; return the command, if one came."""
        getter = asyncio.ensure_future(self._inbox.get())
        waits: set[asyncio.Future[object]] = {getter, *self._asyncio_tasks.values()}  # type: ignore[arg-type]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not getter.done():
                getter.cancel()
        for task_id, work in tuple(self._asyncio_tasks.items()):
            if work.done():
                del self._asyncio_tasks[task_id]
                self._slots.end(task_id)
                if not work.cancelled():
                    await self._safely(work.result)
        return getter.result() if getter.done() and not getter.cancelled() else None

    async def _safely(
        self, work: Callable[P, Coroutine[None, None, None] | None], *args: P.args, **options: P.kwargs
    ) -> None:
        """Run an action; an unexpected error becomes a notice, and the session continues."""
        try:
            if (awaitable := work(*args, **options)) is not None:
                await awaitable
        except AlitaError:
            raise
        except Exception as error:  # noqa: BLE001  # no error of one action may end the session
            await self._bus.emit(unexpected(error))

    @property
    def idle(self) -> bool:
        """True while no work runs and none waits."""
        busy = self._asyncio_tasks or self._queue.ready or self._jobs.running
        return not busy and self._inbox.empty()

    async def _carry_out(self, command: Command | BuildJob | RemoteCommand) -> None:  # noqa: C901  # one match over all kinds
        if await self._unfinished_work.handled(command):
            return
        match command:
            case RemoteCommand():
                await self._carry_out(command.command)
                command.done()
            case SubmitTask():
                await self._submit(command)
            case Retry(task_id=task_id) if task_id:
                await self._retry_one(task_id)
            case Retry():
                await self._retry()
            case CancelTask(task_id=task_id) if task_id in self._runner.running:
                self._interrupt(e.TaskId(task_id))
            case EditTask() | MoveTask() | CancelTask() | SwitchQueue():
                await self._queue.change(command)
            case Steer():
                await self._steer(command)
            case PutOff(approval_id=approval_id):
                await self._jobs.put_off(approval_id)
            case BuildJob():
                await self._conclude(command)
            case AnswerQuestion(question_id=question_id, text=text):
                self._questions.answer(question_id, text)
            case ResolveApproval():
                if problem := self._verdicts.resolve(command):
                    await self._bus.emit(e.NoticeRaised(level="info", text=problem))
            case Interrupt(every=True):
                for task_id in tuple(self._runner.running):
                    self._interrupt(task_id)
            case Interrupt(agent_id=agent_id) if agent_id:
                self._delegation.interrupt(agent_id)
            case Interrupt(task_id=task_id):
                self._interrupt(task_id)
            case EnableModel(model=model):
                await self._asker.enable(model)
            case SwitchBlock(block=block, on=on):
                await self._blocks.switch(block, on)
            case ForgetMemory(item_id=item_id, back=back):
                await self._bus.emit(e.MemoryForgotten(item_id=item_id, back=back))
            case Improve() if (
                not self._asyncio_tasks and not len(self._queue) and not self._unfinished_work.held
            ):
                task_id = e.TaskId(self._new_id())
                self._start(task_id, self._runner.improve(task_id, command))
            case Improve():
                text = "Not built: a task comes first. Ask for it again once that has ended."
                await self._bus.emit(e.NoticeRaised(level="info", text=text))
            case GiveFeedback():
                await self._outcomes.feedback(command)
            case RefreshLibrary():
                await self._bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._shelf.cards)))
            case Continue() | CloseSession():
                pass  # see `UnfinishedWork`; the latter ends `run`

    async def _submit(self, task: SubmitTask) -> None:
        """Record the files of a task and queue it; the task does not begin if a file cannot be read."""
        files = await take_in(self._bus, self._artefacts, task.attach, "The task is not begun.")
        if files is not None:
            task = SubmitTask(text=task.text.strip(), files=files, queue_id=task.queue_id)
            await self._queue.submit(task, busy=not self._slots.free or self._unfinished_work.held)

    async def _steer(self, command: Steer) -> None:
        """Add to a running task, by default the newest; without one it is a task of its own."""
        if not self._runner.running and not command.task_id:
            await self._submit(SubmitTask(text=command.text, attach=command.attach))
        else:
            await self._steering.steer(command, self._runner.running)

    async def _retry(self) -> None:
        """Try the last task again, or report why not; do nothing while a task runs or waits."""
        task = self._task.latest
        if self._runner.running or len(self._queue) or (task and task.outcome in (None, "parked")):
            return
        if reason := why_not_again(task):
            await self._bus.emit(e.NoticeRaised(level="info", text=reason))
        elif task is not None and task.outcome == "budget":
            self._start(task.task_id, self._runner.resume(task.task_id))
        elif task is not None:
            self._queue.add(self._task.again(task.task_id, retried=True))

    async def _retry_one(self, task_id: e.TaskId) -> None:
        """Queue an earlier task to be tried again, or say why not."""
        if reason := why_not_retried(task_id, self._task.state):
            await self._bus.emit(e.NoticeRaised(level="info", text=reason))
        else:
            again = self._task.again(task_id, retried=True)
            await self._queue.submit(again, busy=not self._slots.free)

    def _interrupt(self, task_id: e.TaskId = e.NO_TASK) -> None:
        running = self._runner.running
        interruptible = (
            running_id
            for running_id in reversed(running)
            if task_id in (e.NO_TASK, running_id) and not running[running_id]
        )
        if stopped := next(interruptible, e.NO_TASK):  # a second interrupt would cut off its ending
            running[stopped] = True
            self._asyncio_tasks[stopped].cancel()

    def _question_waits(self) -> None:
        self._slots.lend()
        self._unfinished_work.resubmit()

    def _build_waits(self, build_id: str) -> None:
        """Lend the slot of the build's task, which waits, too, unless the build was put off."""
        build = self._task.state.build(build_id)
        self._unfinished_work.resubmit(build.approval_id if build else "")
        if build is None or not build.put_off:
            self._slots.lend()

    def _start(self, task_id: e.TaskId, work: Coroutine[None, None, None]) -> None:
        if self._slots.free:
            self._slots.begin(task_id)
        self._asyncio_tasks[task_id] = asyncio.create_task(work, name="alita task")

    async def _stop(self) -> None:
        """Stop running tasks without ending them: they are resumed with the session."""
        works, self._asyncio_tasks = self._asyncio_tasks, {}
        for work in works.values():
            work.cancel()
        if works:
            await asyncio.wait(works.values())
        for work in works.values():
            if not work.cancelled():
                work.exception()  # retrieve the error, or asyncio warns; closing the session reports it
        await self._jobs.cancel()

    async def _conclude(self, job: BuildJob) -> None:
        """Apply the consequences of a put-off build that has ended, and let its task continue."""
        self._queue.news.about(job.task_id)
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
        if job.task_id in self._runner.running:
            if end:
                self._interrupt(job.task_id)
            return
        parked = any(
            task.task_id == job.task_id and task.outcome == "parked" for task in self._task.state.tasks
        )
        if parked and not end:
            self._queue.add(self._task.again(job.task_id), first=True)
