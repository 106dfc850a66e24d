"""Canned answers of hosts, models and other tools, with which a draft is tested without the real ones."""

from __future__ import annotations

import base64
import binascii
import json
import ssl
from collections import deque

import h11
import msgspec

from alita_tui.events import Json, Value, ready
from alita_tui.sandbox.broker.forward import path_of
from alita_tui.sandbox.broker.grants import Entry, Refused, RunGrants
from alita_tui.sandbox.broker.http import HttpConnection
from alita_tui.sandbox.broker.local import LocalEndpoints
from alita_tui.sandbox.broker.requests import RequestServer
from alita_tui.sandbox.broker.secrets import RequestSecrets
from alita_tui.sandbox.broker.tls import Authority
from alita_tui.spine.grants import METHODS, TOOLS, HostGrant

_MOST = 500
"""Requests that are remembered for the tests."""
_LARGEST = 4 << 20
_FRAMING = ("content-length", "transfer-encoding", "connection")
"""Headers that the broker sets itself."""


class CannedAnswer(Value, frozen=True):
    """A host's answer to one request."""

    status: int = 200
    headers: dict[str, str] = {}
    body: str = ""
    """As base64."""


class CannedResult(Value, frozen=True):
    """The result of a call of a tool."""

    result: Json = None
    error: str = ""
    """Why the call fails; empty if it does not."""


class Canned(Value, frozen=True):
    """All answers of hosts, models and tools in a test."""

    answers: dict[str, CannedAnswer] = {}
    """By `METHOD URL`, or by that without the query for any query."""
    replies: tuple[str, ...] = ()
    """Of models, in order."""
    tools: dict[str, CannedResult] = {}
    """By `NAME ARGUMENTS`, with the arguments as JSON sorted by name, or by NAME for any."""


class RecordedRequest(Value, frozen=True):
    """A request as its host would have received it, with the values of secrets."""

    method: str
    url: str
    headers: dict[str, str]
    body: str
    """As base64."""


class StandIns:
    """The canned answers of one run, and the requests that were made."""

    def __init__(self) -> None:
        self._canned = Canned()
        self.replies: deque[str] = deque()
        self.requests: deque[RecordedRequest] = deque(maxlen=_MOST)

    def set(self, data: bytes) -> None:
        """Set the answers that the tests' process sent, and forget the requests so far. Raise Refused."""
        try:
            self._canned = msgspec.json.decode(data, type=ready(Canned))
        except (msgspec.DecodeError, RecursionError) as error:
            raise Refused(400, f"these are no answers: {error}") from error
        self.replies = deque(self._canned.replies)
        self.requests.clear()

    def answer(self, method: str, url: str) -> CannedAnswer:
        """Return the answer to a request. Raise Refused if the tests gave none."""
        for key in (f"{method} {url}", f"{method} {url.partition('?')[0]}"):
            if key in self._canned.answers:
                return self._canned.answers[key]
        raise Refused(502, f"the tests have no answer to {method} {url}", failed=True)

    def result(self, name: str, arguments: Json) -> Json:
        """Return the result of a call of a tool. Raise Refused if the tests gave none, or made it fail."""
        arguments_json = json.dumps(arguments, sort_keys=True)
        body = base64.b64encode(arguments_json.encode()).decode()
        self.requests.append(RecordedRequest(method="POST", url=f"{TOOLS}{name}", headers={}, body=body))
        for key in (f"{name} {arguments_json}", name):
            if canned := self._canned.tools.get(key):
                if canned.error:
                    raise Refused(502, f"{name} failed: {canned.error}", failed=True)
                return canned.result
        raise Refused(502, f"the tests have no result of {name}", failed=True)


class StandInServer(RequestServer):
    """Answers for the hosts of a run with the tests' answers; no connection is ever made."""

    def __init__(
        self,
        grants: RunGrants,
        local: LocalEndpoints,
        authority: Authority,
        trust: ssl.SSLContext,
        canned: StandIns,
    ) -> None:
        super().__init__(grants, local, authority, trust)
        self._canned = canned

    async def _tunnel(self, connection: HttpConnection, grant: HostGrant, entry: Entry) -> None:
        raise Refused(503, "nothing is connected to in a test")

    async def _forward(
        self,
        connection: HttpConnection,
        request: h11.Request,
        grant: HostGrant,
        entry: Entry,
        tls: ssl.SSLContext | None,
    ) -> None:
        method = request.method.decode("ascii", "replace")
        if method not in (grant.methods or METHODS):
            raise Refused(403, f"{method} is not granted for {grant.where}")
        keyring = RequestSecrets(self._grants, grant, entry)
        target = keyring.into_target(path_of(request.target)).decode("latin-1")
        headers = keyring.into_headers(list(request.headers))
        headers, pieces = await keyring.into_body(headers, connection.body(_LARGEST))
        body = b"".join([piece async for piece in pieces])
        if entry.secrets and tls is None:
            raise Refused(403, f"{grant.where} would get a secret without TLS")
        default_port = grant.port == (443 if tls else 80)
        url = f"{'https' if tls else 'http'}://{grant.host if default_port else grant.where}{target}"
        header_texts = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
        self._canned.requests.append(
            RecordedRequest(
                method=method, url=url, headers=header_texts, body=base64.b64encode(body).decode()
            )
        )
        canned = self._canned.answer(method, url)
        try:
            content = base64.b64decode(canned.body, validate=True)
            if method == "HEAD" or canned.status in (204, 304):
                content = b""
            own_headers = [
                (name, value) for name, value in canned.headers.items() if name.lower() not in _FRAMING
            ]
            response = h11.Response(
                status_code=canned.status, headers=[*own_headers, ("Content-Length", str(len(content)))]
            )
            await connection.send(response, hold=True)
            await connection.send(h11.Data(data=content), hold=True)
            await connection.send(h11.EndOfMessage())
        except (binascii.Error, h11.LocalProtocolError, UnicodeEncodeError, ValueError) as error:
            raise Refused(
                502, f"the tests' answer to {method} {url} is none: {error}", failed=True
            ) from error
        entry.status = canned.status
