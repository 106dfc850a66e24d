"""The progress of a map: a part file for each batch of rows, and a line in the journal once it is on disk.

A kill loses only the batches that were running. A torn last line is cut; a part that differs from the journal is made
again. If rows run at most once (`Head.once`), lost rows count as failed instead, as unsure.
"""

from __future__ import annotations

import fcntl
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from math import inf
from pathlib import Path

import msgspec

from alita_tui.events import Value, ready
from alita_tui.mapping.begun import BeganFile, BegunRows, not_written
from alita_tui.mapping.outcomes import Outcome
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.store.disk import replace

_SCHEMA = 1
JOURNAL, MANIFEST, FAILED = "journal.jsonl", "manifest.json", "failed.jsonl"
_GONE = "It ran, but its result is gone from this folder, and the tool may change something."


class Head(Value, frozen=True):
    """What a folder of results is of."""

    tool: str
    digest: str
    input: str
    """SHA-256 of the file of inputs."""
    schema: int = _SCHEMA
    once: bool = False
    """Its tool may change something: no row that may have run is run again by itself."""


class Part(Value, frozen=True):
    """A batch that is done: rows `first` to `last` of the input, without those that it does not have."""

    first: int
    last: int
    ok: int
    failed: int
    file: str
    bytes: int
    sha256: str
    unsure: int = 0
    """How many of the failed rows may have run."""


