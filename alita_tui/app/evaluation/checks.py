"""Judges answers by their checks: texts in this process, parsers in a confined one, programs in the sandbox."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.confined.answers import Outcome, Question, as_text, ask, start
from alita_tui.confined.run import Started
from alita_tui.evaluation import checks as c
from alita_tui.evaluation.bounded import read_bounded
from alita_tui.evaluation.suite import Suite
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.text import one_line

ByRubric = Callable[[c.Rubric], Awaitable[c.Judged]]
_MOST_BYTES = 32_000_000
_FORMS = {".csv": "csv", ".json": "json"} | dict.fromkeys(
    (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"), "image"
)
"""File suffix -> how such files are compared; others are compared byte by byte."""
_MOST_TEXT = 1_000_000
"""Bytes of a file that a checker program is given as text."""
_NO_MORE_PROCESSES = ("BlockingIOError: [Errno 11]", "RuntimeError: can't start new thread")
"""Python's errors when no process or thread can be started."""


def start_check(check: c.Check) -> Started | None:
    """Start the process that a check needs, ahead of the answer; None if it needs none. The caller ends it."""
    kinds = {"schema" if isinstance(part, c.Schema) else "regex"
             for part in c.checks_in(check) if isinstance(part, c.Pattern | c.Schema)}  # fmt: skip
    return start(*sorted(kinds)) if kinds else None


async def judge(
    app: AppContext,
    suite: Suite,
    check: c.Check,
    answer: str,
    history: Sequence[Envelope],
    by_rubric: ByRubric,
    started: Started | None = None,
) -> c.Judged:
    """Return whether a case is solved; `by_rubric` asks the judge model, `started` comes from `start_check`.

    Raises AlitaError if the check itself fails.
    """
    match check:
        case c.Exact() | c.Number() | c.Contains():
            return c.judge_text(check, answer)
        case c.Pattern():
            return _judged(await ask(Question(kind="regex", rule=check.regex, made=answer), started))
        case c.Schema():
            return _judged(await ask(Question(kind="schema", rule=check.schema, made=answer), started))
        case c.File():
            return await _file(app, suite, check, history)
        case c.Program():
            return await _program(app, suite, check, answer, history)
        case c.Rubric():
            return await by_rubric(check)
        case c.Untouched():
            return _untouched(history)
        case c.Every():
            for part in check.checks:
                judged = await judge(app, suite, part, answer, history, by_rubric, started)
                if not judged.solved:
                    return judged
            return c.Judged(solved=True)


def _judged(outcome: Outcome) -> c.Judged:
    """Return the judgement of a confined process. Raises UsageError if the check itself is faulty."""
    if outcome.fault:
        raise UsageError(f"The check cannot be made: {one_line(outcome.why, 300)}.")
    return c.Judged(solved=outcome.solved, why=str(one_line(outcome.why, 300)))


def _untouched(history: Sequence[Envelope]) -> c.Judged:
    for envelope in history:
        if isinstance(envelope.event, e.ToolCalled | e.ToolRegistered):
            what = "ran" if isinstance(envelope.event, e.ToolCalled) else "was registered"
            return c.Judged(solved=False, why=f"a tool {what}, in event {envelope.seq}")
    return c.Judged(solved=True)


def made_files(app: AppContext, history: Sequence[Envelope]) -> dict[str, Path]:
    """Return the newest file of each name that the tools of a session made, the newest last. Raises StoreError."""
    from alita_tui.app.artefacts import session_artefacts

    if not history:
        return {}
    artefacts = session_artefacts(app, history[0].session_id)
    files: dict[str, Path] = {}
    for envelope in history:
        if isinstance(envelope.event, e.ArtefactAdded) and envelope.event.origin == "tool":
            artefact = envelope.event.artefact
            files.pop(artefact.name, None)  # so that a file that is made again becomes the last
            files[artefact.name] = artefacts.path(artefact)
    return files


