"""Checksums of a folded file: its last table has a checksum for each document line before it.

The table has one line, `"1":{"crc32": of the rest, "generation", "schema_version", "tables": {name: sums}}`, where
the sums of a table are the CRC-32 of its lines `"id":document`, in order, eight hex digits each. Plain TinyDB sees
one more table; a file that it rewrote has other lines, so its checksums no longer count.
"""

from __future__ import annotations

import re
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO

import msgspec

from alita_tui.events import Value, ready

TABLE = "checksums"
"""The table's name in the file."""

SINCE = 3
"""First schema version whose files all have checksums."""

_HEAD = b'"1":{"crc32":"'
_ROW = re.compile(re.escape(_HEAD) + rb'([0-9a-f]{8})",(.*)\n', re.DOTALL)


class _Line(Value, frozen=True):
    generation: int
    schema_version: int
    tables: dict[str, str]


@dataclass(frozen=True)
class Sums:
    """The checksums of a file."""

    generation: int
    schema_version: int
    tables: dict[str, array[int]]
    """CRC-32 of every document line by table, both in file order."""
    row: bytes
    """Their own line in the file."""


def new_sums() -> array[int]:
    """Return an array for the sums of a table, 32 bits per line."""
    return array("I")


def closing(
    generation: int, schema_version: int, tables: Mapping[str, array[int]], *, first: bool = False
) -> bytes:
    """Return what follows a file's last table: the checksums and the file's end. `first`: there is no table."""
    line = _Line(
        generation=generation,
        schema_version=schema_version,
        tables={name: _hex(sums) for name, sums in tables.items()},
    )
    content = msgspec.json.encode(line)[1:]
    row = b'%s%08x",%s' % (_HEAD, zlib.crc32(content), content)
    return b'%s"%s":{\n%s\n}\n}\n' % (b"" if first else b",\n", TABLE.encode(), row)


def parsed(row: bytes) -> Sums | None:
    """Return the checksums on a line; None if the line is damaged or something else."""
    match = _ROW.fullmatch(row)
    if match is None or int(match[1], 16) != zlib.crc32(match[2]):
        return None
    try:
        line = msgspec.json.decode(b"{" + match[2], type=ready(_Line))
        tables = {name: _numbers(text) for name, text in line.tables.items()}
    except ValueError:
        return None
    return Sums(line.generation, line.schema_version, tables, row)


def found_in(raw: bytes) -> Sums | None:
    """Return the checksums of a whole file; None if it has none that can be read."""
    at = raw.rfind(b"\n" + _HEAD) + 1
    return parsed(raw[at : raw.find(b"\n", at) + 1]) if at else None


def fit(raw: bytes, sums: Sums) -> bool:
    """Return True if every byte of the file is as it was written."""
    lines = iter(BytesIO(raw))
    for expected, end in _layout(sums):
        line = next(lines, b"")
        if not line.endswith(end):
            return False
        body = line[: -len(end)]
        if (body if isinstance(expected, bytes) else zlib.crc32(body)) != expected:
            return False
    return next(lines, None) is None


def undamaged(raw: bytes, sums: Sums) -> Iterator[tuple[str, str, bytes]]:
    """Yield table, id and JSON of each intact document line of a damaged file."""
    table_of = {crc: name for name, table in sums.tables.items() for crc in table}
    for line in BytesIO(raw):
        for body in (line[:-1], line[:-2], line):
            name = table_of.get(zlib.crc32(body))
            if name is not None and body[:1] == b'"' and (colon := body.find(b'":')) > 0:
                yield name, body[1:colon].decode("ascii", "replace"), body[colon + 2 :]
                break


def _layout(sums: Sums) -> Iterator[tuple[bytes | int, bytes]]:
    """Yield each expected line of the file, or its CRC-32, and its ending (comma and line end)."""
    yield b"{", b"\n"
    for name, table in sums.tables.items():
        yield b"%s:{" % msgspec.json.encode(name), b"\n"
        if not table:
            yield b"", b"\n"
        for crc in table[:-1]:
            yield crc, b",\n"
        for crc in table[-1:]:
            yield crc, b"\n"
        yield b"}", b",\n"
    yield b'"%s":{' % TABLE.encode(), b"\n"
    yield sums.row[:-1], b"\n"
    yield b"}", b"\n"
    yield b"}", b"\n"


def _hex(sums: array[int]) -> str:
    return _big_endian(sums).tobytes().hex()


def _numbers(text: str) -> array[int]:
    sums = new_sums()
    sums.frombytes(bytes.fromhex(text))
    return _big_endian(sums)


def _big_endian(sums: array[int]) -> array[int]:
    """Return the sums with each number's bytes in the order in which they are written."""
    turned = sums[:]
    if sys.byteorder == "little":
        turned.byteswap()
    return turned
