"""The module `workspace` of self-tests: the files that the tool finds in its workspace, made and read by the tests."""

from __future__ import annotations

import base64
import json
import types
from typing import Any

_UNGRANTED = "the tool asks for no workspace (capabilities.workspace), so there are no files to make for it"


class WorkspaceModule(types.ModuleType):
    """Reaches the scratch workspace of this run through the broker."""

    def __init__(self, url: str) -> None:
        super().__init__("workspace", "Files of the workspace, for self-tests.")
        self._url = url
        self._base: dict[str, bytes] = {}
        self._made: dict[str, bytes] = {}

    def write(self, name: str, content: str | bytes) -> None:
        """Make a file, or replace it. What a tests module makes at its top level is there before each test."""
        data = content.encode("utf-8") if isinstance(content, str) else bytes(content)
        self._ask("PUT", name, data)
        self._made[name] = data

    def read(self, name: str) -> str:
        """Return a file's text. Raise FileNotFoundError."""
        return self.read_bytes(name).decode("utf-8")

    def read_bytes(self, name: str) -> bytes:
        """Return a file's content. Raise FileNotFoundError."""
        return self._ask("GET", name)

    def names(self) -> list[str]:
        """Return every file's name, sorted."""
        listed: list[str] = json.loads(self._ask("GET", ""))
        return listed

    def _settle(self) -> None:
        """Note what is there before each test."""
        self._base = dict(self._made)

    def _reset(self) -> None:
        """Make the workspace what it was before the first test."""
        if self._url:
            files = {name: base64.b64encode(data).decode() for name, data in self._base.items()}
            self._ask("POST", "", json.dumps(files).encode())

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
