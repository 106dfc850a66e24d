"""`alita batch`: whole tasks from a file, each in a session of its own, side by side and within one budget.

A map whose rows are tasks, with its coordinator, journal and rules of failure. A file beside the journal names each
task's session before the task begins: after a kill it continues there, and nothing is done or paid twice.
"""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from alita_tui.agent.agent_messages import without_team
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.events import Json, SessionEvent, TaskFinished, TaskQueued, TaskSubmitted, Value, ready
from alita_tui.mapping.coordinator import Progress, run_map
from alita_tui.mapping.journal import Head, Journal
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import InputFile, Row, opened, rows
from alita_tui.spine.commands import CloseSession, Retry, SubmitTask
from alita_tui.spine.errors import AlitaError, SandboxUnavailable, StoreError, UsageError
from alita_tui.spine.text import one_line
from alita_tui.store.disk import replace as write

if TYPE_CHECKING:
    from alita_tui.app.session import LiveSession

SCHEMA: Json = {
    "type": "object",
    "properties": {"task": {"type": "string"}, "id": {"type": "string"}, "files": {"type": "array"}},
    "required": ["task"],
}
SESSIONS, RESULTS = "sessions.jsonl", "results.jsonl"
_LONGEST = 20_000
"""Characters of a task."""
_HEAD = "a batch of tasks"
_AGAIN = ("parked", "interrupted", "")
"""Outcomes of tasks that continue when the same command is given again."""


class Waiting(Value, frozen=True):
    """A task that waits for a person."""

    row: int
    session: str
    what: str


class Batch(Value, frozen=True):
    """The results of a batch so far."""

    answered: int
    failed: int
    waiting: tuple[Waiting, ...]
    unpaid: int
    """Number of tasks that a budget did not allow; the same command continues them once it is raised."""
    usd: float
    """What all of its sessions cost, those of earlier runs among them."""
    output: str
    unpaid_reason: str = ""
    """Why the budget did not allow the first of them."""


class _Begun(Value, frozen=True):
    """A line of the file of sessions."""

    row: int
    session: str
    usd: float | None = None
    """What the session cost, once its task ended."""


class _Sessions:
    """The session of each task, on disk before the task begins."""

    def __init__(self, folder: Path) -> None:
        """Read what an earlier run left; a torn last line is cut. Raise StoreError."""
        self.by_row: dict[int, _Begun] = {}
        try:
            self._file = (folder / SESSIONS).open("a+b")
            self._file.seek(0)
            lines = self._file.read().split(b"\n")
            self._file.truncate(sum(len(line) + 1 for line in lines[:-1]))
        except OSError as error:
            raise _unwritten(folder, error) from error
        for line in lines[:-1]:
            with suppress(msgspec.DecodeError):  # the task of a damaged line begins again
                begun = msgspec.json.decode(line, type=ready(_Begun))
                self.by_row[begun.row] = begun

    def put(self, begun: _Begun) -> None:
        """Write a line. Block on the disk. Raise StoreError."""
        try:
            self._file.write(msgspec.json.encode(begun) + b"\n")
            self._file.flush()
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise _unwritten(Path(self._file.name), error) from error
        self.by_row[begun.row] = begun

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _BatchBudget:
    """The budget of a batch: what a task may cost is set aside before it begins, and what is left is given back."""

    def __init__(self, usd: float | None, spent: dict[int, float]) -> None:
        """`usd` is for the whole batch, None for no limit; `spent` is by row what earlier runs cost."""
        self._usd = usd
        self.spent = spent
        self._aside: dict[int, float] = {}
        self._changed = asyncio.Condition()

    @property
    def total(self) -> float:
        """What all sessions cost."""
        return sum(self.spent.values())

    @asynccontextmanager
    async def for_task(self, row: int, wanted: float) -> AsyncIterator[float | None]:
        """Return the total that a task's session may cost: 0 for no limit, None if nothing is left for it.

        `wanted` is its limit without a budget. Waits for other tasks, which may give back part of theirs.
        """
        if self._usd is None:
            yield wanted
            return
        async with self._changed:
            while True:
                others = sum(max(usd, self.spent.get(n, 0.0)) for n, usd in self._aside.items())
                others += sum(usd for n, usd in self.spent.items() if n not in self._aside and n != row)
                left = self._usd - others
                if (wanted and left >= wanted) or not self._aside:
                    break
                await self._changed.wait()
            allowed = min(wanted, left) if wanted else left
            if allowed <= self.spent.get(row, 0.0):
                allowed = 0.0
            else:
                self._aside[row] = allowed
        try:
            yield allowed or None
        finally:
            async with self._changed:
                self._aside.pop(row, None)
                self._changed.notify_all()


