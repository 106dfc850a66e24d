"""Finds values of the task written into the code: such a tool answers one question instead of a kind of question."""

from __future__ import annotations

import asyncio
import re

from alita_tui.events import GateName, GateResult, Json, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.toolsmith.checks.case import Case, evidence, failed, passed

_COMMON = frozenset({0, 1, 2, 3, 7, 10, 12, 16, 24, 30, 31, 32, 60, 64, 90, 100, 128, 180, 200, 255, 256, 360, 365,
                     366, 400, 404, 500, 512, 1000, 1024, 3600, 4096, 10_000, 65_535, 86_400, 1_000_000,
                     0.5, 1.5, 2.5, 273.15, 9.81, 3.14})  # fmt: skip
"""Numbers that appear in code for reasons of their own."""
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
            return passed(self.name, "your task names no value that could be in the code")
        own = contract_numbers(case.draft)
        leaked = await asyncio.to_thread(leaks, case.draft.code, texts, numbers - own, case.draft.language)
        rows = [evidence(f"line {line}", f"{value} comes from the task", "bad") for line, value in leaked]
        count = len(texts) + len(numbers)
        if rows:
            summary = "a value of the task stands in the code; it has to be a parameter"
            return failed(self.name, summary, rows[:20])
        return passed(self.name, f"none of the {count} values of your task is in the code")


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


def contract_numbers(draft: ToolDraft) -> frozenset[float]:
    """Return numbers that the contract itself names, such as a bound: these belong in the code."""
    numbers = {
        float(figure.replace(",", "").replace("_", "")) for figure in _NUMBER.findall(draft.description)
    }
    pending: list[Json] = [draft.input_schema, draft.output_schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += list(value.values())
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.add(float(value))
    return frozenset(numbers)


def leaks(
    code: str, texts: frozenset[str], numbers: frozenset[float], language: str = "python"
) -> list[tuple[int, str]]:
    """Return line and value of each constant in the code that contains a value of the task.

    The defaults of `run` are left out: what has a default is a parameter.
    """
    places: list[tuple[int, str]] = []
    for line, value, refuses in runtime_of(language).constants(code, texts):
        if isinstance(value, str):
            low = value.lower()
            places += [
                (line, f"“{text}”")
                for text in sorted(texts)
                if text in low and not (refuses and len(low) >= 2 * len(text))
            ]
        elif (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and abs(value) in {*map(abs, numbers)}
        ):
            places.append((line, str(value)))
    return sorted(set(places))
