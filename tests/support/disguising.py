"""Ways in which a server may write what it was sent, and how a tool would read each."""

from __future__ import annotations

import base64
import binascii
import bz2
import gzip
import html
import json
import lzma
import quopri
import re
import zlib
from collections.abc import Callable
from urllib.parse import quote, unquote_to_bytes

Form = tuple[Callable[[str], bytes], Callable[[bytes], bytes]]


def _json(data: bytes) -> bytes:
    """What the first string in a text means to a JSON reader; as it is where there is none."""
    try:
        return str(json.loads(data)).encode("utf-8", "surrogatepass")
    except ValueError:
        return data


def _base64(data: bytes) -> bytes:
    letters = re.sub(rb"[^A-Za-z0-9+/]", b"", data.translate(bytes.maketrans(b"-_*", b"+/A")))
    return base64.b64decode(letters + b"A" * (-len(letters) % 4))


def _hex(data: bytes) -> bytes:
    letters = re.sub(rb"[^0-9A-Fa-f]", b"", data.replace(b"*", b"0"))
    return binascii.unhexlify(letters[: len(letters) // 2 * 2])


def _entities(data: bytes) -> bytes:
    return html.unescape(data.decode("utf-8", "replace")).encode()


def _wide(code: str) -> Form:
    return (
        lambda value: f"<{value}>".encode(code),
        lambda data: data.decode(code, "replace").encode("utf-8", "replace"),
    )


def _after(before: bytes) -> Form:
    return lambda value: base64.b64encode(before + value.encode() + b"."), _base64


FORMS: dict[str, Form] = {
    "itself": (lambda value: b"got " + value.encode(), lambda data: data),
    "json": (lambda value: json.dumps(value).encode(), _json),
    "json, slashes escaped": (lambda value: json.dumps(value).replace("/", "\\/").encode(), _json),
    "json, all escaped": (
        lambda value: (
            '"' + re.sub("....", lambda one: f"\\u{one[0]}", value.encode("utf-16-be").hex()) + '"'
        ).encode(),
        _json,
    ),
    "json in json": (
        lambda value: json.dumps(json.dumps(value).replace("/", "\\/")).encode(),
        lambda data: _json(_json(data)),
    ),
    "url": (lambda value: quote(value, safe="").encode(), unquote_to_bytes),
    "url, all": (lambda value: "".join(f"%{byte:02x}" for byte in value.encode()).encode(), unquote_to_bytes),
    "url, twice": (
        lambda value: quote(quote(value, safe=""), safe="").encode(),
        lambda data: unquote_to_bytes(unquote_to_bytes(data)),
    ),
    "html": (lambda value: html.escape(value).encode(), _entities),
    "html, numbers": (lambda value: "".join(f"&#{ord(one)};" for one in value).encode(), _entities),
    "html, hex": (lambda value: "".join(f"&#x{ord(one):05X};" for one in value).encode(), _entities),
    "html of json": (
        lambda value: html.escape(json.dumps(value)).encode(),
        lambda data: _json(_entities(data)),
    ),
    "python": (
        lambda value: repr(value.encode()).encode(),
        lambda data: re.sub(
            rb"\\x(..)|\\(.)", lambda one: bytes.fromhex(one[1].decode()) if one[1] else one[2], data
        ),
    ),
    "base64": _after(b""),
    "base64, one later": _after(b"u"),
    "base64, two later": _after(b"u:"),
    "base64 for urls": (lambda value: base64.urlsafe_b64encode(b"x" + value.encode()), _base64),
    "base64 in lines": (lambda value: base64.encodebytes(b"u:" + value.encode() * 8), _base64),
    "hex": (lambda value: value.encode().hex().encode(), _hex),
    "hex, colons": (lambda value: value.encode().hex(":").upper().encode(), _hex),
    "quoted-printable": (
        lambda value: quopri.encodestring(value.encode() + b" \xff" * 40, quotetabs=True),
        quopri.decodestring,
    ),
    **{code: _wide(code) for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")},
}
"""Name → how a value is written, and how that is read again."""


def _packing(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]) -> Form:
    return (
        lambda value: pack(b"so much text before it. " * 9 + value.encode()),
        lambda data: unpack(data) if data else b"",
    )


PACKED: dict[str, Form] = {
    "gzip": _packing(gzip.compress, gzip.decompress),
    "zlib": _packing(zlib.compress, zlib.decompress),
    "bzip2": _packing(bz2.compress, bz2.decompress),
    "xz": _packing(lzma.compress, lzma.decompress),
    "gzip in gzip": _packing(
        lambda data: gzip.compress(gzip.compress(data)), lambda data: gzip.decompress(gzip.decompress(data))
    ),
}
