"""The agreement of a judge model with people about labelled examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from alita_tui.events import Value, ready
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

FEWEST = 8
"""Minimum number of labelled examples of a rubric: agreement over fewer is not evidence."""
GOOD = 0.6
"""The lowest kappa of a judge that can be relied on."""


class Label(Value, frozen=True, forbid_unknown_fields=True):
    """An example: an answer, and whether it meets the rubric in people's judgement."""

    answer: str
    solved: bool
    task: str = ""


class Agreement(Value, frozen=True):
    """A judge's verdicts compared with those of people."""

    judge: str
    rubric: str
    examples: int
    agreed: int
    too_kind: int
    """Number of answers that the judge passed and people did not."""
    too_strict: int
    """Number of answers that people passed and the judge did not."""
    kappa: float
    """Cohen's kappa: 1 is full agreement, 0 the agreement by chance alone."""

    def __str__(self) -> str:
        """Return the agreement in one sentence."""
        sentence = (
            f"{self.judge} agrees with {self.agreed} of {self.examples} labelled examples (kappa {self.kappa:.2f};"
            f" too kind in {self.too_kind}, too strict in {self.too_strict})"
        )
        return sentence if self.kappa >= GOOD else f"{sentence}: too little to rely on"


def labels(file: Path) -> tuple[Label, ...]:
    """Return the labelled examples in a file of JSON lines. Raises UsageError."""
    examples = []
    try:
        for line in file.read_bytes().splitlines():
            if line.strip():
                examples.append(msgspec.json.decode(line, type=ready(Label)))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{file}, line {len(examples) + 1}: {one_line(str(error), 200)}.") from error
    if len(examples) < FEWEST or len({example.solved for example in examples}) < 2:
        raise UsageError(
            f"{file} has too few labelled examples: at least {FEWEST}, some that meet the rubric and some that do not."
        )
    return tuple(examples)


def agreement(
    judge: str, rubric: str, labelled: Sequence[bool], verdicts: Sequence[bool | None]
) -> Agreement:
    """Return the agreement of a judge with people. An example without a verdict (None) counts as disagreement."""
    pairs = [
        (person, (not person) if judged is None else judged)
        for person, judged in zip(labelled, verdicts, strict=True)
    ]
    count = len(pairs)
    agreed = sum(person == judged for person, judged in pairs)
    yes, judged_yes = (sum(column) / count for column in zip(*pairs, strict=True))
    by_chance = yes * judged_yes + (1 - yes) * (1 - judged_yes)
    kappa = (agreed / count - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0
    return Agreement(
        judge=judge, rubric=rubric, examples=count, agreed=agreed, kappa=round(kappa, 4),
        too_kind=sum(judged and not person for person, judged in pairs),
        too_strict=sum(person and not judged for person, judged in pairs),
    )  # fmt: skip
