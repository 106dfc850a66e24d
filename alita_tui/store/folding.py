"""Writes a file: TinyDB's JSON with a line per document, and the checksums of these lines."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Mapping

from alita_tui.store import checksums
from alita_tui.store.journal_reader import ABOUT, dump
from alita_tui.store.upgrades import SCHEMA_VERSION, Tables


def whole(tables: Tables) -> Iterator[bytes]:
    """Yield TinyDB's JSON with a line per document, so that damage costs only its lines, and their checksums."""
    sums: dict[str, array[int]] = {}
    yield from documents(tables, sums)
    yield ending(tables, sums)


def documents(tables: Tables, sums: dict[str, array[int]]) -> Iterator[bytes]:
    """Yield the file up to the end of its last table, and fill in the checksums of its lines."""
    yield b"{\n"
    stored = ((name, rows) for name, rows in tables.items() if name != checksums.TABLE)
    for number, (name, rows) in enumerate(stored):
        lines = [b"%s:%s" % (dump(doc_id), dump(row)) for doc_id, row in rows.items()]
        sums[name] = array("I", map(zlib.crc32, lines))
        yield b"%s%s:{\n%s\n}" % (b",\n" if number else b"", dump(name), b",\n".join(lines))


def ending(tables: Tables, sums: Mapping[str, array[int]]) -> bytes:
    """Return the file's end: the checksums, which repeat the file's own header."""
    row = tables.get(ABOUT, {}).get("1")
    about = row if isinstance(row, dict) else {}
    return checksums.closing(
        about.get("generation", 0), about.get("schema_version", SCHEMA_VERSION), sums, first=not sums
    )
