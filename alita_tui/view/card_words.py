"""The words of a closed card: what was done, on what, and the outcome."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from alita_tui.events.build import CHECKS
from alita_tui.spine.text import SafeText, counted, one_line
from alita_tui.state.build import BuildState
from alita_tui.view.cards import Card, Deck, Section
from alita_tui.view.model import Tone, TraceRow

Mark = str
"""`passed`, `failed`, `skipped` (could not run), `running` or `open` (still to come)."""


class StepLine(NamedTuple):
    """The parts of a step's line."""

    verb: str
    subject: str
    result: str
    tone: Tone
    time: str


_VERBS = {
    "find_tool": "Searched",
    "search_web": "Web",
    "read_page": "Read",
    "look_back": "Looked",
    "look": "Looked",
    "build_tool": "Build",
    "run_tool": "Ran",
    "wait": "Waited",
}
_DID = {
    "find_tool": ("searched the library", "searched the library {} times"),
    "search_web": ("searched the web", "searched the web {} times"),
    "read_page": ("read 1 page", "read {} pages"),
    "look_back": ("looked back", "looked back {} times"),
    "look": ("looked at 1 thing", "looked at {} things"),
    "run_tool": ("ran 1 tool", "ran {} tools"),
    "wait": ("waited for you", "waited for you {} times"),
    "delegate": ("handed a part to 1 agent", "handed parts to {} agents"),
}
_STAGES = {
    "drafting": "writing the code",
    "reviewing": "reading the code",
    "locking": "packages",
    "testing": "its own tests",
    "repairing": "repairing",
    "pending": "waits for you",
    "approved": "approved",
    "rejected": "rejected",
    "edited": "edited by you",
    "retested": "tested again",
    "stopped": "stopped",
    "banned": "banned",
    "withdrawn": "withdrawn",
    "registered": "joined the library",
    "aliased": "you kept the other one",
    "linked": "you kept the other one",
    "lent": "approved for this task only",
    "failed": "failed",
}
_GOOD = ("registered", "lent", "approved", "linked", "aliased")
_BAD = ("rejected", "failed", "banned", "stopped", "withdrawn")


def duration(start: datetime, end: datetime) -> str:
    """Return the time between two moments in words; empty below 0.05 s."""
    seconds = (end - start).total_seconds()
    if seconds < 0.05:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes}:{remainder:02}" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02}"


def step_line(rows: list[TraceRow]) -> StepLine:
    """Return the line of a step; `rows` are all its rows, in order."""
    first, last = rows[0], rows[-1]
    subject = first.title.partition(": ")[2] if first.action else ""
    verb = _VERBS.get(first.action, "") or (
        first.title.partition(":")[0]
        if first.action
        else {"run": "Ran", "observation": "Result"}.get(first.kind, "Step")
    )
    run = next((row for row in rows if row.kind == "run"), None)
    if run is not None and (not first.action or first.action == "run_tool"):
        subject = run.title
    elif not subject:
        subject = first.title
    if first.action == "find_tool":
        subject = f"library: {subject}"
    outcome = next((row for row in reversed(rows) if row.kind in ("observation", "error")), None)
    if outcome is None or outcome is first:
        return StepLine(verb, subject, "" if outcome is None else "", last.tone if outcome else "wait", "")
    return StepLine(verb, subject, outcome.title, outcome.tone, duration(first.at, last.at))


def build_marks(build: BuildState) -> list[tuple[str, Mark]]:
    """Return title and mark of each check of a build's newest draft, in order, its own tests first."""
    attempt = build.current
    if attempt is None:
        return []
    own_tests: Mark = "open"
    if attempt.passed is not None:
        own_tests = "passed" if attempt.passed else "failed"
    elif build.status == "testing":
        own_tests = "running"
    marks: list[tuple[str, Mark]] = [("Own tests", own_tests)]
    states = {result.gate: result.state for result in attempt.gates}
    in_progress = build.status in ("reviewing", "locking", "testing", "repairing") and states
    for name, label in CHECKS.items():
        if name in states:
            marks.append((label.title, states[name]))
        elif states:
            marks.append((label.title, "open" if in_progress else "skipped"))
    return marks


