"""What the agent sends: tokens of the first call, as the estimate before the call counts them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from unittest.mock import patch

import msgspec

from alita_tui import events as e
from alita_tui.agent.tokens import tokens_in
from alita_tui.events import RunReport
from alita_tui.llm.assembly import texts_of
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.ports.models import Delta, ModelRequest, Reply
from tests.agent import file_lab
from tests.agent.lab import Lab, Priced, say
from tests.agent.replies import approve, rules

Row = Callable[..., dict[str, float | str | None]]


async def first_call_tokens(folder: Path, *, browser: bool = False) -> int:
    """Tokens of the first call of a task while the library has 50 tools, two hosts and a secret are named."""
    from alita_tui.agent.prompt import Surroundings

    lab = Lab(folder, rules=rules(say("answer", text="Paris")))
    lab.around = Surroundings(
        today="Saturday, 2026-11-21",
        place="UTC+1, de_DE",
        tools_run_on="Linux, Python 3.12",
        tools=50,
        hosts=("GET api.example.org:443", "10.0.0.5:8080"),
        secrets=("STOCK_TOKEN",),
        browser=browser,
        files=tuple(f"report-{month}.csv" for month in range(12)),
    )
    lab._build()
    await lab.do(SubmitTask(text="What is the capital of France?"))
    (request,) = lab.requests
    return sum(map(tokens_in, texts_of(request)))


async def data_in_requests(folder: Path) -> int:
    """Characters of a table's rows, beyond the preview, in all that the model is sent while two tools work on it.

    The first one's result is the table again, too large to be shown; the second takes it by reference.
    """
    table = folder / "measured.csv"
    lines = [f"key{n:07},{n * 7919 % 100_003},{'x' * 30}" for n in range(200_000)]
    table.write_text("\n".join(("key,value,note", *lines)))
    lab = file_lab.lab(
        folder, file_lab.run(table="measured.csv"), file_lab.run(values={"$ref": "double_it#/rows"})
    )
    rows = [line.split(",") for line in lines[:50_000]]
    lab.sandbox.runs = [RunReport(status="ok", exit_code=0, result={"rows": rows})]
    await lab.do(SubmitTask(text="Which value is the highest?", attach=(str(table),)), when=approve)
    assert lab.sandbox.jobs[-1].arguments["values"] == rows
    (given, result) = (event.artefact for event in lab.events(e.ArtefactAdded))
    seen = {*re.findall("key\\d{7}", given.preview)}
    seen |= {*re.findall("key\\d{7}", str(lab.events(e.ToolReturned)[0].report.result))}
    sent = [
        key for request in lab.asked for text in texts_of(request) for key in re.findall("key\\d{7}", text)
    ]
    assert result.size > 1_000_000 and seen & {*sent}
    return sum(len(lines[int(key[3:])]) for key in sent if key not in seen)


async def team_seconds(folder: Path, at_once: int) -> float:
    """Seconds of a task with two researchers and an analyst whose model takes 0.2 s for each reply."""
    goals = ("north", "south", "prices")
    parts = [
        Rule(role="specialist", match=f"GOAL: {goal}", replies=(
            *(say("find_tool", query=f"{goal} {n}") for n in range(4)), say("report", result=goal),
        ))
        for goal in goals
    ]  # fmt: skip
    orders = [
        say("delegate", role="data-analyst" if goal == "prices" else "researcher", goal=goal)
        for goal in goals
    ]
    handed = msgspec.structs.replace(
        orders[0], requests=tuple(one for order in orders for one in order.requests)
    )
    lead = Rule(role="orchestrator", match="TASK: ", replies=(handed, say("answer", text="compared")))
    lab = Lab(folder, rules=[lead, *parts], agents=at_once)
    through = Priced.reply

    async def reply(model: Priced, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        await asyncio.sleep(0.2)
        async for piece in through(model, request):
            yield piece

    began = time.monotonic()
    with patch.object(Priced, "reply", reply):
        await lab.do(SubmitTask(text="/team compare"))
    assert [one.outcome for one in lab.events(e.AgentEnded)] == ["reported"] * 3
    return time.monotonic() - began


def agent(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Tokens that a task costs before anything happened."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = asyncio.run(first_call_tokens(Path(folder)))
    results["agent.prompt_tokens_first_call"] = row(tokens, "tokens")
    with tempfile.TemporaryDirectory() as folder:
        characters = asyncio.run(data_in_requests(Path(folder)))
    results["agent.data_through_model_kb"] = row(characters / 1000, "kB")
    with tempfile.TemporaryDirectory() as folder:
        one_by_one = asyncio.run(team_seconds(Path(folder), 1))
    with tempfile.TemporaryDirectory() as folder:
        at_once = asyncio.run(team_seconds(Path(folder), 3))
    results["agent.team_seconds"] = row(at_once, "s", one_by_one)
    command = [sys.executable, "-m", "tests.benchmarks.soak", "400"]  # two hours of tasks of 18 s
    soaked = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    results["agent.soak_kb_per_task"] = row(soaked["late_kb"], "kB", soaked["early_kb"])
    results["agent.soak_ms_per_task"] = row(soaked["late_ms"], "ms", soaked["early_ms"])
