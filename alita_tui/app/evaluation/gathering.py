"""Makes a suite from the person's rated tasks: a 👍 confirms the answer, a 👎 comes with the right one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from alita_tui import events as e
from alita_tui.app.artefacts import session_artefacts
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.evaluation.checks import Contains, Exact, Number
from alita_tui.evaluation.figures import numbers_in
from alita_tui.evaluation.named_secrets import RULES
from alita_tui.evaluation.suite import CASES
from alita_tui.events import Value
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.feedback import valid_ratings
from alita_tui.spine.history import of_kind
from alita_tui.spine.redaction import MARK, Redactor
from alita_tui.spine.text import one_line
from alita_tui.store import disk

Clean = Callable[[str], str]
"""Returns a text without secrets."""
_SHORT = 60
"""Characters up to which an answer is compared whole; of a longer one its figures are."""
_MOST_FIGURES = 5


class Gathered(Value, frozen=True):
    """What was gathered."""

    cases: int
    left_out: tuple[str, ...]
    """The rated answers that are not cases, each with the reason."""
    unread: tuple[str, ...] = ()
    """Files of the suite that are not text, so that a secret inside one may have been missed."""


def gather(app: AppContext, folder: Path, which: Sequence[str] = ()) -> Gathered:
    """Write a suite from the rated tasks of these sessions, or of all sessions. Raises UsageError, StoreError."""
    if folder.exists():
        raise UsageError(f"{folder} is there already.", hint="Choose another name.")
    known_secrets, labelled_secrets = app.redactor(), Redactor(rules=RULES)

    def clean(text: str) -> str:
        return labelled_secrets.text(known_secrets.text(text))

    chosen = [app.sessions.find_own(wanted).stem for wanted in which] if which else [
        session.session_id for session in reversed(app.sessions.list()) if not session.imported
    ]  # fmt: skip
    cases: dict[tuple[str, ...], dict[str, Any]] = {}
    files: dict[str, bytes] = {}
    left_out = []
    for session_id in chosen:
        try:
            history = tuple(recording(app, session_id))
        except AlitaError as error:
            left_out.append(f"{session_id}: {error.message}")
            continue
        for task, ended, feedback in _rated(history):
            name = f"{session_id}-{task.task_id}"
            check = _check(clean, ended, feedback)
            if isinstance(check, str):
                left_out.append(f"{name}: {check}")
                continue
            try:
                given = _files(app, session_id, history, task, clean)
            except AlitaError as error:
                left_out.append(f"{name}: {error.message}")
                continue
            files |= given
            case = {
                "id": name, "task": clean(task.text), "files": sorted(given),
                "tags": ["corrected" if feedback.rating == "down" else "liked"], "check": msgspec.to_builtins(check),
            }  # fmt: skip
            # A task that was given and rated again replaces its earlier case.
            cases[case["task"], *case["files"]] = case
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
    used = {name for case in cases.values() for name in case["files"]}
    return Gathered(
        cases=len(cases),
        left_out=tuple(str(one_line(reason, 300)) for reason in left_out),
        unread=tuple(sorted(name for name, body in files.items() if name in used and not _is_text(body))),
    )


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _rated(
    history: Sequence[Envelope],
) -> Iterator[tuple[e.TaskSubmitted, e.TaskFinished, e.FeedbackGiven]]:
    """Yield each task whose answer the person rated, with the newest valid rating."""
    asked: dict[str, e.TaskSubmitted] = {}
    ended: dict[str, e.TaskFinished] = {}
    ratings: list[e.FeedbackGiven] = []
    for envelope in history:
        match envelope.event:
            case e.TaskSubmitted(improves="") as task:
                asked[task.task_id] = task
            case e.TaskFinished(outcome="answered") as end:
                ended[end.task_id] = end
            case e.FeedbackGiven(call_id="", build_id="") as given:
                ratings.append(given)
            case _:
                pass
    newest = {feedback.task_id: feedback for feedback in valid_ratings(ratings)}
    for task_id, given in newest.items():
        if task_id in asked and task_id in ended:
            yield asked[task_id], ended[task_id], given


def _check(clean: Clean, ended: e.TaskFinished, feedback: e.FeedbackGiven) -> Exact | Number | Contains | str:
    """Return a check for the right answer, or the reason why there can be none."""
    right = feedback.expected if feedback.rating == "down" else ended.answer
    if not right.strip():
        return "it is wrong, and nobody said what it should be"
    if clean(right) != right or MARK.search(right):  # the record has a mark in place of a known secret
        return "the right answer has a secret in it"
    right = right.strip()
    figures = numbers_in(right)
    if len(figures) == 1 and re.fullmatch(r"[\W\d_eE]*", right):
        return Number(value=figures[0], relative=1e-9)
    if len(right) <= _SHORT:
        return (
            Exact(text=right, loose=True)
            if feedback.rating == "down"
            else Contains(texts=(right.rstrip("."),))
        )
    shown = tuple(dict.fromkeys(re.findall(r"\d[\d.,]*\d|\d", right)))[:_MOST_FIGURES]
    return Contains(texts=shown) if shown else "the answer is long and has no figure to check it by"


def _files(
    app: AppContext, session_id: str, history: Sequence[Envelope], task: e.TaskSubmitted, clean: Clean
) -> dict[str, bytes]:
    """Return the files that were given with a task, by their paths in the suite. Raises AlitaError."""
    if not task.files:
        return {}
    artefacts = session_artefacts(app, session_id)
    known = {added.artefact.handle: added.artefact for added in of_kind(history, e.ArtefactAdded)}
    files = {}
    for handle in task.files:
        if handle not in known:
            raise UsageError(f"its file {handle} is not on record")
        body = disk.read_bytes(artefacts.path(known[handle]))
        if body is None:
            raise UsageError(f"its file {known[handle].name} is not there any more")
        text = body.decode("utf-8", "surrogateescape")
        body_text = clean(text)
        if body_text != text and any("\udc80" <= sign <= "\udcff" for sign in text):
            raise UsageError(f"its file {known[handle].name} has a secret in it and is not text")
        name = Path(known[handle].name).name
        if clean(name) != name:
            raise UsageError("the name of one of its files has a secret in it")
        files[f"{known[handle].digest[:10]}/{name}"] = body_text.encode("utf-8", "surrogateescape")
    return files
