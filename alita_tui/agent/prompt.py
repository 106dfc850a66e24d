"""The orchestrator's prompt, made from the tables that also say what holds: grants, settings, library, date."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files

from alita_tui.events import Value
from alita_tui.spine.fence import fenced
from alita_tui.spine.grants import REACHED
from alita_tui.spine.text import counted, one_line

_NAMED = 12
"""Names of a kind that are listed; of more only the number is said."""


class Surroundings(Value, frozen=True):
    """What is so outside the conversation when a task begins."""

    today: str = ""
    """ISO 8601, the person's own date; empty: not said."""
    tools: int = 0
    """Tools in the library."""
    hosts: tuple[str, ...] = ()
    """Hosts that the person named in settings, rules or approvals, as grants are written."""
    secrets: tuple[str, ...] = ()
    """Names of secrets that are kept for tools."""
    files: tuple[str, ...] = ()
    """Names in the workspace; from outside."""


def orchestrator_prompt(around: Surroundings) -> str:
    """Return the whole prompt."""
    template = files("alita_tui.agent.prompts").joinpath("orchestrator.md").read_text("utf-8").strip()
    return template.replace("{grants}", _grants()).replace("{surroundings}", _surroundings(around))


def _grants() -> str:
    return "\n".join(f"- {field}: {how}" for field, how in REACHED.items())


def _surroundings(around: Surroundings) -> str:
    lines = [f"Today is {around.today}."] if around.today else []
    lines.append(
        f"The library has {counted(around.tools, 'tool')}: `find_tool` shows those that fit."
        if around.tools
        else "The library is empty: there is nothing to find in it yet."
    )
    if around.hosts:
        lines.append(f"Hosts that the person has named: {_listed(around.hosts)}.")
    if around.secrets:
        lines.append(f"Secrets that are kept for tools, by name: {_listed(around.secrets)}.")
    if around.files:
        lines.append(f"In the workspace:\n{fenced('workspace', _listed(map(json.dumps, around.files)))}")
    else:
        lines.append("The workspace is empty.")
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    shown = [str(one_line(name, 80)) for name in names]
    more = len(shown) - _NAMED
    return ", ".join(shown[:_NAMED]) + (f" and {more} more" if more > 0 else "")