def _files(task: dict[str, Json]) -> list[Json] | None:
    """Return the files of a row, in a table also the path of a single one; None if they are no list."""
    files = task.get("files") or []
    if isinstance(files, str):
        return [files]
    return files if isinstance(files, list) else None


class Tasks:
    """An engine: each row is a task in a session of its own."""

    def __init__(
        self, app: AppContext, given: InputFile, sessions: _Sessions, budget: _BatchBudget, lanes: int
    ) -> None:
        self.lanes = lanes
        self.total = given.lines
        """Number of tasks, estimated from the lines of the file."""
        self.waiting: dict[int, Waiting] = {}
        self.unpaid: dict[int, str] = {}
        """Tasks that a budget did not allow, and why."""
        self._app = app
        self._beside = Path(given.path).parent
        self._sessions = sessions
        self._budget = budget

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        """Run the task of the one row. Raise SandboxUnavailable, StoreError, ConfigError."""
        (row,) = rows
        task = row.arguments or {}
        text, files = task.get("task"), _files(task)
        if problem := self._problem(task):
            return [Outcome(row=row.number, reason=problem, arguments=task)]
        chosen = self._app.loaded.settings.budget
        caps = [usd for usd in (chosen.task_usd, chosen.session_usd) if usd]
        wanted = min(caps, default=0.0)
        async with self._budget.for_task(row.number, wanted) as usd:
            if usd is None:
                self.unpaid[row.number] = "nothing of it is left."
                return []
            attach = tuple(str(self._beside / str(file)) for file in files or ())
            return await self._done(row.number, str(text), attach, usd, task)

    def _problem(self, task: dict[str, Json]) -> str:
        """Return why a row is not a task; empty if it is one."""
        text, files = task.get("task"), _files(task)
        if not isinstance(text, str) or not without_team(text).strip():
            return "It has no task: a text under `task`."
        if len(text) > _LONGEST:
            return f"Its task is longer than {_LONGEST:,} characters."
        if files is None or not all(isinstance(file, str) and file for file in files):
            return "Its `files` are not a list of paths."
        missing = [file for file in files if not (self._beside / str(file)).is_file()]
        return f"There is no file {one_line(str(missing[0]), 200)}." if missing else ""

    async def _done(
        self, row: int, text: str, attach: tuple[str, ...], usd: float, task: Json
    ) -> list[Outcome]:
        """Run or continue a task; return its outcome, or an empty list if it has not ended."""
        from alita_tui.app.session import open_session
        from alita_tui.state.reduce import reduce_all

        begun = self._sessions.by_row.get(row)
        session = await open_session(_within(self._app, usd), begun.session if begun else None, parks=True)
        history = session.bus.history
        try:
            if begun is None:
                await asyncio.to_thread(self._sessions.put, _Begun(row=row, session=session.session_id))
            submitted = any(isinstance(envelope.event, TaskSubmitted | TaskQueued) for envelope in history)
            await _to_its_end(session, Retry() if submitted else SubmitTask(text=text, attach=attach))
        finally:
            state = await asyncio.to_thread(reduce_all, history)
            self._budget.spent[row] = state.spend.total_usd
        end = _end([envelope.event for envelope in history])
        outcome = end.outcome if end else ""
        if outcome == "sandbox" and end is not None:
            raise SandboxUnavailable(end.reason, hint=end.hint)
        if outcome == "budget" and end is not None:
            self.unpaid[row] = one_line(end.reason, 300)
            return []
        if outcome in _AGAIN or end is None:
            what = end.reason if end else "it was stopped"
            self.waiting[row] = Waiting(row=row, session=session.session_id, what=one_line(what, 300))
            return []
        ended = _Begun(row=row, session=session.session_id, usd=state.spend.total_usd)
        await asyncio.to_thread(self._sessions.put, ended)
        if outcome == "answered":
            result = {"task": task, "answer": end.answer, "session": session.session_id, "usd": ended.usd}
            return [Outcome(row=row, result=result)]
        reason = f"{outcome}: {one_line(end.reason or end.answer, 2_000)} (session {session.session_id})"
        return [Outcome(row=row, reason=reason, arguments=task)]


