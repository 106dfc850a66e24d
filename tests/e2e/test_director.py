"""A director with two researchers and an analyst, of which one fails: the whole command, over the wire."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from alita_tui.events import Usage
from alita_tui.llm.scripted import Rule, Script, ScriptReply
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import both, call
from tests.support.servers.wire import Fault, ModelServer

pytestmark = [pytest.mark.podman, pytest.mark.walk]

IN_USD, OUT_USD = 3.0, 15.0
"""For a million tokens, as the settings say."""
ANSWER = "The north is colder than the south. What the prices are is not known: the analyst gave no report."


def paid(reply: ScriptReply, tokens_in: int, tokens_out: int) -> ScriptReply:
    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    return ScriptReply(text=reply.text, requests=reply.requests, usage=usage)


def part(goal: str, *replies: ScriptReply) -> Rule:
    return Rule(role="orchestrator", match=f"GOAL: {goal}", replies=replies)


def hand(role: str, goal: str) -> ScriptReply:
    return call("delegate", role=role, goal=goal)


HANDED = both(
    hand("researcher", "find the weather of the north"),
    hand("researcher", "find the weather of the south"),
    hand("data-analyst", "compare the prices"),
)
USED = {
    "lead": [(1_000, 100), (2_000, 200), (3_000, 300)],
    "north": [(400, 40), (500, 50)],
    "south": [(600, 60), (700, 70)],
    "prices": [(800, 80)] * 8,
}
"""Tokens in and out of each call."""


def replies(who: str, *said: ScriptReply) -> tuple[ScriptReply, ...]:
    return tuple(paid(reply, *used) for reply, used in zip(said, USED[who], strict=False))


SCRIPT = Script(
    format="alita-script/1",
    name="team",
    rules=(
        Rule(role="orchestrator", match="TASK: ", replies=replies(
            "lead",
            call("plan", steps=["|| the north", "|| the south", "|| the prices", "compare"]), HANDED,
            call("answer", text=ANSWER),
        )),
        part("find the weather of the north", *replies(
            "north", call("find_tool", query="weather of the north"), call("report", result="The north: 4 degrees."))),
        part("find the weather of the south", *replies(
            "south", call("find_tool", query="weather of the south"), call("report", result="The south: 19 degrees."))),
        part("compare the prices", *replies("prices", *(call("no_such_action") for _ in range(8)))),
    ),
)  # fmt: skip


def usd(calls: list[tuple[int, int]]) -> float:
    return sum(tokens_in * IN_USD + tokens_out * OUT_USD for tokens_in, tokens_out in calls) / 1e6


def asked_for(server: ModelServer, goal: str) -> int:
    """How many calls the agents with a goal made."""
    return sum(f"GOAL: {goal}" in json.dumps(one.body["messages"]) for one in server.requests)


def test_two_researchers_and_an_analyst_that_fails(shell: Any, keep: Callable[[Path, str], None]) -> None:
    server_type, key_name = SERVERS["openai"]
    with server_type(SCRIPT) as server, ThreadPoolExecutor() as pool:
        shell.environ[key_name] = "sk-not-a-real-key"
        model = f"openai:test-model; base_url={server.base_url}; input_usd={IN_USD}; output_usd={OUT_USD}"
        shell.home.mkdir(parents=True)
        (shell.home / "config.toml").write_text(f'[roles]\norchestrator = ["{model}"]\n')
        server.plan(
            Fault(), Fault(), *(Fault(then="hold"),) * 3
        )  # the lead plans and hands on, then three begin
        running = pool.submit(shell, "run", "Compare the north with the south, and the prices.", "--json")
        while len(server.requests) < 5 and not running.done():
            time.sleep(0.01)
        server.release()
        done = running.result()
        assert done.returncode == 0, done.stderr
        assert {
            asked_for(server, goal)
            for goal in ("find the weather of the north", "find the weather of the south")
        } == {2}
        USED["prices"] = USED["prices"][: asked_for(server, "compare the prices")]
        last = json.dumps(server.requests[-1].body["messages"])
        firsts = [json.dumps(one.body["messages"]) for one in server.requests[2:5]]
    assert sorted(goal for goal in ("north", "south", "prices") for first in firsts if f"the {goal}" in first) == [
        "north", "prices", "south",
    ], "all three were asked before any of them had a reply"  # fmt: skip
    events = [one["event"] for one in map(json.loads, done.stdout.splitlines()) if one.get("seq")]
    started = [one for one in events if one["kind"] == "agent_started"]
    ended = [one for one in events if one["kind"] == "agent_ended"]
    assert [one["role"] for one in started] == ["researcher", "researcher", "data-analyst", "data-analyst"]
    by_goal: dict[str, list[dict[str, Any]]] = {one["goal"]: [] for one in started}
    for one in started:
        by_goal[one["goal"]] += [end for end in ended if end["agent_id"] == one["agent_id"]]
    north, south, prices = by_goal.values()
    assert [[end["outcome"] for end in ends] for ends in (north, south, prices)] == [
        ["reported"], ["reported"], ["failed", "failed"],
    ]  # fmt: skip
    assert "4 degrees" in last and "19 degrees" in last and "gave no report" in last, (
        "the lead hears of all three"
    )
    (finished,) = [one for one in events if one["kind"] == "task_finished"]
    assert finished["outcome"] == "answered" and finished["answer"] == ANSWER

    for who, ends in (("north", north), ("south", south), ("prices", prices)):
        assert sum(end["usd"] for end in ends) == pytest.approx(usd(USED[who]), abs=1e-9), who
    spent = [one for one in events if one["kind"] == "budget_spent"]
    whole = sum(usd(calls) for calls in USED.values())
    assert sum(one["cost_usd"] for one in spent) == pytest.approx(whole, abs=1e-9)
    assert spent[-1]["total_usd"] == pytest.approx(whole, abs=1e-9)
    assert shell("sessions", "verify").returncode == 0
    keep(shell.home, "golden-team")
