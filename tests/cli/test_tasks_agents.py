"""`alita tasks` tells of the agents that worked on a task."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.processes import alita
from tests.support.goldens import FOLDER


def tasks(home: Path, *words: str) -> str:
    done = alita(home, "tasks", *words, "--session", "golden-team")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_task_is_listed_and_shown_with_its_agents(tmp_path: Path) -> None:
    sessions = tmp_path / "data" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "golden-team.json").write_bytes((FOLDER / "golden-team.json").read_bytes())
    (task,) = json.loads(tasks(tmp_path, "list", "--json"))["tasks"]
    agents = {one["id"]: one for one in task["agents"]}
    assert [(one["role"], one["outcome"], one["attempt"]) for one in task["agents"]] == [
        ("researcher", "reported", 1), ("researcher", "reported", 1),
        ("data-analyst", "failed", 1), ("data-analyst", "failed", 2),
    ]  # fmt: skip
    assert agents["researcher-1"]["said"] == "The north: 4 degrees."
    assert agents["researcher-1"]["usd"] == 0.00405 and agents["researcher-1"]["steps"] == 2
    assert "no valid action" in agents["data-analyst-4"]["said"]

    listed = tasks(tmp_path, "list").splitlines()
    assert [line.split()[1:3] for line in listed if "└" in line] == [
        [name, agents[name]["outcome"]] for name in agents
    ]
    shown = tasks(tmp_path, "show", task["id"])
    for said in (
        "researcher-2  reported",
        "The south: 19 degrees.",
        "second attempt",
        "1,430 tokens, $0.0059",
    ):
        assert said in shown
    assert json.loads(tasks(tmp_path, "show", task["id"], "--json"))["agents"] == task["agents"]
