"""A workspace for the tests of a draft that reads or writes files: it holds made-up files and lasts for one run."""

from __future__ import annotations

import asyncio
import base64
import binascii
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from os import urandom
from pathlib import Path

import msgspec

from alita_tui.events import ready
from alita_tui.sandbox.broker.files import Workspace
from alita_tui.sandbox.broker.grants import Caps, Entry, RecordedEvent, Refused, RunGrants
from alita_tui.sandbox.broker.http import HttpConnection
from alita_tui.sandbox.broker.local import ExtendLimit, LocalEndpoints, model_request
from alita_tui.sandbox.broker.stand_ins import StandIns
from alita_tui.spine.grants import FILES
from alita_tui.spine.judge_plan import ANSWERS
from alita_tui.spine.ports.models import Asker

_CAPS = Caps(
    requests=20_000,
    per_second=5000.0,
    burst=5000,
    file_bytes=4 << 20,
    files_bytes=1 << 30,
    workspace_bytes=32 << 20,
    workspace_entries=500,
    prompt_bytes=8 << 20,
)


class Scratch:
    """A scratch workspace; only the process of the tests fills it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Blocks. A file that no workspace can have is left out."""
        self.token = urandom(16).hex()
        """First part of the paths with which the tests reach every file; the tool never learns it."""
        self.stand_ins = StandIns()
        self._folder = Path(tempfile.mkdtemp(prefix="alita-scratch-"))
        self.workspace = Workspace(self._folder / "files", _CAPS)
        for name, data in files.items():
            with suppress(Refused):  # one that cannot be there, such as `a` beside `a/b`
                if name == ANSWERS:
                    self.stand_ins.set(data)
                else:
                    self.workspace.write(name, data)

    def fill(self, files: Mapping[str, bytes]) -> None:
        """Replace all files by these. Blocks; raise Refused."""
        shutil.rmtree(self._folder / "files", ignore_errors=True)
        for name, data in files.items():
            self.workspace.write(name, data)

    def close(self) -> None:
        """Remove it. Blocks."""
        shutil.rmtree(self._folder, ignore_errors=True)


class ScratchEndpoints(LocalEndpoints):
    """Serves the tool the part of the scratch workspace that it requests as grants, and the tests all of it."""

    def __init__(
        self, grants: RunGrants, scratch: Scratch, models: Asker | None, extend_limit: ExtendLimit
    ) -> None:
        super().__init__(grants, scratch.workspace, models, extend_limit)
        self._scratch = scratch

    def _is_secret_path(self, path: str) -> bool:
        return path.startswith(f"{FILES}{self._scratch.token}/")

    async def _file(self, connection: HttpConnection, method: str, name: str, entry: Entry) -> None:
        token, _, file_name = name.partition("/")
        if token != self._scratch.token:
            return await super()._file(connection, method, name, entry)
        data = await connection.whole_body(_CAPS.prompt_bytes)
        content_type, answer = "application/octet-stream", b""
        if file_name == ANSWERS and method == "PUT":
            self._scratch.stand_ins.set(data)
        elif file_name == ANSWERS:
            answer = msgspec.json.encode(list(self._scratch.stand_ins.requests))
        elif method == "POST":
            await asyncio.to_thread(self._scratch.fill, _files(data))
        elif method == "PUT":
            await asyncio.to_thread(self._scratch.workspace.write, file_name, data)
        elif file_name:
            answer = await asyncio.to_thread(self._scratch.workspace.read, file_name)
        else:
            answer = msgspec.json.encode(await asyncio.to_thread(self._scratch.workspace.names))
        entry.status = 200
        await connection.respond(200, answer, content_type)

    async def _model(self, connection: HttpConnection, entry: Entry) -> None:
        request = model_request(
            await connection.whole_body(self._grants.caps.prompt_bytes), self._grants.caps.model_tokens
        )
        if self._grants.model_calls >= self._grants.capabilities.model_calls:
            raise Refused(429, f"{self._grants.capabilities.model_calls} model calls are granted for a run")
        if not (replies := self._scratch.stand_ins.replies):
            raise Refused(503, "the tests have no reply of a model left", failed=True)
        self._grants.model_calls += 1
        tokens = len(request.messages[0].text) // 4
        answer = msgspec.json.encode({"text": replies.popleft(), "model": "test", "tokens": tokens})
        entry.status = 200
        await connection.respond(200, answer, "application/json")

    async def _tool(self, connection: HttpConnection, name: str, entry: Entry) -> None:
        arguments = await self._arguments(connection, name)
        answer = msgspec.json.encode(self._scratch.stand_ins.result(name, arguments))
        entry.status = 200
        await connection.respond(200, answer, "application/json")


def scratch_caps(caps: Caps) -> Caps:
    """Return the caps of a run with a scratch workspace; those for hosts and models stay."""
    return msgspec.structs.replace(
        caps,
        **{
            name: getattr(_CAPS, name)
            for name in ("requests", "per_second", "burst", "file_bytes", "files_bytes")
        },
    )


async def unrecorded(_: RecordedEvent) -> None:
    """Record nothing: a test touches none of the person's data."""


def _files(data: bytes) -> dict[str, bytes]:
    """Return names and contents from the tests' process. Raise Refused."""
    try:
        texts = msgspec.json.decode(data, type=ready(dict[str, str]))
        return {name: base64.b64decode(text, validate=True) for name, text in texts.items()}
    except (msgspec.DecodeError, binascii.Error, RecursionError) as error:
        raise Refused(400, f"the body is no object of names and base64: {error}") from error
