"""What goes wrong, over the wire and in real containers: each ends in a clear, recorded state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script, ScriptReply, ScriptRequest
from tests.e2e.walks import accepting, parked
from tests.support.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.podman

CODE = '''"""Do as told, or fail as told."""

import sys


def run(how: str) -> str:
    """What was asked for, where that is an answer."""
    if how == "garbage":
        print("\\x1b[31m[bold]{\\"result\\": 42}\\x00" * 20, flush=True)
        sys.stdout.buffer.write(bytes(range(256)))
    if how == "exit":
        sys.exit(3)
    while how == "forever":
        pass
    return how
'''
TESTS = """from {name} import run


def test_it_answers():
    assert run("well") == {wanted!r}


def test_garbage_is_no_answer():
    assert run("garbage") == "garbage"
"""
SCHEMA = {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}


def say(action: str = "", words: str = "", **arguments: Any) -> ScriptReply:
    calls = (ScriptRequest(name=action, arguments=arguments),) if action else ()
    return ScriptReply(text=words, requests=calls)


def draft(name: str, wanted: str = "well") -> ScriptReply:
    tests = TESTS.format(name=name, wanted=wanted)
    return say("submit_tool", name=name, description="Do as told.", code=CODE, tests=tests, requirements=[],
               input_schema=SCHEMA, output_schema={"type": "string"})  # fmt: skip


def task(text: str, *replies: ScriptReply) -> Rule:
    return Rule(role="orchestrator", match=f"TASK: {text}", replies=replies)


def build(name: str) -> ScriptReply:
    return say("build_tool", name=name, goal="Do whatever one is told to.")


def used(how: str) -> Rule:
    run = say("run_tool", name="twice_wrong", arguments={"how": how})
    return task(f"be {how}", run, say("answer", text=f"It was {how}."))


SCRIPT = Script(
    format="alita-script/1",
    name="troubles",
    otherwise={"reviewer": ScriptReply(text="I have no tests for this.")},
    rules=(
        task("repair", build("twice_wrong"), say("answer", text="built")),
        Rule(
            role="toolsmith",
            match="Tool name: twice_wrong",
            # The third passes its tests; what the checks say of it is worth one repair, which changes nothing.
            replies=(
                draft("twice_wrong", "bad"),
                draft("twice_wrong", "worse still"),
                *(draft("twice_wrong"),) * 2,
            ),
        ),
        *map(used, ("garbage", "exit", "forever")),
        task("reject", build("refused"), build("refused"), say("answer", text="built again")),
        Rule(role="toolsmith", match="Tool name: refused", replies=(draft("refused"),) * 2),
        task("malformed", say("dance", "la la"), say("dance", "la la la")),
    ),
)


@pytest.fixture
def over_wire(shell):
    with OpenAIServer(SCRIPT) as server:
        shell.environ |= {
            "ALITA_MODEL": "openai:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            "ALITA_SANDBOX_WALL_SECONDS": "2",
            "OPENAI_API_KEY": "sk-not-a-real-key",
        }
        yield shell


def of(shell, kind: str) -> list[dict[str, Any]]:
    return [event for event in shell.events() if event["kind"] == kind]


def decide(shell, *verdict: str) -> None:
    waiting = parked(shell)
    arguments = (
        ("--digest", waiting["digest"], *accepting(waiting)) if verdict[0] == "approve" else verdict[1:]
    )
    done = shell("builds", verdict[0], waiting["approval_id"], *arguments)
    assert done.returncode == 0, done.stderr


def sound(shell) -> None:
    assert shell("sessions", "verify").returncode == 0


@pytest.mark.walk
def test_a_draft_that_fails_twice_and_tools_that_misbehave(over_wire, keep) -> None:
    shell = over_wire
    assert shell("run", "repair").returncode == 4
    assert [event["passed"] for event in of(shell, "build_tested")] == [False, False, True, True]
    decide(shell, "approve")
    assert shell("resume").returncode == 0
    keep(shell.home, "golden-repaired")

    assert shell("run", "be garbage").returncode == 0
    (returned,) = of(shell, "tool_returned")
    assert returned["report"]["result"] == "garbage", "what it prints is not its answer"
    assert "\x1b" not in shell("sessions", "show").stdout
    sound(shell)

    for how, reason in (("exit", "exit"), ("forever", "timeout")):
        assert shell("run", f"be {how}").returncode == 0
        (failed,) = of(shell, "tool_failed")
        assert failed["reason"] == reason, failed
        keep(shell.home, f"golden-{how}")
        sound(shell)
    assert failed["report"]["limits_hit"] == ["wall"]


@pytest.mark.walk
def test_a_rejected_build_is_built_again(over_wire, keep) -> None:
    shell = over_wire
    assert shell("run", "reject").returncode == 4
    decide(shell, "reject", "--reason", "say what it is for")
    assert shell("resume").returncode == 4, "the second build waits"
    decide(shell, "approve")
    assert shell("resume").returncode == 0
    assert [event["verdict"]["decision"] for event in of(shell, "approval_resolved")] == [
        "rejected",
        "approved",
    ]
    assert "say what it is for" in json.dumps(of(shell, "memory_written"))
    keep(shell.home, "golden-rejected")
    sound(shell)


def test_a_model_that_names_no_action(over_wire, keep) -> None:
    shell = over_wire
    done = shell("run", "malformed")
    assert done.returncode == 1
    assert len(of(shell, "action_malformed")) == 2
    (ended,) = of(shell, "task_finished")
    assert ended["outcome"] == "failed" and "dance" in ended["reason"] and ended["hint"]
    keep(shell.home, "golden-malformed")
    sound(shell)
