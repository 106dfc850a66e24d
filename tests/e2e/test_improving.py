"""A tool fails in use, is proposed to be repaired, waits, and runs better once it is approved; and goes to another home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import build, call, run
from tests.e2e.walks import accepting, parked

pytestmark = pytest.mark.podman

FIRST = '''"""The last word of a text."""


def run(text: str) -> dict[str, str]:
    """Return the last word."""
    return {"word": text.split()[-1]}
'''
SECOND = FIRST.replace(
    '    return {"word": text.split()[-1]}',
    '    words = text.split()\n    return {"word": words[-1] if words else ""}',
)
TESTS = """from last_word import run


def test_the_last_one():
    assert run("one two three") == {"word": "three"}


def test_a_single_one():
    assert run("one") == {"word": "one"}
"""
MORE = (
    TESTS
    + """

def test_none():
    assert run("") == {"word": ""}
    assert run("  \\n") == {"word": ""}
"""
)
TAKES = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
GIVES = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def submitted(code: str, tests: str) -> Any:
    return call(
        "submit_tool", name="last_word", description="Gives the last word of a text.", code=code, tests=tests,
        requirements=[], input_schema=TAKES, output_schema=GIVES,
    )  # fmt: skip


def told() -> Script:
    failing = tuple(run("last_word", text=text) for text in ("", "  ", "\n"))
    return Script(
        format="alita-script/1",
        name="improving",
        rules=(
            Rule(role="orchestrator", match="TASK: learn", replies=(build("last_word", "The last word."), run("last_word", text="a b"), call("answer", text="b"))),
            Rule(role="orchestrator", match="TASK: use", replies=(*failing, call("answer", text="it fails"))),
            Rule(role="toolsmith", match="Tool name: last_word\n\nGoal: Repair", replies=(submitted(SECOND, MORE),)),
            Rule(role="toolsmith", match="Tool name: last_word", replies=(submitted(FIRST, TESTS),) * 2),
        ),
    )  # fmt: skip


def approve(shell: Any) -> dict[str, Any]:
    waiting = parked(shell)
    done = shell(
        "builds", "approve", waiting["approval_id"], "--digest", waiting["digest"], *accepting(waiting)
    )
    assert done.returncode == 0, done.stderr
    return waiting


def versions(shell: Any) -> list[int]:
    return [
        one["version"]
        for one in json.loads(shell("tools", "history", "last_word", "--json").stdout)["versions"]
    ]


@pytest.mark.walk
@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai"])
def test_a_failing_tool_is_repaired_by_a_proposal_and_handed_on(
    shell: Any, provider: str, tmp_path: Path, keep: Any
) -> None:
    server_type, key_name = SERVERS[provider]
    with server_type(told()) as server:
        shell.environ |= {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            key_name: "sk-not-a-real-key",
        }
        begun = shell("run", "learn the last word")
        assert begun.returncode == 4, begun.stderr + begun.stdout
        approve(shell)
        assert shell("resume").returncode == 0
        assert "Nothing is proposed" in shell("tools", "improve", "--list").stdout
        assert shell("run", "use the last word").returncode in (0, 1, 3)
        shown = shell("tools", "show", "last_word").stdout
        assert "1 good of 4 today" in shown, shown

        listed = json.loads(shell("tools", "improve", "--list", "--json").stdout)
        assert [(one["kind"], one["name"]) for one in listed] == [("repair", "last_word")]
        assert "3 failing calls" in listed[0]["reason"]
        asked = len(server.requests)
        assert versions(shell) == [1]

        improved = shell("tools", "improve", "last_word", "--json")
        assert improved.returncode == 4, improved.stderr
        (one,) = json.loads(improved.stdout)
        assert one["outcome"] == "parked"
        told_smith = json.dumps([request.body for request in server.requests[asked:]])
        assert "v1 failed when it was called so" in told_smith and "IndexError" in told_smith
        assert versions(shell) == [1], "nothing joins before the verdict"
        again = shell("tools", "improve", "--json")
        assert json.loads(again.stdout) == [], "what waits is not proposed again"
        evidence = shell("builds", "show", parked(shell)["approval_id"], "--json").stdout
        checks = {
            one["event"]["result"]["gate"]: one["event"]["result"]
            for one in json.loads(evidence)["events"]
            if one["event"]["kind"] == "gate_checked"
        }
        assert "of the calls that failed before all 3 succeed now" in checks["replay"]["summary"]
        approve(shell)
        done = shell("resume", one["session"])
        assert done.returncode == 0 and "last_word v2 is in the library" in done.stdout, done.stderr
        keep(shell.home, "golden-proposal")
        assert versions(shell) == [1, 2]
        assert shell("sessions", "verify").returncode == 0

    pack = tmp_path / "words.alita"
    assert shell("tools", "export", str(pack), "last_word").returncode == 0
    shell.environ["ALITA_HOME"] = str(tmp_path / "two")
    (offered,) = json.loads(shell("tools", "import", str(pack), "--json").stdout)["tools"]
    unaccepted = shell("tools", "import", str(pack), "--digest", offered["digest"])
    assert unaccepted.returncode == 2 and "not-checked" in unaccepted.stderr, unaccepted.stderr
    assert "empty" in shell("tools", "list").stdout
    names = unaccepted.stderr.partition("not accepted yet: ")[2].partition(".")[0].split(", ")
    accepted = [word for name in names for word in ("--accept", name)]
    done = shell("tools", "import", str(pack), "--digest", offered["digest"], *accepted)
    assert done.returncode == 0, done.stderr
    there = shell("tools", "show", "last_word").stdout
    assert "origin imported" in there and "from the pack words, signed by the key" in there
    assert json.loads(shell("tools", "run", "last_word", "--input", '{"text": "a b"}').stdout) == {
        "word": "b"
    }
    explained = shell("audit", "explain", "last_word").stdout
    assert "from the pack words" in explained
    assert shell("audit", "verify").returncode == 0
