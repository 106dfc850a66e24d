"""The orchestrator: one task at a time, one action per step, every observation an event.

Commands come in through `send`; what happens goes out through the bus, and nowhere else.
A task is a cancellable asyncio task: an interrupt cancels it at whatever it awaits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from importlib.resources import files
from itertools import takewhile
from typing import Literal, ParamSpec, Protocol

from alita_tui.agent.actions import (
    Action,
    Answer,
    AskUser,
    BuildTool,
    FindTool,
    LookBack,
    MalformedAction,
    Plan,
    ReadPage,
    RunTool,
    SearchWeb,
    Wait,
    parse,
    specs,
)
from alita_tui.agent.branches import Branch, Branches
from alita_tui.agent.budget import declined
from alita_tui.agent.progress import ProgressWatch
from alita_tui.agent.questions import Questions
from alita_tui.agent.retrying import unbegun, unexpected, why_not
from alita_tui.agent.standing import Standing
from alita_tui.agent.working import WorkingContext
from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import (
    AnswerQuestion,
    CloseSession,
    Command,
    EnableModel,
    Interrupt,
    PutOff,
    RefreshLibrary,
    ResolveApproval,
    Retry,
    Steer,
    SubmitTask,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import (
    AlitaError,
    ApprovalPending,
    BudgetExceeded,
    ModelError,
    RegistryError,
    SandboxUnavailable,
    StoreError,
    WebError,
)
from alita_tui.spine.ports import (
    REJECTION,
    Asker,
    BuildOrder,
    BuildOutcome,
    Job,
    Limits,
    Memory,
    ModelRequest,
    Progress,
    Reply,
    Sandbox,
    ToolShelf,
    Web,
)
from alita_tui.spine.text import one_line
from alita_tui.spine.values import MemoryItem, NearMiss, Source, ToolState, Value
from alita_tui.view.model import BuildView, TaskView

P = ParamSpec("P")

_RELIED: tuple[ToolState, ...] = (
    "trusted", "provisional", "stale", "draft", "archived", "quarantined", "revoked",
)  # fmt: skip
"""From most to least."""
_UNSETTLED = frozenset(
    (
        "pending", "approved", "drafting", "reviewing", "locking", "testing", "repairing", "edited", "retested",
        "banned", "aliased", "stopped", "lent",
    )
)  # fmt: skip
"""States of a build that an earlier process has not brought to its end."""
_MALFORMED_TURNS = 2
"""Malformed replies in a row that end a task: one repair turn, then a clear failure."""


class Builder(Protocol):
    """Closes gaps in the library. Met by `toolsmith`, joined in wiring."""

    async def build(self, order: BuildOrder) -> BuildOutcome:
        """From a gap to a verdict."""

    async def resume(self, view: BuildView) -> BuildOutcome:
        """Go on with a build that an earlier process left."""


class Verdicts(Protocol):
    """Where a person's verdict goes. Met by `toolsmith`."""

    def resolve(self, command: ResolveApproval) -> str:
        """Hand a verdict in; returns why it counts for nothing, or an empty string."""


class Policy(Value, frozen=True):
    """Limits of a task."""

    max_steps: int = 30
    reply_tokens: int = 8192
    run_limits: Limits = Limits()
    teaches: bool = True
    """False where what happens is only tried out, as in a fork: then memory learns nothing from it."""


