"""A session without a screen: runs one task, or continues what a session left unfinished."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import path_of, recording
from alita_tui.events import SessionOpened, TaskFinished, TaskSubmitted
from alita_tui.spine.commands import AnswerQuestion, Interrupt, Retry, SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted

if TYPE_CHECKING:
    from alita_tui.state.session import Question

EXIT_CODES = {
    "answered": 0, "failed": 1, "stuck": 1, "step_limit": 3, "budget": 3, "parked": 4, "rejected": 5,
    "sandbox": 6, "interrupted": 130,
}  # fmt: skip


async def run_headless(
    app: AppContext,
    task: str | None,
    session_id: str | None,
    show: Callable[[Envelope], None],
    *,
    attach: tuple[str, ...] = (),
    answer: str = "",
) -> tuple[str, int]:
    """Run a task, or continue without a new one; return the session's id and an exit code.

    `attach` are paths of files that are given with the task. Without a task, the failed one is tried again; with an
    `answer`, the task that waits for it continues. `show` is called for every new envelope, transient ones included.
    """
    from alita_tui.app.session import open_session

    session = await open_session(app, session_id, parks=True, answer=answer)
    code, moved, outcome = 1, False, ""

    async def follow() -> None:
        nonlocal code, moved
        recorded = len(session.bus.history)
        async for envelope in session.source:
            if envelope.seq is not None and envelope.seq <= recorded:
                continue
            show(envelope)
            moved = moved or isinstance(envelope.event, TaskFinished | TaskSubmitted)
            if isinstance(envelope.event, TaskFinished):
                code = EXIT_CODES[envelope.event.outcome]

    following = asyncio.create_task(follow())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, session.send, Interrupt(every=True))
    if task is not None:
        session.send(SubmitTask(text=task, attach=attach))
    else:
        outcome = _last_outcome(session.bus.history)
        code = EXIT_CODES.get(outcome, 1)
        session.send(Retry())
    await session.run(until_idle=True)
    await following
    if not moved and (waiting := await asyncio.to_thread(_paused_tasks, session.bus.history)):
        raise UsageError(
            f"The queue of session {session.session_id} is paused: {counted(waiting, 'task')} in it.",
            hint=f"Resume it: alita tasks resume --session {session.session_id}",
        )
    if task is None and not moved and outcome not in ("answered", "rejected", "interrupted"):
        raise UsageError(
            f"Nothing in session {session.session_id} could be gone on with.",
            hint="Give the task again: alita run --session "
            f'{session.session_id} "TASK"; `alita sessions show` tells what happened.',
        )
    return session.session_id, code


def _paused_tasks(history: Sequence[Envelope]) -> int:
    """Return how many tasks wait because the queue is paused."""
    from alita_tui.state.reduce import reduce_all

    state = reduce_all(history)
    return len(state.queue) if state.paused else 0


def _last_outcome(history: Sequence[Envelope]) -> str:
    """Return how the newest task ended; empty if it has not, or if there is none."""
    for envelope in reversed(history):
        match envelope.event:
            case TaskFinished(outcome=outcome):
                return outcome
            case TaskSubmitted():
                return ""
            case _:
                pass
    return ""


def was_recorded(app: AppContext, session_id: str) -> bool:
    """Return True for a session of the demo's recorded model."""
    first = next(iter(recording(app, session_id)), None)
    return first is not None and isinstance(first.event, SessionOpened) and first.event.recorded


def open_question(app: AppContext, session_id: str) -> Question | None:
    """Return the question that a session waits with. Raises UsageError, StoreError."""
    from alita_tui.state.reduce import reduce_all

    question = reduce_all(recording(app, session_id)).asked
    return question if question is not None and question.about == "task" else None


def leave_answer(app: AppContext, session_id: str, question: Question, text: str) -> str:
    """Leave an answer for the process that has the session open; return the session's id. Raises StoreError."""
    from alita_tui.store.task_inbox import TaskInbox

    name = path_of(app, session_id).stem
    answer = AnswerQuestion(question_id=question.question_id, text=text)
    TaskInbox(app.paths.left_tasks, app.audit).leave(name, answer)
    return name
