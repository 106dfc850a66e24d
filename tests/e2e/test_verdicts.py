"""Verdicts with a real sandbox: for the task alone, by a rule, and what is done with a tool later."""

from __future__ import annotations

import json

import pytest

from tests.e2e.walks import DICE, accepting, parked

pytestmark = pytest.mark.podman


@pytest.mark.walk
def test_a_tool_approved_for_one_task_is_removed_with_the_task(shell) -> None:
    assert shell("demo", "--json", DICE).returncode == 4
    build = parked(shell)
    done = shell(
        "builds",
        "approve",
        build["approval_id"],
        "--digest",
        build["digest"],
        "--task-only",
        *accepting(build),
    )
    assert done.returncode == 0, done.stderr
    resumed = shell("resume")
    assert resumed.returncode == 0, resumed.stderr
    lent = next(event for event in shell.events() if event["kind"] == "tool_registered")
    assert lent["lasting"] == "task"
    assert [
        len(one["tools"]) for one in shell.events() if one["kind"] == "library_loaded" and "tools" in one
    ] == []
    assert json.loads(shell("tools", "list", "--json").stdout) == []
    assert shell("sessions", "verify").returncode == 0
    assert shell("audit", "verify").returncode == 0
    (entry,) = json.loads(shell("audit", "list", "--json").stdout)
    assert (entry["verdict"], entry["lasting"], entry["via"]) == ("approved", "task", "cli")


@pytest.mark.walk
def test_a_rule_that_covers_a_build_approves_it_and_is_named(shell) -> None:
    shell.home.mkdir(exist_ok=True)
    (shell.home / "policy.toml").write_text(
        'enabled = true\n[[rule]]\nname = "pure"\n'
        'gates = ["requirements", "contract", "capabilities", "literals"]\n'
    )
    demo = shell("demo", "--json", DICE)
    found = shell("policy", "list", "--json").stdout
    assert demo.returncode == 0, (demo.returncode, found)
    verdict = next(event["verdict"] for event in shell.events() if event["kind"] == "approval_resolved")
    assert (verdict["by"], verdict["via"]) == ("rule pure", "policy")
    (tool,) = json.loads(shell("tools", "list", "--json").stdout)
    assert json.loads(found)["uses"] == {"pure": [f"{tool['name']} v1"]}
    assert "rule pure" in shell("audit", "explain", tool["name"]).stdout
    assert shell("tools", "revoke", tool["name"]).returncode == 0
    assert shell("tools", "run", tool["name"], "--input", "{}").returncode == 1
    assert shell("tools", "undo", tool["name"]).returncode == 0
    assert shell("audit", "verify").returncode == 0
