"""The console with a recorded stream, at the sizes and themes that are tested."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.app.files import ViewedFile
from alita_tui.config.catalogue import coerce, field, fields, meaning, written
from alita_tui.config.load import Loaded
from alita_tui.config.paths import shipped
from alita_tui.config.settings import Settings
from alita_tui.console.app import AlitaApp
from alita_tui.console.evaluations.ports import CaseLine, RunLine, RunSheet
from alita_tui.console.memory.ports import MemoryChange, MemoryView
from alita_tui.console.ports import ConsoleOptions, SettingLine
from alita_tui.console.replay.player import Player
from alita_tui.console.servers.ports import ServerChange, ServerLine, WholeTool
from alita_tui.console.setup.screen import SetupScreen
from alita_tui.events import (
    Artefact,
    Lineage,
    MemoryItem,
    MemoryKind,
    Move,
    RecipeStep,
    Reliability,
    ToolName,
    ToolRecord,
)
from alita_tui.replay.playback import LiveTape
from alita_tui.spine.commands import Command, Improve
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.builds import BuildOrder
from alita_tui.spine.ports.context import NextCall, Part
from alita_tui.spine.ports.memory import Remembered
from alita_tui.spine.ports.models import DaySpend
from alita_tui.spine.ports.statistics import By, Report
from alita_tui.view.habits import Habits
from tests.console import evaluations_lab, keeping_lab, statistics_lab
from tests.console.keeping_lab import Keeper
from tests.console.servers_lab import APPROVED_TOOLS, CHANGED_SERVERS, SERVERS, TRIED_TOOLS, whole_tool
from tests.support import streams

TAKEN: list[tuple[str, str, str]] = []
FILES: dict[str, Path] = {}
"""Where the bytes of files are, by name."""
MOVED: list[tuple[str, str, int | None]] = []


CHANGED: list[tuple[str, str]] = []
EXPORTED: list[str] = []


def _block(name: str, turns: int, tokens: int, text: str) -> Part:
    return Part(
        name=name, block=name, turns=turns, tokens=tokens, text=text, on=bool(text or name == "documents")
    )


NEXT_CALL = NextCall(
    parts=(
        Part(name="prompt", turns=1, tokens=1_120, text="You are the orchestrator of alita.\n" * 30),
        Part(name="actions", turns=11, tokens=1_730, text='{\n "name": "plan"\n}'),
        _block("environment", 1, 45, "Today is Saturday, 2026-11-21 (UTC+1, de_DE)."),
        _block("library", 1, 11, "The library has 50 tools."),
        _block("named", 1, 24, "Secrets kept for tools: STOCK_TOKEN."),
        _block("workspace", 1, 31, 'In the workspace:\n<untrusted source="workspace">\n"sales.csv"\n</untrusted>'),
        _block("memory", 0, 0, ""),
        _block("earlier", 1, 210, "Earlier in this session: [b]two tasks[/b] \x1b[31mred"),
        _block("preferences", 1, 18, "What the person prefers, for every task:\nMetric units."),
        _block("documents", 0, 0, ""),
        _block("repository", 1, 1_480, "The repository that the person works in:\n日本語の住所\n" + "src/\n" * 40),
        Part(name="task, person and news", turns=2, tokens=62, text="TASK: Validate addresses"),
        Part(name="the model's own replies", turns=9, tokens=2_400, text="I look first."),
        Part(name="observations", turns=9, tokens=11_300, text="No tool fits."),
    ),
    tokens=18_431, window=32_000, known_window=False, masked=6, shortened=1,
)  # fmt: skip
"""What the catalog says of the next call."""


def _kept(item_id: str, text: str, day: int, kind: MemoryKind = "semantic", **more: Any) -> Remembered:
    known = {
        name: more.pop(name)
        for name in ("origin", "subject", "tools", "cost_usd", "artefacts")
        if name in more
    }
    item = MemoryItem(
        item_id=item_id, memory=kind, text=text, source_session=more.pop("session", "golden"), **known
    )
    at = f"2026-11-{day:02}T09:31:00+00:00"
    return Remembered(
        item=item, at=at, sources=(f"{item.source_session}:{day}",), worked=more.pop("worked", 1), **more
    )


_STEPS = (
    RecipeStep(tool=ToolName("csv_read"), arguments={"path": {"$param": "path"}}),
    RecipeStep(tool=ToolName("bar_chart"), arguments={"rows": {"$ref": "s1#/rows"}, "height": 480}),
)
MEMORY = MemoryView(
    items=(
        _kept("fact:1a2b3c4d5e6f7a8b", "our fiscal year starts in April", 1, origin="statement", project="shop",
              subject="our fiscal year", until="2026-11-12T08:00:00+00:00"),
        _kept("fact:2b3c4d5e6f7a8b9c", "our fiscal year: it starts in July", 12, origin="correction",
              subject="our fiscal year", project="shop"),
        _kept("fact:9c8b7a6f5e4d3c2b", "Which currency should the report use? → euros, without cents", 13,
              origin="answer", subject="Which currency should the report use?", project="shop", pinned=True),
        _kept("recipe:0f1e2d3c4b5a6978", "Chart july.csv by region: csv_read(path=PATH) → bar_chart(rows=s1/rows, "
              "height=480) (worked 3 of 4 times)", 15, "procedural", tools=("csv_read", "bar_chart"), worked=3,
              failed=1, steps=_STEPS, shape_worked=3),
        _kept("episode:golden:t1", "Chart may.csv by region → The chart is in chart.svg. 日本語の住所 [b]bold[/b] "
              "\x1b[31mred\u202e (tools: csv_read, bar_chart; files: chart.svg; cost: $0.0123)", 16, "episodic",
              cost_usd=0.0123, artefacts=("chart.svg",), project="shop"),
        _kept("failure:77", "Read the old ledger → it led nowhere (tools: pdf_read; failed: pdf_read: ValueError)", 17,
              "procedural", origin="failure", project="shop"),
        _kept("rejection:bar_chart:golden:1", "A build of bar_chart (Draw bars) was rejected: reads the home folder",
              18, origin="rejection"),
        _kept("fact:bank", "the vault is in Zug", 19, origin="statement", subject="the vault", project="bank-1a2b3c4d"),
    ),
    project="shop",
    forgotten=2,
    calls={"recipe:0f1e2d3c4b5a6978": ("csv_read(path=PATH)", "bar_chart(rows=s1/rows, height=480)")},
)  # fmt: skip
"""What the catalog says of the memory."""
REMEMBERED: list[tuple[str, str, str]] = []
"""What was changed in it."""

ORIGINS = {"model.provider": "config.toml line 2", "budget.task_usd": "environment ALITA_BUDGET_TASK_USD"}


SIZES = [(80, 24), (120, 36), (200, 55)]


THEMES = ["alita-dark", "alita-light"]


class Source:
    """A stream that stays open once it has been told."""

    def __init__(self, envelopes: list[Envelope]) -> None:
        self._envelopes = envelopes

    async def __aiter__(self):
        for envelope in self._envelopes:
            yield envelope
        await asyncio.Event().wait()


class Sink:
    """Remembers what was asked for."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def send(self, command: Command) -> None:
        self.commands.append(command)


