"""Registries and fault databases that answer as told, and builds with requirements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from alita_tui.events import (
    BuildId,
    Lock,
    LockedPackage,
    ToolDraft,
)
from alita_tui.spine.ports.web import Faults, PackageFacts
from alita_tui.toolsmith.checks.case import Case

NOW = datetime(2026, 11, 21, tzinfo=UTC)


OBJECT = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 2}}, "required": ["x"]}


def draft(
    code: str = "def run(x: int) -> int:\n    return x\n", tests: str = "", **more: object
) -> ToolDraft:
    made: dict[str, object] = {"name": "a_tool", "description": "It does.", "code": code, "tests": tests}
    made |= {"input_schema": OBJECT, "output_schema": {"type": "integer"}, **more}
    return ToolDraft(**made)  # type: ignore[arg-type]


class Told:
    """An index that knows these, by name."""

    def __init__(self, **known: PackageFacts) -> None:
        self.known = known

    async def package(self, name: str, version: str) -> PackageFacts | None:
        return self.known.get(name.replace("-", "_"))


class Book:
    """A database that knows these faults of every package, or why it cannot tell."""

    def __init__(self, *ids: str, problem: str = "") -> None:
        self.ids = ids
        self.problem = problem
        self.asked = 0

    async def faults(self, packages: Sequence[LockedPackage]) -> Faults:
        self.asked += 1
        return Faults(known={one.name: self.ids for one in packages}, problem=self.problem)


def needing(name: str, *, uploaded: str = "2020-01-01T00:00:00Z") -> Case:
    package = LockedPackage(name=name, version="1.0", hashes=("sha256:0",), uploaded=uploaded, direct=True)
    lock = Lock(requirements=(name,), packages=(package,), python="3.12", platform="x")
    return Case(build_id=BuildId("b"), draft=draft(requirements=(name,)), lock=lock)


OLD = PackageFacts(first_upload="2015-01-01T00:00:00Z")