def _within(app: AppContext, usd: float) -> AppContext:
    """Return a copy of the context with a cap for one session. Its open files are shared."""
    if not usd:
        return app
    budget = msgspec.structs.replace(app.loaded.settings.budget, session_usd=usd)
    settings = msgspec.structs.replace(app.loaded.settings, budget=budget)
    alike = copy.copy(app)
    alike.loaded = replace(app.loaded, settings=settings)
    return alike


async def _to_its_end(session: LiveSession, command: SubmitTask | Retry) -> None:
    """Run a session until it has no work left; if cancelled, close it so that it can continue later."""

    async def follow() -> None:
        async for _ in session.source:
            pass

    session.send(command)
    following = asyncio.create_task(follow())
    running = asyncio.create_task(session.run(until_idle=True))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        if not running.done():
            session.send(CloseSession())
        await asyncio.wait((running,))
        raise
    finally:
        await asyncio.wait((following,))


def _end(events: Sequence[SessionEvent]) -> TaskFinished | None:
    """Return how the newest task ended; None if it has not."""
    for event in reversed(events):
        if isinstance(event, TaskFinished):
            return event
        if isinstance(event, TaskSubmitted):
            return None
    return None


async def run_batch(
    app: AppContext,
    path: Path,
    output: Path,
    *,
    jobs: int,
    usd: float | None,
    tell: Callable[[Progress, Tasks, float], None],
) -> Batch:
    """Run each task of the file that has no result in the folder yet, and write the results of all.

    Raise UsageError for a file without tasks or a folder with something else, SandboxUnavailable, StoreError,
    ConfigError; results so far are kept, and the same call continues.
    """
    given = await asyncio.to_thread(opened, path, SCHEMA)
    # Opened now, so that the copies of the context share them.
    shared = (app.library, app.memory, app.inbox, app.audit, app.sessions)
    journal = await asyncio.to_thread(Journal, output, Head(tool=_HEAD, digest=_HEAD, input=given.sha256))
    try:
        sessions = await asyncio.to_thread(_Sessions, output)
        try:
            budget = _BatchBudget(usd, await asyncio.to_thread(_costs, app, sessions))
            engine = Tasks(app, given, sessions, budget, jobs)
            await run_map(
                rows(path, SCHEMA), engine, journal, lambda far: tell(far, engine, budget.total), most=1
            )
            ok, failed = await asyncio.to_thread(journal.finish)
            await asyncio.to_thread(_write_results, journal, output)
        finally:
            sessions.close()
    finally:
        journal.close()
        del shared
    waiting = tuple(engine.waiting[row] for row in sorted(engine.waiting))
    return Batch(
        answered=ok,
        failed=failed,
        waiting=waiting,
        unpaid=len(engine.unpaid),
        usd=budget.total,
        output=str(output),
        unpaid_reason=engine.unpaid[min(engine.unpaid)] if engine.unpaid else "",
    )


def _costs(app: AppContext, sessions: _Sessions) -> dict[int, float]:
    """Return the cost of each row's session in earlier runs. Block on the disk. Raise StoreError."""
    from alita_tui.state.reduce import reduce_all

    costs = {}
    for row, begun in sessions.by_row.items():
        if begun.usd is not None:
            costs[row] = begun.usd
            continue
        with suppress(UsageError):  # its file was removed, so it begins again
            costs[row] = reduce_all(recording(app, begun.session)).spend.total_usd
    for row in [row for row in sessions.by_row if row not in costs]:
        del sessions.by_row[row]
    return costs


def _write_results(journal: Journal, folder: Path) -> None:
    """Write all results in one file, in the order of the tasks."""
    parts = (journal.parts[first] for first in sorted(journal.parts))
    try:
        write(folder / RESULTS, ((folder / part.file).read_bytes() for part in parts))
    except OSError as error:
        raise _unwritten(folder, error) from error


def _unwritten(path: Path, error: OSError) -> AlitaError:
    return StoreError(
        f"{error.filename or path} cannot be written: {error.strerror}.",
        hint="Finished tasks are kept; run the same command to continue.",
    )
