"""Reads a suite, which is tasks with checks of their answers, from a folder or a file of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from alita_tui.evaluation.agreement import labels
from alita_tui.evaluation.checks import Check, Exact, Number, Rubric, checks_in
from alita_tui.evaluation.figures import integer, number
from alita_tui.evaluation.retrieval import is_retrieval, read_questions, read_tools
from alita_tui.events import Value, digest_of, ready
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

CASES = "cases.jsonl"
ABOUT = "suite.json"
_RECORDS = "metadata.jsonl"
"""Name of this file in folders of public benchmarks."""
_MOST_BYTES = 64_000_000
_EXACT_NUMBER = 1e-9
_RESULT_ONLY = "\n\nAnswer with the result alone, in as few words as possible."
"""Added to a record whose answer is compared as text, because such benchmarks give this instruction separately."""

_UNREAD = (
    "choices", "options", "paragraphs", "passages", "story", "article", "document", "documents", "table", "tables",
    "image", "images", "audio", "video",
)  # fmt: skip
"""Fields of records that hold a part of the question and are not read; without them nobody could answer it."""


class Case(Value, frozen=True, forbid_unknown_fields=True):
    """One task of a suite."""

    id: str
    task: str
    check: Check
    files: tuple[str, ...] = ()
    """Files for the task; paths within the suite's folder."""
    budget_usd: float = 0.0
    """Cap of this task in US dollars; 0 for the cap of the settings."""
    tags: tuple[str, ...] = ()
    seed: int = 0
    """Decides the order of the cases; it is not sent to models."""


class About(Value, frozen=True, forbid_unknown_fields=True):
    """The fields of a folder's `suite.json`."""

    stream: bool = False


class Suite(Value, frozen=True):
    """Cases and the folder of their files."""

    name: str
    folder: str
    """Paths of files are relative to it."""
    cases: tuple[Case, ...]
    digest: str
    """SHA-256 over the cases and the bytes of their files."""
    stream: bool = False
    """True if the cases run one after the other in one home, so that each finds what earlier ones learned and built."""
    described: tuple[tuple[str, str], ...] = ()
    """Names and descriptions of tools that each case can find but not run."""

    def file(self, name: str) -> Path:
        """Return the path of a file of the suite."""
        return Path(self.folder) / name


def read_suite(path: Path) -> Suite:
    """Return the suite in a folder or in a file of JSON lines.

    It also reads records of public benchmarks (`question`, `answer`, `file_name` and the like), and folders of tools
    and queries. Raises UsageError.
    """
    file = path
    try:
        is_folder = path.is_dir()
    except OSError as error:  # for example a name that is too long
        raise UsageError(f"{one_line(str(path), 100)} cannot be read: {error.strerror}.") from error
    if is_folder:
        file = next((path / name for name in (CASES, _RECORDS) if (path / name).is_file()), path / CASES)
    folder = _resolved(file.parent, str(path))
    described: tuple[tuple[str, str], ...] = ()
    if is_folder and not file.exists() and is_retrieval(path):
        described = read_tools(path)
        cases = tuple(
            Case(
                id=question.id,
                task=question.task,
                check=question.check,
                tags=(question.tool,) if question.tool else ("none",),
            )
            for question in read_questions(path)
        )
    else:
        cases = tuple(_case(number, raw, file) for number, raw in _lines(file))
    if not cases:
        raise UsageError(f"{file} has no case.", hint="Each line is a JSON object with id, task and check.")
    ids: set[str] = set()
    for case in cases:
        if case.id in ids:
            raise UsageError(f"{file}: two cases are called {one_line(case.id, 60)!r}.")
        ids.add(case.id)
    about = _about(folder / ABOUT) if is_folder else About()
    parts = [msgspec.json.encode(case, order="sorted").decode() for case in cases]
    parts += ["stream"] if about.stream else []
    parts += [text for tool in described for text in tool]
    parts += [_file_digest(folder, name, file) for case in cases for name in _named_files(case)]
    for check in {rubric for case in cases for rubric in checks_in(case.check) if isinstance(rubric, Rubric)}:
        labels(folder / check.labelled)
    name = path.resolve().name if is_folder else path.stem
    return Suite(
        name=str(one_line(name, 80)), folder=str(folder), cases=cases, digest=digest_of(*parts),
        stream=about.stream, described=described,
    )  # fmt: skip


