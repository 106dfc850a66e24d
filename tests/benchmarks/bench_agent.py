"""What the agent sends: tokens of the first call, as the estimate before the call counts them."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from alita_tui import events as e
from alita_tui.agent.tokens import tokens_in
from alita_tui.events import RunReport
from alita_tui.llm.assembly import texts_of
from alita_tui.spine.commands import SubmitTask
from tests.agent import file_lab
from tests.agent.lab import Lab, say
from tests.agent.replies import approve, rules

Row = Callable[..., dict[str, float | str | None]]


async def first_call_tokens(folder: Path) -> int:
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


def agent(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Tokens that a task costs before anything happened."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = asyncio.run(first_call_tokens(Path(folder)))
    results["agent.prompt_tokens_first_call"] = row(tokens, "tokens")
    with tempfile.TemporaryDirectory() as folder:
        characters = asyncio.run(data_in_requests(Path(folder)))
    results["agent.data_through_model_kb"] = row(characters / 1000, "kB")
