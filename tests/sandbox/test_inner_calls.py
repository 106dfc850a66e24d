"""Tools that call tools in real containers: each in its own, with its own grants, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.agent.inner_calls import InnerCalls
from alita_tui.agent.tool_runs import OpenCall, ToolRuns, Work
from alita_tui.events import RunReport, ToolRecord
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.broker.broker import Broker
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.laws import check
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.store.documents import DocumentTable
from alita_tui.toolsmith.checks.probes import misfit
from tests.support.calling import CALLS, TAKES_X, a_tool, approved, pin

pytestmark = pytest.mark.podman
LIMITS = Limits(wall_seconds=4, cpu_seconds=8, memory_bytes=256 << 20, processes=24, result_bytes=64 << 10)
LOOKS = """import os

def run(**asked):
    \"\"\"Return what can be seen from here.\"\"\"
    found = {name: value for name, value in os.environ.items() if 'TOKEN' in name or 'BROKER' in name}
    return {"asked": asked, "environ": found, "tmp": sorted(os.listdir("/tmp")), "here": os.listdir(".")}
"""


class InMemory:
    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        return


class Room:
    """A library, a sandbox and the record of what ran in it."""

    def __init__(self, settings: EngineSettings, folder: Path) -> None:
        self.library = ToolLibrary(DocumentTable(folder / "registry.json", "tools"), folder / "box")
        self.bus = Bus("inner", InMemory(), lambda: datetime.now(UTC))
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "a.txt").write_text("the person's")
        broker = Broker(
            AddressPolicy(nowhere),
            self.tell,
            workspace=self.workspace,
            secret=lambda name: f"value-of-{name}!",
        )
        self.sandbox = PodmanSandbox(settings, "inner", broker=broker)
        shelf = TaskLibrary(self.library)
        self.runs = ToolRuns(self.bus, shelf, self.sandbox, None, limits=LIMITS, progress=lambda *_: None)
        ids = iter(range(1000))
        self.inner = InnerCalls(self.runs, shelf, new_id=lambda: f"inner-{next(ids)}", misfit=misfit)
        broker.tools = self.inner

    async def tell(self, answered: e.BrokerAnswered | e.PageLogged) -> None:
        await self.bus.emit(self.inner.placed(answered), span=answered.call_id)

    def put(self, name: str, code: str, *tools: str, **more: Any) -> ToolRecord:
        return approved(self.library, a_tool(name, code, tools=tools, **more))

    async def run(self, record: ToolRecord, **arguments: Any) -> RunReport:
        """Run a tool as the agent would, and hold the record to the laws."""
        if not self.bus.history:
            await self.bus.emit(e.SessionOpened(title="inner"))
        await self.bus.emit(e.LibraryLoaded(tools=self.library.cards()))
        called = e.ToolCalled(
            call_id=e.CallId(f"outer-{len(self.bus.history)}"), action_id="", name=record.draft.name,
            version=record.version, digest=record.digest, arguments=arguments,
        )  # fmt: skip
        try:
            return await self.runs.run(called, OpenCall(record), Work(arguments=arguments))
        finally:
            broken = check(self.bus.history, complete=True)
            assert broken == [], broken

    def said(self, kind: type) -> list[Any]:
        return [one.event for one in self.bus.history if isinstance(one.event, kind)]

    async def containers(self) -> list[str]:
        """Return what is left of this sandbox's runs after a while, beside what waits in the pool."""
        for _ in range(50):
            if not (left := await self.running()):
                break
            await asyncio.sleep(0.1)
        return left

    async def running(self) -> list[str]:
        """Return this sandbox's containers, beside what waits in the pool."""
        owner = self.sandbox._service.owner
        listed = [one for one in await self.sandbox._containers.listed() if _owner(one) == owner]
        return [one["Id"] for one in listed if one["Id"] not in self.sandbox._pool.ids()]


def _owner(listed: dict[str, Any]) -> str:
    return str((listed.get("Labels") or {}).get("alita.service", ""))


async def nowhere(host: str, port: int) -> tuple[str, ...]:
    return ()


@pytest.fixture
async def room(settings: EngineSettings, tmp_path: Path) -> AsyncIterator[Room]:
    made = Room(settings, tmp_path)
    yield made
    await made.sandbox.close()