async def _file(app: AppContext, suite: Suite, check: c.File, history: Sequence[Envelope]) -> c.Judged:
    expected, files = suite.file(check.expected), made_files(app, history)
    ending = expected.suffix.lower()
    matching = [
        name for name in files if (name == check.name if check.name else name.lower().endswith(ending))
    ]
    if not matching:
        wanted = check.name or f"a {ending or 'file'} file"
        return c.Judged(solved=False, why=f"{wanted} was not made; there is {', '.join(files) or 'none'}")
    made, wanted_bytes = read_bounded(files[matching[-1]], _MOST_BYTES), read_bounded(expected, _MOST_BYTES)
    form = check.form or _FORMS.get(ending, "bytes")
    if form == "image":
        question = Question(
            kind="image", rule=as_text(wanted_bytes), made=as_text(made), tolerance=check.tolerance
        )
        return _judged(await ask(question))
    if form == "bytes":
        return c.Judged(solved=made == wanted_bytes, why="" if made == wanted_bytes else "the bytes differ")
    return _compared(check, form, made, wanted_bytes)


def _compared(check: c.File, form: str, made: bytes, expected: bytes) -> c.Judged:
    """Compare two CSV or JSON files. Raises UsageError if the expected one cannot be read."""
    values: list[Any] = []
    for raw in (expected, made):
        try:
            values.append(_table(raw) if form == "csv" else msgspec.json.decode(raw.removeprefix(BOM_UTF8)))
        except (msgspec.DecodeError, UnicodeDecodeError, csv.Error, RecursionError) as error:
            reason = one_line(str(error), 200)
            if not values:
                raise UsageError(f"{check.expected} is no {form.upper()}: {reason}.") from error
            return c.Judged(solved=False, why=f"it is no {form.upper()}: {reason}")
    same = c.same_table if form == "csv" else c.same_value
    why = same(values[1], values[0], check.tolerance)
    return c.Judged(solved=not why, why=str(one_line(why, 300)))


def _table(raw: bytes) -> list[list[str]]:
    text = raw.decode("utf-8-sig")
    head = re.sub(r'"[^"]*"', "", text.lstrip().partition("\n")[0])
    separator = max(",;\t", key=head.count)
    before = csv.field_size_limit(_MOST_BYTES)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return [[cell.strip() for cell in row] for row in rows if row]
    finally:
        csv.field_size_limit(before)


async def _program(
    app: AppContext, suite: Suite, check: c.Program, answer: str, history: Sequence[Envelope]
) -> c.Judged:
    """Run the suite's program in the sandbox; it sees the answer and the made files that are text."""
    from alita_tui.app.file_runs import run_files

    path = suite.file(check.program)
    texts = {}
    for name, file in made_files(app, history).items():
        body = read_bounded(file, _MOST_BYTES)[:_MOST_TEXT]
        try:
            texts[name] = body.decode("utf-8")
        except UnicodeDecodeError:
            continue
    code = read_bounded(path, _MOST_BYTES).decode("utf-8", "replace")
    (row,) = await run_files(app, [(path, code)], {"answer": answer, "files": texts}, ())
    if row["outcome"] != "ok":
        raise AlitaError(
            f"The program {check.program} failed: {_failure(row)}.",
            hint=f"Try it: alita sandbox run {one_line(check.program, 80)}",
        )
    verdict = row["result"]
    if isinstance(verdict, dict):
        return c.Judged(
            solved=verdict.get("solved") is True, why=str(one_line(str(verdict.get("why", "")), 300))
        )
    return c.Judged(solved=verdict is True, why="" if verdict is True else f"{check.program} says no")


def _failure(row: Mapping[str, Any]) -> str:
    """Return why a program's run failed, and which limits it hit; without a full stop at the end."""
    lines = str(row["error"]).strip().splitlines() or [str(row["outcome"])]
    reason = str(one_line(lines[-1], 300)).rstrip(". ")
    limits = [str(limit) for limit in row["limits_hit"] if limit != "wall" and str(limit) not in reason]
    if not limits and reason.startswith(_NO_MORE_PROCESSES):
        limits = ["processes"]  # the sandbox looks at intervals, so it may have missed this
    return f"it met its limit of {' and '.join(limits)}: {reason}" if limits else reason
