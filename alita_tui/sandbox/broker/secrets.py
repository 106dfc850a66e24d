"""Puts secrets into requests to the one host they are granted for, and keeps them out of the responses.

The tool holds a stand-in. Where it writes that in a header, a query or a form, the broker writes the value. A value
that any host sends back is masked before the tool reads it, however the host writes it (`spine/disguises.py`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import AsyncIterator, Callable
from urllib.parse import quote

from alita_tui.sandbox.broker.grants import Entry, Refused, RunGrants
from alita_tui.sandbox.broker.http import Headers
from alita_tui.sandbox.broker.packing import packed, unpacked
from alita_tui.spine.disguises import Disguises
from alita_tui.spine.grants import HostGrant

_HEAD = 8
"""Bytes at the beginning by which compressed data is recognised."""
_LOOKED_THROUGH = 16 << 20
_PRINTABLE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_FORM = 1 << 20
"""Bytes of the longest body in which stand-ins are looked for."""
_WAYS: dict[bytes, Callable[[str], str]] = {
    b"application/x-www-form-urlencoded": lambda value: quote(value, safe=""),
    b"application/json": lambda value: json.dumps(value)[1:-1],
    b"multipart/form-data": lambda value: value,
}
"""How a value is written in a form, by its media type."""


class RequestSecrets:
    """The secrets of one request."""

    def __init__(self, grants: RunGrants, grant: HostGrant, entry: Entry) -> None:
        self._grants = grants
        self._grant = grant
        self._entry = entry

    def into_target(self, target: bytes) -> bytes:
        """Return the request's path and query with values in place of stand-ins. Raise Refused."""
        path, mark, query = target.partition(b"?")
        return path + mark + self._fill(query, _WAYS[b"application/x-www-form-urlencoded"])

    def into_headers(self, headers: Headers) -> Headers:
        """Return the headers with values in place of stand-ins, in basic credentials too. Raise Refused."""
        filled = [(name, self._credentials(self._fill(value))) for name, value in headers]
        for (_, before), (_, value) in zip(headers, filled, strict=True):
            if value != before and not _PRINTABLE.fullmatch(value):
                named = ", ".join(sorted(self._entry.secrets))
                raise Refused(
                    403, f"the secret {named} has a line break or another sign that no header can have"
                )
        return filled

    async def into_body(
        self, headers: Headers, body: AsyncIterator[bytes]
    ) -> tuple[Headers, AsyncIterator[bytes]]:
        """Return headers and body with values in place of stand-ins, where the body is a form whose length is given.

        Anything else is passed on unchanged, with the stand-ins in it. Raise Refused.
        """
        fields = {name.lower(): value.strip() for name, value in headers}
        way = _WAYS.get(fields.get(b"content-type", b"").partition(b";")[0].strip().lower())
        length = fields.get(b"content-length", b"")
        short = length.isdigit() and int(length) <= _FORM
        if way is None or not short or not self._grants.stand_ins or b"content-encoding" in fields:
            return headers, body
        whole = self._fill(b"".join([piece async for piece in body]), way)
        counted = (b"Content-Length", str(len(whole)).encode())
        headers = [counted if name.lower() == b"content-length" else (name, value) for name, value in headers]
        return headers, _pieces(whole)

    def mask(self) -> SecretMask:
        """Return a mask for all values of the run, also those that another request has sent."""
        return SecretMask(self._grants.disguises)

    def _fill(self, text: bytes, way: Callable[[str], str] = str) -> bytes:
        for name, stand_in in self._grants.stand_ins.items():
            mark = stand_in.encode()
            if mark not in text:
                continue
            if name not in self._grant.secrets:
                raise Refused(403, f"the secret {name} is not granted for {self._grant.where}")
            value = self._grants.secrets.get(name)
            if value is None:
                raise Refused(403, f"the secret {name} is not set on this machine")
            self._entry.secrets.add(name)
            value = value.strip()  # white space around it is not part of it
            text = text.replace(mark, way(value).encode())
        return text

    def _credentials(self, value: bytes) -> bytes:
        """Return `Basic` credentials (RFC 7617), which hold the stand-in in base64, with the value."""
        scheme, _, rest = value.partition(b" ")
        if scheme.lower() != b"basic":
            return value
        try:
            plain = base64.b64decode(rest, validate=True)
        except (binascii.Error, ValueError):
            return value
        filled = self._fill(plain)
        if filled == plain:
            return value
        return scheme + b" " + base64.b64encode(filled)


async def _pieces(whole: bytes) -> AsyncIterator[bytes]:
    yield whole


class SecretMask:
    """Writes asterisks over values in a stream of bytes; its length stays the same."""

    def __init__(self, disguises: Disguises) -> None:
        self._disguises = disguises
        self._held = b""
        self._packed: bool | None = None

    @property
    def needed(self) -> bool:
        """Return whether the run has a secret."""
        return self._disguises.any

    def over(self, data: bytes, *, last: bool = False) -> bytes:
        """Return what may be passed on by now: the end is held back where a value may begin there.

        Compressed data is passed on as a whole or not at all. Raise Refused.
        """
        text = self._held + data
        if not self.needed:
            return text
        if self._packed is None and (len(text) >= _HEAD or last):
            self._packed = packed(text)
        if self._packed is None or self._packed:
            if self._packed and len(text) > _LOOKED_THROUGH:
                raise Refused(
                    502, "the answer is packed and too long to look through for secrets", failed=True
                )
            self._held = b"" if last else text
            if last and self._packed and any(map(self._disguises.within, unpacked(text))):
                raise Refused(502, "the answer has a secret in it, packed", failed=True)
            if not last:
                return b""
        clean = bytearray(text)
        for begin, end, _ in self._disguises.spans(text):
            clean[begin:end] = b"*" * (end - begin)
        cut = len(text) if last else self._disguises.begun(bytes(clean))
        self._held = bytes(clean[cut:])
        return bytes(clean[:cut])

    def text(self, text: str) -> str:
        """Return a text for the tool or the record, such as an error that quotes its input, with values masked."""
        whole = text.encode("utf-8", "surrogateescape")
        return (
            SecretMask(self._disguises).over(whole, last=True).decode("utf-8", "replace")
            if self.needed
            else text
        )

    def headers(self, headers: Headers) -> Headers:
        """Return the headers with values masked; one whose very name holds a value is left out."""
        return [
            (name, SecretMask(self._disguises).over(value, last=True))
            for name, value in headers
            if not self._disguises.within_name(name)
        ]