async def test_a_tool_gets_the_result_of_another_that_shares_nothing_with_it(room: Room) -> None:
    looks = room.put("looks", LOOKS, network=("b.example:443",), secrets=("OWN_TOKEN",))
    calls = CALLS.replace(
        "    url = os.", '    open("/tmp/mine", "w").write("x"); open("left", "w").write("x")\n    url = os.'
    )
    outer = room.put(
        "outer", calls, pin(looks), network=("a.example:443",), secrets=("KEPT_TOKEN",), workspace="read"
    )
    report = await room.run(outer, name="looks", arguments={"text": "ü\u202e\ud7ff", "n": 1.5, "none": None})
    assert report.status == "ok", report
    seen = report.result
    assert seen["asked"] == {"text": "ü\u202e\ud7ff", "n": 1.5, "none": None}
    assert list(seen["environ"]) == ["OWN_TOKEN"] and "value-of" not in json.dumps(seen["environ"])
    assert "mine" not in seen["tmp"] and seen["here"] == []
    (asked,) = room.said(e.BrokerAnswered)
    assert asked.request.endswith("/tools/looks") and (asked.outcome, asked.depth) == ("served", 0)
    assert [(one.name, one.depth) for one in room.said(e.ToolCalled)] == [("outer", 0), ("looks", 1)]
    assert await room.containers() == []


async def test_a_nested_call_has_only_its_own_grants(room: Room) -> None:
    reads = CALLS.replace('"/tools/" + name', '"/files/a.txt"').replace("json.load(answer)", "answer.read().decode()").replace(
        ", data=json.dumps(arguments).encode()", "")  # fmt: skip
    leaf = room.put("leaf", reads, workspace="read")
    middle = room.put("middle", CALLS, pin(leaf))
    outer = room.put("outer", CALLS, pin(middle))
    inner = {"name": "leaf", "arguments": {"name": "", "arguments": {}}}
    assert (await room.run(outer, name="middle", arguments=inner)).result == "the person's"
    assert [(one.request, one.depth) for one in room.said(e.BrokerAnswered)] == [
        ("GET /files/a.txt", 2),
        ("POST /tools/leaf", 1),
        ("POST /tools/middle", 0),
    ]
    own = await room.run(room.put("direct", reads, pin(leaf)), name="", arguments={})
    assert own.result == [403, "alita: the workspace is not granted to read\n"], (
        "what it calls may, it may not"
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "arguments", "status", "said"),
    [
        ("other", {}, 403, "not granted"),
        ("inner/../other", {}, 403, "not granted"),
        ("inner%0a", {}, 403, "not granted"),
        ("inner", {"x": "x" * 300_000}, 413, "bytes"),
        ("inner", {"x": "four"}, 400, "x"),
        ("inner", [1], 400, "object"),
    ],
)
async def test_a_refused_nested_call_is_explained_and_starts_no_container(
    room: Room, name: str, arguments: Any, status: int, said: str
) -> None:
    room.put("other", "def run():\n    return 1\n")
    inner = room.put("inner", "def run(x):\n    return 2 * x\n", schema=TAKES_X)
    report = await room.run(room.put("outer", CALLS, pin(inner)), name=name, arguments=arguments)
    assert report.result[0] == status and said in report.result[1], report
    assert [one.name for one in room.said(e.ToolCalled)] == ["outer"]
    assert [one.outcome for one in room.said(e.BrokerAnswered)] == ["refused"]


async def test_a_get_request_calls_no_tool(room: Room) -> None:
    inner = room.put("inner", "def run():\n    return 1\n")
    gets = CALLS.replace(", data=json.dumps(arguments).encode()", "")
    report = await room.run(room.put("outer", gets, pin(inner)), name="inner", arguments={})
    assert report.result == [405, "alita: a tool is called with POST\n"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("code", "said", "failures"),
    [
        ("def run():\n    return 'x' * 70_000\n", "failed (limit)", 1),
        # A refusal of what it was given says nothing about the tool, so it counts neither way.
        ("def run():\n    raise ValueError('no \\u202e such column')\n", "no such column", 0),
        ("def run():\n    raise KeyError('no such column')\n", "no such column", 1),
        ("import time\ndef run():\n    time.sleep(60)\n", "failed (timeout)", 1),
        ("import os\ndef run():\n    os._exit(3)\n", "failed (exit)", 1),
        ("def run():\n    return {1, 2}\n", "no JSON value", 1),
    ],
)
async def test_a_called_tool_that_fails_gets_its_own_answer(
    room: Room, code: str, said: str, failures: int
) -> None:
    inner = room.put("inner", code)
    report = await room.run(room.put("outer", CALLS, pin(inner)), name="inner", arguments={})
    assert report.status == "ok" and report.result[0] == 502, report
    assert said in report.result[1].replace("\u202e ", "").replace("\\u202e ", "")
    assert [(one.depth, one.call_id) for one in room.said(e.ToolFailed)] == [(1, "inner-0")]
    assert {card.name: card.failures for card in room.library.cards()} == {"inner": failures, "outer": 0}


