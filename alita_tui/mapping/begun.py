"""Records rows of a tool that may change something: on disk before each row begins, and its outcome afterwards.

There is a file for each batch, which is removed once the batch is stored. A row that began but has no outcome may have
run.
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
    """Return the error for a file in the folder of results that cannot be written."""
    return StoreError(
        f"{error.filename or folder} cannot be written: {error.strerror}.",
        hint="Finished rows are kept; run the same command to continue.",
    )


class _Line(Value, frozen=True):
    row: int
    outcome: Outcome | None = None
    """None if the line says that the row begins."""
    unbegun: bool = False
    """True if the row did not begin after all."""


class BeganFile:
    """The file with the rows of one batch, in the order in which they begin."""

    def __init__(self, path: Path) -> None:
        """The file is created when the first row begins."""
        self.path = path
        self._file: BinaryIO | None = None

    def begin(self, row: int) -> None:
        """Record on disk that a row begins. Blocks. Raises StoreError."""
        with self._recording():
            if self._file is None:
                make_folder(self.path.parent)
                self._file = self.path.open("xb")
                sync_folder(self.path.parent)
            self._write(_Line(row=row))
            os.fdatasync(self._file.fileno())

    def take_back(self, row: int) -> None:
        """Record that a row did not begin after all. Raises StoreError."""
        with self._recording():
            self._write(_Line(row=row, unbegun=True))

    def end(self, outcome: Outcome) -> None:
        """Record a row's outcome; if a power failure loses it, the row may have run. Raises StoreError."""
        with self._recording():
            self._write(_Line(row=outcome.row, outcome=outcome))

    def close(self) -> None:
        """Close the file, without removing it."""
        if self._file is not None:
            self._file.close()

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Raise errors of the disk as StoreError."""
        try:
            yield
        except OSError as error:
            raise not_written(self.path.parent, error) from error

    def _write(self, line: _Line) -> None:
        assert self._file is not None
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


class BegunRows:
    """The rows that earlier runs began, and the files of the running batches."""

    def __init__(self, folder: Path) -> None:
        """Read the files of earlier runs. Raises StoreError, OSError."""
        self._folder = folder
        self._rows: dict[int, Outcome | None] = {}
        """Rows that earlier runs began, with their outcomes; None if unknown."""
        self._left: dict[Path, set[int]] = {}
        self._keeping = Lock()  # batches are stored from threads
        for path in sorted(folder.glob("*.jsonl")):
            self._left[path] = self._read(path)
        self._number = 1 + max((int(path.stem.rpartition("-")[2]) for path in self._left), default=0)

    def _read(self, path: Path) -> set[int]:
        rows: dict[int, Outcome | None] = {}
        # A torn last line is ignored: it was not on disk, so its row has not begun.
        for line in path.read_bytes().split(b"\n")[:-1]:
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
        self._rows.update(
            {row: outcome for row, outcome in rows.items() if outcome or not self._rows.get(row)}
        )
        return set(rows)

    def known(self, row: int) -> Outcome | None:
        """Return the outcome of a row that an earlier run began; None for any other row."""
        if row not in self._rows:
            return None
        return self._rows[row] or Outcome(row=row, reason=MAY_HAVE_RUN, unsure=True)

    @property
    def rows(self) -> list[int]:
        """The rows that earlier runs began and that are not stored yet."""
        return list(self._rows)

    def has(self, row: int) -> bool:
        """Return True if an earlier run began the row and it is not stored yet."""
        return row in self._rows

    def forget_unsure(self) -> None:
        """Forget the rows that may have run, so that they can run again."""
        self._rows = {row: outcome for row, outcome in self._rows.items() if outcome and not outcome.unsure}

    def file(self, first_row: int) -> BeganFile:
        """Return a new file for the batch that begins with a row."""
        self._number += 1
        return BeganFile(self._folder / f"{first_row:012}-{self._number - 1:06}.jsonl")

    def forget_rows(self, rows: Sequence[int], file: BeganFile | None) -> None:
        """Remove rows that are now stored in parts of the map. Raises OSError."""
        if file is not None:
            file.close()
            file.path.unlink(missing_ok=True)
        with self._keeping:
            for row in rows:
                self._rows.pop(row, None)
            for path, row_numbers in list(self._left.items()):
                row_numbers.difference_update(rows)
                if not row_numbers:
                    path.unlink(missing_ok=True)
                    del self._left[path]