class Journal:
    """The folder of one map, held by one process."""

    def __init__(self, folder: Path, head: Head, *, unsure_again: bool = False) -> None:
        """Make the folder, or take up what is in it. Raise UsageError for another map's, StoreError.

        With `unsure_again`, rows that may have run are to be run again.
        """
        self._folder = folder
        self.head = head
        self._unsure_again = unsure_again
        self._gone: list[tuple[int, int]] = []
        """First and last rows of parts that rows ran for, and that are not here any more."""
        self.parts: dict[int, Part] = {}
        """By their first row."""
        self._unsure: set[int] = set()
        """First rows of those whose one row may have run."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / JOURNAL
            if not path.exists() and any(folder.iterdir()):
                raise UsageError(f"{folder} is not empty.", hint="Name a new folder with --output.")
            self._file = path.open("a+b")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_halves(folder)
                self._take_up()
                self._begun = BegunRows(folder / "begun")
                self._leave_open()
            except BaseException:
                self._file.close()
                raise
        except BlockingIOError as error:
            raise UsageError(f"Another alita is at work in {folder}.") from error
        except OSError as error:
            raise not_written(folder, error) from error

    def _take_up(self) -> None:
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        whole = sum(len(line) + 1 for line in lines[:-1])
        self._file.truncate(whole)
        if not lines[:-1]:
            self._append(self.head)
            return
        try:
            head = msgspec.json.decode(lines[0], type=ready(Head))
        except msgspec.DecodeError as error:
            raise StoreError(
                f"{self._folder / JOURNAL} is damaged.", hint="Name a new folder with --output."
            ) from error
        if head != self.head:
            what = "another version of the tool" if head.input == self.head.input else "another input"
            raise UsageError(
                f"{self._folder} holds results of {head.tool} and {what}.",
                hint="Name a new folder with --output.",
            )
        for line in lines[1:-1]:
            try:
                part = msgspec.json.decode(line, type=ready(Part))
            except msgspec.DecodeError as error:
                if self.head.once:
                    raise StoreError(
                        f"{self._folder / JOURNAL} is damaged, so nobody knows which rows have run.",
                        hint="Name a new folder with --output; it begins with all rows.",
                    ) from error
                continue  # its rows are run again
            self._know(part)

    def _know(self, part: Part) -> None:
        for first in [first for first in self._unsure if part.first <= first <= part.last]:
            self._drop(first)  # it was run again since
        with suppress(OSError):
            path = self._folder / Path(part.file).name
            complete = not part.failed or self._piece(part).exists()
            if complete and path.stat().st_size == part.bytes and part.first <= part.last:
                self._put(part)
                return
        self._gone.append((part.first, part.last))

    def _put(self, part: Part) -> None:
        self.parts[part.first] = part
        if part.unsure:
            self._unsure.add(part.first)

    def _drop(self, first: int) -> None:
        self._unsure.discard(first)
        del self.parts[first]

    def _leave_open(self) -> None:
        """Remove unsure rows from the done ones if they are to run again, or if their outcome is known after all."""
        for first in [first for first in self._unsure if self._unsure_again or self._begun.has(first)]:
            self._drop(first)
        if self._unsure_again:
            self._begun.forget_unsure()
            self._gone.clear()
        done = self.done()
        rows = [
            row
            for row in self._begun.rows
            if (at := bisect_right(done, (row, inf))) and row <= done[at - 1][1]
        ]
        self._begun.forget_rows(rows, None)  # the process ended before their file was removed

    def known(self, row: int) -> Outcome | None:
        """Return the outcome of a row that began and must not run again by itself; None if it never began."""
        if (begun := self._begun.known(row)) is not None:
            return begun
        if self.head.once and any(first <= row <= last for first, last in self._gone):
            return Outcome(row=row, reason=_GONE, unsure=True)
        return None

    def begins(self, first: int) -> BeganFile:
        """Return where the rows of a batch are put down as they begin."""
        return self._begun.file(first)

    def _piece(self, part: Part) -> Path:
        """Return where the failed rows of a part are."""
        return self._folder / "failed" / f"{part.first:012}.jsonl"

    def done(self) -> list[tuple[int, int]]:
        """Return the rows that are done, as first and last ones, in order."""
        return sorted((part.first, part.last) for part in self.parts.values())

    def keep(self, outcomes: Sequence[Outcome], begun: BeganFile | None = None) -> None:
        """Write the outcomes of a batch, then mark it as done. Raise StoreError.

        `begun` is the file that recorded its rows as they began.
        """
        for piece in _pieces(outcomes) if self.head.once else (outcomes,):
            self._keep(piece)
        if self.head.once:
            try:
                self._begun.forget_rows([outcome.row for outcome in outcomes], begun)
            except OSError as error:
                raise not_written(self._folder, error) from error

    def _keep(self, outcomes: Sequence[Outcome]) -> None:
        """Write a part, then that it is done. Raise StoreError."""
        first, last = outcomes[0].row, outcomes[-1].row
        good = b"".join(
            msgspec.json.encode({"row": outcome.row, "result": outcome.result}) + b"\n"
            for outcome in outcomes
            if not outcome.reason
        )
        bad = b"".join(
            msgspec.json.encode(
                {"row": outcome.row, "reason": outcome.reason, "arguments": outcome.arguments}
            )
            + b"\n"
            for outcome in outcomes
            if outcome.reason
        )
        name = f"part-{first:012}.jsonl"
        count = sum(not outcome.reason for outcome in outcomes)
        part = Part(
            first=first, last=last, ok=count, failed=len(outcomes) - count, file=name, bytes=len(good),
            sha256=sha256(good).hexdigest(), unsure=sum(outcome.unsure for outcome in outcomes),
        )  # fmt: skip
        try:
            if bad:
                self._piece(part).parent.mkdir(exist_ok=True)
                replace(self._piece(part), [bad])
            replace(self._folder / name, [good])
            self._append(part)
        except OSError as error:
            raise not_written(self._folder, error) from error
        self._put(part)

    def finish(self) -> tuple[int, int]:
        """Write the manifest and the rows that failed; return how many have a result, and how many have none.

        Raise StoreError.
        """
        parts = [self.parts[first] for first in sorted(self.parts)]
        ok, failed = sum(part.ok for part in parts), sum(part.failed for part in parts)
        manifest = {
            **msgspec.to_builtins(self.head), "rows": ok + failed, "ok": ok, "failed": failed,
            "parts": [msgspec.to_builtins(part) for part in parts],
        }  # fmt: skip
        try:
            if failed:
                pieces = (self._piece(part).read_bytes() for part in parts if part.failed)
                replace(self._folder / FAILED, pieces)
            replace(self._folder / MANIFEST, [msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"])
        except OSError as error:
            raise not_written(self._folder, error) from error
        return ok, failed

    @property
    def unsure(self) -> int:
        """Return how many rows may have run and have no result."""
        return len(self._unsure)

    def close(self) -> None:
        """Let another process have the folder."""
        self._file.close()

    def _append(self, line: Head | Part) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()
        os.fdatasync(self._file.fileno())


def _remove_halves(folder: Path) -> None:
    """Remove the files that a killed map was writing. Raise OSError."""
    for half in (*folder.glob("part-*.jsonl.tmp"), *folder.glob("failed/*.jsonl.tmp")):
        half.unlink()


def _pieces(outcomes: Sequence[Outcome]) -> Iterator[Sequence[Outcome]]:
    """Yield outcomes in pieces, each unsure one alone: so it can be run again without its neighbours."""
    start = 0
    for place, outcome in enumerate(outcomes):
        if outcome.unsure:
            if start < place:
                yield outcomes[start:place]
            yield outcomes[place : place + 1]
            start = place + 1
    if start < len(outcomes):
        yield outcomes[start:]
