"""An agent whose library has a tool that doubles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alita_tui import events as e
from alita_tui.events import Lock, RunReport
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import SubmitTask
from alita_tui.toolsmith.contract import draft_from, normalise
from tests.agent.lab import Lab, draft, say

TASK = SubmitTask(text="double four")


DOUBLE = normalise(draft_from(draft().requests[0].arguments))


RUN = say("run_tool", name="double_it", arguments={"x": 4})


EIGHT = RunReport(status="ok", exit_code=0, result=8)


def lab(folder: Path, *replies: ScriptReply, **options: Any) -> Lab:
    """A session whose library holds `double_it`."""
    rules = [
        Rule(role="orchestrator", match="TASK: (double|triple)", replies=replies),
        Rule(role="orchestrator", match="TASK: ", replies=(say("answer", text="as you say"),)),
        Rule(role="toolsmith", match="Tool name: triple_it", replies=(draft("triple_it"),)),
    ]
    made = Lab(folder, rules=rules, **options)
    if not made.shelf.cards():
        made.shelf.register(DOUBLE, Lock(), approval_id="p0", digest=e.BuildDigest(DOUBLE.digest), sources=())
    return made
