"""The words of trace rows about actions, searches, requests and reports."""

from __future__ import annotations

from collections.abc import Mapping

from alita_tui import events as e
from alita_tui.events import RunReport, as_json
from alita_tui.spine.ports.memory import MemorySort
from alita_tui.spine.text import counted

NOTED: Mapping[MemorySort, str] = {
    "fact": "a fact",
    "recipe": "how to do it",
    "episode": "what happened",
    "failure": "what failed",
    "rejection": "why you refused",
}
"""What was noted in memory, in words, by its sort."""


def chosen(action: str, arguments: object) -> str:
    """Return the title of an action whose outcome is not known yet."""
    verbs = {
        "plan": "Plan",
        "find_tool": "Search the library",
        "search_web": "Search the web",
        "read_page": "Read",
        "look_back": "Look back",
        "look": "Look at",
        "build_tool": "Build a tool",
        "run_tool": "Run",
        "ask_user": "Ask",
        "wait": "Wait for your decision",
        "answer": "Answer",
        "delegate": "Hand on to",
        "report": "Report",
    }
    main = {
        "find_tool": "query",
        "search_web": "query",
        "read_page": "url",
        "look_back": "event",
        "look": "what",
        "build_tool": "name",
        "run_tool": "name",
        "delegate": "role",
    }
    subject = arguments.get(main.get(action, "")) if isinstance(arguments, dict) else None
    return f"{verbs.get(action, action)}: {subject}" if subject else verbs.get(action, action)


def searched(event: e.ToolSearched) -> tuple[str, str, str]:
    """Return the row of a library search: its title, the hits, and the probability that a tool fits."""
    hits = [
        f"{hit.score:.2f}  {hit.card.name} v{hit.card.version}  {hit.card.description}" for hit in event.hits
    ]
    near = [
        f"{miss.score:.2f}  {miss.name} v{miss.version}  {miss.description}" for miss in event.near_misses
    ]
    chance = f"{event.chance:.0%}" if event.band else ""
    lines = [*hits, *(["Near misses:", *near] if near else [])] or ["The library has nothing like it."]
    if event.band:
        lines += ["", f"One that fits is there with {chance}: {event.evidence}."]
    if event.hits:
        best = event.hits[0]
        title = f"{'Perhaps' if event.band == 'perhaps' else 'Found'} {best.card.name} v{best.card.version}"
        title += (
            f", or one of {len(event.hits) - 1} others" if event.band == "perhaps" and event.hits[1:] else ""
        )
        return title, "\n".join(lines), f"{chance} there" if chance else f"score {best.score:.2f}"
    nearest = event.near_misses[0] if event.near_misses else None
    title = (
        f"No matching tool. Closest: {nearest.name} ({nearest.score:.2f})" if nearest else "No matching tool"
    )
    return title, "\n".join(lines), f"{chance} there" if chance else ""


def brokered(event: e.BrokerAnswered) -> tuple[str, str]:
    """Return title and detail of a running tool's request, with its outcome."""
    outcome = str(event.status or event.outcome) if event.outcome == "served" else event.outcome
    parts = [event.reason] if event.reason else []
    parts += [f"{count.target}: {count.count:,}" for count in event.more]
    parts += [f"connected to {event.address}"] if event.address else []
    parts.append(f"{event.sent_bytes:,} bytes sent, {event.received_bytes:,} received")
    parts += [f"with the secret {', '.join(event.secrets)}"] if event.secrets else []
    title = f"{event.request} → {outcome}" + (f": {event.reason}" if event.reason else "")
    return title, "\n".join(parts)


def page_logged(event: e.PageLogged) -> tuple[str, str]:
    """Return title and detail of what a page wrote to its console."""
    if event.more:
        return f"Console: {counted(event.more, 'more message')} of the page", ""
    return (
        f"Console, {event.level}: {event.text}",
        f"{event.text}\nfrom {event.source}" if event.source else event.text,
    )


def size_of(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1e6:,.2f} MB"


def numbers(seqs: tuple[int, ...]) -> str:
    """Return numbers as a list in words."""
    return ", ".join(map(str, seqs)) or "none"


def report_of(report: RunReport) -> str:
    """Return the lines of a run: its state, tests, result and output."""
    parts = [f"status {report.status}" + (f", exit code {report.exit_code}" if report.exit_code else "")]
    if report.limits_hit:
        parts.append("limits hit: " + ", ".join(report.limits_hit))
    parts += [
        f"{'pass' if case.passed else 'FAIL'}  {case.name}  {case.message}".rstrip() for case in report.cases
    ]
    if report.result is not None and not report.cases:
        parts.append(as_json(report.result, indent=2))
    for name, text in (("error", report.error), ("stdout", report.stdout), ("stderr", report.stderr)):
        if text:
            cut = " (cut)" if name in report.truncated else ""
            parts.append(f"── {name}{cut}\n{text.rstrip()}")
    return "\n".join(parts)


def lasted(ms: float) -> str:
    """Return a duration in words; empty for zero."""
    return "" if not ms else f"{ms:.0f} ms" if ms < 100 else f"{ms / 1000:.1f} s"


def line_count(code: str) -> int:
    """Return the number of lines."""
    return code.count("\n") + (not code.endswith("\n"))
