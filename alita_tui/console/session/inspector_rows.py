"""What the inspector shows of a card: pure functions from the view and the card to rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from alita_tui.console.session.build_lines import BUILD_MARKS
from alita_tui.console.session.card_lines import BuildOf
from alita_tui.console.widgets.sheet import BLANK, Row, fact, heading, say
from alita_tui.events import TaskId
from alita_tui.spine.text import counted, one_line, reveal
from alita_tui.state.build import BuildState
from alita_tui.view.card_words import (
    build_marks,
    build_sentences,
    build_stage,
    duration,
    evidence,
    files_of,
    section_summary,
    step_line,
)
from alita_tui.view.cards import Card, Deck, Section
from alita_tui.view.model import SandboxRun, SessionView, TraceRow
from alita_tui.view.queries import plan_note
from alita_tui.view.statistics import dollars
from alita_tui.view.trace_words import size_of

_LABEL = 12
_MOST_LINES, _MOST_BARS = 400, 12
_TITLES = {
    "run_tool": "Result", "find_tool": "Library search", "search_web": "Web search", "read_page": "Source page",
    "look": "Looked at", "look_back": "Looked back", "wait": "Waiting",
}  # fmt: skip
_KINDS = {
    "task": "Task", "said": "You said", "steps": "Steps", "thought": "Thought", "plan": "Plan", "question": "Question",
    "answer": "Answer", "build": "Build",
}  # fmt: skip

_STATES = {
    "passed": "passed", "failed": "failed", "skipped": "could not run", "running": "running", "open": "to come",
}  # fmt: skip


def about(
    view: SessionView, deck: Deck, index: int, inner: int, build_of: BuildOf
) -> tuple[str, str, list[Row]]:
    """Return the title, subject and rows of the inspector for a card, or for one of its rows (`inner`)."""
    card = deck.cards[index]
    if inner >= 0 and card.kind not in ("build",):
        row = deck.rows[inner]
        return "Row", str(row.title), _row(row)
    match card.kind:
        case "build" if build := build_of(card.build):
            rows = _progress(build) if not build.settled and build.status != "pending" else _evidence(build)
            if build.verdict:
                rows = [*_verdict(build.status, build.verdict.by, build.verdict.why), BLANK, *rows]
            return "Build", f"{build.name} v{build.version}", rows
        case "steps" | "task" if card.section is not None:
            return "Task", "", _task(view, deck, card.section)
        case "answer" if card.section is not None:
            return "Answer", "", _answer(deck, card.section, deck.rows[card.rows[0]])
        case "plan":
            return "Plan", "", _plan(view, deck, card)
        case "step" | "build":
            return _step(view, deck, card)
        case _:
            row = deck.rows[card.rows[0]]
            title = {"file": "File", "memory": "Memory"}.get(row.kind, _KINDS.get(card.kind, "Note"))
            return title, "", _row(row)


def _evidence(build: BuildState) -> list[Row]:
    """Return what a build that can be decided, or was, was judged by."""
    from alita_tui.console.review.evidence import gates  # nothing before the first build needs it
    from alita_tui.console.review.glance import glance

    attempt = build.presented
    return (
        [*glance(build, attempt), *gates(attempt, columns=False)]
        if attempt
        else say("No draft yet.", "muted")
    )


def _progress(build: BuildState) -> list[Row]:
    """Return how far a build has come. What has not run yet is no risk: nobody can approve it now."""
    rows = heading("Being built", build_stage(build)[0])
    for sentence in build_sentences(build):
        rows.append(Row(((sentence, ""),), (("  ", ""),)))
    marks = build_marks(build)
    rows += [BLANK, *heading("Checks")] if marks else []
    for title, mark in marks:
        sign, tone = BUILD_MARKS[mark]
        rows.append(Row(((title, ""), (f"  {_STATES[mark]}", "muted")), ((f"  {sign} ", tone),)))
    return rows


def _verdict(status: str, by: str, why: str) -> list[Row]:
    rows = heading("Decision", status)
    if by:
        rows.append(fact("by", one_line(by), width=_LABEL))
    return [*rows, fact("why", one_line(why, 400), width=_LABEL)] if why else rows


def _row(row: TraceRow) -> list[Row]:
    """Return the full text of a row of the trace, its time and its figure."""
    rows = [*_text(str(row.detail or row.title)), BLANK, _when(row)]
    if row.meta:
        label = "took" if row.kind == "thought" else "kind" if row.kind == "memory" else "note"
        rows.append(fact(label, str(row.meta), width=_LABEL))
    return rows


def _when(row: TraceRow) -> Row:
    step = f", step {row.step}" if row.step else ""
    return fact("when", f"{row.at.astimezone():%H:%M:%S}{step}", width=_LABEL)


def _text(text: str) -> list[Row]:
    lines = text.split("\n")
    rows = [Row(((reveal(line), ""),)) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        rows.append(Row(((f"{len(lines) - _MOST_LINES} more lines: Enter opens the row", "muted"),)))
    return rows


def _ticks(view: SessionView) -> list[Row]:
    """Return the plan of the running task, one step a line, each with its tick."""
    tones = {"✓": "good", "✗": "bad", "▸": "wait", "–": "muted", "○": "muted"}
    rows = []
    for step in view.plan:
        mark, tone = (step[0], tones[step[0]]) if step[:1] in tones else ("○", "muted")
        text = step[2:] if step[:1] in tones else step
        rows.append(Row(((text, "strong" if mark == "▸" else ""),), ((f"{mark} ", tone),)))
    if note := plan_note(view):
        rows.append(Row(((note, "muted"),)))
    return rows


def _plan(view: SessionView, deck: Deck, card: Card) -> list[Row]:
    row = deck.rows[card.rows[0]]
    section = card.section
    newest = section is not None and deck.cards[-1].section is section
    return [
        *(_ticks(view) if newest and view.plan else _text(str(row.detail or row.title))),
        BLANK,
        _when(row),
    ]


def _task(view: SessionView, deck: Deck, section: Section) -> list[Row]:
    row = deck.rows[section.task]
    steps, deeds, time = section_summary(deck, section)
    task = next((task for task in reversed(view.tasks) if task.task_id == row.span), None)
    rows = [*_text(str(row.detail or row.title)), BLANK, _when(row)]
    rows.append(fact("so far" if section.answered < 0 else "took", f"{steps}, {time}", width=_LABEL))
    rows += [fact("" if number else "did", deed, width=_LABEL) for number, deed in enumerate(deeds)]
    if task is not None and task.outcome:
        rows.append(fact("ended", f"{task.outcome}{f': {task.reason}' if task.reason else ''}", width=_LABEL))
    handles = frozenset(_given_handles(view, task.task_id)) if task is not None else frozenset()
    files = [file for file in view.state.artefacts if file.handle in handles] if handles else []
    rows += [
        fact("" if number else "given", one_line(file.name), width=_LABEL)
        for number, file in enumerate(files)
    ]
    if view.plan and row.span == view.state.focus:
        rows += [BLANK, *heading("Plan"), *_ticks(view)]
    if section.answered < 0 and row.span == view.state.focus and view.spend.by_step:
        rows += [BLANK, *heading("Context and cost", "tokens sent and received")]
        for step in view.spend.by_step[-_MOST_BARS:]:
            rows.append(
                fact(one_line(step.name), f"{step.tokens:>9,} tokens  {dollars(step.usd)}", width=_LABEL)
            )
    return rows


def _given_handles(view: SessionView, task_id: TaskId) -> Sequence[str]:
    return next((task.files for task in reversed(view.state.tasks) if task.task_id == task_id), ())


def _answer(deck: Deck, section: Section, row: TraceRow) -> list[Row]:
    """Return the evidence of an answer: each tool run, page and build that led to it, and its files."""
    rows = heading("Evidence", evidence(section) or "nothing that was run or read")
    for at in section.cards:
        card = deck.cards[at]
        if card.kind not in ("step", "build"):
            continue
        step = step_line([deck.rows[index] for index in card.rows])
        if step.verb in ("Ran", "Read", "Build", "Web"):
            tone = step.tone if step.tone in ("bad", "warn") else "muted"
            line = ((f"{step.subject}", "strong"), (f"  {step.result}" if step.result else "", tone))
            rows.append(Row(line, ((f"{step.verb:<7}", "muted"),)))
    if files := files_of(deck, section):
        rows += [BLANK, *heading("Files")]
        rows += [Row(((str(file.title).removeprefix("File "), ""),)) for file in files]
    steps, _did, time = section_summary(deck, section)
    rows += [BLANK, _when(row), fact("took", f"{steps}, {time}", width=_LABEL)]
    if row.meta:
        rows.append(fact("note", str(row.meta), width=_LABEL))
    return rows


# --- steps ----------------------------------------------------------------------------------


def _step(view: SessionView, deck: Deck, card: Card) -> tuple[str, str, list[Row]]:
    """Return a step: its outcome first, then its arguments, then the run."""
    rows = [deck.rows[at] for at in card.rows]
    summary = step_line(rows)
    action_row = next((row for row in rows if row.action), rows[0])
    outcome_rows = [
        row for row in rows if row is not action_row and row.kind in ("observation", "run", "file")
    ]
    shown: list[Row] = []
    for row in outcome_rows:
        if row.kind == "observation":
            shown += (
                _result(str(row.detail or row.title))
                if action_row.action == "run_tool"
                else _text(str(row.detail))
            )
        elif row.kind == "file":
            shown.append(Row(((str(row.title), "link"),)))
    if not shown:
        shown = say(
            "Nothing yet." if summary.tone == "wait" else str(rows[-1].detail or rows[-1].title), "muted"
        )
    shown += [BLANK, *heading("Asked"), *_arguments(str(action_row.detail))]
    run = next((run for run in reversed(view.runs) if run.run_id in card.names), None)
    shown += [BLANK, *heading("Run"), _when(rows[0])]
    shown.append(fact("took", summary.time or duration(rows[0].at, rows[-1].at), width=_LABEL))
    if run is not None:
        shown += _run(run)
    return _TITLES.get(action_row.action, summary.verb), str(summary.subject), shown


def _run(run: SandboxRun) -> Iterator[Row]:
    ended = run.status + (f", exit {run.exit_code}" if run.exit_code else "")
    yield fact("ended", ended, width=_LABEL)
    if run.peak_memory_bytes:
        yield fact("memory", f"{size_of(run.peak_memory_bytes)} at most", width=_LABEL)
    if run.limits_hit:
        yield fact("limits hit", ((", ".join(run.limits_hit), "bad"),), width=_LABEL)
    for name, text, style in (("printed", run.stdout, ""), ("errors", run.stderr, "warn")):
        if text.strip():
            yield BLANK
            yield from heading(name)
            yield from (Row(((line, style),)) for line in text.rstrip().split("\n")[-40:])


def _arguments(text: str) -> list[Row]:
    """Return a JSON object as a row for each member; other text as it is."""
    value = _value(text)
    if not isinstance(value, dict):
        return _text(text)
    value = value.get("arguments", value) if isinstance(value.get("arguments"), dict) else value
    return [fact(one_line(str(name), 40), _short(argument), width=_LABEL) for name, argument in value.items()]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _short(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 400)


def _result(text: str) -> list[Row]:
    """Return the shape of a result, its figures as bars, then its full text."""
    status, _, body = text.partition("\n")
    value = _value(body)
    records = _records(value)
    rows: list[Row] = []
    if records:
        rows += _shape(records)
        for name in records[0]:
            rows += _bars(records, name)
        rows.append(BLANK)
    plain = [] if status == "status ok" else say(status, "bad")
    return [*plain, *rows, *_text(body if value is not None else text)]


def _records(value: Any) -> list[dict[str, Any]]:
    """Return a list of objects with the same members: the value, or the only such member of it."""
    if isinstance(value, dict):
        lists = [member for member in value.values() if isinstance(member, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(record, dict) for record in value):
        return []
    return value if len({tuple(record) for record in value}) == 1 and value[0] else []


def _shape(records: list[dict[str, Any]]) -> Iterator[Row]:
    names = list(records[0])
    yield fact("shape", f"{counted(len(records), 'row')} × {counted(len(names), 'column')}", width=_LABEL)
    for name in names[:_MOST_BARS]:
        values = [record[name] for record in records]
        yield fact(one_line(str(name), 40), _column(values), width=_LABEL)


def _numbers(values: Sequence[Any]) -> list[float]:
    if all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
        for value in values
    ):
        return [float(value) for value in values]
    return []


def _column(values: Sequence[Any]) -> str:
    if numbers := _numbers(values):
        return f"number, {min(numbers):,.6g} … {max(numbers):,.6g}"
    kinds = {True: "true or false"} if all(isinstance(value, bool) for value in values) else {}
    distinct = counted(len({_short(value) for value in values}), "different value")
    return (
        kinds.get(True, "text" if all(isinstance(value, str) for value in values) else "values")
        + f", {distinct}"
    )


def _bars(records: list[dict[str, Any]], name: str) -> Iterator[Row]:
    """Yield a thin bar for each record's figure; labelled by the first text of the record."""
    numbers = _numbers([record[name] for record in records])
    label = next((column for column, value in records[0].items() if isinstance(value, str)), "")
    if not numbers or not label or len(records) > _MOST_BARS:
        return
    most = max(map(abs, numbers)) or 1.0
    yield BLANK
    yield from heading(f"{one_line(str(name), 30)} by {one_line(label, 30)}")
    for record, number in zip(records, numbers, strict=True):
        full = round(14 * abs(number) / most)
        bar = (("━" * full, "bad" if number < 0 else "good"), ("─" * (14 - full), "muted"))
        yield Row((*bar, (f"  {number:,.6g}", "")), ((f"{_padded(str(record[label]), 14)} ", "muted"),))


def _padded(text: str, width: int) -> str:
    from rich.cells import set_cell_size

    return set_cell_size(one_line(text, width), width)