def build_stage(build: BuildState) -> tuple[str, Tone]:
    """Return the stage of a build in words, and its tone."""
    attempt = build.current
    if build.status == "repairing" and attempt is not None and attempt.passed:
        return "checks", "wait"
    if build.status == "pending" and build.put_off:
        return "waits for you; the task continues", "wait"
    tone: Tone = "good" if build.status in _GOOD else "bad" if build.status in _BAD else "wait"
    return _STAGES[build.status], tone


def build_sentences(build: BuildState) -> list[SafeText]:
    """Return the purpose of a build and the outcomes of its earlier drafts, as sentences."""
    attempt = build.current
    sentences = [one_line(attempt.draft.description if attempt else build.goal, 300)]
    for earlier in build.attempts[:-1]:
        if earlier.author == "person":
            outcome = "was changed again"
        elif earlier.reviewed is False:
            outcome = f"failed the static review: {counted(len(earlier.findings), 'finding')}"
        elif earlier.lock_problem:
            outcome = f"asked for packages that were refused: {earlier.lock_problem}"
        elif earlier.passed is False:
            cases = earlier.reports[-1].cases if earlier.reports else ()
            failed = sum(not case.passed for case in cases)
            outcome = f"failed {failed} of {len(cases)} own tests" if cases else "did not pass its own tests"
        else:
            outcome = "did not pass a check"
        sentences.append(one_line(f"Draft {earlier.number} {outcome}.", 300))
    return [sentence for sentence in sentences if sentence]


def section_summary(deck: Deck, section: Section) -> tuple[str, list[str], str]:
    """Return the number of a task's steps, what they did, and the duration, all in words."""
    steps = sum(section.tally.values())
    phrases = []
    for action, count in section.tally.items():
        if action == "build_tool":
            phrases += _built(deck, section)
        else:
            singular, plural = _DID.get(action, (action, f"{action} {{}} times"))
            phrases.append(singular if count == 1 else plural.format(count))
    if section.notes:
        phrases.append(f"noted {counted(section.notes, 'thing')}")
    ended = deck.rows[section.answered].at if section.answered >= 0 else deck.rows[len(deck.rows) - 1].at
    return (
        counted(steps, "step") if steps else "No steps",
        phrases,
        duration(deck.rows[section.task].at, ended),
    )


def _built(deck: Deck, section: Section) -> list[str]:
    """Return which tools a task built, and which it tried to; a request that came to no build has no name."""
    tools: dict[str, bool] = {}
    for index in section.builds:
        card = deck.cards[index]
        first, last = deck.rows[card.rows[0]], deck.rows[card.rows[-1]]
        name = first.title.partition(": ")[2] or first.title
        tools[name] = tools.get(name, False) or not last.title.startswith("Build failed")
    phrases = [] if tools else ["asked for a tool"]
    for verb, wanted in (("built", True), ("tried to build", False)):
        names = [name for name, built in tools.items() if built == wanted]
        if names:
            phrases.append(f"{verb} {', '.join(names) if len(names) <= 3 else f'{len(names)} tools'}")
    return phrases


def evidence(section: Section) -> str:
    """Return the evidence for an answer in a line; empty if no tool was run and no page read."""
    tally = section.tally
    sources = (("run_tool", "tool run"), ("read_page", "page"))
    parts = [counted(tally[action], noun) for action, noun in sources if tally.get(action)]
    return f"from {', '.join(parts)}" if parts else ""


def files_of(deck: Deck, section: Section) -> list[TraceRow]:
    """Return the rows of the files that a task's tools created."""
    rows = (
        deck.rows[deck.cards[index].rows[0]] for index in section.cards if deck.cards[index].kind == "note"
    )
    return [row for row in rows if row.kind == "file" and row.meta == "made"]


def copied(deck: Deck, card: Card) -> str:
    """Return a card's text for the clipboard: the text of an answer, or the texts of all rows of a step."""
    rows = [deck.rows[index] for index in card.rows]
    if not rows:
        assert card.section is not None
        steps, did, time = section_summary(deck, card.section)
        return " · ".join(filter(None, (steps, ", ".join(did), time)))
    if len(rows) == 1:
        return str(rows[0].detail or rows[0].title)
    return "\n".join(f"{row.title}\n{row.detail}".rstrip() for row in rows)
