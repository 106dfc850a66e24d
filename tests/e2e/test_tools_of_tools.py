"""A tool that calls another one, end to end: ordered, pinned, approved by name, run in a session and from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import call, run
from tests.e2e.walks import accepting, parked

pytestmark = pytest.mark.podman

CODE = '''"""Words of a file."""

import json
import os
import urllib.error
import urllib.request


def run(path: str) -> dict[str, int]:
    """Return how many words a file of the workspace has."""
    if not path.strip():
        raise ValueError("path is empty")
    arguments = json.dumps({"path": path}).encode()
    try:
        with urllib.request.urlopen(os.environ["ALITA_BROKER"] + "/tools/file_read", data=arguments) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        raise ValueError(f"{path} cannot be read: {error.read().decode()}") from error
    return {"words": len(found["text"].split())}
'''
TESTS = """import json

import hosts
from word_count import run

hosts.tool("file_read", {"text": "the harvest was good"})


def refused(path):
    try:
        run(path)
    except ValueError as error:
        return str(error)
    return ""


def test_words():
    assert run("report.txt") == {"words": 4}
    assert json.loads(hosts.requests()[-1]["body"]) == {"path": "report.txt"}


def test_no_words():
    hosts.tool("file_read", {"text": ""})
    assert run("report.txt") == {"words": 0}


def test_refused():
    hosts.tool("file_read", error="there is no such file")
    assert "no such file" in refused("none.txt")
    assert refused(" ") == "path is empty"
"""
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "minLength": 1}},
    "required": ["path"],
    "additionalProperties": False,
}


def told() -> Script:
    submitted = call(
        "submit_tool", name="word_count", description="Counts the words of a file of the workspace.",
        code=CODE, tests=TESTS, requirements=[], input_schema=SCHEMA, capabilities={"tools": ["file_read"]},
        output_schema={"type": "object", "properties": {"words": {"type": "integer"}}},
    )  # fmt: skip
    build = call("build_tool", name="word_count", goal="Count words.", needs={"tools": ["file_read"]})
    answer = call("answer", text="6 words")
    return Script(
        format="alita-script/1",
        name="callers",
        rules=(
            Rule(
                role="orchestrator",
                match="TASK: ",
                replies=(build, run("word_count", path="report.txt"), answer),
            ),
            Rule(role="toolsmith", match="Tool name: word_count", replies=(submitted,)),
        ),
    )


@pytest.mark.walk
def test_a_tool_calls_an_approved_one(shell: Any, provider: str) -> None:
    shown = json.loads(shell("tools", "starters", "show", "file_read", "--json").stdout)
    done = shell("tools", "starters", "approve", "file_read", "--digest", shown["digest"], *accepting(shown))
    assert done.returncode == 0, done.stderr
    workspace = Path(shell.home) / "data" / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "report.txt").write_text("The harvest was good in 2025.")
    server_type, key_name = SERVERS[provider]
    with server_type(told()) as server:
        shell.environ |= {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            key_name: "sk-not-a-real-key",
        }
        assert shell("run", "How many words has the report?").returncode == 4
        build = parked(shell)
        assert "tools" in build["accept"], "what the other tool may use has to be accepted by name"
        looked = shell("builds", "show", build["approval_id"]).stdout
        assert "read access to the files in the workspace" in looked and "file_read v1" in looked
        refused = shell("builds", "approve", build["approval_id"], "--digest", build["digest"])
        assert refused.returncode != 0 and "tools" in refused.stderr
        done = shell(
            "builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build)
        )
        assert done.returncode == 0, done.stderr
        assert (done := shell("resume")).returncode == 0, done.stderr
    events = shell.events()
    calls = [one for one in events if one["kind"] == "tool_called"]
    assert [(one["name"], one.get("depth", 0)) for one in calls] == [("word_count", 0), ("file_read", 1)]
    assert calls[1]["caller"] == calls[0]["call_id"]
    results = [one["report"]["result"] for one in events if one["kind"] == "tool_returned"]
    assert results[1] == {"words": 6} and results[0]["text"] == "The harvest was good in 2025."
    asked = [(one["request"], one.get("depth", 0)) for one in events if one["kind"] == "broker_answered"]
    assert asked == [("GET /files/report.txt", 1), ("POST /tools/file_read", 0)]
    assert shell("sessions", "verify").returncode == 0

    done = shell("tools", "run", "word_count", "--input", '{"path": "report.txt"}')
    assert done.returncode == 0 and json.loads(done.stdout) == {"words": 6}, done.stderr
    recorded = next((Path(shell.home) / "data" / "runs").glob("*.json"), None)
    assert recorded is not None and "file_read" in recorded.read_text()
    listed = {one["name"]: one for one in json.loads(shell("tools", "list", "--json").stdout)}
    assert (listed["word_count"]["runs"], listed["file_read"]["runs"]) == (2, 2)
    assert "the tool file_read v1" in shell("tools", "show", "word_count").stdout

    assert shell("tools", "revoke", "file_read").returncode == 0
    done = shell("tools", "run", "word_count", "--input", '{"path": "report.txt"}', "--json")
    assert done.returncode == 1
    assert "file_read v1 may not be called: file_read v1 is revoked" in json.loads(done.stdout)["error"]
