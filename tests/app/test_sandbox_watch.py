"""The sandbox is checked again when a task ended for want of one, and when the next one begins without one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.app.session import LiveSession, close_session, open_session
from alita_tui.events import SandboxStatus
from tests.crash.scene import open_app

GONE = SandboxStatus(available=False, problem="Podman is gone.", hint="Fix it.")


def known(session: LiveSession) -> list[SandboxStatus]:
    return [one.event.status for one in session.bus.history if isinstance(one.event, e.SandboxChecked)]


async def test_what_the_console_says_of_the_sandbox_follows_a_task_that_ended_for_want_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await open_session(open_app(tmp_path), None, parks=False)
    now, looks = SandboxStatus(available=True), 0

    async def status() -> SandboxStatus:
        nonlocal looks
        looks += 1
        return now

    async def close(patience: float = 0.0) -> None:
        """The stand-in of the crash tests takes no patience."""

    monkeypatch.setattr(session._sandbox, "status", status)
    monkeypatch.setattr(session._sandbox, "close", close)
    running = asyncio.create_task(session.run(attended=True))
    async with asyncio.timeout(60):
        await session._opened.wait()
        await session.bus.emit(e.TaskSubmitted(task_id=e.TaskId("a"), text="roll dice"))
        assert known(session) == [now]
        first = now
        now = GONE
        await session.bus.emit(e.TaskFinished(task_id=e.TaskId("a"), outcome="sandbox", reason=GONE.problem))
        while len(known(session)) < 2:
            await asyncio.sleep(0)
        seen = looks
        await session.bus.emit(e.TaskSubmitted(task_id=e.TaskId("b"), text="roll dice"))
        while looks == seen:
            await asyncio.sleep(0)
        assert known(session) == [first, GONE], "the same is not said twice"
        now = first
        await session.bus.emit(e.TaskSubmitted(task_id=e.TaskId("c"), text="roll dice"))
        while len(known(session)) < 3:
            await asyncio.sleep(0)
        assert known(session) == [first, GONE, first]
        await close_session(session, running)
