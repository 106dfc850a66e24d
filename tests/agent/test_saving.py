"""When nothing can be saved the run waits, nothing is done that is on no record, and it goes on by itself."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.spine.commands import CloseSession, Command, Interrupt
from alita_tui.spine.errors import StoreError
from alita_tui.spine.laws import check
from tests.agent.lab import Lab, say
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules


class Disk:
    """Refuses to be written while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        plain = os.pwrite

        def pwrite(fd: int, data: bytes, offset: int) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return plain(fd, data, offset)

        monkeypatch.setattr(os, "pwrite", pwrite)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


STEPS = (
    e.TaskSubmitted, e.BudgetReserved, e.ModelReplied, e.BuildStarted, e.BuildTested, e.ApprovalRequested,
    e.ApprovalResolved, e.ToolRegistered, e.ToolCalled, e.ToolReturned, e.TaskFinished,
)  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
async def test_while_nothing_can_be_saved_the_task_waits_and_then_continues(
    tmp_path: Path, disk: Disk, step: type
) -> None:
    lab = Lab(tmp_path, rules=rules(say("find_tool", query="double"), BUILD, RUN, DONE), retry=0.001)
    stalls: list[e.SavingStalled] = []
    done: list[Any] = []

    def watch(event: e.SessionEvent) -> Command | None:
        if isinstance(event, step) and not stalls:
            disk.full = True
            done[:] = [len(lab.bus.history)]
        elif isinstance(event, e.SavingStalled) and event.text:
            stalls.append(event)
            # The run that was begun before may end; no other begins.
            done.append((len(lab.bus.history), sum(job.kind == "run" for job in lab.sandbox.jobs)))
            disk.full = len(stalls) < 5
        return approve(event)

    ended = await lab.do(TASK, when=watch)
    assert ended.outcome == "answered"
    assert len(stalls) >= 5 and "disk is full" in stalls[0].hint
    assert len(set(done[1:6])) == 1, "nothing was recorded and nothing ran while it waited"
    assert not lab.view.live.unsaved
    assert [card.version for card in lab.shelf.cards()] == [1]
    assert len([job for job in lab.sandbox.jobs if job.kind == "run"]) == 1
    lab.file.close()


async def stalled(lab: Lab, disk: Disk, then: Command) -> None:
    """Run until nothing can be saved; then a command."""
    news = lab.bus.subscribe()

    async def fill() -> None:
        async for envelope in news:
            match envelope.event:
                case e.ActionChosen():
                    disk.full = True
                case e.SavingStalled(text=text) if text:
                    if isinstance(then, CloseSession):
                        lab.bus.leave()
                    lab.engine.send(then)
                    return
                case _:
                    pass

    filling = asyncio.create_task(fill())
    lab.engine.send(TASK)
    try:
        async with asyncio.timeout(180):
            await lab.engine.run(until_idle=True)
    finally:
        lab.bus.close()
        await filling


async def test_leaving_while_nothing_can_be_saved_says_so_and_loses_nothing(
    tmp_path: Path, disk: Disk
) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE), retry=0.001)
    await lab.begin()
    await stalled(lab, disk, CloseSession())
    with pytest.raises(StoreError, match="could not be saved"):
        await lab.bus.emit(e.SessionClosed())
    before = [one.event for one in lab.bus.history]
    disk.full = False
    lab.reopen()
    assert [one.event for one in lab.bus.history] == before
    await lab.do(when=approve)
    assert check(lab.bus.history, complete=True) == []
    lab.file.close()


async def test_an_interrupt_during_a_failed_save_ends_the_task_once_saving_works(
    tmp_path: Path, disk: Disk
) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE), retry=0.001)
    await lab.begin()
    news = lab.bus.subscribe()

    async def free() -> None:
        stalls = 0
        async for envelope in news:
            stalls += isinstance(envelope.event, e.SavingStalled)
            if stalls == 20:
                disk.full = False
                return

    freeing = asyncio.create_task(free())
    await stalled(lab, disk, Interrupt())
    await freeing
    assert lab.events(e.TaskFinished)[-1].outcome == "interrupted"
    assert not lab.events(e.BuildStarted), "what could not be recorded was not done"
    lab.file.close()


async def test_without_a_console_a_failed_save_is_an_error_at_once(tmp_path: Path, disk: Disk) -> None:
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    await lab.begin()
    with pytest.raises(StoreError, match="could not be saved"):
        await stalled(lab, disk, Interrupt())
    disk.full = False
    lab.file.close()
