"""Memory end to end: a fact said, recalled, corrected and forgotten; a recipe followed, then made one tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.pipelines import order
from alita_tui.llm.scripted import Rule, Script, ScriptReply
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import call, run
from tests.e2e.walks import accepting

pytestmark = pytest.mark.podman

_CALLS = b"csv_table\ncalculator\ncsv_table(path, totals)\ncalculator(expression, variables)"
RECIPE = "recipe:" + sha256(_CALLS).hexdigest()[:16]
GROSS = "What is the gross of the amounts in {month}.csv?"


def chain(month: str, rate: float, answer: str, recipe: str = "") -> Rule:
    plan = call("plan", steps=["total the amounts", "add the tax"], recipe=recipe)
    replies: tuple[ScriptReply, ...] = (
        *((plan,) if recipe else ()),
        run("csv_table", path=f"{month}.csv", totals={"amount": "sum"}),
        run(
            "calculator",
            expression=f"amount * {rate}",
            variables={"amount": {"$ref": "csv_table#/rows/0/sum of amount"}},
        ),
        call("answer", text=answer),
    )
    return Rule(role="orchestrator", match=rf"TASK: .*in {month}\.csv", replies=replies)


SCRIPT = Script(
    format="alita-script/1",
    name="memory",
    rules=(
        chain("may", 1.19, "The gross is 238."),
        chain("june", 1.19, "The gross is 476, with your 19 percent.", RECIPE),
        chain("july", 1.07, "The gross is 642, with 7 percent.", RECIPE),
        Rule(role="orchestrator", match="TASK: What is our tax rate", replies=(call("answer", text="It is 7 percent."),)),
        Rule(role="orchestrator", match="TASK: Which tax rate", replies=(call("answer", text="I do not know it."),)),
    ),
)  # fmt: skip


@pytest.mark.walk
def test_a_fact_and_a_recipe_from_the_first_task_to_the_last(
    shell: Any, keep: Callable[[Path, str], None]
) -> None:
    for name in ("csv_table", "calculator"):
        shown = json.loads(shell("tools", "starters", "show", name, "--json").stdout)
        done = shell("tools", "starters", "approve", name, "--digest", shown["digest"], *accepting(shown))
        assert done.returncode == 0, done.stderr
    workspace = Path(shell.home) / "data" / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    for month, amount in (("may", 100), ("june", 200), ("july", 300), ("august", 400)):
        (workspace / f"{month}.csv").write_text(f"amount\n{amount}\n{amount}\n")
    server_type, key_name = SERVERS["openai"]
    with server_type(SCRIPT) as server:
        shell.environ |= {
            "ALITA_MODEL": "openai:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            "ALITA_MEMORY_PROJECT": "shop",
            key_name: "sk-not-a-real-key",
        }
        session: list[str] = []

        def do(task: str) -> list[dict[str, Any]]:
            done = shell("run", task, "--json", *(("--session", session[0]) if session else ()))
            assert done.returncode == 0, done.stderr
            envelopes = [json.loads(line) for line in done.stdout.splitlines()]
            session[:] = [envelopes[0]["session_id"]]
            return [one["event"] for one in envelopes if one.get("seq")]

        def of(kind: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [one for one in events if one["kind"] == kind]

        first = do(f"Remember that our tax rate is 19 percent. {GROSS.format(month='may')}")
        assert of("memory_recalled", first)[-1].get("items", []) == []
        kinds = {one["item"]["memory"] for one in of("memory_written", first)}
        assert kinds == {"episodic", "procedural", "semantic"}
        second = do(f"Our tax rate as always. {GROSS.format(month='june')}")
        recalled = of("memory_recalled", second)[-1]["items"]
        assert any("our tax rate is 19 percent" in one["text"] for one in recalled)
        (recipe,) = [one for one in recalled if one["memory"] == "procedural"]
        assert (
            recipe["item_id"] == RECIPE
            and "variables={amount: s1/rows/0/sum of amount}" in recipe["text"]
            and recipe["why"]
        )
        assert of("plan_proposed", second)[0]["recipe"] == RECIPE
        third = do(f"Actually, our tax rate is 7 percent. {GROSS.format(month='july')}")
        (correction,) = [
            one for one in of("memory_written", third) if one["item"].get("origin") == "correction"
        ]
        assert len(correction["closes"]) == 1
        assert any("worked three times" in one["text"] for one in of("notice_raised", third))
        asked = do("What is our tax rate?")
        (known,) = [one for one in of("memory_recalled", asked)[-1]["items"] if one["memory"] == "semantic"]
        assert known["text"] == "our tax rate is 7 percent"

        listed = json.loads(shell("memory", "list", "--json").stdout)
        assert {one["project"] for one in listed if one["kind"] != "procedural"} == {"shop"}
        shown = shell("memory", "show", RECIPE).stdout
        assert "csv_table(path=PATH" in shown and "3 of 3 times" in shown
        assert shell("memory", "forget", known["item_id"]).returncode == 2, "nobody confirmed it"
        done = shell("memory", "forget", known["item_id"], "--yes")
        assert done.returncode == 0, done.stderr
        gone = do("Which tax rate do we have?")
        items = of("memory_recalled", gone)[-1].get("items", [])
        assert not any("7 percent" in one["text"] and one["memory"] == "semantic" for one in items)
        sent = [json.dumps(one.body) for one in server.requests]
        told = "The person said: our tax rate is 7 percent"
        assert told in sent[-2] and told not in sent[-1], "the resumed session does not tell it again"
    assert shell("sessions", "verify").returncode == 0
    recorded = shell.events()
    assert [one["item_id"] for one in recorded if one["kind"] == "memory_forgotten"] == [known["item_id"]]
    keep(shell.home, "golden-memory")

    look = json.loads(shell("memory", "tool", RECIPE, "--json").stdout)
    assert look["name"] == "csv_table_then_calculator" and len(look["capabilities"]["tools"]) == 2
    app = AppContext.open(shell.home)
    ordered = order(app, RECIPE)
    app.close()
    assert ordered.order.draft is not None and ordered.order.draft.digest == look["digest"], (
        "the console builds the same"
    )
    refused = shell("memory", "tool", RECIPE, "--digest", look["digest"])
    assert refused.returncode == 2, "its risks are accepted by name"
    done = shell("memory", "tool", RECIPE, "--digest", look["digest"], *accepting(look))
    assert done.returncode == 0, done.stdout + done.stderr
    arguments = {"path": "august.csv", "expression": "amount * 1.07"}
    done = shell("tools", "run", look["name"], "--input", json.dumps(arguments))
    assert done.returncode == 0 and json.loads(done.stdout)["value"] == 856, done.stdout + done.stderr
