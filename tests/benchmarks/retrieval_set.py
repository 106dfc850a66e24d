"""Tools and the questions they answer: read from a folder, or made up by seed in any number.

A folder has one `*tools.json`, an object of descriptions by name, and one `*queries.csv` with the columns `tool` and `query`.
"""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from alita_tui.events import BuildDigest, Lock, ToolDraft, ToolName, ToolRecord
from alita_tui.spine.ranking import Served

TEST = 12
"""Questions of each tool that are only asked; the rest are there to learn from."""
_SYLLABLES = [
    a + b for a in ("b", "c", "d", "f", "g", "l", "m", "n", "pr", "r", "s", "st", "t", "v") for b in "aeiou"
]


class Questions(NamedTuple):
    """A set, split."""

    tools: dict[str, str]
    """Descriptions by name."""
    asked: list[tuple[str, str]]
    """Question and the tool that answers it."""
    learned: dict[str, list[str]]
    """Other questions by tool."""


def read(folder: Path, seed: int = 0) -> Questions:
    """Return the set of a folder, split by a seed. Raises FileNotFoundError."""
    tools: dict[str, str] = json.loads(_only(folder, "*tools.json").read_text())
    questions: defaultdict[str, list[str]] = defaultdict(list)
    with _only(folder, "*queries.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            questions[row["tool"]].append(row["query"])
    chance = random.Random(seed)
    asked: list[tuple[str, str]] = []
    learned: dict[str, list[str]] = {}
    for name in sorted(tools):
        mixed = list(dict.fromkeys(questions[name]))
        chance.shuffle(mixed)
        asked += [(question, name) for question in mixed[:TEST]]
        learned[name] = mixed[TEST:]
    return Questions(tools, asked, learned)


def made_up(count: int, uses: int, seed: int = 1) -> Iterator[tuple[ToolRecord, Sequence[Served]]]:
    """Yield tools of made-up words, each with the questions it has answered; words are as unevenly used as in English."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(20_000)]
    shares = [1 / (rank + 5) for rank in range(len(vocabulary))]
    words = chance.choices(vocabulary, shares, k=400_000)

    def some(fewest: int, most: int) -> list[str]:
        at = chance.randrange(len(words) - most)
        return words[at : at + chance.randint(fewest, most)]

    for number in range(count):
        own = chance.sample(vocabulary, 12)
        served = [
            Served(query=" ".join([*some(8, 20), *chance.sample(own, 4)]), weight=1.0) for _ in range(uses)
        ]
        name = f"{own[0]}_{own[1]}_{number}"
        yield tool(name, " ".join([*own, *some(5, 15)])), served


def tool(name: str, description: str) -> ToolRecord:
    """Return a tool as the library has it."""
    draft = ToolDraft(name=ToolName(name), description=description, code="", tests="", input_schema={})
    return ToolRecord(
        draft=draft, version=1, digest=BuildDigest(name), state="trusted", lock=Lock(), approval_id="a"
    )


def library(
    tools: Mapping[str, str], learned: Mapping[str, list[str]], uses: int
) -> Iterator[tuple[ToolRecord, Sequence[Served]]]:
    """Yield tools as the library has them after a number of uses each."""
    for name, description in tools.items():
        yield tool(name, description), [Served(query=query) for query in learned.get(name, [])[:uses]]


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise FileNotFoundError(f"{folder} has to have one {pattern}; it has {len(found)}.")
    return found[0]
