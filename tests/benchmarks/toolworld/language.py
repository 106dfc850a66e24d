"""How people ask for things, and what a model knows of them: read from `asked.txt`, and the honest tools of the attacks.

`asked.txt` has for each need the ways of asking for it, with `*` those that name what a first tool need not know. A
line with `~` is what a careless model gets wrong. `first.txt` has what one writes who was asked for no more.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tests.attack.drafts import honest
from tests.attack.drafts.honest import Recipe

_ASKED, _FIRST = (Path(__file__).parent / name for name in ("asked.txt", "first.txt"))
_SLOT = re.compile(r"\{(\w+)\}")
_PLAIN = re.compile(r"[\w.:/+#-]+")
THEN = " Then take the result: "
"""Between two things that are asked for at once."""
RESULT = "that"
"""Stands in the second one for what the first one brings."""


@dataclass(frozen=True)
class Way:
    """One way of asking for something."""

    text: str

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The names of what it says."""
        return tuple(_SLOT.findall(self.text))

    @cached_property
    def bare(self) -> str:
        """The words without values."""
        return re.sub(r"\s+", " ", _SLOT.sub(" ", self.text)).strip()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = _SLOT.split(self.text)
        return re.compile(
            "".join(f"(?P<{one}>.+?)" if n % 2 else re.escape(one) for n, one in enumerate(parts))
        )

    def said(self, values: Mapping[str, Any]) -> str:
        """The words with values."""
        return _SLOT.sub(lambda slot: written(values[slot[1]]), self.text)

    def read(self, text: str) -> dict[str, str] | None:
        """The values as they stand in a text; None where it says something else."""
        found = self._pattern.fullmatch(text)
        return found.groupdict() if found else None


@dataclass(frozen=True)
class Concept:
    """Something that a model knows about."""

    recipe: Recipe
    ways: tuple[Way, ...]
    more: tuple[Way, ...]
    """Ways that name what a tool may have a default for."""
    slips: tuple[tuple[str, str], ...]
    first: Recipe | None
    """The tool that is written where nobody asked for all that there is to it."""

    @property
    def name(self) -> str:
        return self.recipe.name

    @cached_property
    def takes(self) -> dict[str, Any]:
        """Schemas of the parameters."""
        properties: dict[str, Any] = self.recipe.input_schema()["properties"]
        return properties

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Parameters that may be left out, with what they are then."""
        given = ast.parse(self.recipe.source).body
        run = [one for one in given if isinstance(one, ast.FunctionDef) and one.name == "run"][-1].args
        names = [one.arg for one in run.args[len(run.args) - len(run.defaults) :]]
        return {name: ast.literal_eval(value) for name, value in zip(names, run.defaults, strict=True)}


@cache
def concepts() -> dict[str, Concept]:
    """All of them, by name."""
    return {one.name: one for one in _read(_ASKED.read_text("utf-8"))}


def _read(text: str) -> Iterator[Concept]:
    first = {one.name: one for one in honest._read(_FIRST.read_text("utf-8"))}
    for block in text.split("=== ")[1:]:
        name, *lines = block.splitlines()
        marked: dict[str, list[str]] = {"": [], "*": [], "~": []}
        for line in lines:
            mark = line[0] if line[:2] in ("* ", "~ ") else ""
            marked[mark].append(line.removeprefix(f"{mark} "))
        yield Concept(
            recipe=honest.recipes()[name],
            ways=tuple(map(Way, marked[""])),
            more=tuple(map(Way, marked["*"])),
            slips=tuple(map(_swap, marked["~"])),
            first=first.get(name),
        )


def _swap(line: str) -> tuple[str, str]:
    old, _, new = line.partition(" =>")
    return old, new.removeprefix(" ")


def written(value: Any) -> str:
    """A value as people write it: a plain word as it is, all else as JSON."""
    plain = isinstance(value, str) and _PLAIN.fullmatch(value)
    return value if plain else json.dumps(value, ensure_ascii=False)


def meant(raw: str, schema: Mapping[str, Any]) -> Any:
    """A value as it was written, for a parameter."""
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    return value if schema.get("type") != "string" or isinstance(value, str) else raw
