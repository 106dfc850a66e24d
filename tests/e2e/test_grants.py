"""Starters in a session: what they are granted they get, every request is in the record, and no key or secret is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alita_tui.llm.scripted import Rule, Script, ScriptReply, ScriptRequest
from tests.sandbox.loopback import serving
from tests.support.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.podman
TASK = "Tell me what the report says, and the status of the service."


def run_tool(name: str, **arguments: object) -> ScriptReply:
    request = ScriptRequest(name="run_tool", arguments={"name": name, "arguments": arguments})
    return ScriptReply(requests=(request,))


def script(url: str) -> Script:
    """The model's side: three tools, then the answer; and its reply to the summariser's own question."""
    answer = ScriptReply(requests=(ScriptRequest(name="answer", arguments={"text": "All is well."}),))
    steps = (
        run_tool("file_read", path="report.txt"),
        run_tool("text_summarizer", text="The harvest was good in 2025."),
        run_tool("api_query", url=url, secret="SERVICE_TOKEN"),
        answer,
    )
    return Script(
        format="alita-script/1",
        name="grants",
        recorded=False,
        rules=(
            Rule(role="orchestrator", match="<text>", replies=(ScriptReply(text="A good harvest."),)),
            Rule(role="orchestrator", match="status of the service", replies=steps),
        ),
    )


@pytest.mark.walk
def test_granted_tools_in_a_session(shell) -> None:
    with serving() as site, OpenAIServer(script(f"http://127.0.0.1:{site.port}/status")) as server:
        host = f"GET 127.0.0.1:{site.port}"
        shell.environ |= {
            "ALITA_MODEL": "openai:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-not-a-real-key",
            "SERVICE_TOKEN": "the-token-of-the-service",
            "ALITA_SANDBOX_ALLOWED_PRIVATE": f"127.0.0.1:{site.port}",
        }
        for name, chosen in (
            ("file_read", ()),
            ("text_summarizer", ()),
            ("api_query", ("--host", host, "--secret", "SERVICE_TOKEN")),
        ):
            shown = json.loads(shell("tools", "starters", "show", name, *chosen, "--json").stdout)
            accept = [word for risk in shown["accept"] for word in ("--accept", risk)]
            done = shell("tools", "starters", "approve", name, "--digest", shown["digest"], *chosen, *accept)
            assert done.returncode == 0, done.stderr
        workspace = Path(shell.home) / "data" / "workspace"
        workspace.mkdir(parents=True, exist_ok=True)
        (workspace / "report.txt").write_text("The harvest was good in 2025.")
        done = shell("run", TASK)
        assert done.returncode == 0, done.stderr
        assert site.seen[-1]["headers"]["authorization"] == "Bearer the-token-of-the-service"
    events = shell.events()
    brokered = [event for event in events if event["kind"] == "broker_answered"]
    assert [(one["request"], one["outcome"]) for one in brokered] == [
        ("GET /files/report.txt", "served"),
        ("POST /model", "served"),
        (f"GET http://127.0.0.1:{site.port}/status", "served"),
    ]
    assert brokered[2]["secrets"] == ["SERVICE_TOKEN"]
    results = [event["report"]["result"] for event in events if event["kind"] == "tool_returned"]
    assert (
        results[0]["text"] == "The harvest was good in 2025." and results[1]["summary"] == "A good harvest."
    )
    assert results[2]["status"] == 200
    paid = [event for event in events if event["kind"] == "budget_spent"]
    assert len(paid) == len(server.requests) == 5
    assert "summariser" in {event["role"] for event in paid}
    record = json.dumps(events)
    assert "the-token-of-the-service" not in record and "sk-not-a-real-key" not in record
    assert shell("sessions", "verify").returncode == 0
