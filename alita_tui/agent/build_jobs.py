"""Builds that wait for a verdict. A build that is put off waits beside the task, which continues without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Protocol

from alita_tui import events as e
from alita_tui.agent.tasks import CurrentTask, latest_successor, successors
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import ApprovalPending
from alita_tui.spine.origin import in_task, working_on
from alita_tui.spine.ports.builds import BuildOrder, BuildOutcome
from alita_tui.state.build import BuildState


class Builder(Protocol):
    """Closes gaps in the library. `toolsmith` implements it."""

    async def build(self, order: BuildOrder) -> BuildOutcome:
        """Take a build from the gap to its verdict."""

    async def resume(self, state: BuildState) -> BuildOutcome:
        """Continue a build that an earlier process left."""


class Verdicts(Protocol):
    """Takes a person's verdicts. `toolsmith` implements it."""

    on_wait: Callable[[str], None]
    """Called with a build's id when it begins to wait for the person."""

    def resolve(self, command: ResolveApproval) -> str:
        """Submit a verdict; return why it is not accepted, or an empty string."""


class BuildJob:
    """One build as an asyncio task."""

    def __init__(
        self, task_id: e.TaskId, name: str, goal: str, build: Coroutine[None, None, BuildOutcome]
    ) -> None:
        self.task_id = task_id
        """The task that asked for it, or the one that continues that task."""
        self.agent_id = origin.delegate()
        """The agent that asked for it; empty for the lead."""
        self.name = name
        self.goal = goal
        self.work = asyncio.create_task(build, name=f"alita build {name}")
        self._put_off = asyncio.Event()

    async def follow(self) -> BuildOutcome | None:
        """Return how the build ended, or None once it is put off. Raises what the build raises."""
        put_off = asyncio.ensure_future(self._put_off.wait())
        try:
            await asyncio.wait({self.work, put_off}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            put_off.cancel()
        return self.work.result() if self.work.done() else None

    def put_off(self, ended: Callable[[BuildJob], None]) -> None:
        """Let the task continue without this build; `ended` is called when the build ends."""
        self._put_off.set()
        self.work.add_done_callback(lambda _: ended(self))

    @property
    def unattended(self) -> ApprovalPending | None:
        """The error of a build that ended because no person is attached to decide."""
        if not self.work.done() or self.work.cancelled():
            return None
        error = self.work.exception()
        return error if isinstance(error, ApprovalPending) else None


class BuildJobs:
    """The builds of a session that are not decided yet, by the tasks that asked for them."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        builder: Builder,
        ended: Callable[[BuildJob], None],
    ) -> None:
        """`ended` is called with each build that was put off, when it ends."""
        self._bus = bus
        self._task = task
        self._builder = builder
        self._ended = ended
        self._jobs: list[BuildJob] = []
        self._followed: list[BuildJob] = []
        """Builds whose verdict an agent waits for."""

    def __iter__(self) -> Iterator[BuildJob]:
        """The builds of the present task."""
        return iter([job for job in self._jobs if job.task_id == self._task.id])

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def running(self) -> bool:
        """Whether a build may still end."""
        return any(not job.work.done() for job in self._jobs)

    @property
    def awaited(self) -> bool:
        """Whether a build of the present agent waits for the person."""
        own_builds = [job.name for job in self if job.agent_id == origin.delegate() and not job.work.done()]
        return any(build.status == "pending" and build.name in own_builds for build in self._task.builds())

    def start(self, order: BuildOrder) -> BuildJob:
        """Begin a build for the present task."""
        return self._add(BuildJob(self._task.id, order.name, order.goal, self._builder.build(order)))

    def resume(self, build: BuildState, task_id: e.TaskId) -> BuildJob:
        """Continue a recorded build for a task; one that was put off stays so."""
        job = self._add(BuildJob(task_id, build.name, build.goal, self._builder.resume(build)))
        if build.put_off:
            job.put_off(self._ended)
        return job

    def _add(self, job: BuildJob) -> BuildJob:
        self._jobs.append(job)
        return job

    async def follow(self, job: BuildJob) -> BuildOutcome | None:
        """Wait until a build is decided; return None once it is put off."""
        self._followed.append(job)
        try:
            return await job.follow()
        finally:
            self._followed.remove(job)
            if job.work.done():
                self._jobs.remove(job)

    def take(self, job: BuildJob) -> bool:
        """Remove a build that ended; return False if nothing waits for its result any more."""
        if job not in self._jobs or job.unattended:
            return False
        self._jobs.remove(job)
        return True

    async def put_off(self, approval_id: str) -> None:
        """Let the task continue without the build that it waits for; the person decides later."""
        state = self._task.state
        pending = [
            build for build in state.builds if build.status == "pending" and build.approval_id == approval_id
        ]
        owner = latest_successor(pending[-1].task_id, successors(state.tasks)) if pending else ""
        waiting = (
            followed
            for followed in self._followed
            if (followed.task_id, followed.name) == (owner, pending[-1].name)
        )
        job = next(waiting, None)
        if job is None or job.work.done():
            return
        build_id = pending[-1].build_id
        await self._bus.emit(e.BuildPutOff(build_id=build_id, approval_id=approval_id), span=build_id)
        job.put_off(self._ended)

    async def withdraw(self) -> None:
        """Withdraw an interrupted task's approval requests, so that a late verdict changes nothing.

        If a delegated agent is interrupted, only its own.
        """
        agent_id = origin.delegate()
        begun = {
            envelope.event.build_id
            for envelope in (self._bus.history.of(e.BuildStarted) if agent_id else ())
            if isinstance(envelope.event, e.BuildStarted) and envelope.delegate == agent_id
        }
        for build in self._task.builds():
            if build.status == "pending" and (not agent_id or build.build_id in begun):
                await self._bus.emit(
                    e.ApprovalResolved(
                        approval_id=build.approval_id,
                        build_id=build.build_id,
                        digest=build.digest,
                        verdict=e.Verdict(
                            decision="withdrawn", reason="the task was interrupted", via="engine"
                        ),
                    ),
                    span=build.build_id,
                )

    def resume_put_off(self, continuing: Collection[e.TaskId]) -> set[e.TaskId]:
        """Resume the builds that were put off by other tasks than `continuing`; return the ids of those tasks."""
        state = self._task.state
        continued_by = successors(state.tasks)
        owners: set[e.TaskId] = set()
        for build in state.builds:
            owner = latest_successor(build.task_id, continued_by)
            if build.put_off and owner not in continuing and not build.settled:
                owners.add(owner)
                with working_on(in_task(owner)):
                    self.resume(build, owner)
        return owners

    def reserved(self) -> frozenset[str]:
        """Return the digests that were approved for a single task that still runs or is parked."""
        state = self._task.state
        continued_by = successors(state.tasks)
        parked = {task.task_id for task in state.tasks if task.outcome == "parked"} | {*state.running}
        return frozenset(
            build.digest
            for build in state.builds
            if build.status == "lent" and latest_successor(build.task_id, continued_by) in parked
        )

    def hand_over(self, task_id: e.TaskId, successor: e.TaskId) -> None:
        """Give the builds of a parked task to the task that continues it."""
        for job in self._jobs:
            if job.task_id == task_id:
                job.task_id = successor

    async def cancel(self, task_id: e.TaskId | None = None, agent_id: e.AgentId = e.NO_AGENT) -> None:
        """Cancel all builds, or those of one task, or of one agent of it."""
        cancelled = [
            job for job in self._jobs if task_id in (None, job.task_id) and agent_id in ("", job.agent_id)
        ]
        self._jobs = [job for job in self._jobs if job not in cancelled]
        for job in cancelled:
            job.work.cancel()
        if cancelled:
            await asyncio.wait([job.work for job in cancelled])
        for job in cancelled:
            if not job.work.cancelled():
                job.work.exception()  # retrieve the error, or asyncio warns; closing the session reports it