async def test_the_clock_of_the_caller_pauses_during_a_nested_call(room: Room) -> None:
    inner = room.put("inner", "import time\ndef run():\n    time.sleep(2)\n    return 1\n")
    many = (
        CALLS + "\n\nonce = run\n\n\ndef run(times):\n    return [once('inner', {}) for _ in range(times)]\n"
    )
    outer = room.put("outer", many, pin(inner))
    report = await room.run(outer, times=3)
    assert (report.status, report.result) == ("ok", [1, 1, 1]), report
    assert report.duration_ms > 1000 * LIMITS.wall_seconds


async def test_calls_made_at_the_same_time_run_one_after_the_other(room: Room) -> None:
    inner = room.put("inner", "def run(n):\n    return n\n")
    many = CALLS + (
        "\n\nfrom concurrent.futures import ThreadPoolExecutor\n\nonce = run\n\n\ndef run():\n"
        "    with ThreadPoolExecutor(4) as pool:\n"
        "        return list(pool.map(lambda n: once('inner', {'n': n}), range(4)))\n"
    )
    report = await room.run(room.put("outer", many, pin(inner)))
    assert report.result == [0, 1, 2, 3], report
    opened = 0
    for one in room.bus.history:
        match one.event:
            case e.ToolCalled(depth=1):
                opened += 1
            case e.ToolReturned(depth=1):
                opened -= 1
            case _:
                continue
        assert opened in (0, 1)


HANGS = "import time\ndef run():\n    time.sleep(60)\n"
LEAVES = """

import threading

once = run


def run(how):
    \"\"\"End in some way while a call is under way.\"\"\"
    threading.Thread(target=once, args=("inner", {}), daemon=True).start()
    import time
    time.sleep(1.5)
    if how == "exit":
        os._exit(3)
    if how == "memory":
        return len("x" * (1 << 30))
    return "done"
"""


@pytest.mark.parametrize("how", ["exit", "memory", "return"])
async def test_a_caller_that_ends_takes_what_it_called_with_it(room: Room, how: str) -> None:
    inner = room.put("inner", HANGS)
    outer = room.put("outer", CALLS + LEAVES, pin(inner))
    report = await room.run(outer, how=how)
    assert report.status in ("ok", "exit", "limit", "error", "killed")
    ends = [one.event for one in room.bus.history if isinstance(one.event, e.ToolReturned | e.ToolFailed)]
    assert [one.depth for one in ends] == [1, 0] and isinstance(ends[0], e.ToolFailed)
    assert ends[0].reason == "interrupted"
    assert await room.containers() == [] and not room.runs.open


async def test_an_interrupt_ends_both(room: Room) -> None:
    inner = room.put("inner", HANGS)
    outer = room.put("outer", CALLS, pin(inner))
    running = asyncio.create_task(room.run(outer, name="inner", arguments={}))
    while len(room.said(e.ToolCalled)) < 2:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)
    assert len(await room.running()) == 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [(one.depth, one.reason) for one in room.said(e.ToolFailed)] == [
        (1, "interrupted"),
        (0, "interrupted"),
    ]
    assert await room.containers() == []


async def test_session_containers_can_call_tools(room: Room) -> None:
    inner = room.put("inner", "def run(x):\n    return 2 * x\n", schema=TAKES_X)
    outer = room.put("outer", CALLS, pin(inner))
    for number in range(8):
        assert (await room.run(outer, name="inner", arguments={"x": number})).result == 2 * number


async def test_a_call_that_no_engine_takes_ends_the_run_without_repeating_it(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = room.put("inner", "def run():\n    return 1\n")
    outer = room.put("outer", CALLS, pin(inner))
    asked: list[str] = []

    async def gone(caller: str, name: str, arguments: Any) -> Any:
        asked.append(caller)
        raise SandboxUnavailable("No engine can take it.")

    monkeypatch.setattr(room.inner, "call", gone)
    with pytest.raises(EngineLost, match="No engine can take it"):
        await room.run(outer, name="inner", arguments={})
    assert len(asked) == 1 and [one.reason for one in room.said(e.ToolFailed)] == ["sandbox"]
    assert await room.containers() == []
