"""A session as a Markdown report; hostile text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from alita_tui.replay.export_facts import Facts
from alita_tui.spine.envelope import Envelope
from alita_tui.view.model import RowKind, TraceRow
from alita_tui.view.trace import rows_for

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_NAMES: dict[RowKind, str] = {
    "thought": "Thought",
    "action": "Action",
    "observation": "Observation",
    "build": "Build",
    "approval": "Approval",
    "run": "Run",
    "plan": "Plan",
    "question": "Question",
    "memory": "Memory",
    "notice": "Notice",
    "error": "Error",
    "unknown": "Unreadable",
    "session": "Session",
}


def markdown(envelopes: Iterable[Envelope], facts: Facts) -> str:
    """Return the report."""
    parts = [f"# {_escaped(facts.title)}", "", "| | |", "| --- | --- |"]
    parts += [f"| {label} | {_escaped(value)} |" for label, value in facts.lines]
    parts += ["", f"_{facts.note}_", ""]
    step = 0
    for envelope in envelopes:
        for row in rows_for(envelope):
            if row.step and row.step != step:
                parts += [f"### Step {row.step}", ""]
            step = row.step or step
            parts += _row(row)
    return "\n".join(parts).rstrip() + "\n"


def _row(row: TraceRow) -> Iterator[str]:
    if row.kind == "task":
        yield from (f"## Task: {_escaped(row.title)}", "")
        if row.detail != row.title:
            yield from (_fenced(row.detail), "")
        return
    if row.kind == "answer":
        yield from ("### Answer" if row.tone == "good" else f"### {_escaped(row.title)}", "")
        if answer := row.detail or (row.title if row.tone == "good" else ""):
            yield from (_fenced(answer), "")
        return
    meta = f" _({_escaped(row.meta)})_" if row.meta else ""
    yield from (f"**{_NAMES[row.kind]}** {_escaped(row.title)}{meta}", "")
    if row.detail and row.detail != row.title:
        yield from (_fenced(row.detail), "")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _fenced(text: str) -> str:
    """Return text between fences longer than any in it (CommonMark 4.5)."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"
