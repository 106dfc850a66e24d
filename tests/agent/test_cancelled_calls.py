"""A call that is cancelled, at whatever moment and whoever asked for it, has one end on record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.agent.inner_calls import InnerCalls
from alita_tui.agent.tool_runs import OpenCall, ToolRuns, Work
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.laws import check
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.store.documents import DocumentTable
from tests.agent.lab import PlayedSandbox
from tests.support.calling import a_tool, approved, pin


class Interrupting:
    """A recorder during whose work somebody cancels the call, once or several times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.at: Callable[[Any], bool] = lambda _: False
        self.task: asyncio.Task[Any] | None = None

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        if self.task is not None and self.at(envelope.event):
            task, self.task = self.task, None
            for _ in range(self.times):
                task.cancel()
                for _ in range(3):
                    await asyncio.sleep(0)
        await asyncio.sleep(0)


MOMENTS: dict[str, Callable[[Any], bool]] = {
    "the call is written": lambda event: isinstance(event, e.ToolCalled),
    "another event is written first": lambda event: isinstance(event, e.NoticeRaised),
    "its result is compared": lambda event: False,
    "its end is written": lambda event: isinstance(event, e.ToolReturned),
}


@pytest.mark.parametrize("inner", [False, True], ids=["own", "inner"])
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_cancelled_call_has_one_end(tmp_path: Path, moment: str, times: int, inner: bool) -> None:
    recorder = Interrupting(times)
    bus = Bus("cut", recorder, lambda: datetime.now(UTC))
    library = ToolLibrary(DocumentTable(tmp_path / "registry.json", "tools"), tmp_path / "box")
    shelf = TaskLibrary(library)
    loop = asyncio.get_running_loop()

    def compare(*_: Any) -> str:
        if moment == "its result is compared" and recorder.task is not None:
            loop.call_soon_threadsafe(recorder.task.cancel)
            recorder.task = None
        return ""

    sandbox = PlayedSandbox()
    if moment == "its result is compared":  # in a thread, since it is long
        sandbox.runs.append(e.RunReport(status="ok", exit_code=0, result="x" * 1_000))
    runs = ToolRuns(bus, shelf, sandbox, None, limits=Limits(), progress=lambda *_: None, misfit=compare)
    doubles = approved(library, msgspec.structs.replace(a_tool("doubles"), output_schema={"type": "integer"}))
    outer = approved(library, a_tool("outer", tools=(pin(doubles),)))
    await bus.emit(e.SessionOpened(title="cut"))
    await bus.emit(e.LibraryLoaded(tools=library.cards()))

    async def call() -> None:
        if inner:
            calls = InnerCalls(runs, shelf, new_id=lambda: "c2", misfit=lambda *_: "")
            with runs.opened("c1", OpenCall(outer)):
                await calls.call("c1", "doubles", {})
            return
        called = e.ToolCalled(
            call_id=e.CallId("c2"), action_id="", name=doubles.draft.name, version=1, digest=doubles.digest, arguments={}
        )  # fmt: skip
        await runs.run(called, OpenCall(doubles), Work(arguments={}))

    recorder.at = MOMENTS[moment]
    first = asyncio.create_task(bus.emit(e.NoticeRaised(level="info", text="first")))
    recorder.task = task = asyncio.create_task(call())
    with pytest.raises(asyncio.CancelledError):
        await task
    await first
    ends = [one.event for one in bus.history if isinstance(one.event, e.ToolReturned | e.ToolFailed)]
    begun = [one for one in bus.history if isinstance(one.event, e.ToolCalled)]
    assert len(ends) == len(begun)
    if moment != "its end is written":
        assert all(isinstance(end, e.ToolFailed) and end.reason == "interrupted" for end in ends)
    if not inner:
        assert check(bus.history, complete=True) == []
