"""One case of an evaluation: a session in a home of its own, and the figures from its record."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.costs import paid
from alita_tui.app.lending import Lent
from alita_tui.config.load import load
from alita_tui.config.paths import locate
from alita_tui.evaluation.failures import failure
from alita_tui.evaluation.results import CaseResult, FailureKind, Without, library_digest
from alita_tui.spine.commands import ResolveApproval, SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, StoreError
from alita_tui.spine.history import of_kind

if TYPE_CHECKING:
    from alita_tui.events import Verdict
    from alita_tui.store.sessions import SessionFile

_LONGEST_ANSWER = 20_000
"""Characters of an answer that a result stores; the check sees all of it."""


def case_home(
    person: AppContext,
    folder: Path,
    model: str | None,
    cap_usd: float,
    without: Iterable[Without] = (),
    *,
    policy: bool = False,
    lent: Lent | None = None,
    described: tuple[tuple[str, str], ...] = (),
) -> AppContext:
    """Return the context of a case: the home `folder` with the person's settings and keys, and nothing else of theirs.

    `cap_usd` limits the case's cost; 0: as the settings say. With `policy` the person's policy is copied, too. `lent`
    is shared by all cases of a run. `described`: names and descriptions of tools that can be found there but not run.
    Raises ConfigError, StoreError.
    """
    flags: dict[str, object] = {**person.flags}
    if model:
        flags["model"] = model
    if cap_usd:
        flags["budget.task_usd"] = flags["budget.session_usd"] = cap_usd
    left_out = frozenset(without)
    if "planner" in left_out:
        flags["budget.plans"] = 1
    if "memory" in left_out:
        flags["context.blocks"] = [
            block for block in person.loaded.settings.context.blocks if block != "memory"
        ]
    paths = locate(folder, {})
    paths.prepare()
    if policy and person.paths.policy.is_file():
        try:
            paths.policy.write_bytes(person.paths.policy.read_bytes())
            paths.policy.chmod(0o600)
        except OSError as error:
            raise StoreError(f"The policy cannot be copied to {folder}: {error.strerror}.") from error
    environ = {**_env_entries(person), **person.environ}
    return AppContext(
        paths, load(person.paths, person.environ, flags), environ, flags,
        lent=lent, left_out=left_out, described=described,
    )  # fmt: skip


def prepare_home(person: AppContext, folder: Path) -> None:
    """Make the folders and records of a case's home ahead, because that takes a dozen disk syncs. Raises StoreError."""
    paths = locate(folder, {})
    paths.prepare()
    app = AppContext(paths, person.loaded, person.environ)
    app.library.standing()
    app.close()


def _env_entries(person: AppContext) -> dict[str, str]:
    """Return the entries of the person's `.env`. They may be keys, so they are never written to the case's home."""
    from alita_tui.spine import env_file

    try:
        text = person.paths.env_file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return {entry.name: entry.value for entry in env_file.parse(text) if entry.name}


async def play(
    app: AppContext,
    task: str,
    files: tuple[str, ...],
    approved: Iterable[str] = (),
    *,
    own_id: str = "",
    begun: Callable[[], object] = lambda: None,
) -> tuple[str, tuple[Envelope, ...]]:
    """Run a task to its end, or continue the one in this home; return the session's id and its events.

    `own_id` is the id that the task's session has or gets; empty if the home is for this task alone. `begun` is called
    when a new task begins.

    A task that ended is not run again. A build whose digest is in `approved` is approved with all its risks.
    Raises AlitaError if no session can be opened.
    """
    from alita_tui.app.recordings import recording

    digests = frozenset(approved)
    session_id = await asyncio.to_thread(_existing_session, app, own_id)
    history: tuple[Envelope, ...] = ()
    if session_id is not None:
        history = tuple(await asyncio.to_thread(recording, app, session_id))
        if _ended(history) and not _decided(app):
            return session_id, history
    while True:
        submit = not any(isinstance(envelope.event, e.TaskSubmitted) for envelope in history)
        session_id, history = await _run(
            app, session_id, task if submit else None, files, own_id=own_id, begun=begun
        )
        if not await asyncio.to_thread(_approve, app, digests):
            return session_id, history


def _existing_session(app: AppContext, own_id: str) -> str | None:
    """Return the id of the task's session in this home; None if it has none yet."""
    if own_id:
        path = app.sessions.path(own_id)
        return own_id if any(path.parent.glob(f"{path.name}*")) else None
    latest = app.sessions.latest(own=True)
    return latest.session_id if latest else None


def _new_session(app: AppContext, session_id: str) -> SessionFile:
    from alita_tui.store.sessions import SessionFile

    return SessionFile.create(app.sessions.path(session_id), session_id)


