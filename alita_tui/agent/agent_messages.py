"""The messages that agents get about each other: orders, reports, refused answers. Text by a model is fenced."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from alita_tui import events as e
from alita_tui.agent.references import file_list
from alita_tui.events import Artefact
from alita_tui.spine.fence import fenced

TEAM = "/team"
"""Prefix of a task, or of a message to one, that asks for several agents."""
ORDER = "GOAL: "
"""Prefix of the first message to an agent that was handed a part of a task."""
_ENDS: Mapping[str, str] = {
    "failed": "It failed",
    "stuck": "It went in circles",
    "step_limit": "Its steps were not enough",
    "budget": "Its share of the budget was not enough",
    "late": "Its time was up",
    "interrupted": "It was stopped",
    "parked": "It waits for a verdict of the person, and nobody is here to give it",
}


def asks_for_team(text: str) -> bool:
    """Return whether the person asks for several agents."""
    return text.split(maxsplit=1)[:1] == [TEAM]


def without_team(text: str) -> str:
    """Return the text without the request for several agents."""
    return text.strip().removeprefix(TEAM).strip() if asks_for_team(text) else text


def handed_part(order: e.AgentStarted, files: Mapping[str, Artefact]) -> str:
    """Return the first message to an agent that was handed a part; it sees nothing else of the task."""
    parts = [f"{ORDER}{order.goal}", f"Done when: {order.done_when}"]
    files_handed = tuple(files[handed.handle] for handed in order.handed if handed.handle in files)
    if files_handed:
        parts.append(f"Files that you were handed:\n{fenced('files', file_list(files_handed))}")
    parts += [
        f"{handed.name}, as you were handed it:\n{fenced(handed.name, handed.text)}"
        for handed in order.handed
        if handed.text
    ]
    if order.because:
        parts.append(
            f"Another agent tried it before you and did not get there:\n{fenced('before', order.because)}"
        )
    return "\n\n".join(parts)


def reported(report: e.AgentEnded, files: Mapping[str, Artefact]) -> str:
    """Return the message to the agent that handed the part on: the report, or why there is none."""
    source = report.agent_id
    if report.outcome != "reported":
        why = (
            f"{_ENDS.get(report.outcome, report.outcome)}.\n{fenced(source, report.reason)}"
            if report.reason
            else (f"{_ENDS.get(report.outcome, report.outcome)}.")
        )
        return f"{source} gave no report. {why}\nGo on without it, and say in the answer what is missing."
    parts = [f"{source} reports:\n{fenced(source, report.result)}"]
    if report.missing:
        parts.append(f"What it could not do:\n{fenced(source, report.missing)}")
    if artefacts := tuple(files[handle] for handle in report.artefacts if handle in files):
        parts.append(f"Files that it hands back:\n{fenced('files', file_list(artefacts))}")
    if report.evidence:
        parts.append(f"It rests on:\n{fenced(source, ', '.join(report.evidence))}")
    return "\n".join(parts)


def directed(branches: Collection[str]) -> str:
    """Return the message to the lead once it may hand parts on."""
    listed = "\n".join(f"- {step}" for step in branches)
    return (
        "These steps of your plan need nothing of each other, so from now on you may hand them to specialists with "
        f"`delegate`, all in one reply, so that they work at the same time:\n{listed}"
    )


def refused(finding: e.AnswerVerified) -> str:
    """Return the message to the lead about an answer that was refused."""
    faults = "\n".join(f"- {fault}" for fault in finding.faults) or finding.text
    return (
        "The answer was checked against the task and the evidence before it was given, and does not hold:\n"
        f"{fenced('verifier', faults)}\nMend what is right of this, then call `answer` once more; it is given then."
    )
