"""A suite out of what a person corrected or liked: their own tasks, with what the answers should have been."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from alita_tui import events as e
from alita_tui.app.artefacts import session_artefacts
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.evaluation.checks import Contains, Exact, Number
from alita_tui.evaluation.figures import numbers_in
from alita_tui.evaluation.suite import CASES
from alita_tui.events import Value
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.feedback import standing
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.text import one_line
from alita_tui.store import disk

_SHORT = 60
"""Characters up to which an answer is compared as a whole."""
_MOST_FIGURES = 5


class Gathered(Value, frozen=True):
    """What came of it."""

    cases: int
    left_out: tuple[str, ...]
    """Why what the person rated is no case."""


def gather(app: AppContext, folder: Path, which: Sequence[str] = ()) -> Gathered:
    """Write a suite of the rated tasks of these sessions, of all where none is named. Raises UsageError, StoreError."""
    if folder.exists():
        raise UsageError(f"{folder} is there already.", hint="Choose another name.")
    redactor = app.redactor()
    chosen = [app.sessions.find_own(one).stem for one in which] if which else [
        one.session_id for one in reversed(app.sessions.list()) if not one.imported
    ]  # fmt: skip
    cases: dict[str, dict[str, Any]] = {}
    files: dict[str, bytes] = {}
    left_out = []
    for session_id in chosen:
        try:
            history = tuple(recording(app, session_id))
        except AlitaError as error:
            left_out.append(f"{session_id}: {error.message}")
            continue
        for task, ended, said in _rated(history):
            name = f"{session_id}-{task.task_id}"
            check = _check(redactor, ended, said)
            if isinstance(check, str):
                left_out.append(f"{name}: {check}")
                continue
            try:
                given = _files(app, session_id, history, task, redactor)
            except AlitaError as error:
                left_out.append(f"{name}: {error.message}")
                continue
            files |= given
            case = {
                "id": name, "task": redactor.text(task.text), "files": sorted(given),
                "tags": ["corrected" if said.rating == "down" else "liked"], "check": msgspec.to_builtins(check),
            }  # fmt: skip
            cases.setdefault(case["task"], case)  # the same task again, rated again, is one case
    if cases:
        disk.make_folder(folder)
        try:
            for path, body in files.items():
                disk.make_folder((folder / path).parent)
                disk.write_new(folder / path, [body])
            rows = [msgspec.json.encode(case) + b"\n" for case in cases.values()]
            disk.write_new(folder / CASES, rows)
        except OSError as error:
            raise disk.store_error("written", folder, error) from error
    return Gathered(cases=len(cases), left_out=tuple(str(one_line(one, 300)) for one in left_out))


def _rated(
    history: Sequence[Envelope],
) -> Iterator[tuple[e.TaskSubmitted, e.TaskFinished, e.FeedbackGiven]]:
    """Yield each task whose answer the person rated, with the newest word that stands."""
    asked: dict[str, e.TaskSubmitted] = {}
    ended: dict[str, e.TaskFinished] = {}
    said: list[e.FeedbackGiven] = []
    for one in history:
        match one.event:
            case e.TaskSubmitted(again="", improves="") as task:
                asked[task.task_id] = task
            case e.TaskFinished(outcome="answered") as end:
                ended[end.task_id] = end
            case e.FeedbackGiven(call_id="", build_id="") as given:
                said.append(given)
            case _:
                pass
    newest = {one.task_id: one for one in standing(said)}
    for task_id, given in newest.items():
        if task_id in asked and task_id in ended:
            yield asked[task_id], ended[task_id], given


def _check(
    redactor: Redactor, ended: e.TaskFinished, said: e.FeedbackGiven
) -> Exact | Number | Contains | str:
    """Return what the answer has to be, or why that is not known."""
    right = said.expected if said.rating == "down" else ended.answer
    if not right.strip():
        return "it is wrong, and nobody said what it should be"
    if redactor.holds(right):
        return "what it should be has a secret in it"
    right = right.strip()
    figures = numbers_in(right)
    if len(figures) == 1 and re.fullmatch(r"[\W\d_eE]*", right):
        return Number(value=figures[0], relative=1e-9)
    if len(right) <= _SHORT:
        return (
            Exact(text=right, loose=True) if said.rating == "down" else Contains(texts=(right.rstrip("."),))
        )
    shown = tuple(dict.fromkeys(re.findall(r"\d[\d.,]*\d|\d", right)))[:_MOST_FIGURES]
    return Contains(texts=shown) if shown else "the answer is long and has no figure to check it by"


def _files(
    app: AppContext, session_id: str, history: Sequence[Envelope], task: e.TaskSubmitted, redactor: Redactor
) -> dict[str, bytes]:
    """Return the files that were given with a task, by their paths in the suite. Raises AlitaError."""
    if not task.files:
        return {}
    kept = session_artefacts(app, session_id)
    known = {
        one.event.artefact.handle: one.event.artefact
        for one in history
        if isinstance(one.event, e.ArtefactAdded)
    }
    found = {}
    for handle in task.files:
        if handle not in known:
            raise UsageError(f"its file {handle} is not on record")
        body = disk.read_bytes(kept.path(known[handle]))
        if body is None:
            raise UsageError(f"its file {known[handle].name} is not there any more")
        text = body.decode("utf-8", "surrogateescape")
        clean = redactor.text(text)
        if clean != text and any("\udc80" <= sign <= "\udcff" for sign in text):
            raise UsageError(f"its file {known[handle].name} has a secret in it and is no text")
        name = Path(known[handle].name).name
        if redactor.text(name) != name:
            raise UsageError("the name of one of its files has a secret in it")
        found[f"{known[handle].digest[:10]}/{name}"] = clean.encode("utf-8", "surrogateescape")
    return found