class Catalog(Keeper):
    """A few sessions and one tool."""

    async def tool(self, name: str, version: int | None = None) -> ToolRecord:
        return ToolRecord(
            draft=streams.DRAFT, version=1, digest=streams.DIGEST, state="provisional", lock=streams.LOCK,
            approval_id="p1", created_at="2026-11-20T09:31:00+00:00", runs=3,
        )  # fmt: skip

    async def save_theme(self, name: str) -> None:
        return

    async def days(self) -> dict[str, DaySpend]:
        return {f"2026-11-{n:02}": DaySpend(usd=0.4 * (n % 5) + 0.02, tokens=9000 * n) for n in range(12, 21)}

    async def lineage(self, name: str) -> Lineage:
        older = msgspec.structs.replace(
            await self.tool(name), state="archived", digest="ab" * 32, runs=41, failures=3
        )
        record = msgspec.structs.replace(await self.tool(name), version=2, parent_version=1, state="trusted")
        move = Move(
            name=name, version=1, kind="archive", before="provisional", after="archived", by="ada",
            at="2026-11-20T09:40:00+00:00", reason="v2 is faster", undone=bool(MOVED),
        )  # fmt: skip
        return Lineage(
            name=name, versions=(older, record), current=2, moves=(move,), spent_usd={1: 0.0312, 2: 0.0149},
            reliability={
                2: Reliability(
                    value=0.86, words="0.86: 9 good of 10 in 40 days, one 👎",
                    needs="found for 12 needs, shown 11, used 9, accepted 8",
                )
            },
            calls=("dns_lookup v3",), called_by=("clean_mailing_list v1, which calls v1",),
        )  # fmt: skip

    async def move(self, name: str, kind: str, version: int | None) -> Lineage:
        MOVED.append((name, kind, version))
        return await self.lineage(name)

    async def memory(self) -> MemoryView:
        return MEMORY

    async def change_memory(self, change: MemoryChange, item_id: str, text: str = "") -> MemoryView:
        REMEMBERED.append((change, item_id, text))
        left = tuple(one for one in MEMORY.items if change != "forget" or one.item.item_id != item_id)
        return msgspec.structs.replace(MEMORY, items=left)

    async def servers(self) -> tuple[ServerLine, ...]:
        return SERVERS

    async def change_server(self, change: ServerChange, name: str) -> str:
        CHANGED_SERVERS.append((change, name))
        return f"{change} of {name}"

    async def server_tool(self, server: str, tool: str) -> WholeTool:
        return whole_tool(server, tool)

    async def approve_server_tool(self, shown: WholeTool, unread: int) -> str:
        APPROVED_TOOLS.append((shown.name, shown.digest, unread))
        return f"Approved: {shown.name} v1"

    async def try_server_tool(self, shown: WholeTool, arguments: str) -> str:
        TRIED_TOOLS.append((shown.name, arguments))
        return "ok after 37 ms\n[b]x[/b] \x1b[31m\u202e"

    async def recipe_as_tool(self, item_id: str) -> Improve:
        return Improve(
            proposal=item_id, text="one tool", order=BuildOrder(action_id="", name="chart", goal="Charts.")
        )

    async def next_call(self, session_id: str) -> NextCall:
        return NEXT_CALL

    async def habits(self) -> Habits:
        return Habits(verdicts=20, median_seconds=2.1, read_share=0.35)

    async def statistics(self, days: int | None, progress: object) -> Report:
        return statistics_lab.month(days)

    async def export_statistics(self, report: Report, by: By) -> str:
        EXPORTED.append(f"{by} {report.since}")
        return f"/somewhere/statistics-{by}.csv"

    async def evaluations(self) -> tuple[RunLine, ...]:
        return evaluations_lab.RUNS

    async def evaluation(self, run: str) -> RunSheet:
        return evaluations_lab.sheet(run)

    async def case_player(self, case: CaseLine) -> Player:
        raise AssertionError("no test over this catalog replays a case")

    async def begin_evaluation(self, words: str) -> str:
        evaluations_lab.BEGUN.append(words)
        return "jobs-20261121-120000"

    async def prices(self) -> str:
        return "prices: genai-prices 1.0, newest change 2026-11-09"

    async def settings(self) -> tuple[SettingLine, ...]:
        loaded = Loaded(Settings())
        return tuple(
            SettingLine(key, written(loaded.value(key)), ORIGINS.get(key, "default"), meaning(key), written(field.default))
            for key, field in fields().items()
        )  # fmt: skip

    async def change_setting(self, key: str, value: str) -> tuple[SettingLine, ...]:
        CHANGED.append((key, value))
        read = written(coerce(field(key, "the settings"), value, "the settings", text=True))
        return tuple(
            msgspec.structs.replace(line, value=read, origin="config.toml line 9")
            if line.key == key
            else line
            for line in await self.settings()
        )

    async def wizard(self) -> SetupScreen:
        raise AssertionError("no test over this catalog opens the wizard")

    async def take_file(self, session_id: str, artefact: Artefact, what: str) -> str:
        TAKEN.append((session_id, artefact.name, what))
        return f"/home/ada/{artefact.name}"

    async def look_in(self, session_id: str, artefact: Artefact) -> ViewedFile:
        path = FILES.get(artefact.name, Path("/nowhere"))
        return ViewedFile(path, artefact, lambda: None).read_head()

    async def suggestions(self) -> tuple[str, ...]:
        return ()

    async def preload(self) -> None:
        return


def console(
    envelopes: list[Envelope], theme: str = "alita-dark", sink: Sink | None = None, **more
) -> AlitaApp:
    options = ConsoleOptions(
        builtin_themes=shipped("themes"),
        theme=theme,
        reduced_motion=True,
        clock=lambda: keeping_lab.NOW,
        **more,
    )
    return AlitaApp(Source(envelopes), sink or Sink(), catalog=Catalog(), options=options, tape=LiveTape())


async def drawn(pilot, seq: int | None) -> None:
    assert seq is not None, "it is on no record"
    async with asyncio.timeout(180):
        while pilot.app.main.view.seq < seq:
            await pilot.pause(0.01)
    await pilot.pause()


def at_main(app: AlitaApp) -> bool:
    """Return whether no screen lies over the session."""
    return app.screen is app.main


async def covered(pilot) -> None:
    """Wait until another screen lies over the session."""
    async with asyncio.timeout(180):
        while pilot.app.screen is pilot.app.main:
            await pilot.pause(0.01)
    await pilot.pause()


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