class Orchestrator:
    """The agent's side of a session."""

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
        *,
        policy: Policy,
        learn: Callable[[str], tuple[MemoryItem, ...]],
        new_id: Callable[[], str],
        progress: Progress,
    ) -> None:
        self._bus = bus
        self._standing = Standing(bus)
        self._asker = asker
        self._builder = builder
        self._verdicts = verdicts
        self._shelf = shelf
        self._sandbox = sandbox
        self._memory = memory
        self._web = web
        self._questions = questions
        self._context = context
        self._policy = policy
        self._learn = learn
        self._new_id = new_id
        self._progress = progress
        self._system = files("alita_tui.agent.prompts").joinpath("orchestrator.md").read_text("utf-8")
        self._inbox: asyncio.Queue[Command | Branch] = asyncio.Queue()
        """What a person asks for, and builds that were put off and have ended."""
        self._queued: deque[SubmitTask] = deque()
        self._work: asyncio.Task[None] | None = None
        self._current = ""
        """Id of the task that runs."""
        self._interrupted = False
        self._branches = Branches()
        self._awaited: Branch | None = None
        """The build that the task waits for, which can be put off."""
        self._news = asyncio.Event()
        """Something came that the model was not shown yet."""

    # --- commands -------------------------------------------------------------------------

    def send(self, command: Command) -> None:
        """Meets `CommandSink`."""
        self._inbox.put_nowait(command)

    async def run(self, *, until_idle: bool = False) -> None:
        """Serve commands until the session is closed, or (headless) until nothing is left to do."""
        await asyncio.to_thread(lambda: self._standing.view)  # a long session takes a while
        try:
            await self._safely(self._begin_unfinished)
            while True:
                if self._work is None and self._queued:
                    self._begin(self._queued.popleft())
                if until_idle and self._idle:
                    return
                getter = asyncio.ensure_future(self._inbox.get())
                waits = {getter} | ({self._work} if self._work else set())
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not getter.done():
                        getter.cancel()
                if self._work and self._work.done():
                    work, self._work = self._work, None
                    await self._safely(work.result)
                if getter.done() and not getter.cancelled():
                    command = getter.result()
                    if isinstance(command, CloseSession):
                        return
                    await self._safely(self._obey, command)
        finally:
            await self._stop_work()

    async def _safely(
        self, work: Callable[P, Coroutine[None, None, None] | None], *args: P.args, **options: P.kwargs
    ) -> None:
        """Do something; an error that nobody foresaw becomes a notice on record, and the session goes on."""
        try:
            if (awaited := work(*args, **options)) is not None:
                await awaited
        except AlitaError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, the session outlives it
            await self._bus.emit(unexpected(error))

    @property
    def _idle(self) -> bool:
        left = self._work or self._queued or self._branches.running
        return not left and self._inbox.empty()

    async def _obey(self, command: Command | Branch) -> None:
        """Carry out one command."""
        match command:
            case SubmitTask(text=text):
                await self._queue(text.strip())
            case Retry():
                await self._retry()
            case Steer(text=text):
                if self._work is None:
                    self._queued.append(SubmitTask(text=text.strip()))
                else:
                    await self._bus.emit(e.Steered(text=text))
                    self._news.set()
            case PutOff(approval_id=approval_id):
                await self._put_off(approval_id)
            case Branch():
                await self._conclude(command)
            case AnswerQuestion(question_id=question_id, text=text):
                self._questions.answer(question_id, text)
            case ResolveApproval():
                if problem := self._verdicts.resolve(command):
                    await self._bus.emit(e.NoticeRaised(level="info", text=problem))
            case Interrupt():
                if self._work is not None and not self._interrupted:  # a second one would cut off its ending
                    self._interrupted = True
                    self._work.cancel()
            case EnableModel(model=model):
                await self._asker.enable(model)
            case RefreshLibrary():
                await self._bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._shelf.cards)))
            case CloseSession():
                pass  # `run` ends with it

    async def _queue(self, text: str) -> None:
        """Take a task on; one that has to wait is on record first, so that no end of the process loses it."""
        if not text:
            return
        queue_id = ""
        if self._work is not None or self._queued:
            queue_id = self._new_id()
            await self._bus.emit(e.TaskQueued(queue_id=queue_id, text=text))
        self._queued.append(SubmitTask(text=text, queue_id=queue_id))
        self._news.set()

    async def _retry(self) -> None:
        """Try the last task again, or say why not. One that goes on already is left alone."""
        task = self._standing.view.task
        if self._current or self._queued or (task and task.outcome in (None, "parked")):
            return
        if why := why_not(task):
            await self._bus.emit(e.NoticeRaised(level="info", text=why))
        elif task is not None and task.outcome == "budget":
            self._go_on(task.task_id)
        elif task is not None:
            text = self._text_of(task.task_id)
            self._queued.append(SubmitTask(text=text, again=task.task_id, retried=True))

    async def _stop_work(self) -> None:
        """Let a running task go without ending it: it is taken up again when the session is."""
        work, self._work = self._work, None
        if work is not None and not work.done():
            work.cancel()
            await asyncio.wait((work,))
            if not work.cancelled():
                work.exception()  # that it could not be saved is said when the session is closed
        await self._branches.end()

    # --- tasks ----------------------------------------------------------------------------

    def _begin(self, wanted: SubmitTask) -> None:
        self._interrupted = False
        self._work = asyncio.create_task(self._task(wanted), name="alita task")

    def _begin_unfinished(self) -> None:
        task = self._standing.view.task
        if task is not None:
            self._begin_put_off(task)
            self._begin_last(task)
        self._queued.extend(unbegun(self._bus.history))

    def _begin_last(self, task: TaskView) -> None:
        if task.outcome not in (None, "parked", "budget"):
            self._work = asyncio.create_task(self._remember(task.task_id), name="alita memory")
            return
        if task.outcome == "budget" and not self._questions.parks and declined(self._bus.history):
            return  # nobody is asked twice; without a console it was told to go on
        self._go_on(task.task_id)

    def _go_on(self, task_id: str) -> None:
        """Take the newest task up where it stands; the steps it took before count, and no other task's."""
        self._interrupted = False
        self._bus.step = max((envelope.step for envelope in self._since_task()), default=0)
        self._work = asyncio.create_task(self._again(task_id), name="alita task")

    def _begin_put_off(self, newest: TaskView) -> None:
        """Builds that were put off and wait on beside another task, and parked tasks that wait no more."""
        view = self._standing.view
        successors = {task.again: task.task_id for task in view.tasks if task.again}
        goes_on = newest.task_id if newest.outcome in (None, "parked", "budget") else ""
        waited: set[str] = set()
        for build in view.builds:
            owner = _last(build.task_id, successors)
            if build.put_off and owner != goes_on and build.state in _UNSETTLED:
                waited.add(owner)
                self._branch(owner, build.name, build.goal, self._builder.resume(build)).put_off(self._tell)
        for task in view.tasks:
            if task.outcome == "parked" and task.task_id not in (*successors, *waited, goes_on):
                self._queued.append(SubmitTask(text=self._text_of(task.task_id), again=task.task_id))

    async def _task(self, wanted: SubmitTask) -> None:
        self._current = task_id = self._new_id()
        if wanted.again:
            self._branches.hand_on(wanted.again, task_id)
        self._bus.step = 0
        await self._guarded(task_id, self._take_on(task_id, wanted))

    async def _take_on(self, task_id: str, wanted: SubmitTask) -> e.TaskFinished:
        text = wanted.text
        submitted = e.TaskSubmitted(
            task_id=task_id, text=text, again=wanted.again, retried=wanted.retried, queue_id=wanted.queue_id
        )
        await self._bus.emit(submitted, span=task_id)
        recalled = await asyncio.to_thread(self._memory.recall, text)
        await self._bus.emit(e.MemoryRecalled(task_id=task_id, items=recalled), span=task_id)
        return await self._pursue()

    async def _again(self, task_id: str) -> None:
        self._current = task_id
        await self._guarded(task_id, self._take_up())

    async def _guarded(self, task_id: str, work: Coroutine[None, None, e.TaskFinished]) -> None:
        """Run a task's work; whatever ends it becomes a TaskFinished, never a traceback."""
        try:
            finished = await work
        except asyncio.CancelledError:
            await self._branches.end(task_id)
            if not self._interrupted:
                raise
            await self._withdraw()
            await self._bus.emit(e.Interrupted(text=self._asker.unfinished))
            finished = e.TaskFinished(task_id="", outcome="interrupted", reason="stopped by you")
        except BudgetExceeded as error:
            finished = e.TaskFinished(task_id="", outcome="budget", reason=error.message, hint=error.hint)
        except SandboxUnavailable as error:
            finished = e.TaskFinished(task_id="", outcome="sandbox", reason=error.message, hint=error.hint)
        except ApprovalPending as error:
            finished = e.TaskFinished(task_id="", outcome="parked", reason=error.message, hint=error.hint)
        except StoreError:
            raise
        except AlitaError as error:
            wait = error.retry_after if isinstance(error, ModelError) else None
            reason = error.message if wait is None else f"{error.message} It answers again in {wait:.0f} s."
            finished = e.TaskFinished(
                task_id="", outcome="failed", reason=reason, hint=error.hint, retry_in=wait
            )
        except Exception as error:  # noqa: BLE001  # the record says so, and the session opens again
            notice = unexpected(error)
            await self._bus.emit(notice)
            finished = e.TaskFinished(task_id="", outcome="failed", reason=notice.text, hint=notice.hint)
        await self._finish(task_id, finished)

    async def _finish(self, task_id: str, ended: e.TaskFinished) -> None:
        await self._bus.emit(
            e.TaskFinished(
                task_id=task_id, outcome=ended.outcome, answer=ended.answer, reason=ended.reason, hint=ended.hint,
                retry_in=ended.retry_in,
            ),
            span=task_id,
        )  # fmt: skip
        self._current = ""
        if ended.outcome in ("parked", "budget"):  # it goes on later
            return
        if self._shelf.give_back(keep=self._reserved()):
            await self._bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._shelf.cards)))
        lost = self._policy.teaches and ended.outcome in ("failed", "stuck", "step_limit")
        if lost and (recipe := self._followed(task_id)):
            await self._bus.kept(self._memory.recipe_failed, recipe)
        await self._remember(task_id)

    async def _remember(self, task_id: str) -> None:
        """What a task taught, as far as no earlier process told of it already."""
        if not self._policy.teaches:
            return
        told = {
            (one.event.item.memory, one.event.item.text)
            for one in self._since_task()
            if isinstance(one.event, e.MemoryWritten)
        }
        for item in await asyncio.to_thread(self._learn, task_id):
            if (item.memory, item.text) not in told:
                await self._bus.kept(self._memory.write, item)
                await self._bus.emit(e.MemoryWritten(item=item), span=task_id)

    def _since_task(self) -> list[Envelope]:
        """What is on record since the newest task was submitted, the newest first."""
        newest = reversed(self._bus.history)
        return list(takewhile(lambda one: not isinstance(one.event, e.TaskSubmitted), newest))

    def _followed(self, task_id: str) -> str:
        """Item id of the recipe that a task's plan followed; empty where it followed none."""
        for one in self._bus.history.newest(e.PlanProposed):
            if isinstance(one.event, e.PlanProposed) and one.event.task_id == task_id:
                return one.event.recipe
        return ""

    async def _withdraw(self) -> None:
        """A cancelled task takes its waiting builds back, so a late verdict changes nothing."""
        for build in self._builds():
            if build.state == "pending":
                await self._bus.emit(
                    e.ApprovalResolved(
                        approval_id=build.approval_id, build_id=build.build_id, digest=build.digest,
                        verdict="withdrawn", reason="the task was interrupted", via="engine",
                    ),
                    span=build.build_id,
                )  # fmt: skip

    async def _take_up(self) -> e.TaskFinished:
        """Close what a crash or a parked build left open, then go on with the loop."""
        view = self._standing.view
        for call_id, name in view.calls:
            text = f"{name} was interrupted when the program ended; it may have run."
            await self._bus.emit(e.ToolFailed(call_id=call_id, reason="interrupted", text=text), span=call_id)
        for envelope in self._since_task():
            match envelope.event:
                case e.Interrupted() | e.ApprovalResolved(verdict="withdrawn"):
                    return _ended("interrupted", "stopped by you")  # an earlier process ended over it
                case _:
                    pass
        if view.question is not None:
            await self._questions.wait(view.question.question_id)
        for build in self._builds():
            if build.state not in _UNSETTLED:
                continue
            branch = self._branch(self._current, build.name, build.goal, self._builder.resume(build))
            if build.put_off:
                branch.put_off(self._tell)
            elif stopped := await self._follow(branch):
                return stopped
        if len(self._branches) and (action_id := self._left_waiting()):
            if parked := await self._wait(action_id):
                return parked
        return await self._pursue()

    def _left_waiting(self) -> str:
        """Id of the `wait` that an earlier process ended in; empty where there is news since."""
        for envelope in self._since_task():
            match envelope.event:
                case e.ActionChosen(action="wait", action_id=action_id):
                    return action_id
                case e.WaitEnded() | e.ActionChosen() | e.ModelReplied() | e.Steered() | e.ApprovalResolved():
                    return ""
                case _:
                    pass
        return ""

    def _builds(self) -> tuple[BuildView, ...]:
        """The builds of the newest task, and of the parked ones that it goes on with."""
        view = self._standing.view
        before = {task.task_id: task.again for task in view.tasks}
        ours = set()
        task_id = view.task.task_id if view.task else ""
        while task_id:
            ours.add(task_id)
            task_id = before.get(task_id, "")
        return tuple(build for build in view.builds if build.task_id in ours)

    # --- builds beside the task -----------------------------------------------------------

    def _branch(
        self, task_id: str, name: str, goal: str, build: Coroutine[None, None, BuildOutcome]
    ) -> Branch:
        branch = Branch(task_id, name, goal, build)
        self._branches.add(branch)
        return branch

    async def _follow(self, branch: Branch) -> e.TaskFinished | None:
        """Until the build is decided, or put off: then the task goes on without it."""
        self._awaited = branch
        try:
            outcome = await branch.follow()
        finally:
            self._awaited = None
            if branch.work.done():
                self._branches.drop(branch)
        return None if outcome is None else await self._settle(branch.name, branch.goal, outcome)

    async def _put_off(self, approval_id: str) -> None:
        """The person decides later on the build that the task waits for."""
        branch = self._awaited
        asked = [one for one in self._builds() if one.state == "pending" and one.approval_id == approval_id]
        if branch is None or branch.work.done() or not asked:
            return
        await self._bus.emit(
            e.BuildPutOff(build_id=asked[-1].build_id, approval_id=approval_id), span=asked[-1].build_id
        )
        branch.put_off(self._tell)

    def _tell(self, branch: Branch) -> None:
        self._inbox.put_nowait(branch)

    async def _conclude(self, branch: Branch) -> None:
        """A build that was put off has ended: keep what it taught, and let what waits for it go on."""
        self._news.set()
        if branch not in self._branches or branch.unattended:
            return
        self._branches.drop(branch)
        try:
            stopped = await self._settle(branch.name, branch.goal, branch.work.result())
        except StoreError:
            raise
        except AlitaError as error:
            text = f"The build of {branch.name} cannot go on: {error.message}"
            await self._bus.emit(e.NoticeRaised(level="error", text=text, hint=error.hint))
            stopped = None
        if branch.task_id == self._current:
            if stopped:
                await self._obey(Interrupt())
            return
        parked = any(
            task.task_id == branch.task_id and task.outcome == "parked" for task in self._standing.view.tasks
        )
        if parked and not stopped:
            self._queued.appendleft(SubmitTask(text=self._text_of(branch.task_id), again=branch.task_id))

    def _reserved(self) -> frozenset[str]:
        """Digests that were approved for a task alone that stands parked."""
        view = self._standing.view
        successors = {task.again: task.task_id for task in view.tasks if task.again}
        parked = {task.task_id for task in view.tasks if task.outcome == "parked"}
        lent = (build for build in view.builds if build.state == "lent")
        return frozenset(build.digest for build in lent if _last(build.task_id, successors) in parked)

    async def _wait(self, action_id: str) -> e.TaskFinished | None:
        """Nothing is left to do without a verdict. A task that is queued does not wait for it."""
        if not len(self._branches):
            raise RegistryError("No build waits for a verdict.", hint="Go on, or answer.")
        if not self._queued:
            await self._news.wait()
        for branch in self._branches:
            if branch.unattended:
                raise branch.unattended
        waits = ", ".join(branch.name for branch in self._branches)
        if self._queued and waits:
            return _ended(
                "parked", f"{waits} waits for your verdict.", hint="The task goes on once it is given."
            )
        await self._bus.emit(e.WaitEnded(action_id=action_id), span=action_id)
        return None

    def _text_of(self, task_id: str) -> str:
        """A task in the person's own words."""
        for one in self._bus.history.of(e.TaskSubmitted):
            if isinstance(one.event, e.TaskSubmitted) and one.event.task_id == task_id:
                return one.event.text
        return ""

    # --- the loop -------------------------------------------------------------------------

    async def _pursue(self) -> e.TaskFinished:
        watch = ProgressWatch()
        malformed = 0
        while self._bus.step < self._policy.max_steps:
            self._bus.step += 1
            self._news.clear()
            seen = len(self._bus.history)
            bare = ModelRequest(
                role="orchestrator",
                system=self._system,
                messages=(),
                tools=specs(),
                must_call="*",
                max_tokens=self._policy.reply_tokens,
            )
            reply = await self._asker.ask(await self._context.fill(bare))
            try:
                chosen = self._choose(reply)
            except MalformedAction as error:
                malformed += 1
                await self._bus.emit(e.ActionMalformed(text=_said(reply), problem=error.message))
                if malformed >= _MALFORMED_TURNS:
                    return _ended("failed", f"the model gave no valid action twice in a row. {error.message}",
                                  hint="Try again, or choose another model with `alita config`.")  # fmt: skip
                continue
            malformed = 0
            done = await self._act_all(chosen, reply)
            if done is not None:
                return done
            acted = "\n".join(f"{type(action).__name__} {action}" for action in chosen)
            if why := watch.note(acted, self._observed(seen)):
                return _ended("stuck", why, hint="Say what is missing, or give the task in other words.")
        return _ended("step_limit", f"{self._policy.max_steps} steps were not enough",
                      hint="Try it again for as many more (`alita resume`), raise it with "
                           "`alita config set budget.max_steps N`, or split the task.")  # fmt: skip

    def _choose(self, reply: Reply) -> list[Action]:
        """All actions of a reply, or none: nothing is done of a reply that is partly malformed."""
        if reply.requests:
            return [parse(request) for request in reply.requests]
        if reply.text.strip():
            return [Answer(text=reply.text.strip())]
        raise MalformedAction("The reply is empty.")

    async def _act_all(self, chosen: list[Action], reply: Reply) -> e.TaskFinished | None:
        call_id = next(
            envelope.event.call_id
            for envelope in reversed(self._bus.history)
            if isinstance(envelope.event, e.ModelReplied) and envelope.event.role == "orchestrator"
        )
        for number, action in enumerate(chosen):
            action_id = f"{call_id}.{number}"
            name = reply.requests[number].name if reply.requests else "answer"
            arguments = reply.requests[number].arguments if reply.requests else {"text": reply.text.strip()}
            await self._bus.emit(
                e.ActionChosen(action_id=action_id, action=name, arguments=arguments),  # type: ignore[arg-type]
                span=action_id,
            )
            try:
                done = await self._act(action_id, action)
            except (WebError, RegistryError) as error:
                failed = e.ActionFailed(action_id=action_id, action=name, text=error.message, hint=error.hint)
                await self._bus.emit(failed, span=action_id)
                done = None
            if done is not None:
                return done
        return None

    async def _act(self, action_id: str, action: Action) -> e.TaskFinished | None:
        match action:
            case Plan(steps=steps, recipe=recipe):
                task = self._standing.view.task
                await self._bus.emit(
                    e.PlanProposed(task_id=task.task_id if task else "", steps=steps, recipe=recipe),
                    span=action_id,
                )
            case FindTool(query=query):
                found = await asyncio.to_thread(self._shelf.search, query)
                await self._bus.emit(
                    e.ToolSearched(
                        action_id=action_id, query=query, hits=found.hits, near_misses=found.near_misses
                    ),
                    span=action_id,
                )
            case SearchWeb(query=query, provider=provider):
                page = await self._web.search(query, provider=provider)
                await self._bus.emit(
                    e.WebSearched(
                        action_id=action_id, query=query, provider=page.provider, results=page.results
                    ),
                    span=action_id,
                )
            case ReadPage(url=url):
                read = await self._web.read(url)
                await self._bus.emit(
                    e.PageRead(
                        action_id=action_id,
                        url=read.url,
                        title=read.title,
                        text=read.text,
                        truncated=read.truncated,
                        unchanged=read.unchanged,
                    ),
                    span=action_id,
                )
            case LookBack(event=seq, offset=offset):
                if not (seen := self._context.again(seq, offset)):
                    raise RegistryError(f"Event {seq} holds no observation.")
                await self._bus.emit(e.LookedBack(action_id=action_id, seq=seq, text=seen), span=action_id)
            case BuildTool():
                return await self._build(action_id, action)
            case RunTool():
                await self._run_tool(action_id, action)
            case AskUser(question=question):
                await self._ask_person(action_id, question)
            case Wait():
                return await self._wait(action_id)
            case Answer(text=text):
                return self._answer(text)
        return None

    def _answer(self, text: str) -> e.TaskFinished:
        """Done, unless the person rejected the last build of this task and nothing took its place."""
        ours = {build.build_id for build in self._builds()}
        for envelope in reversed(self._bus.history):
            match envelope.event:
                case e.TaskSubmitted() | e.ToolRegistered() | e.ToolReturned():
                    break
                case e.ApprovalResolved(verdict="rejected" | "banned") as verdict if verdict.build_id in ours:
                    return _ended("rejected", verdict.why or f"the build was {verdict.verdict}", answer=text)
                case _:
                    pass
        return _ended("answered", "", answer=text)

    async def _build(self, action_id: str, want: BuildTool) -> e.TaskFinished | None:
        near, sources = self._research()
        view = self._standing.view
        lessons = await asyncio.to_thread(self._memory.lessons, want.name, want.goal)
        await self._sandbox.prepare(self._progress)
        order = BuildOrder(
            action_id=action_id,
            name=want.name,
            goal=want.goal,
            details=want.details,
            task=view.task.text if view.task else "",
            near_misses=near,
            sources=sources,
            past_rejections=tuple(item.text for item in lessons),
        )
        return await self._follow(
            self._branch(self._current, want.name, want.goal, self._builder.build(order))
        )

    async def _settle(self, name: str, goal: str, outcome: BuildOutcome) -> e.TaskFinished | None:
        """What a build's end means for the task: a rejection stays as a lesson, a stop ends the run."""
        if outcome.result == "stopped":
            return _ended("interrupted", outcome.reason or f"stopped by you at the build of {name}")
        if outcome.result == "rejected" and outcome.reason and self._policy.teaches:
            await self._note_rejection(name, goal, outcome.reason)
        return None

    async def _note_rejection(self, name: str, goal: str, reason: str) -> None:
        item = MemoryItem(
            item_id=f"{REJECTION}{name}:{self._bus.session_id}:{self._new_id()}",
            memory="semantic",
            text=f"A build of {name} ({one_line(goal, 120)}) was rejected: {reason}",
            source_session=self._bus.session_id,
            source_seq=self._bus.last_seq,
        )
        await self._bus.kept(self._memory.write, item)
        await self._bus.emit(e.MemoryWritten(item=item))

    def _research(self) -> tuple[tuple[NearMiss, ...], tuple[Source, ...]]:
        """What this task found so far: the near misses of its last search, the pages it saw."""
        near: tuple[NearMiss, ...] = ()
        sources: dict[str, Source] = {}
        for envelope in reversed(self._since_task()):
            match envelope.event:
                case e.ToolSearched(hits=hits, near_misses=misses):
                    found = (
                        NearMiss(
                            name=h.card.name,
                            version=h.card.version,
                            score=h.score,
                            description=h.card.description,
                        )
                        for h in hits
                    )
                    near = (*found, *misses)
                case e.WebSearched(results=results):
                    for result in results[:3]:
                        sources[result.url] = Source(
                            url=result.url, title=result.title, excerpt=result.snippet
                        )
                case e.PageRead(url=url, title=title, text=text):
                    sources[url] = Source(url=url, title=title, excerpt=text[:800])
                case _:
                    pass
        return near, tuple(sources.values())[-5:]

    async def _run_tool(self, action_id: str, action: RunTool) -> None:
        record = await asyncio.to_thread(self._shelf.get, action.name, action.version)
        name = record.draft.name
        ours = {build.digest for build in self._builds()}
        if self._shelf.lends(record.digest) and record.digest not in ours:
            raise RegistryError(f"{action.name} v{record.version} was approved for another task alone.")
        await self._check_shelf(record.digest)
        await self._sandbox.prepare(self._progress)
        call_id = self._new_id()
        await self._bus.emit(
            e.ToolCalled(
                call_id=call_id, action_id=action_id, name=name, version=record.version,
                digest=record.digest, arguments=action.arguments,
                alias="" if action.name == name else action.name,
            ),
            span=call_id,
        )  # fmt: skip

        def show(stream: Literal["stdout", "stderr"], text: str) -> None:
            self._bus.hint(e.OutputChunk(run_id=call_id, title=name, stream=stream, text=text))

        job = Job(
            run_id=call_id, module=name, code=record.draft.code, arguments=action.arguments,
            lock=record.lock, limits=self._policy.run_limits, capabilities=record.granted,
            digest=record.digest,
        )  # fmt: skip
        try:
            report = await self._sandbox.run(job, show, self._progress)
        except asyncio.CancelledError:
            failed = e.ToolFailed(call_id=call_id, reason="interrupted", text=f"{name} was interrupted.")
            await self._bus.emit(failed, span=call_id)
            raise
        except AlitaError as error:
            failed = e.ToolFailed(call_id=call_id, reason="sandbox", text=error.message, hint=error.hint)
            await self._bus.emit(failed, span=call_id)
            raise
        except Exception as error:
            failed = e.ToolFailed(call_id=call_id, reason="sandbox", text=unexpected(error).text)
            await self._bus.emit(failed, span=call_id)
            raise
        ok = report.status == "ok"
        if report.status == "ok":
            await self._bus.emit(e.ToolReturned(call_id=call_id, report=report), span=call_id)
        else:
            last = report.error.strip().splitlines()[-1:] or [f"exit code {report.exit_code}"]
            text = f"{name} failed ({report.status}): {last[0]}"
            await self._bus.emit(
                e.ToolFailed(call_id=call_id, reason=report.status, text=text, report=report), span=call_id
            )
        task = self._standing.view.task
        query = task.text if task else ""
        state = await self._bus.kept(self._shelf.record_run, name, record.version, ok=ok, query=query)
        if state is not None and _RELIED.index(state) > _RELIED.index(record.state):
            reason = f"{'its last runs' if state == 'stale' else 'of its last three runs two'} failed"
            demoted = e.ToolDemoted(name=name, version=record.version, state=state, reason=reason)
            await self._bus.emit(demoted, span=call_id)

    async def _check_shelf(self, digest: str) -> None:
        """A tool that another session registered meanwhile enters this session's record first."""
        known = {card.digest for card in self._standing.view.library}
        if digest not in known:
            await self._bus.emit(e.LibraryLoaded(tools=self._shelf.cards()))

    async def _ask_person(self, action_id: str, question: str) -> None:
        await self._questions.ask(action_id, question)

    def _observed(self, seen: int) -> str:
        """What a step brought, without what differs each time."""
        told: list[str] = []
        for envelope in self._bus.history[seen:]:
            match envelope.event:
                case e.ToolSearched(hits=hits, near_misses=near):
                    told.append(f"{hits}{near}")
                case e.WebSearched(results=results):
                    told.append(str(results))
                case (
                    e.PageRead(text=text)
                    | e.LookedBack(text=text)
                    | e.ActionFailed(text=text)
                    | e.ToolFailed(text=text)
                ):
                    told.append(text)
                case e.ToolReturned(report=report):
                    told.append(str(report.result))
                case e.ToolAliased(name=name):
                    told.append(name)
                case e.BuildFailed(reason=reason) | e.ApprovalResolved(why=reason):
                    told.append(reason)
                case e.WaitEnded():
                    told.append(str(envelope.seq))
                case e.QuestionAnswered(text=text) | e.Steered(text=text):
                    told.append(f"{envelope.seq}{text}")
                case _:
                    pass
        return "\n".join(told)


def _last(task_id: str, successors: dict[str, str]) -> str:
    while task_id in successors:
        task_id = successors[task_id]
    return task_id


def _ended(outcome: e.TaskOutcome, reason: str, *, answer: str = "", hint: str = "") -> e.TaskFinished:
    return e.TaskFinished(task_id="", outcome=outcome, answer=answer, reason=reason, hint=hint)


def _said(reply: Reply) -> str:
    calls = "\n".join(f"{request.name}({request.arguments})" for request in reply.requests)
    return "\n".join(part for part in (reply.text, calls) if part)
