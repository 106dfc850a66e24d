"""Inserts secrets into requests to the host they are granted for, and masks them in responses.

The tool has a stand-in. Where it writes that in a header, a query or a form, the broker replaces it by the value. A
value that a host sends back is masked before the tool reads it, in any usual encoding (`spine/secret_forms.py`).
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
from alita_tui.spine.grants import HostGrant
from alita_tui.spine.secret_forms import SecretForms

_MAGIC_BYTES = 8
"""Bytes at the beginning by which compressed data is recognised."""
_MOST_SEARCHED = 16 << 20
_PRINTABLE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_LONGEST_FORM = 1 << 20
"""Bytes of the longest body in which stand-ins are replaced."""
_ENCODERS: dict[bytes, Callable[[str], str]] = {
    b"application/x-www-form-urlencoded": lambda value: quote(value, safe=""),
    b"application/json": lambda value: json.dumps(value)[1:-1],
    b"multipart/form-data": lambda value: value,
}
"""Encodes a value for a form, by the form's media type."""


class RequestSecrets:
    """The secrets of one request."""

    def __init__(self, grants: RunGrants, grant: HostGrant, entry: Entry) -> None:
        self._grants = grants
        self._grant = grant
        self._entry = entry

    def into_target(self, target: bytes) -> bytes:
        """Return the request's path and query with values in place of stand-ins. Raise Refused."""
        path, mark, query = target.partition(b"?")
        return path + mark + self._fill(query, _ENCODERS[b"application/x-www-form-urlencoded"])

    def into_headers(self, headers: Headers) -> Headers:
        """Return the headers with values in place of stand-ins, in basic credentials too. Raise Refused."""
        filled = [(name, self._credentials(self._fill(value))) for name, value in headers]
        for (_, original), (_, value) in zip(headers, filled, strict=True):
            if value != original and not _PRINTABLE.fullmatch(value):
                secret_names = ", ".join(sorted(self._entry.secrets))
                raise Refused(
                    403, f"the secret {secret_names} has a line break or another sign that no header can have"
                )
        return filled

    async def into_body(
        self, headers: Headers, body: AsyncIterator[bytes]
    ) -> tuple[Headers, AsyncIterator[bytes]]:
        """Return headers and body with values in place of stand-ins, where the body is a form with a stated length.

        Any other body is passed on unchanged, with the stand-ins in it. Raise Refused.
        """
        fields = {name.lower(): value.strip() for name, value in headers}
        encode = _ENCODERS.get(fields.get(b"content-type", b"").partition(b";")[0].strip().lower())
        length = fields.get(b"content-length", b"")
        fillable = length.isdigit() and int(length) <= _LONGEST_FORM
        if encode is None or not fillable or not self._grants.stand_ins or b"content-encoding" in fields:
            return headers, body
        filled = self._fill(b"".join([piece async for piece in body]), encode)
        content_length = (b"Content-Length", str(len(filled)).encode())
        headers = [
            content_length if name.lower() == b"content-length" else (name, value) for name, value in headers
        ]
        return headers, _pieces(filled)

    def mask(self) -> SecretMask:
        """Return a mask for all values of the run, including those that other requests have sent."""
        return SecretMask(self._grants.disguises)

    def _fill(self, text: bytes, encode: Callable[[str], str] = str) -> bytes:
        for name, stand_in in self._grants.stand_ins.items():
            marker = stand_in.encode()
            if marker not in text:
                continue
            if name not in self._grant.secrets:
                raise Refused(403, f"the secret {name} is not granted for {self._grant.where}")
            value = self._grants.secrets.get(name)
            if value is None:
                raise Refused(403, f"the secret {name} is not set on this machine")
            self._entry.secrets.add(name)
            value = value.strip()  # white space around it is not part of it
            text = text.replace(marker, encode(value).encode())
        return text

    def _credentials(self, value: bytes) -> bytes:
        """Return `Basic` credentials (RFC 7617), which hold the stand-in in base64, with the value."""
        scheme, _, encoded = value.partition(b" ")
        if scheme.lower() != b"basic":
            return value
        try:
            decoded = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return value
        filled = self._fill(decoded)
        if filled == decoded:
            return value
        return scheme + b" " + base64.b64encode(filled)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body


class SecretMask:
    """Replaces values in a stream of bytes by asterisks; its length stays the same."""

    def __init__(self, disguises: SecretForms) -> None:
        self._disguises = disguises
        self._withheld = b""
        self._packed: bool | None = None

    @property
    def needed(self) -> bool:
        """Return whether the run has a secret."""
        return self._disguises.any

    def masked(self, data: bytes, *, last: bool = False) -> bytes:
        """Return the data that may be passed on now; an end in which a value may begin is withheld.

        Compressed data is passed on completely or not at all. Raise Refused.
        """
        text = self._withheld + data
        if not self.needed:
            return text
        if self._packed is None and (len(text) >= _MAGIC_BYTES or last):
            self._packed = packed(text)
        if self._packed is None or self._packed:
            if self._packed and len(text) > _MOST_SEARCHED:
                raise Refused(
                    502, "the answer is packed and too long to look through for secrets", failed=True
                )
            self._withheld = b"" if last else text
            if last and self._packed and any(map(self._disguises.within, unpacked(text))):
                raise Refused(502, "the answer has a secret in it, packed", failed=True)
            if not last:
                return b""
        clean = bytearray(text)
        for begin, end, _ in self._disguises.spans(text):
            clean[begin:end] = b"*" * (end - begin)
        passed_on = len(text) if last else self._disguises.begun(bytes(clean))
        self._withheld = bytes(clean[passed_on:])
        return bytes(clean[:passed_on])

    def text(self, text: str) -> str:
        """Return a text for the tool or the record, such as an error that quotes its input, with values masked."""
        encoded = text.encode("utf-8", "surrogateescape")
        return (
            SecretMask(self._disguises).masked(encoded, last=True).decode("utf-8", "replace")
            if self.needed
            else text
        )

    def headers(self, headers: Headers) -> Headers:
        """Return the headers with values masked; a header whose name holds a value is left out."""
        return [
            (name, SecretMask(self._disguises).masked(value, last=True))
            for name, value in headers
            if not self._disguises.within_name(name)
        ]