def _about(file: Path) -> About:
    try:
        return msgspec.json.decode(file.read_bytes(), type=ready(About))
    except FileNotFoundError:
        return About()
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {one_line(str(error), 200)}.") from error


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{file} is larger than {_MOST_BYTES // 1_000_000} MB.")
        # Not splitlines: other line separators may be part of a case's text.
        lines = file.read_text("utf-8-sig").split("\n")
    except FileNotFoundError as error:
        raise UsageError(
            f"There is no suite at {file}.", hint="Make one: alita eval new FOLDER, or see docs/eval.md."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from error
    for line_number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            raw = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UsageError(
                f"{file}, line {line_number}: it is no JSON: {one_line(str(error), 200)}."
            ) from error
        if not isinstance(raw, dict):
            raise UsageError(f"{file}, line {line_number}: a case is a JSON object.")
        yield line_number, raw


def _case(number: int, raw: dict[str, Any], file: Path) -> Case:
    if "check" not in raw and (record := _record(number, raw, file)) is not None:
        return record
    try:
        case = msgspec.convert({"id": f"case-{number}", **raw}, ready(Case))
    except (msgspec.ValidationError, RecursionError) as error:
        problem = str(one_line(str(error), 300))
        if not {"task", "check"} & {*raw}:
            problem = f"it is no record of a benchmark with a question and its answer, and no case: {problem}"
        raise UsageError(f"{file}, line {number}: {problem}.") from error
    if not case.id.strip() or not case.task.strip():
        raise UsageError(f"{file}, line {number}: a case needs an id and a task.")
    if not 0 <= case.budget_usd < float("inf"):
        raise UsageError(f"{file}, line {number}: a budget cannot be below 0.")
    if problem := next(filter(None, (check.problem() for check in checks_in(case.check))), ""):
        raise UsageError(f"{file}, line {number}: {problem}")
    return case


def _record(line_number: int, raw: dict[str, Any], file: Path) -> Case | None:
    """Return a record of a public benchmark as a case; None if it is no such record.

    Its answer is compared as a number if it is one, else as text.
    """
    if unread := next((name for name in raw if name.lower() in _UNREAD and raw[name]), ""):
        raise UsageError(
            f"{file}, line {line_number}: it has {unread!r}, which no record's task would name.",
            hint="Write such questions as cases: id, task with all that it needs, files, check.",
        )
    fields = {key.lower().replace(" ", "_"): value for key, value in raw.items()}
    question = next(filter(None, map(fields.get, ("question", "problem", "input", "prompt"))), None)
    names = ("final_answer", "answer", "answers", "target")
    answer = next((fields[name] for name in names if fields.get(name) is not None), None)
    if isinstance(answer, str) and isinstance(aliases := fields.get("answer_aliases"), list) and aliases:
        answer = [answer, *aliases]
    check = _expected(answer)
    unanswered = check is None or isinstance(check, Exact) and not check.text.strip()
    if isinstance(question, str) and question.strip() and unanswered and {*names} & {*fields}:
        raise UsageError(
            f"{file}, line {line_number}: it has no answer to check against.",
            hint="Leave such questions out, or write them as cases: id, task, check.",
        )
    if check is None or not isinstance(question, str) or not question.strip():
        return None
    material = next((fields[name] for name in ("context", "passage") if fields.get(name)), "")
    if (context := _context(material)) is None:
        raise UsageError(
            f"{file}, line {line_number}: its context is in a form that is not known.",
            hint="Write it as text, or write such questions as cases: id, task with what it needs, check.",
        )
    question += f"\n\nContext:\n{context}" if context else ""
    file_names = fields.get("file_name") or fields.get("file_path") or ()
    file_names = file_names if isinstance(file_names, list | tuple) else (file_names,)
    identifiers = (fields.get(name) for name in ("task_id", "id", "_id"))
    name = str(next(filter(None, identifiers), f"case-{line_number}"))
    level = fields.get("level")
    return Case(
        id=name, task=question if isinstance(check, Number) else f"{question}{_RESULT_ONLY}", check=check,
        files=tuple(map(str, file_names)), tags=(f"level-{level}",) if level is not None else (),
    )  # fmt: skip


def _answers(answer: dict[str, Any]) -> list[Any]:
    """Return the right answers in an object with several, which is a form of some question sets."""
    if isinstance(aliases := answer.get("aliases"), list):
        return [answer.get("value"), *aliases]
    return texts if isinstance(texts := answer.get("text"), list) else []


def _context(material: Any) -> str | None:
    """Return the context of a question as text; None if it is neither a text nor titled passages of sentences."""
    if isinstance(material, str):
        return material.strip()
    if isinstance(material, dict) and {*material} == {"title", "sentences"}:
        titles, texts = material["title"], material["sentences"]
        if not isinstance(titles, list) or not isinstance(texts, list) or len(titles) != len(texts):
            return None
        material = [list(pair) for pair in zip(titles, texts, strict=True)]
    if not isinstance(material, list):
        return None
    if all(isinstance(text, str) for text in material):
        return "\n\n".join(material)
    try:
        passages = msgspec.convert(material, ready(list[tuple[str, list[str]]]))
    except msgspec.ValidationError:
        return None
    return "\n\n".join(f"{title}\n{''.join(sentences).strip()}" for title, sentences in passages)


def _expected(answer: Any) -> Exact | Number | None:
    """Return the check of a record's answer, or of its part after `####` if it has one; None for no answer."""
    if isinstance(answer, dict):
        answer = list(dict.fromkeys(item for item in _answers(answer) if isinstance(item, str)))
    if isinstance(answer, bool):
        return Exact(text=str(answer), also=("yes",) if answer else ("no",), loose=True)
    if isinstance(answer, list) and len(answer) == 1:
        (answer,) = answer
    if isinstance(answer, list) and answer and all(isinstance(item, str) for item in answer):
        return Exact(text=answer[0], also=tuple(answer[1:]), loose=True)
    if not isinstance(answer, str | int | float):
        return None
    text = str(answer).rpartition("\n####")[2].strip()
    value = number(text)
    if abs(integer(text) or 0) > 2**53:
        value = None  # for example an order number, in which every digit counts
    return Exact(text=text, loose=True) if value is None else Number(value=value, relative=_EXACT_NUMBER)


def _named_files(case: Case) -> Iterator[str]:
    yield from case.files
    for check in checks_in(case.check):
        yield from check.files()


def _resolved(path: Path, subject: str) -> Path:
    """Return a path without symbolic links. Raises UsageError, whose sentence begins with `subject`, for a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # the error of a circle differs between versions of Python
        raise UsageError(f"{subject} cannot be read: its symbolic links go in a circle.") from error


def _file_digest(folder: Path, name: str, file: Path) -> str:
    from hashlib import file_digest

    try:
        path = _resolved(folder / name, f"{file} names {one_line(name, 100)!r}, which")
    except ValueError as error:
        raise UsageError(f"{file} names {one_line(name, 100)!r}, which no file is called.") from error
    if not path.is_relative_to(folder):
        raise UsageError(f"{file} names {one_line(name, 100)!r}, which is outside of its folder.")
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            raise UsageError(f"{file} names {one_line(name, 100)!r}, which is no file.")
        with path.open("rb") as content:
            return f"{name}\0{file_digest(content, 'sha256').hexdigest()}"
    except OSError as error:
        raise UsageError(
            f"{file} names {one_line(name, 100)!r}, which cannot be read: {error.strerror}."
        ) from error
