"""What the agent sends: tokens of the first call, as the estimate before the call counts them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from alita_tui.agent.tokens import tokens_in
from alita_tui.llm.assembly import texts_of
from alita_tui.spine.commands import SubmitTask
from tests.agent.lab import Lab, say
from tests.agent.replies import rules

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


def agent(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Tokens that a task costs before anything happened."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = asyncio.run(first_call_tokens(Path(folder)))
    results["agent.prompt_tokens_first_call"] = row(tokens, "tokens")
