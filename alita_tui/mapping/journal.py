"""What a map has done: a part file for each batch of rows, and a line of the journal once it is on disk.

A kill loses the batches that were running and nothing else. A torn last line is cut; a part that is not there as the
journal says is made again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from alita_tui.events import Json, Value, ready
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.store.disk import replace

_SCHEMA = 1
JOURNAL, MANIFEST, FAILED = "journal.jsonl", "manifest.json", "failed.jsonl"


class Outcome(Value, frozen=True):
    """What came of a row."""

    row: int
    result: Json = None
    reason: str = ""
    """Why it has no result; empty where it has one."""
    arguments: Json = None
    """For those without a result."""


class Head(Value, frozen=True):
    """What a folder of results is of."""

    tool: str
    digest: str
    input: str
    """SHA-256 of the file of inputs."""
    schema: int = _SCHEMA


class Part(Value, frozen=True):
    """A batch that is done: rows `first` to `last` of the input, without those that it does not have."""

    first: int
    last: int
    ok: int
    failed: int
    file: str
    bytes: int
    sha256: str


class Journal:
    """The folder of one map, held by one process."""

    def __init__(self, folder: Path, head: Head) -> None:
        """Make the folder, or take up what is in it. Raise UsageError for another map's, StoreError."""
        self._folder = folder
        self.head = head
        self.parts: dict[int, Part] = {}
        """By their first row."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / JOURNAL
            if not path.exists() and any(folder.iterdir()):
                raise UsageError(f"{folder} is not empty.", hint="Name a new folder with --output.")
            self._file = path.open("a+b")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._take_up()
            except BaseException:
                self._file.close()
                raise
        except BlockingIOError as error:
            raise UsageError(f"Another alita is at work in {folder}.") from error
        except OSError as error:
            raise _failed(folder, error) from error

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
            with suppress(msgspec.DecodeError):  # what it says is done again
                self._know(msgspec.json.decode(line, type=ready(Part)))

    def _know(self, part: Part) -> None:
        with suppress(OSError):
            path = self._folder / Path(part.file).name
            told = not part.failed or self._piece(part).exists()
            if told and path.stat().st_size == part.bytes and part.first <= part.last:
                self.parts[part.first] = part

    def _piece(self, part: Part) -> Path:
        """Return where the failed rows of a part are."""
        return self._folder / "failed" / f"{part.first:012}.jsonl"

    def done(self) -> list[tuple[int, int]]:
        """Return the rows that are done, as first and last ones, in order."""
        return sorted((part.first, part.last) for part in self.parts.values())

    def keep(self, outcomes: Sequence[Outcome]) -> None:
        """Write the part of a batch, then that it is done. Raise StoreError."""
        first, last = outcomes[0].row, outcomes[-1].row
        good = b"".join(
            msgspec.json.encode({"row": one.row, "result": one.result}) + b"\n"
            for one in outcomes
            if not one.reason
        )
        bad = b"".join(
            msgspec.json.encode({"row": one.row, "reason": one.reason, "arguments": one.arguments}) + b"\n"
            for one in outcomes
            if one.reason
        )
        name = f"part-{first:012}.jsonl"
        count = sum(not one.reason for one in outcomes)
        part = Part(
            first=first, last=last, ok=count, failed=len(outcomes) - count, file=name, bytes=len(good),
            sha256=sha256(good).hexdigest(),
        )  # fmt: skip
        try:
            if bad:
                self._piece(part).parent.mkdir(exist_ok=True)
                replace(self._piece(part), [bad])
            replace(self._folder / name, [good])
            self._append(part)
        except OSError as error:
            raise _failed(self._folder, error) from error
        self.parts[first] = part

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
            raise _failed(self._folder, error) from error
        return ok, failed

    def close(self) -> None:
        """Let another process have the folder."""
        self._file.close()

    def _append(self, line: Head | Part) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()
        os.fdatasync(self._file.fileno())


def _failed(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{error.filename or folder} cannot be written: {error.strerror}.",
        hint="What is done stays; the same command goes on.",
    )
