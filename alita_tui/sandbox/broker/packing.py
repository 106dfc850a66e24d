"""Unpacks compressed data, so that secrets in it are found."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

_MOST_BYTES = 64 << 20
"""Most bytes that are unpacked; larger data is not passed on."""
_MOST_LAYERS = 3
"""How many layers of compression are unpacked."""
_GZIP, _BZIP, _XZ, _ZIP = b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04"
_UNREAD = (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x1f\x9d", b"\x1f\xa0")
"""Zstandard, LZ4, 7-Zip, RAR, compress: formats that cannot be unpacked here."""


class _Unpacker(Protocol):
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def packed(head: bytes) -> bool:
    """Return whether data with this beginning is compressed."""
    return head.startswith((_GZIP, _BZIP, _XZ, _ZIP, *_UNREAD)) or _is_zlib(head)


def unpacked(data: bytes, depth: int = 0) -> Iterator[bytes]:
    """Yield the content, and the content of compressed parts of it. Raise ValueError where it cannot be read."""
    if data.startswith(_UNREAD) or depth > _MOST_LAYERS:
        raise ValueError("it is packed in a way that cannot be looked into")
    if data.startswith(_ZIP):
        parts = _zipped(data)
    else:
        parts = iter((_inflated(data),))
    for part in parts:
        yield part
        if packed(part):
            yield from unpacked(part, depth + 1)


def _is_zlib(head: bytes) -> bool:
    return len(head) > 1 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and int.from_bytes(head[:2]) % 31 == 0


def _zlib() -> _Unpacker:
    return zlib.decompressobj(47)  # gzip or zlib, as it begins


def _inflated(data: bytes) -> bytes:
    new_unpacker: Callable[[], _Unpacker]
    if data.startswith(_BZIP):
        new_unpacker = bz2.BZ2Decompressor
    elif data.startswith(_XZ):
        new_unpacker = lzma.LZMADecompressor
    else:
        new_unpacker = _zlib
    content = bytearray()
    rest = data
    try:
        while rest:  # several may follow one another
            unpacker = new_unpacker()
            content += unpacker.decompress(rest, _MOST_BYTES + 1 - len(content))
            if len(content) > _MOST_BYTES:
                raise ValueError("it is too long when unpacked")
            previous, rest = rest, getattr(unpacker, "unused_data", b"")
            if len(rest) >= len(previous):
                break
    except (zlib.error, OSError, EOFError, lzma.LZMAError):
        pass  # nobody can read more of it than this
    return bytes(content)


def _zipped(data: bytes) -> Iterator[bytes]:
    remaining = _MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                with archive.open(name) as file:
                    part = file.read(remaining + 1)
                remaining -= len(part)
                if remaining < 0:
                    raise ValueError("it is too long when unpacked")
                yield name.encode("utf-8", "replace") + b"\n" + part
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, zlib.error) as error:
        raise ValueError("it is packed in a way that cannot be looked into") from error
