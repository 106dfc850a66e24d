"""Damage to the files that sessions share, and where the damaged originals are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from alita_tui.events import Value
from alita_tui.spine.errors import StoreError
from alita_tui.spine.text import counted
from alita_tui.store import disk, journal_reader


class Damage(Value, frozen=True):
    """One damaged file; reported until its saved original is removed."""

    path: str
    """The file in use."""
    problem: str
    """What was lost."""
    original: str = msgspec.field(default="", name="kept")
    """Where the damaged original is; empty while it is the file itself."""

    @property
    def text(self) -> str:
        """The damage in one line."""
        return f"{self.problem}; the damaged original is {self.original or self.path}"

    @property
    def hint(self) -> str:
        """What to do about it."""
        advice = "Bring back what is missing from a backup (`alita backup list`)"
        if self.original:
            return f"{advice}, then delete {Path(self.original).name}: it is no longer mentioned."
        return f"{advice}; the next change to it keeps the original aside and goes on with the rest."


def damages(paths: Iterable[Path]) -> tuple[Damage, ...]:
    """Return current damage of these files, and past damage until its saved original is removed. Never raises."""
    return tuple(damage for path in paths for damage in (*_current(path), *_past(path)))


def _current(path: Path) -> Iterator[Damage]:
    try:
        snapshot = journal_reader.read(path)
    except StoreError as error:
        yield Damage(path=str(path), problem=error.message)
        return
    if snapshot.problems:
        yield Damage(path=str(path), problem=_problem(snapshot.discarded, "; ".join(snapshot.problems)))


def _past(path: Path) -> Iterator[Damage]:
    journal = journal_reader.journal_of(path)
    asides = [*path.parent.glob(f"{path.name}.damaged-*"), *path.parent.glob(f"{journal.name}.damaged-*")]
    for aside in sorted(asides):
        try:
            lost = (
                _lost_of_journal(aside)
                if aside.name.startswith(journal.name)
                else journal_reader.read(aside).discarded
            )
        except StoreError:
            lost = 0
        yield Damage(path=str(path), problem=_problem(lost, f"{path.name} was damaged"), original=str(aside))


def _problem(lost: int, what: str) -> str:
    return f"{what}: {counted(lost, 'record')} could not be read" if lost else what


def _lost_of_journal(path: Path) -> int:
    lines = (disk.read_bytes(path) or b"").split(b"\n")[:-1]
    return sum(journal_reader.operation(line) is None for line in lines)
