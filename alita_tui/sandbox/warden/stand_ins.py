"""The modules `workspace` and `hosts` of self-tests, with which tests define what the tool finds outside of itself."""

from __future__ import annotations

import base64
import json
import types
from typing import Any

_UNGRANTED = "the tool asks for nothing that could be stood in for (capabilities)"


class _StandIn(types.ModuleType):
    """Sends requests to the broker's stand-ins of this run."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(name, "Stands in for what the tool is granted, for self-tests.")
        self._url = url

    def _ask(self, method: str, name: str, data: bytes | None = None) -> bytes:
        if not self._url:
            raise RuntimeError(_UNGRANTED)
        from http.client import HTTPConnection
        from urllib.parse import quote, urlsplit

        parts = urlsplit(self._url)
        connection = HTTPConnection(parts.hostname or "", parts.port)
        try:
            connection.request(method, parts.path + quote(name), body=data)
            answer: Any = connection.getresponse()
            body: bytes = answer.read()
        finally:
            connection.close()
        if answer.status == 404:
            raise FileNotFoundError(f"there is no {name} in the workspace")
        if answer.status >= 400:
            raise ValueError(f"{name}: {body.decode('utf-8', 'replace').strip()}")
        return body


class WorkspaceModule(_StandIn):
    """Files of the workspace. Each test starts with the files that the tests module makes at its top level."""

    def __init__(self, url: str) -> None:
        super().__init__("workspace", url)
        self._base: dict[str, bytes] = {}
        self._files: dict[str, bytes] = {}

    def write(self, name: str, content: str | bytes) -> None:
        """Create or replace a file."""
        data = content.encode("utf-8") if isinstance(content, str) else bytes(content)
        self._ask("PUT", name, data)
        self._files[name] = data

    def read(self, name: str) -> str:
        """Return a file's text. Raise FileNotFoundError."""
        return self.read_bytes(name).decode("utf-8")

    def read_bytes(self, name: str) -> bytes:
        """Return a file's content. Raise FileNotFoundError."""
        return self._ask("GET", name)

    def names(self) -> list[str]:
        """Return every file's name, sorted."""
        names: list[str] = json.loads(self._ask("GET", ""))
        return names

    def _keep_as_base(self) -> None:
        """Remember the present files as those before each test."""
        self._base = dict(self._files)

    def _reset(self) -> None:
        """Restore the files that there were before the first test."""
        if self._url:
            files = {name: base64.b64encode(data).decode() for name, data in self._base.items()}
            self._ask("POST", "", json.dumps(files).encode())


class HostsModule(_StandIn):
    """Answers of hosts, models and tools. Each test starts with those that the tests module sets at its top level."""

    def __init__(self, url: str) -> None:
        super().__init__("hosts", url)
        self._base: tuple[dict[str, Any], list[str], dict[str, Any]] = ({}, [], {})
        self._answers: dict[str, Any] = {}
        self._replies: list[str] = []
        self._tools: dict[str, Any] = {}

    def answer(
        self, request: str, body: Any = b"", *, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        """Set the answer to `METHOD URL`: this text, these bytes, or any other value as JSON."""
        data = body.encode("utf-8") if isinstance(body, str) else body
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        body64 = base64.b64encode(data).decode()
        self._answers[request] = {"status": status, "headers": headers or {}, "body": body64}
        self._send()

    def reply(self, text: str) -> None:
        """Add a model's reply, after those that were added before."""
        self._replies.append(text)
        self._send()

    def tool(
        self, name: str, result: Any = None, *, arguments: dict[str, Any] | None = None, error: str = ""
    ) -> None:
        """Set the result or the error of calls of a tool: with these arguments, or with any."""
        key = name if arguments is None else f"{name} {json.dumps(arguments, sort_keys=True)}"
        self._tools[key] = {"result": result, "error": error}
        self._send()

    def requests(self) -> list[dict[str, Any]]:
        """Return the tool's requests to hosts and tools since the answers were set."""
        recorded: list[dict[str, Any]] = json.loads(self._ask("GET", ".hosts"))
        for request in recorded:
            request["body"] = base64.b64decode(request["body"])
        return recorded

    def _send(self) -> None:
        answers = {"answers": self._answers, "replies": self._replies, "tools": self._tools}
        self._ask("PUT", ".hosts", json.dumps(answers).encode())

    def _keep_as_base(self) -> None:
        """Remember the present answers as those before each test."""
        self._base = (dict(self._answers), list(self._replies), dict(self._tools))

    def _reset(self) -> None:
        """Restore the answers that there were before the first test."""
        if self._url:
            self._answers, self._replies = dict(self._base[0]), list(self._base[1])
            self._tools = dict(self._base[2])
            self._send()


def stand_ins(url: str) -> tuple[WorkspaceModule, HostsModule]:
    """Return both modules; without an address they say that nothing is granted."""
    return WorkspaceModule(url), HostsModule(url)
