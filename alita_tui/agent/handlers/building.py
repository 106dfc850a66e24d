"""Actions about builds: build_tool begins one and waits for its verdict, wait waits for those that were put off."""

from __future__ import annotations

from collections.abc import Mapping

from alita_tui import events as e
from alita_tui.agent.acting import Handler
from alita_tui.agent.actions import Action, BuildTool, Wait
from alita_tui.agent.build_jobs import BuildJob, BuildJobs
from alita_tui.agent.handlers.research import research, searched
from alita_tui.agent.lessons import Lessons
from alita_tui.agent.task_queue import TaskQueue
from alita_tui.agent.tasks import CurrentTask, TaskEnd
from alita_tui.events import Source, ToolDraft
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.history import of
from alita_tui.spine.ports.builds import BuildOrder, BuildOutcome, FailedCall
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.sandbox import Sandbox
from alita_tui.spine.ports.stream import Progress

_LONGEST_SOURCE = 60_000
"""Characters of a page that the toolsmith chooses its passages from."""


class BuildHandlers:
    """Handles build_tool and wait."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        shelf: ToolShelf,
        jobs: BuildJobs,
        queue: TaskQueue,
        lessons: Lessons,
        sandbox: Sandbox,
        progress: Progress,
    ) -> None:
        self._bus = bus
        self._task = task
        self._shelf = shelf
        self._jobs = jobs
        self._queue = queue
        self._lessons = lessons
        self._sandbox = sandbox
        self._progress = progress

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {BuildTool: self.build_tool, Wait: self.wait}

    async def build_tool(self, action_id: str, action: BuildTool) -> TaskEnd | None:
        """Have a tool built, and wait until the person decides on it or puts it off."""
        if await self._show_existing(action_id, action):
            return None
        near_misses, sources = research(self._task)
        sources = self._with_chosen_pages(sources, action.sources)
        past_rejections = await self._lessons.rejections(action.name, action.goal)
        await self._sandbox.prepare(self._progress)
        order = BuildOrder(
            action_id=action_id,
            name=action.name,
            goal=action.goal,
            details=action.details,
            task=self._task.text,
            near_misses=near_misses,
            sources=sources,
            past_rejections=past_rejections,
            examples=action.examples,
            needs=action.needs,
            failure=self._failure(action.name),
            merges=self._merged(action.name),
        )
        return await self.follow(self._jobs.start(order))

    async def _show_existing(self, action_id: str, action: BuildTool) -> bool:
        """Show the model a library tool that is certain to fit the order; return whether one was shown.

        A tool that this task was shown before is not shown again, so a repeated order is built; so is a new version
        of a tool that it knows, or that the person wants to do the work of another as well.
        """
        seen = {hit.card.name for search in self._task.newest(e.ToolSearched) for hit in search.hits}
        known = action.name in seen or self._used(action.name) or bool(self._merged(action.name))
        if action.name in self._task.tools and known:
            return False
        search = await self._shelf.find(f"{action.name.replace('_', ' ')}: {action.goal}")
        if search.band != "fits":
            return False
        if {hit.card.name for hit in search.hits} <= seen:
            return False
        await self._bus.emit(searched(action_id, action.goal, search, self._bus.history), span=action_id)
        return True

    def _used(self, name: str) -> bool:
        """Return whether this task ran or built the tool, or whether its newest call in the session failed."""
        called = any(name in (call.name, call.alias) for call in self._task.newest(e.ToolCalled))
        built = any(build.name == name for build in self._task.builds())
        return called or built or self._failure(name) is not None

    def _merged(self, name: str) -> tuple[ToolDraft, ...]:
        """Return the rejected drafts that the person wants this tool to replace as well."""
        merged = (build.presented for build in self._task.builds() if build.merges_into == name)
        return tuple(attempt.draft for attempt in merged if attempt)

    def _with_chosen_pages(self, sources: tuple[Source, ...], urls: tuple[str, ...]) -> tuple[Source, ...]:
        """Return the sources with the pages that the model named first, however long ago they were read."""
        pages = {
            event.url: Source(
                url=event.url, title=event.title, excerpt=(event.whole or event.text)[:_LONGEST_SOURCE]
            )
            for event in (envelope.event for envelope in reversed(self._task.events()))
            if isinstance(event, e.PageRead)
        }
        chosen = [pages[url] for url in dict.fromkeys(urls) if url in pages]
        chosen_urls = {source.url for source in chosen}
        return (*chosen, *(source for source in sources if source.url not in chosen_urls))

    def _failure(self, name: str) -> FailedCall | None:
        """Return the newest call of this tool in the session, if it failed."""
        calls: dict[str, e.ToolCalled] = {}
        newest: FailedCall | None = None
        for envelope in of(self._bus.history, e.ToolCalled, e.ToolFailed, e.ToolReturned):
            match envelope.event:
                case e.ToolCalled(call_id=call_id) as call if name in (call.name, call.alias):
                    calls[call_id] = call
                case e.ToolFailed(call_id=call_id, text=text, report=report) if call_id in calls:
                    error = report.error if report is not None and report.error else text
                    call = calls[call_id]
                    newest = FailedCall(version=call.version, arguments=call.arguments, error=error)
                case e.ToolReturned(call_id=call_id) if call_id in calls:
                    newest = None
                case _:
                    pass
        return newest

    async def follow(self, job: BuildJob) -> TaskEnd | None:
        """Wait for a build's end; return the task's end if the person stopped the task with it."""
        outcome = await self._jobs.follow(job)
        return None if outcome is None else await self.settle(job, outcome)

    async def improve(self, order: BuildOrder) -> TaskEnd:
        """Have a proposal built; return how its task ends. Raises ApprovalPending if no person can decide."""
        await self._sandbox.prepare(self._progress)
        return await self.conclude(self._jobs.start(order))

    async def conclude(self, job: BuildJob) -> TaskEnd:
        """Wait for the verdict on a proposal, and return the end of its task."""
        outcome = await self._jobs.follow(job)
        if outcome is None:
            return TaskEnd("parked", f"{job.name} waits for your decision.")
        if end := await self.settle(job, outcome):
            return end
        if outcome.result in ("registered", "aliased"):
            text = f"{outcome.card.name} v{outcome.card.version} is in the library." if outcome.card else ""
            return TaskEnd("answered", answer=text or outcome.reason)
        return TaskEnd(
            "rejected" if outcome.result in ("rejected", "withdrawn") else "failed", outcome.reason
        )

    async def settle(self, job: BuildJob, outcome: BuildOutcome) -> TaskEnd | None:
        """Apply the consequences of a build's end: a rejection leaves a lesson, a stop ends the task."""
        if outcome.result == "stopped":
            return TaskEnd("interrupted", outcome.reason or f"stopped by you at the build of {job.name}")
        if outcome.result == "rejected":
            await self._lessons.note_rejection(job.name, job.goal, outcome.reason)
        return None

    async def wait(self, action_id: str, action: Wait) -> TaskEnd | None:
        """Wait for a verdict on a build that was put off; park the task if another task is queued."""
        return await self.wait_for_news(action_id)

    async def wait_for_news(self, action_id: str) -> TaskEnd | None:
        """Wait until something happens that the model was not shown. Raises RegistryError, ApprovalPending."""
        if not len(self._jobs):
            raise RegistryError("No build waits for a verdict.", hint="Go on, or answer.")
        await self._queue.news.wait(lambda: bool(len(self._queue)))
        for job in self._jobs:
            if job.unattended:
                raise job.unattended
        waiting = ", ".join(job.name for job in self._jobs)
        if len(self._queue) and waiting:
            reason = f"{waiting} waits for your decision."
            return TaskEnd("parked", reason, hint="The task goes on once it is given.")
        await self._bus.emit(e.WaitEnded(action_id=action_id), span=action_id)
        return None
