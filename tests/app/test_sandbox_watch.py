"""The sandbox is checked again when a task or a test was without one, and when there may be one again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.app.session import LiveSession, close_session, open_session
from alita_tui.events import SandboxStatus
from tests.crash.scene import open_app

GONE = SandboxStatus(available=False, problem="Podman is gone.", hint="Fix it.")


class Watched:
    """A session that runs; `status` is what its sandbox says of itself."""

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.status = SandboxStatus(available=True)
        self.looks = 0

    @property
    def known(self) -> list[SandboxStatus]:
        """What is recorded of the sandbox."""
        events = (one.event for one in self.session.bus.history)
        return [event.status for event in events if isinstance(event, e.SandboxChecked)]

    async def until_known(self, count: int) -> None:
        while len(self.known) < count:
            await asyncio.sleep(0)


@asynccontextmanager
async def running(
    folder: Path, monkeypatch: pytest.MonkeyPatch, session_id: str | None = None
) -> AsyncIterator[Watched]:
    """Open a new session, or this one, as the console does; close it at the end."""
    session = await open_session(open_app(folder), session_id, parks=False)
    watched = Watched(session)

    async def status() -> SandboxStatus:
        watched.looks += 1
        return watched.status

    async def close(patience: float = 0.0) -> None:
        """The stand-in of the crash tests takes no patience."""

    monkeypatch.setattr(session._sandbox, "status", status)
    monkeypatch.setattr(session._sandbox, "close", close)
    task = asyncio.create_task(session.run(attended=True))
    async with asyncio.timeout(60):
        await session._opened.wait()
        yield watched
        await close_session(session, task)


async def test_the_console_reports_a_sandbox_that_a_task_lacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, monkeypatch) as watched:
        there, emit = watched.status, watched.session.bus.emit
        await emit(e.TaskSubmitted(task_id=e.TaskId("a"), text="roll dice"))
        assert watched.known == [there]
        watched.status = GONE
        await emit(e.TaskFinished(task_id=e.TaskId("a"), outcome="sandbox", reason=GONE.problem))
        await watched.until_known(2)
        looks = watched.looks
        await emit(e.TaskSubmitted(task_id=e.TaskId("b"), text="roll dice"))
        while watched.looks == looks:
            await asyncio.sleep(0)
        assert watched.known == [there, GONE], "the same is not said twice"
        watched.status = there
        await emit(e.TaskSubmitted(task_id=e.TaskId("c"), text="roll dice"))
        await watched.until_known(3)
        assert watched.known == [there, GONE, there]


async def test_the_console_reports_a_sandbox_that_a_test_lacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, monkeypatch) as watched:
        there, emit = watched.status, watched.session.bus.emit
        watched.status = GONE
        await emit(e.NoticeRaised(level="error", text="dice was not tested again: Podman is gone."))
        await watched.until_known(2)
        watched.status = there
        await emit(
            e.BuildTested(
                build_id=e.BuildId("b"), attempt=1, digest=e.DraftDigest("0" * 64), passed=True, reports=()
            )
        )
        await watched.until_known(3)
        assert watched.known == [there, GONE, there]
