"""Reads a TinyDB file and the journal beside it, in any state.

`x.json` is the last checkpoint: plain TinyDB, one document per line. `x.json.journal` holds the changes since, one
checksummed operation per line, under a first line that names the checkpoint it builds upon. Reading takes no lock
and changes nothing.
"""

from __future__ import annotations

import json
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from alita_tui.events import Json, Value, ready
from alita_tui.spine.errors import StoreError
from alita_tui.spine.gc_pause import gc_paused
from alita_tui.store import checksums, disk
from alita_tui.store.upgrades import OLDEST, SCHEMA_VERSION, Tables, upgrade

ABOUT = "store"
"""Table with the one document about the file itself."""

TORN = "the last record was cut off before it was complete"

Operation = tuple[Literal["put", "del", "gen"], str, str, Json]
"""`(put | del | gen, table, document id, document)`."""


class Restored(Value, frozen=True):
    """The result of opening a file."""

    events: int = 0
    """Number of documents read."""
    discarded: int = 0
    """Number of records that could not be read; at least this many if a file is cut off."""
    note: str = ""
    """What was lost and where the damaged original is saved; empty if nothing was lost."""


@dataclass
class Snapshot:
    """A file and its journal as they were at one moment."""

    tables: Tables = field(default_factory=dict)
    generation: int = 0
    """Number of the checkpoint."""
    schema_version: int = SCHEMA_VERSION
    json_at: disk.Signature = disk.NO_FILE
    end: int = 0
    """Offset behind the last whole line of the journal; 0 if the journal is ignored."""
    size: int = 0
    """Size of the journal; more than `end` if its tail is torn."""
    discarded: int = 0
    problems: list[str] = field(default_factory=list)
    damaged: list[Path] = field(default_factory=list)
    """Files with unreadable bytes that are not a torn tail."""

    @property
    def documents(self) -> int:
        """The number of documents, without the one about the file."""
        return sum(len(rows) for name, rows in self.tables.items() if name != ABOUT)

    @property
    def restored(self) -> Restored:
        """The result as a report."""
        return Restored(events=self.documents, discarded=self.discarded, note="; ".join(self.problems))


def journal_of(path: Path) -> Path:
    """Return the path of a file's journal."""
    return path.with_name(path.name + ".journal")


def dump(value: Json) -> bytes:
    """Return JSON in one line; lone surrogates, which UTF-8 cannot hold, are escaped."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def load(raw: bytes) -> Json:
    """Return JSON from bytes. Raises ValueError (msgspec's and json's errors both are)."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(raw.decode("utf-8", "replace"))


def line(done: Operation) -> bytes:
    """Return a journal line: CRC-32 in hex, the operation, a line end."""
    body = dump(done)
    return b"%08x %s\n" % (zlib.crc32(body), body)


def operation(raw: bytes) -> Operation | None:
    """Return the operation on a line, or None if the line is damaged."""
    body = raw[9:]
    try:
        if int(raw[:8], 16) != zlib.crc32(body):
            return None
        decoded = msgspec.convert(load(body), ready(Operation))
    except (ValueError, RecursionError):
        return None
    number = decoded[1] if decoded[0] == "gen" else decoded[2]
    return decoded if _ID.fullmatch(number) else None


def read(path: Path, known: Snapshot | None = None) -> Snapshot:
    """Return the file as it is now. `known`, read before, is updated in place if only lines were added.

    Raises StoreError if the file may not be read, or is replaced faster than it can be read.
    """
    for _ in range(50):
        signature = disk.signature(path)
        if known is not None and known.json_at == signature:
            if disk.signature(journal_of(path))[2] == known.end:
                return known
            snapshot, from_scratch = known, False
        else:
            snapshot, from_scratch = _checkpoint(path), True
            snapshot.json_at = signature
        raw = disk.read_bytes(journal_of(path)) or b""
        # A writer folds the journal by replacing the file first, so the same file before and after
        # means that the journal belongs to it.
        if disk.signature(path) == signature and (from_scratch or len(raw) >= snapshot.end):
            _follow(snapshot, path, raw)
            upgrade(snapshot.tables, snapshot.schema_version)
            return snapshot
        known = None
    raise StoreError(f"{path} changes too fast to be read.", hint="Try again in a moment.")


def _checkpoint(path: Path) -> Snapshot:
    snapshot = Snapshot()
    raw = disk.read_bytes(path)
    if raw is None:
        return snapshot
    if not raw:
        snapshot.problems.append(f"{path.name} was empty")
        return snapshot
    sums = checksums.found_in(raw)
    with gc_paused():
        if sums is None:
            _unchecked(snapshot, path, raw)
        elif checksums.fit(raw, sums) and (tables := _tables_of(raw)) is not None:
            snapshot.tables = tables
        else:
            snapshot.tables = _rescued(raw, sums)
            recorded = sum(map(len, sums.tables.values()))
            snapshot.discarded = recorded - sum(map(len, snapshot.tables.values()))
            _damaged(snapshot, path, f"{path.name} was damaged")
    about = snapshot.tables.get(ABOUT, {}).get("1")
    facts = about if isinstance(about, dict) else {}
    generation = sums.generation if sums else facts.get("generation")
    version = sums.schema_version if sums else facts.get("schema_version")
    snapshot.generation = generation if type(generation) is int else 0
    snapshot.schema_version = version if type(version) is int else OLDEST
    if snapshot.tables.pop(checksums.TABLE, None) or snapshot.schema_version >= checksums.SINCE:
        _note_missing_sums(snapshot, path, raw, sums)
    return snapshot


