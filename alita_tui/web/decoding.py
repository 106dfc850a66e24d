"""Decodes bytes by the server's charset, a byte order mark, the page's own charset, UTF-8, or a guess."""

from __future__ import annotations

import codecs

_BROWSERS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""Charset names that pages use for a larger charset (WHATWG Encoding, 4.2)."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GUESSED = 60_000
"""Bytes that a guess examines."""
_LEAST_BYTES = 40
"""Bytes beyond ASCII that a guess needs."""
_BAD = 200
"""One character in this many may be broken in a text with a correct charset."""


def known(charset: str) -> str:
    """Return the codec for a charset name; empty for unknown ones, and for codecs that are not text encodings."""
    try:
        codec = codecs.lookup(charset[:40])
        b"".decode(codec.name)  # refuses codecs such as zlib
    except (LookupError, ValueError):
        return ""
    return _BROWSERS.get(codec.name, codec.name)


def decoded(body: bytes, charset: str = "", *, html: bool = False) -> str:
    """Return a body as text; `charset` is the server's, ignored if it cannot be right."""
    mark = next((name for start, name in _MARKS if body.startswith(start)), "")
    for name in (charset, mark, _declared(body) if html else "", "utf-8-sig"):
        text = _decoded_as(body, name) if name else None
        if text is not None:
            return text
    return _decoded_as(body, _guess(body)) or body.decode("cp1252", "replace")


def _decoded_as(body: bytes, name: str) -> str | None:
    """Return the text; None if so much of it is broken that the charset must be wrong."""
    try:
        text = body.decode(name, "replace")
    except (LookupError, ValueError):
        return None
    return text if text.count("\ufffd") * _BAD <= len(text) else None


def _declared(body: bytes) -> str:
    from bs4.dammit import EncodingDetector

    name = known(EncodingDetector.find_declared_encoding(body[:4096], is_html=True) or "")
    # A declaration that could be read as ASCII cannot be in UTF-16 or UTF-32.
    return "utf-8" if name.startswith(("utf-16", "utf-32")) else name


def _guess(body: bytes) -> str:
    from charset_normalizer import from_bytes

    if sum(byte > 127 for byte in body[:_GUESSED]) < _LEAST_BYTES:
        return "cp1252"
    best = from_bytes(body[:_GUESSED]).best()
    return best.encoding if best else "cp1252"
