"""Tasks that are run through the command line."""

from __future__ import annotations

import json

from alita_tui.config.paths import shipped

SCRIPT = json.loads((shipped("sessions") / "demo.script.json").read_text())


BUILD, REUSE, DICE, CHART, STARTER = SCRIPT["tasks"]


def parked(shell) -> dict[str, str]:
    """The one build that waits, as `show` tells of it: the list has no digest to approve by."""
    found = json.loads(shell("builds", "list", "--json").stdout)
    assert len(found) == 1 and "digest" not in found[0]
    shown = json.loads(shell("builds", "show", found[0]["approval_id"], "--json").stdout)
    return {**shown["build"], "accept": shown["accept"]}


def accepting(build: dict[str, str]) -> list[str]:
    """The words that accept each of its risks by name."""
    return [word for name in build["accept"] for word in ("--accept", name)]
