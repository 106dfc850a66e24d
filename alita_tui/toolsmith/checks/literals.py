"""Is a value of the task written into the code? Then the tool answers one question instead of a kind of question."""

from __future__ import annotations

import ast
import asyncio
import re

from alita_tui.events import GateName, GateResult, Json, ToolDraft
from alita_tui.spine.syntax import try_parse
from alita_tui.toolsmith.checks.case import Case, evidence, failed, passed
from alita_tui.toolsmith.draft_ast import constants, run_function

_COMMON = frozenset({0, 1, 2, 3, 7, 10, 12, 16, 24, 30, 31, 32, 60, 64, 90, 100, 128, 180, 200, 255, 256, 360, 365,
                     366, 400, 404, 500, 512, 1000, 1024, 3600, 4096, 10_000, 65_535, 86_400, 1_000_000,
                     0.5, 1.5, 2.5, 273.15, 9.81, 3.14})  # fmt: skip
"""Numbers that appear in code for reasons of their own."""
_TABLE, _WORDS = 5, 4
"""From how many numbers, and plain words, on something is a table."""
_WORD = re.compile(r"[^\W\d_]{1,24}(?: [^\W\d_]{1,24})?")
"""A word or two, such as the names of colours or months that a table is made of."""
_QUOTED = re.compile(r"[\"“«`]([^\"”»`]{3,})[\"”»`]|(?:(?<=\s)|^)'([^']{3,})'(?=[\s.,;:!?)]|$)")
_TELLING = re.compile(
    r"[\w.+%-]+@[\w.-]+\w|https?://[^\s\"'<>)]+|[\w-]*\d[\w-]*(?:[./:_-][\w-]+)+|\w+\.[a-z]\w{1,4}\b"
)
"""Addresses, links, dates and numbers with parts, file names."""
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d_,]*(?:\.\d+)?(?![\w.]*\d)")


class LiteralsCheck:
    """Constants of the task inside the code."""

    name: GateName = "literals"

    async def check(self, case: Case) -> GateResult:
        """Report values of the task that are written into the code."""
        texts, numbers = task_values(case.task)
        if not texts and not numbers:
            return passed(self.name, "the task names no value that could leak")
        own = told_numbers(case.draft)
        leaked = await asyncio.to_thread(leaks, case.draft.code, texts, numbers - own)
        rows = [evidence(f"line {line}", f"{value} comes from the task", "bad") for line, value in leaked]
        count = len(texts) + len(numbers)
        if rows:
            summary = "a value of the task stands in the code; it has to be a parameter"
            return failed(self.name, summary, rows[:20])
        return passed(self.name, f"none of the {count} values of the task stands in the code")


def task_values(task: str) -> tuple[frozenset[str], frozenset[float]]:
    """Return the values that a task names: quoted or telling texts, and uncommon numbers."""
    texts = {text for pair in _QUOTED.findall(task) for text in pair if text}
    texts |= {figure.strip(".,;:!?") for figure in _TELLING.findall(task)}
    figures = {text for text in texts if _NUMBER.fullmatch(text)}
    texts -= figures
    bare = task
    for text in sorted(texts, key=len, reverse=True):
        bare = bare.replace(text, " ")
    numbers = set()
    for figure in (*_NUMBER.findall(bare), *figures):
        value = float(figure.replace(",", "").replace("_", ""))
        # Small whole numbers occur in any code and prove nothing.
        if abs(value) not in _COMMON and (abs(value) >= 21 or value != int(value)):
            numbers.add(value)
    return frozenset(text.lower() for text in texts if len(text) >= 4), frozenset(numbers)


def told_numbers(draft: ToolDraft) -> frozenset[float]:
    """Return numbers that the contract itself names, such as a bound: these belong in the code."""
    numbers = {
        float(figure.replace(",", "").replace("_", "")) for figure in _NUMBER.findall(draft.description)
    }
    rest: list[Json] = [draft.input_schema, draft.output_schema]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += list(value.values())
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.add(float(value))
    return frozenset(numbers)


def _table(node: ast.AST, texts: frozenset[str]) -> list[ast.Constant]:
    """Return what is a table's own: numbers or plain words of a list, tuple, set or dict with several of them.

    So is a text that is split into plain words. Words are no table's own where more than half are the task's.
    """
    if isinstance(node, ast.Attribute) and node.attr == "split" and isinstance(node.value, ast.Constant):
        words_of = re.split(r"[\s,;|]+", str(node.value.value).strip())
        return [node.value] if _own_words(words_of, texts) else []
    items: list[ast.expr] = []
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = node.elts
    elif isinstance(node, ast.Dict):
        items = [item for item in (*node.keys, *node.values) if item is not None]
    held = [
        nested
        for item in items
        for nested in (item.elts if isinstance(item, ast.List | ast.Tuple) else [item])
        if isinstance(nested, ast.Constant)
    ]
    numbers = [
        item for item in held if isinstance(item.value, int | float) and not isinstance(item.value, bool)
    ]
    words = [item for item in held if isinstance(item.value, str) and _WORD.fullmatch(item.value)]
    return [
        *(numbers if len(numbers) >= _TABLE else ()),
        *(words if _own_words([str(item.value) for item in words], texts) else ()),
    ]


def _own_words(words: list[str], texts: frozenset[str]) -> bool:
    """Return whether these are the plain words of a table, and at most half of them the task's."""
    theirs = sum(word.lower() in texts for word in words)
    return len(words) >= _WORDS and 2 * theirs <= len(words) and all(map(_WORD.fullmatch, words))


def _named_defaults(tree: ast.Module, defaults: list[ast.expr]) -> list[ast.expr]:
    """Return the values of the module's constants that are defaults of `run` and nothing else."""
    names = [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    own = {node.id for node in defaults if isinstance(node, ast.Name) and names.count(node.id) == 1}
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and all(isinstance(target, ast.Name) and target.id in own for target in node.targets)
    ]


def leaks(code: str, texts: frozenset[str], numbers: frozenset[float]) -> list[tuple[int, str]]:
    """Return line and value of each constant in the code that contains a value of the task.

    Docstrings and the defaults of `run` are left out: what has a default is a parameter.
    """
    if (tree := try_parse(code)) is None:
        return []
    tables = {id(number) for node in ast.walk(tree) for number in _table(node, texts)}
    refusals = {
        id(child) for node in ast.walk(tree) if isinstance(node, ast.Raise) for child in ast.walk(node)
    }  # an example in an error message answers nothing
    places: list[tuple[int, str]] = []
    run = run_function(tree)
    defaults = [*run.args.defaults, *filter(None, run.args.kw_defaults)] if run else []
    defaults += _named_defaults(tree, defaults)
    spared = tables | {id(child) for default in defaults for child in ast.walk(default)}
    for node in constants(tree):
        if id(node) in spared:
            continue
        value = node.value
        if isinstance(value, str):
            low = value.lower()
            places += [
                (node.lineno, f"“{text}”")
                for text in sorted(texts)
                if text in low and not (id(node) in refusals and len(low) >= 2 * len(text))
            ]
        elif (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and abs(value) in {*map(abs, numbers)}
        ):
            places.append((node.lineno, str(value)))
    return sorted(set(places))
