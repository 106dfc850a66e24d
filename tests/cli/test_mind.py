"""The loop through both vendors' protocols: simple questions, slips in words, several actions in one reply."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script, ScriptReply, ScriptRequest
from tests.cli.scripted_runs import act
from tests.e2e.over_wire import SERVERS


def search(query: str) -> ScriptRequest:
    return ScriptRequest(name="find_tool", arguments={"query": query})


def plan(*steps: str) -> ScriptRequest:
    return ScriptRequest(name="plan", arguments={"steps": [*steps]})


SCRIPT = Script(
    format="alita-script/1",
    name="mind",
    rules=(
        Rule(role="orchestrator", match="TASK: The capital", replies=(act("answer", text="Paris"),)),
        Rule(
            role="orchestrator",
            match="TASK: two goals",
            replies=(
                ScriptReply(text="I'll look in the library first."),
                ScriptReply(requests=(plan("look", "say"), search("dates"), search("sums"))),
                ScriptReply(requests=(plan("[x] look", "[>] say"), search("percentiles of a column"))),
                act("answer", text="there is neither"),
            ),
        ),
    ),
)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_scripted_mind_works_over_the_wire(tmp_path: Path, provider: str) -> None:
    server_type, key_name = SERVERS[provider]
    with server_type(SCRIPT) as server:
        environ = os.environ | {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            key_name: "sk-not-a-real-key",
        }

        def run(task: str) -> tuple[int, list[dict[str, Any]]]:
            command = [
                sys.executable,
                "-m",
                "alita_tui",
                "--home",
                str(tmp_path / "home"),
                "run",
                task,
                "--json",
            ]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL, env=environ
            )
            assert "Traceback" not in done.stderr
            return done.returncode, [json.loads(line)["event"] for line in done.stdout.splitlines()]

        code, simple = run("The capital of France?")
        kinds = [event["kind"] for event in simple]
        assert code == 0 and kinds.count("model_replied") == 1 == len(server.requests)
        assert not {"plan_proposed", "tool_searched", "web_searched", "build_started"} & {*kinds}

        code, events = run("two goals")
        assert code == 0 and len(server.requests) == 5
        assert [event["nudge"] for event in events if event["kind"] == "agent_nudged"] == ["act"]
        assert [event["query"] for event in events if event["kind"] == "tool_searched"] == [
            "dates",
            "sums",
            "percentiles of a column",
        ]
        plans = [event for event in events if event["kind"] == "plan_proposed"]
        assert plans[-1]["status"] == ["done", "doing"] and plans[-1]["ids"] == [1, 2]
        assert "model_failed" not in {event["kind"] for event in events}, "no move to the text protocol"
        finished = next(event for event in events if event["kind"] == "task_finished")
        assert finished["answer"] == "there is neither"
