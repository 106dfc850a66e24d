"""Rows of a tool that may change something: recorded on disk before each begins, and its outcome after.

There is a file for each batch, removed once the batch is stored. A row that began without an outcome may have run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import BinaryIO

import msgspec

from alita_tui.events import Value, ready
from alita_tui.mapping.outcomes import Outcome
from alita_tui.spine.errors import StoreError
from alita_tui.store.disk import make_folder, sync_folder

MAY_HAVE_RUN = "It may have run: alita ended while it did, and the tool may change something."


def not_written(folder: Path, error: OSError) -> StoreError:
    """Return what a person is told where something in the folder of results cannot be written."""
    return StoreError(
        f"{error.filename or folder} cannot be written: {error.strerror}.",
        hint="Finished rows are kept; run the same command to continue.",
    )


class _Line(Value, frozen=True):
    row: int
    outcome: Outcome | None = None
    """None if the row begins."""
    unbegun: bool = False
    """It did not begin after all."""


class BeganFile:
    """The rows of one batch, in the order in which they begin."""

    def __init__(self, path: Path) -> None:
        """Nothing is written until the first of them begins."""
        self.path = path
        self._file: BinaryIO | None = None

    def begin(self, row: int) -> None:
        """Put on disk that a row begins now. Blocks. Raise StoreError."""
        with self._recording():
            if self._file is None:
                make_folder(self.path.parent)
                self._file = self.path.open("xb")
                sync_folder(self.path.parent)
            self._write(_Line(row=row))
            os.fdatasync(self._file.fileno())

    def take_back(self, row: int) -> None:
        """Say that a row did not begin. Raise StoreError."""
        with self._recording():
            self._write(_Line(row=row, unbegun=True))

    def end(self, outcome: Outcome) -> None:
        """Record a row's outcome; if a power failure loses it, the row counts as possibly run. Raise StoreError."""
        with self._recording():
            self._write(_Line(row=outcome.row, outcome=outcome))

    def close(self) -> None:
        """Close the file; it stays."""
        if self._file is not None:
            self._file.close()

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Turn an error of the disk into a StoreError."""
        try:
            yield
        except OSError as error:
            raise not_written(self.path.parent, error) from error

    def _write(self, line: _Line) -> None:
        assert self._file is not None
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


class BegunRows:
    """What earlier runs began, and the files of the batches that run now."""

    def __init__(self, folder: Path) -> None:
        """Read the files of earlier runs. Raise StoreError, OSError."""
        self._folder = folder
        self._rows: dict[int, Outcome | None] = {}
        """Rows that earlier runs began, with their outcomes if known."""
        self._left: dict[Path, set[int]] = {}
        self._keeping = Lock()  # batches are stored from threads
        for path in sorted(folder.glob("*.jsonl")):
            self._left[path] = self._read(path)
        self._number = 1 + max((int(path.stem.rpartition("-")[2]) for path in self._left), default=0)

    def _read(self, path: Path) -> set[int]:
        rows: dict[int, Outcome | None] = {}
        for line in path.read_bytes().split(b"\n")[
            :-1
        ]:  # a torn line was not on disk when its row would have begun
            try:
                entry = msgspec.json.decode(line, type=ready(_Line))
            except msgspec.DecodeError as error:
                raise StoreError(
                    f"{path} is damaged, so nobody knows which rows have run.",
                    hint="Name a new folder with --output; it begins with all rows.",
                ) from error
            if entry.unbegun:
                rows.pop(entry.row, None)
            else:
                rows[entry.row] = entry.outcome
        self._rows.update({row: came for row, came in rows.items() if came or not self._rows.get(row)})
        return set(rows)

    def known(self, row: int) -> Outcome | None:
        """Return the outcome of a row that an earlier run began; None if none did."""
        if row not in self._rows:
            return None
        return self._rows[row] or Outcome(row=row, reason=MAY_HAVE_RUN, unsure=True)

    @property
    def rows(self) -> list[int]:
        """Return the rows that earlier runs began and that are not stored yet."""
        return list(self._rows)

    def has(self, row: int) -> bool:
        """Return whether an earlier run began a row that is not stored yet."""
        return row in self._rows

    def forget_unsure(self) -> None:
        """Let the rows that may have run begin again."""
        self._rows = {row: came for row, came in self._rows.items() if came and not came.unsure}

    def file(self, first: int) -> BeganFile:
        """Return a new file for a batch."""
        self._number += 1
        return BeganFile(self._folder / f"{first:012}-{self._number - 1:06}.jsonl")

    def forget_rows(self, rows: Sequence[int], file: BeganFile | None) -> None:
        """Remove the rows that are now in the parts of the map. Raise OSError."""
        if file is not None:
            file.close()
            file.path.unlink(missing_ok=True)
        with self._keeping:
            for row in rows:
                self._rows.pop(row, None)
            for path, left in list(self._left.items()):
                left.difference_update(rows)
                if not left:
                    path.unlink(missing_ok=True)
                    del self._left[path]