def _ended(history: Iterable[Envelope]) -> bool:
    """Return whether the newest task has ended for good; one that ran out of money may continue."""
    newest = None
    for envelope in history:
        if isinstance(envelope.event, e.TaskSubmitted | e.TaskFinished):
            newest = envelope.event
    return isinstance(newest, e.TaskFinished) and newest.outcome != "budget"


def _decided(app: AppContext) -> bool:
    """Return whether the inbox has a verdict that no session has taken up."""
    return any(build.verdict for build in app.inbox.pending())


async def _run(
    app: AppContext,
    session_id: str | None,
    task: str | None,
    files: tuple[str, ...],
    *,
    own_id: str,
    begun: Callable[[], object],
) -> tuple[str, tuple[Envelope, ...]]:
    open_session = (await asyncio.to_thread(import_module, "alita_tui.app.session")).open_session
    is_new = own_id and session_id is None
    session_or_id = await asyncio.to_thread(_new_session, app, own_id) if is_new else session_id
    session = await open_session(app, session_or_id, parks=True)

    async def follow() -> None:
        async for envelope in session.source:
            if task is not None and isinstance(envelope.event, e.TaskSubmitted):
                begun()

    following = asyncio.create_task(follow())
    if task is not None:
        session.send(SubmitTask(text=task, attach=files))
    try:
        await session.run(until_idle=True)
        await following
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
    return session.session_id, tuple(session.bus.history)


def _approve(app: AppContext, digests: frozenset[str]) -> bool:
    """Leave an approval in the inbox for each waiting build with one of these digests; return whether any was left."""
    left = False
    for build in app.inbox.pending() if digests else ():
        if build.verdict or build.digest not in digests:
            continue
        verdict = _verdict(app, build.approval_id)
        if verdict is not None:
            command = ResolveApproval(approval_id=build.approval_id, digest=build.digest, verdict=verdict)
            app.inbox.leave(build.approval_id, command)
            left = True
    return left


def _verdict(app: AppContext, approval_id: str) -> Verdict | None:
    from alita_tui.app.identity import me
    from alita_tui.view.queries import build_of
    from alita_tui.view.risk import names_to_accept, risks

    parked, history = app.inbox.show(approval_id)
    view = build_of(history, parked.build_id)
    attempt = view.presented if view else None
    if view is None or attempt is None:
        return None
    return e.Verdict(
        decision="approved",
        reason="these very bytes were approved before in the home that runs this evaluation",
        accepted=tuple(names_to_accept(risks(view, attempt))),
        by=me(),
        via="cli",
    )


def result_of(case: str, model: str, turn: int, history: Iterable[Envelope]) -> CaseResult:
    """Return the figures of a case, from its record alone; `solved` is set later by its check."""
    from alita_tui.statistics.rows import rows_of

    history = tuple(history)
    rows = rows_of(history)
    outcome = next(of_kind(reversed(history), e.TaskFinished), None)
    seconds = sum(task.seconds for task in rows.tasks if math.isfinite(task.seconds))
    return CaseResult(
        case=case,
        model=model,
        turn=turn,
        session_id=history[0].session_id if history else "",
        outcome=outcome.outcome if outcome else "",
        answer=outcome.answer[:_LONGEST_ANSWER] if outcome else "",
        usd=paid(history),
        unpriced=sum(spent.cost_usd is None for spent in of_kind(history, e.BudgetSpent)),
        tokens=sum(call.tokens for call in rows.calls),
        seconds=round(seconds, 3),
        steps=sum(isinstance(envelope.event, e.ActionChosen) for envelope in history),
        calls=sum(isinstance(envelope.event, e.ModelReplied) for envelope in history),
        runs=len(rows.runs),
        reused=sum(run.reused for run in rows.runs),
        builds=sum(isinstance(envelope.event, e.BuildStarted) for envelope in history),
        ungrounded=len(outcome.ungrounded) if outcome else 0,
    )


def library_of(app: AppContext) -> str:
    """Return the digest of the tools that a case's home has now; empty if they cannot be read. Blocks on the disk."""
    with suppress(AlitaError):
        return library_digest(
            (record.draft.name, record.digest or record.draft.description) for record in app.library.records()
        )
    return ""


def answer_of(history: Sequence[Envelope]) -> str:
    """Return the whole answer of the newest task, of which a result stores only the beginning."""
    ended = (envelope.event for envelope in reversed(history) if isinstance(envelope.event, e.TaskFinished))
    return next((event.answer for event in ended), "")


def failure_of(history: Sequence[Envelope]) -> tuple[FailureKind, int]:
    """Return why a case was not solved, from its record, and the number of the event where it went wrong."""
    from alita_tui.agent.outcomes import outcomes_of

    tasks = [finished.task_id for finished in of_kind(history, e.TaskFinished)]
    graded = outcomes_of(history, tasks[-1]) if tasks else ()
    accepted = {
        run.run.partition("/")[2]
        for outcomes in graded
        for run in outcomes.outcomes
        if run.grade == "accepted"
    }
    return failure(history, accepted)
