"""The progress of a map: a part file for each batch of rows, and a line in the journal once it is on disk.

A kill loses only the running batches. A torn last line is cut off; the rows of a part that does not match the journal
are run again. If rows run at most once (`Head.once`), lost rows count as failed instead, and as unsure.
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
from alita_tui.spine.text import one_line
from alita_tui.store.disk import replace

_SCHEMA = 1
JOURNAL, MANIFEST, FAILED = "journal.jsonl", "manifest.json", "failed.jsonl"
_RESULT_LOST = "It ran, but its result is gone from this folder, and the tool may change something."


class Head(Value, frozen=True):
    """The map that a folder of results belongs to."""

    tool: str
    digest: str
    input: str
    """SHA-256 of the file of inputs."""
    schema: int = _SCHEMA
    once: bool = False
    """True if its tool may change something: then a row that may have run is not run again automatically."""


class Part(Value, frozen=True):
    """A batch that is done: rows `first` to `last` of the input; numbers in between may be missing there."""

    first: int
    last: int
    ok: int
    failed: int
    file: str
    bytes: int
    sha256: str
    unsure: int = 0
    """Number of the failed rows that may have run."""


class Journal:
    """The folder of one map, held by one process."""

    def __init__(self, folder: Path, head: Head, *, unsure_again: bool = False) -> None:
        """Create the folder, or continue with its content. Raises UsageError for the folder of another map, StoreError.

        With `unsure_again`, rows that may have run are run again.
        """
        self._folder = folder
        self.head = head
        self._unsure_again = unsure_again
        self._gone: list[tuple[int, int]] = []
        """First and last row of each part whose file is missing."""
        self.parts: dict[int, Part] = {}
        """Parts by their first row."""
        self._unsure: set[int] = set()
        """First row of each part whose single row may have run."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / JOURNAL
            if not path.exists() and any(folder.iterdir()):
                raise UsageError(f"{folder} is not empty.", hint="Name a new folder with --output.")
            self._file = path.open("a+b")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_unfinished(folder)
                self._take_up()
                self._begun = BegunRows(folder / "begun")
                self._leave_open()
            except BaseException:
                self._file.close()
                raise
        except BlockingIOError as error:
            raise UsageError(f"Another alita is at work in {folder}.") from error
        except (FileExistsError, NotADirectoryError):
            raise UsageError(
                f"{one_line(str(folder))} is no folder.", hint="Name a new folder with --output."
            ) from None
        except OSError as error:
            raise not_written(folder, error) from error

    def _take_up(self) -> None:
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        size = sum(len(line) + 1 for line in lines[:-1])
        self._file.truncate(size)
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
            difference = "another version of the tool" if head.input == self.head.input else "another input"
            raise UsageError(
                f"{self._folder} holds results of {head.tool} and {difference}.",
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

    def _drop(self, first_row: int) -> None:
        self._unsure.discard(first_row)
        del self.parts[first_row]

    def _leave_open(self) -> None:
        """Mark unsure rows as not done if they are to run again, or if their outcome is known after all."""
        for first in [first for first in self._unsure if self._unsure_again or self._begun.has(first)]:
            self._drop(first)
        if self._unsure_again:
            self._begun.forget_unsure()
            self._gone.clear()
        ranges = self.done()
        rows = [
            row
            for row in self._begun.rows
            if (index := bisect_right(ranges, (row, inf))) and row <= ranges[index - 1][1]
        ]
        self._begun.forget_rows(rows, None)  # the process ended before their file was removed

    def known(self, row: int) -> Outcome | None:
        """Return the outcome of a row that began and must not run again automatically; None if it never began."""
        if (outcome := self._begun.known(row)) is not None:
            return outcome
        if self.head.once and any(first <= row <= last for first, last in self._gone):
            return Outcome(row=row, reason=_RESULT_LOST, unsure=True)
        return None

    def begins(self, first_row: int) -> BeganFile:
        """Return the file that records the rows of a batch as they begin."""
        return self._begun.file(first_row)

    def _piece(self, part: Part) -> Path:
        """Return the path of the file with a part's failed rows."""
        return self._folder / "failed" / f"{part.first:012}.jsonl"

    def done(self) -> list[tuple[int, int]]:
        """Return the ranges of done rows as first and last row, in order."""
        return sorted((part.first, part.last) for part in self.parts.values())

    def keep(self, outcomes: Sequence[Outcome], batch_file: BeganFile | None = None) -> None:
        """Write the outcomes of a batch, then mark it as done. Raises StoreError.

        `batch_file` is the file that recorded its rows as they began.
        """
        for group in _groups(outcomes) if self.head.once else (outcomes,):
            self._keep(group)
        if self.head.once:
            try:
                self._begun.forget_rows([outcome.row for outcome in outcomes], batch_file)
            except OSError as error:
                raise not_written(self._folder, error) from error

    def _keep(self, outcomes: Sequence[Outcome]) -> None:
        """Write a part, then a line in the journal that it is done. Raises StoreError."""
        first, last = outcomes[0].row, outcomes[-1].row
        results = b"".join(
            msgspec.json.encode({"row": outcome.row, "result": outcome.result}) + b"\n"
            for outcome in outcomes
            if not outcome.reason
        )
        failures = b"".join(
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
            first=first, last=last, ok=count, failed=len(outcomes) - count, file=name, bytes=len(results),
            sha256=sha256(results).hexdigest(), unsure=sum(outcome.unsure for outcome in outcomes),
        )  # fmt: skip
        try:
            if failures:
                self._piece(part).parent.mkdir(exist_ok=True)
                replace(self._piece(part), [failures])
            replace(self._folder / name, [results])
            self._append(part)
        except OSError as error:
            raise not_written(self._folder, error) from error
        self._put(part)

    def finish(self) -> tuple[int, int]:
        """Write the manifest and the failed rows; return the numbers of rows with and without a result.

        Raises StoreError.
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
        """The number of rows that may have run and have no result."""
        return len(self._unsure)

    def close(self) -> None:
        """Release the folder for other processes."""
        self._file.close()

    def _append(self, line: Head | Part) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()
        os.fdatasync(self._file.fileno())


def _remove_unfinished(folder: Path) -> None:
    """Remove unfinished files of a killed map. Raises OSError."""
    for file in (*folder.glob("part-*.jsonl.tmp"), *folder.glob("failed/*.jsonl.tmp")):
        file.unlink()


def _groups(outcomes: Sequence[Outcome]) -> Iterator[Sequence[Outcome]]:
    """Yield outcomes in groups, with each unsure one alone, so that it can be run again alone."""
    start = 0
    for index, outcome in enumerate(outcomes):
        if outcome.unsure:
            if start < index:
                yield outcomes[start:index]
            yield outcomes[index : index + 1]
            start = index + 1
    if start < len(outcomes):
        yield outcomes[start:]
