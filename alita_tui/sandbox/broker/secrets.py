"""Secrets on their way to the one host that they are granted for, and kept out of what comes back.

The tool holds a stand-in. Where it writes that in a header or a query, the broker writes the value; a
host that repeats what it was sent has the value blotted out again before the tool reads it.
"""

from __future__ import annotations

import base64
import binascii
from urllib.parse import quote

from alita_tui.sandbox.broker.desk import Desk, Entry, Refused
from alita_tui.sandbox.broker.http import Headers
from alita_tui.spine.grants import HostGrant


class Keyring:
    """The secrets of one request."""

    def __init__(self, desk: Desk, grant: HostGrant, entry: Entry) -> None:
        self._desk = desk
        self._grant = grant
        self._entry = entry
        self._used: set[bytes] = set()

    def into_target(self, target: bytes) -> bytes:
        """The request's path and query, with values for stand-ins. Raises Refused."""
        path, mark, query = target.partition(b"?")
        return path + mark + self._fill(query, quoted=True)

    def into_headers(self, headers: Headers) -> Headers:
        """The request's headers, with values for stand-ins, in basic credentials too. Raises Refused."""
        return [(name, self._credentials(self._fill(value))) for name, value in headers]

    def blot(self) -> Blot:
        """What hides the values in an answer."""
        return Blot(self._used)

    def _fill(self, text: bytes, *, quoted: bool = False) -> bytes:
        for name, stand_in in self._desk.stand_ins.items():
            mark = stand_in.encode()
            if mark not in text:
                continue
            if name not in self._grant.secrets:
                raise Refused(403, f"the secret {name} is not granted for {self._grant.where}")
            value = self._desk.secrets.get(name)
            if value is None:
                raise Refused(403, f"the secret {name} is not set on this machine")
            self._entry.secrets.add(name)
            put = (quote(value, safe="") if quoted else value).encode()
            self._used |= {value.encode(), put}
            text = text.replace(mark, put)
        return text

    def _credentials(self, value: bytes) -> bytes:
        """`Basic` credentials (RFC 7617) hold the stand-in in base64."""
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
        put = base64.b64encode(filled)
        self._used.add(put)
        return scheme + b" " + put


class Blot:
    """Writes asterisks over values in bytes that come piece by piece; lengths stay as they are."""

    def __init__(self, values: set[bytes]) -> None:
        self._values = sorted(filter(None, values), key=len, reverse=True)
        self._keep = max(map(len, self._values), default=1) - 1
        self._held = b""

    @property
    def needed(self) -> bool:
        """False where no secret was sent."""
        return bool(self._values)

    def over(self, data: bytes, *, last: bool = False) -> bytes:
        """What may be passed on by now: the end is held back, as a value may have begun there."""
        text = self._held + data
        for value in self._values:
            text = text.replace(value, b"*" * len(value))
        cut = len(text) if last else max(len(text) - self._keep, 0)
        self._held = text[cut:]
        return text[:cut]
