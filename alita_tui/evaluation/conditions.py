"""The conditions of two runs, and reasons why their figures may not be comparable."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from alita_tui.evaluation.agreement import Agreement
from alita_tui.evaluation.results import NO_TOOLS, CaseResult, Setup
from alita_tui.spine.syntax import UNPARSABLE, parse
from alita_tui.spine.text import counted, one_line

_NAMES = (
    "run", "suite", "suite_digest", "models", "configured", "tags", "cases", "repeat", "budget_usd", "approve",
    "without", "library_digest", "started_at", "version", "python",
)  # fmt: skip
_INCIDENTAL = ("run", "suite", "started_at")
"""Fields that differ between any two runs without making a difference."""
_WORDS = {"models": "model", "configured": "model of other roles", "version": "version of alita"}
_SHOWN = 60
"""Most characters of a value in a sentence."""


class Condition(NamedTuple):
    """A condition of both runs, with its value in each, as text."""

    name: str
    first: str
    second: str


def of_model(setup: Setup, model: str) -> Setup:
    """Return the setup of the part of a run with one of its models."""
    return replace(setup, models=(model,), planned=setup.planned // len(setup.models))


def conditions(first: Setup, second: Setup) -> tuple[Condition, ...]:
    """Return the conditions of both runs; settings and prompts only if they differ."""
    rows = [
        Condition(_WORDS.get(name, name.replace("_", " ")), _text(name, first), _text(name, second))
        for name in _NAMES
    ]
    for kind, left, right in (
        ("setting", first.settings, second.settings),
        ("prompt", first.prompts, second.prompts),
    ):
        rows += [
            Condition(f"{kind} {key}", *(_in_words(values.get(key, "default")) for values in (left, right)))
            for key in sorted({*left, *right})
            if left.get(key) != right.get(key)
        ]
    return tuple(rows)


def _in_words(value: str) -> str:
    """Return a recorded value as people read it: a list, which is recorded as Python writes it, with commas."""
    if not (value.startswith("(") and value.endswith(")")):
        return value
    try:
        items = ast.literal_eval(ast.Expression(parse(value).body[0].value))  # type: ignore[attr-defined]
    except (*UNPARSABLE, AttributeError, IndexError, TypeError):
        return value
    return (", ".join(map(str, items)) or "none") if isinstance(items, tuple) else value


def _text(name: str, setup: Setup) -> str:
    value = getattr(setup, name)
    if name == "configured":
        return "as the settings say" if value else "the same"
    if name == "cases" and not value:
        return "all"
    if name == "library_digest" and value in ("", NO_TOOLS):
        return "no tools"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def differences(first: Setup, second: Setup) -> tuple[Condition, ...]:
    """Return the conditions that differ between two runs and may have changed the results."""
    incidental = {_WORDS.get(name, name.replace("_", " ")) for name in _INCIDENTAL}
    return tuple(
        condition
        for condition in conditions(first, second)
        if condition.name not in incidental and condition.first != condition.second
    )


def difference_line(different: Sequence[Condition]) -> str:
    """Return a sentence on what differs between two runs."""
    if not different:
        return "Nothing that is on record differs between them."
    parts = [
        condition.name
        if condition.name.startswith("prompt ")
        else f"{condition.name} ({_short(condition.first)}, then {_short(condition.second)})"
        for condition in different
    ]
    return f"They differ in: {'; '.join(parts)}."


def _cause(name: str) -> str:
    """Return the cause of a differing condition: a model is also named in settings, and a version changes prompts."""
    if name in _WORDS.values():
        return name.partition(" ")[0]
    if name.startswith(("setting roles.", "setting model.")):
        return "model"
    return "version" if name.startswith("prompt ") else name


def _short(value: str) -> str:
    return str(one_line(value, _SHOWN)) or "none"


def caveats(
    first: Setup,
    second: Setup,
    before: Collection[CaseResult],
    after: Collection[CaseResult],
    judges: Sequence[Agreement] = (),
    other_judges: Sequence[Agreement] = (),
) -> tuple[str, ...]:
    """Return a sentence for each reason why the figures of two runs may not be comparable, most serious first.

    Each setup is that of one model (`of_model`). `judges` and `other_judges` are the judges of rubrics in the first
    and in the second run.
    """
    if first.run == second.run and first.models == second.models:
        return ("Both sides are the same run with the same model.",)
    sentences = [
        f"{counted(setup.planned - len(results), 'case')} of {setup.planned} of the {ordinal} run "
        f"{'has' if setup.planned - len(results) == 1 else 'have'} not ended; only what both runs ended is compared."
        for ordinal, setup, results in (("first", first, before), ("second", second, after))
        if setup.planned > len(results)
    ]
    by_rubric = [{judge.rubric: judge.judge for judge in measured} for measured in (judges, other_judges)]
    if any(by_rubric[0][rubric] != by_rubric[1][rubric] for rubric in {*by_rubric[0]} & {*by_rubric[1]}):
        sentences.append("Different models judged the rubric, so the shares solved are not comparable.")
    if len({_cause(condition.name) for condition in differences(first, second)}) > 1:
        sentences.append(
            "More than one of these may have made the difference. Change one at a time to know which."
        )
    return tuple(sentences)
