"""Drafts with one hidden fault or payload, made of the honest ones; `README.md` says how `adversarial/*.txt` are written."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from alita_tui.events import Capabilities, ToolDraft
from alita_tui.spine.grants import canonical
from alita_tui.toolsmith.contract import normalise
from tests.attack.drafts.honest import Recipe, recipes

FOLDER = Path(__file__).parent / "adversarial"
_MARK = re.compile(r"[ \t]*#!$")
_CHARACTER = re.compile(r"<U\+([0-9A-F]{4,6})>")
Known = tuple[tuple[dict[str, Any], Any, bool], ...]


@dataclass(frozen=True)
class Sample:
    """One draft of the corpus, and what has to become of it."""

    kind: str
    """Its class."""
    title: str
    draft: ToolDraft
    task: str
    known: Known
    """What a reviewer who knows the contract says of arguments that no test of the draft uses."""
    words: tuple[str, ...] = ()
    """One of them has to be said to the reader, unless a line of the payload is."""
    lines: frozenset[int] = frozenset()
    """Lines of the code that are the payload."""
    parent: ToolDraft | None = None
    """The version that is in the library."""

    @property
    def honest(self) -> bool:
        return self.kind == "honest"

    @property
    def label(self) -> str:
        return f"{self.kind}: {self.title} ({self.draft.name})"


@dataclass
class _Change:
    """What is done to an honest tool."""

    title: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)


@cache
def adversarial() -> tuple[Sample, ...]:
    """All bad ones, class by class."""
    return tuple(one for path in sorted(FOLDER.glob("*.txt")) for one in read(path.read_text("utf-8")))


@cache
def honest() -> tuple[Sample, ...]:
    """All good ones."""
    return tuple(
        Sample("honest", one.purpose, one.draft(), one.task, one.reviewed()) for one in recipes().values()
    )


def read(text: str) -> Iterator[Sample]:
    text = _CHARACTER.sub(lambda found: chr(int(found[1], 16)), text)
    kind, words = "", tuple[str, ...]()
    change: _Change | None = None
    for line in text.splitlines():
        if line.startswith("## "):
            if change:
                yield _sample(kind, words, change)
                change = None
            kind, _, listed = (part.strip() for part in line[3:].partition("|"))
            words = tuple(one.strip() for one in listed.split(","))
        elif line.startswith("=== "):
            if change:
                yield _sample(kind, words, change)
            title, _, base = line[4:].rpartition(" @ ")
            change = _Change(title, base)
        elif line.startswith("@") and line[1:].split(" ")[0] in _STEPS and change:
            word, _, rest = line[1:].partition(" ")
            change.steps.append((word, rest + "\n" if rest else ""))
        elif change and change.steps:
            word, body = change.steps[-1]
            change.steps[-1] = (word, f"{body}{line}\n")
        else:
            raise AssertionError(f"{kind}: {line!r} belongs to nothing")
    if change:
        yield _sample(kind, words, change)


_STEPS = {"top", "run", "swap", "end", "tests", "alltests", "set", "name", "task", "parent", "told"}


def _sample(kind: str, words: tuple[str, ...], change: _Change) -> Sample:
    try:
        return _made(kind, words, change)
    except (AssertionError, SyntaxError, ValueError) as error:
        raise AssertionError(f"{kind}: {change.title} @ {change.base}: {error}") from error


def _made(kind: str, words: tuple[str, ...], change: _Change) -> Sample:
    base = recipes()[change.base]
    code, tests, fields = base.source, "", dict[str, Any]()
    own, task, parent = base, base.task, None
    for step, body in change.steps:
        match step:
            case "top":
                code = _after_imports(code, body)
            case "run":
                code = _in_run(code, body)
            case "swap":
                old, _, new = body.partition("=>\n")
                code = _swapped(code, old, new)
            case "end":
                code = f"{code.rstrip()}\n\n\n{body}"
            case "tests":
                tests = f"{own.tests.rstrip()}\n\n\n{body}"
            case "alltests":
                tests = body
            case "set":
                fields |= json.loads(body)
            case "name":
                fields["name"] = body.strip()
            case "task":
                task = body.strip()
            case "told":
                words = tuple(one.strip() for one in body.split(","))
            case "parent":
                parent = base.draft()
            case _:
                raise AssertionError(f"no step {step!r}")
    if "capabilities" in fields:
        asked = fields["capabilities"].items()
        listed: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in asked}
        given = Capabilities(**listed)
        fields["capabilities"] = canonical(given)
    if "requirements" in fields:
        fields["requirements"] = tuple(fields["requirements"])
    draft = _draft(base, code, tests, fields)
    marked = [number for number, line in enumerate(draft.code.splitlines(), 1) if _MARK.search(line)]
    plain = "\n".join(_MARK.sub("", line) for line in draft.code.split("\n"))
    test_lines = "\n".join(_MARK.sub("", line) for line in draft.tests.split("\n"))
    clean = replace_draft(draft, code=plain, tests=test_lines)
    return Sample(kind, change.title, clean, task, base.reviewed(), words, frozenset(marked), parent)


def _draft(base: Recipe, code: str, tests: str, fields: dict[str, Any]) -> ToolDraft:
    made = replace(base, tests=tests or base.tests)
    if "input_schema" not in fields:
        fields = {**fields, "input_schema": base.input_schema()}
    draft = made.draft(code=code, **fields)
    if draft.name != base.name:
        renamed = draft.tests.replace(f"from {base.name} import", f"from {draft.name} import")
        draft = replace_draft(draft, tests=renamed)
    return draft


def replace_draft(draft: ToolDraft, **changed: Any) -> ToolDraft:
    """The draft with other fields, normalised again."""
    import msgspec

    return normalise(msgspec.structs.replace(draft, **changed))


def _after_imports(code: str, body: str) -> str:
    """New imports join those of the module, other statements follow all imports."""
    lines = code.splitlines()
    tree = ast.parse(code)
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    last = imports[-1].end_lineno if imports else tree.body[0].end_lineno
    assert last is not None
    heads, rest = [], body.splitlines()
    while rest and rest[0].startswith(("import ", "from ")):
        heads.append(rest.pop(0))
    while rest and not rest[0].strip():
        rest.pop(0)
    block = (["", *heads] if heads and not imports else heads) + (["", "", *rest] if rest else [])
    tail = lines[last:]
    if not imports or (rest and tail and tail[0].strip()):
        tail = ["", "", *tail]
    return "\n".join([*lines[:last], *block, *tail]) + "\n"


def _in_run(code: str, body: str) -> str:
    """At the beginning of `run`, behind its docstring."""
    run = next(one for one in ast.parse(code).body if isinstance(one, ast.FunctionDef) and one.name == "run")
    first = run.body[0]
    last = first.end_lineno if isinstance(first, ast.Expr) else first.lineno - 1
    assert last is not None
    lines = code.splitlines()
    return (
        "\n".join([*lines[:last], *textwrap.indent(body.rstrip(), "    ").splitlines(), *lines[last:]]) + "\n"
    )


def _swapped(code: str, old: str, new: str) -> str:
    """Whole lines with their indentation, else a piece of one line."""
    lines, wanted = code.splitlines(), old.rstrip("\n").splitlines()
    fresh = new.rstrip("\n").splitlines()
    for place in range(len(lines) - len(wanted) + 1):
        margin = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        margin = margin[: len(margin) - (len(wanted[0]) - len(wanted[0].lstrip()))]
        if all(lines[place + n] == (margin + one if one else "") for n, one in enumerate(wanted)):
            return (
                "\n".join(
                    [
                        *lines[:place],
                        *(margin + one if one else "" for one in fresh),
                        *lines[place + len(wanted) :],
                    ]
                )
                + "\n"
            )
    assert len(wanted) == 1, f"{old!r} is not there"
    for place, line in enumerate(lines):
        if wanted[0] in line:
            margin = line[: len(line) - len(line.lstrip())]
            piece = fresh[0] if len(fresh) == 1 else f"\n{margin}".join(fresh)
            mark = piece.endswith("#!")
            piece = _MARK.sub("", piece) if mark else piece
            lines[place] = line.replace(wanted[0], piece, 1) + ("  #!" if mark else "")
            return "\n".join(lines) + "\n"
    raise AssertionError(f"{old!r} is not there")