def _note_missing_sums(snapshot: Snapshot, path: Path, raw: bytes, sums: checksums.Sums | None) -> None:
    """Record what it means that a file has no checksums although it should."""
    if sums is not None or snapshot.damaged:
        return
    if raw.startswith(b"{\n"):
        _damaged(
            snapshot, path, f"{path.name} was damaged: nothing tells whether its records are as they were"
        )
    else:
        problem = f"{path.name} was rewritten by another program: nothing tells whether its records are as they were"
        snapshot.problems.append(problem)


def _damaged(snapshot: Snapshot, path: Path, problem: str) -> None:
    snapshot.problems.append(problem)
    snapshot.damaged.append(path)


def _unchecked(snapshot: Snapshot, path: Path, raw: bytes) -> None:
    """Read a file without checksums: an older one, another program's, or a damaged one."""
    tables = _tables_of(raw)
    if tables is not None:
        snapshot.tables = tables
        return
    snapshot.tables, snapshot.discarded = _salvaged(raw.decode("utf-8", "replace"))
    _damaged(snapshot, path, f"{path.name} was damaged")


def _rescued(raw: bytes, sums: checksums.Sums) -> Tables:
    """Return the intact documents of a damaged file."""
    tables: Tables = {name: {} for name in sums.tables}
    for name, doc_id, text in checksums.undamaged(raw, sums):
        with suppress(ValueError, RecursionError):
            if _ID.fullmatch(doc_id):
                tables[name][doc_id] = load(text)
    return tables


_ID = re.compile(r"0|[1-9][0-9]{0,17}")


def _checked(raw: Json) -> Tables:
    """Return tables of documents with numbers for names, as TinyDB needs them. Raises ValueError."""
    tables = msgspec.convert(raw, ready(Tables))
    if not all(_ID.fullmatch(doc_id) for rows in tables.values() for doc_id in rows):
        raise ValueError("a document's id is not a number")
    return tables


def _tables_of(raw: bytes) -> Tables | None:
    """Return the tables of a file; None if any record in it has no number. Earlier versions could write such files."""
    try:
        return _checked(load(raw))
    except (ValueError, RecursionError):
        return None


_KEY = re.compile(r'[\s,{]*"((?:[^"\\\n]|\\.)*)"\s*:\s*')


_CLOSE = re.compile(r"\s*}")


def _salvaged(text: str) -> tuple[Tables, int]:
    """Return every document that can still be read, and the number of places that cannot."""
    tables: Tables = {}
    rows: dict[str, Json] | None = None
    decoder = json.JSONDecoder()
    text = text.rstrip()
    discarded, position = 0, 0
    while position < len(text):
        if (close := _CLOSE.match(text, position)) is not None:
            rows, position = None, close.end()
            continue
        key = _KEY.match(text, position)
        if key is not None and not _ID.fullmatch(key[1]) and text.startswith("{", key.end()):
            rows, position = tables.setdefault(key[1], {}), key.end() + 1
            continue
        try:
            if key is None or rows is None or not _ID.fullmatch(key[1]):
                raise ValueError
            rows[key[1]], position = decoder.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            discarded += 1
            position = text.find("\n", key.end() if key else position) + 1 or len(text)
    return tables, max(discarded, 1)


def _follow(snapshot: Snapshot, path: Path, raw: bytes) -> None:
    """Apply the journal's lines that come after the snapshot."""
    start, snapshot.size = snapshot.end, len(raw)
    end = raw.rfind(b"\n") + 1
    lines = raw[start:end].split(b"\n")[:-1] if end > start else []
    if start == 0:
        header = operation(lines[0]) if lines else None
        if header is not None and header[0] == "gen":
            if int(header[1]) < snapshot.generation:
                return  # a crash came between the checkpoint and the emptying of the journal
            if int(header[1]) > snapshot.generation:
                snapshot.problems.append(f"only the journal of {path.name} could be restored")
                snapshot.generation, snapshot.schema_version = int(header[1]), OLDEST
            lines = lines[1:]
    damaged = 0
    for raw_line in lines:
        change = operation(raw_line)
        if change is None:
            damaged += 1
        else:
            apply(snapshot.tables, change)
    if damaged:
        snapshot.problems.append(f"the journal of {path.name} was damaged")
        snapshot.damaged.append(journal_of(path))
    if end < len(raw) and start == 0:
        snapshot.problems.append(TORN)
        damaged += 1
    snapshot.discarded += damaged
    snapshot.end = max(end, start)


def apply(tables: Tables, done: Operation) -> None:
    """Apply one operation in memory; applying it again changes nothing."""
    kind, table, doc_id, document = done
    if kind == "put":
        tables.setdefault(table, {})[doc_id] = document
    elif kind == "del":
        tables.get(table, {}).pop(doc_id, None)
