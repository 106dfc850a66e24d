"""The broker's own paths: `/files/NAME` of the workspace, `/model`, and `/tools/NAME` of the library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar
from urllib.parse import unquote

from alita_tui.events import Json
from alita_tui.sandbox.broker.files import Workspace
from alita_tui.sandbox.broker.grants import Entry, Refused, RunGrants
from alita_tui.sandbox.broker.http import HttpConnection
from alita_tui.sandbox.channel import parse
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.spine.errors import (
    BudgetExceeded,
    CallRefused,
    ModelError,
    RequirementsError,
    SandboxUnavailable,
)
from alita_tui.spine.grants import FILES, MODEL, TOOLS, named_tools
from alita_tui.spine.ports.models import Asker, Message, ModelRequest
from alita_tui.spine.ports.sandbox import ToolCaller
from alita_tui.spine.text import one_line

_SYSTEM = "You work for a small program. Do exactly what it asks and write nothing else."
ExtendLimit = Callable[[float], Awaitable[None]]
"""Extends the run's wall limit by so many seconds, or shortens it where negative."""
T = TypeVar("T")


class LocalEndpoints:
    """Serves the files, model calls and calls of tools that a run is granted."""

    def __init__(
        self,
        grants: RunGrants,
        workspace: Workspace | None,
        models: Asker | None,
        extend_limit: ExtendLimit,
        tools: ToolCaller | None = None,
    ) -> None:
        self._grants = grants
        self._workspace = workspace
        self._models = models
        self._extend_limit = extend_limit
        self._tools = tools
        self._waiting = 0
        """Number of calls of models and tools under way; the run's clock is stopped while there are any."""
        self._stopped_until = 0.0
        """Time of the event loop until which the clock is stopped."""

    async def answer(self, connection: HttpConnection, method: str, path: str, entry: Entry) -> None:
        """Answer one request. Raise Refused."""
        if self._grants.capabilities.browser and not self._is_secret_path(path):
            raise Refused(403, "a run with a browser reaches hosts alone: any page could ask for this")
        if path.startswith(FILES):
            await self._file(connection, method, unquote(path[7:], errors="surrogateescape"), entry)
        elif method != "POST":
            raise Refused(405, f"{'a model is asked' if path == MODEL else 'a tool is called'} with POST")
        elif path == MODEL:
            await self._model(connection, entry)
        else:
            await self._tool(connection, unquote(path.removeprefix(TOOLS), errors="replace"), entry)

    def _is_secret_path(self, path: str) -> bool:
        """Return whether no web page can know this path."""
        return False

    async def _file(self, connection: HttpConnection, method: str, name: str, entry: Entry) -> None:
        granted, caps = self._grants.capabilities.workspace, self._grants.caps
        sufficient = {"GET": ("read", "write"), "HEAD": ("read", "write"), "PUT": ("write",)}.get(method)
        if sufficient is None:
            raise Refused(405, "files are read with GET and written with PUT")
        if granted not in sufficient:
            raise Refused(403, f"the workspace is not granted to {'write' if method == 'PUT' else 'read'}")
        if self._workspace is None:
            raise Refused(503, "there is no workspace here", failed=True)
        if method == "PUT":
            data = await connection.whole_body(caps.file_bytes)
            self._grants.moved(len(data))
            entry.received = len(data)
            entry.status = 201 if await asyncio.to_thread(self._workspace.write, name, data) else 200
            return await connection.respond(entry.status, b"", "text/plain")
        kind = "application/octet-stream"
        if name:
            data = await asyncio.to_thread(self._workspace.read, name)
        else:
            data, kind = (
                json.dumps(await asyncio.to_thread(self._workspace.names)).encode(),
                "application/json",
            )
        await _discard_body(connection)
        self._grants.moved(len(data))
        entry.status, entry.sent = 200, len(data)
        await connection.respond(200, data if method == "GET" else b"", kind)

    async def _model(self, connection: HttpConnection, entry: Entry) -> None:
        grants, caps = self._grants, self._grants.caps
        if not grants.capabilities.model_calls:
            raise Refused(403, "no model call is granted")
        request = model_request(await connection.whole_body(caps.prompt_bytes), caps.model_tokens)
        if self._models is None:
            raise Refused(503, "no model can be asked here", failed=True)
        if grants.model_calls >= grants.capabilities.model_calls:
            raise Refused(429, f"{grants.capabilities.model_calls} model calls are granted for a run")
        grants.model_calls += 1
        reply = await self._within(partial(self._models.ask, request), caps.model_seconds)
        tokens = reply.usage.input_tokens + reply.usage.output_tokens
        answer = json.dumps({"text": reply.text, "model": reply.model, "tokens": tokens}).encode()
        entry.status, entry.sent = 200, len(answer)
        await connection.respond(200, answer, "application/json")

    async def _tool(self, connection: HttpConnection, name: str, entry: Entry) -> None:
        """Run another tool in a container of its own, and respond with its result."""
        arguments = await self._arguments(connection, name)
        if self._tools is None:
            raise Refused(503, "no tool can be called here", failed=True)
        calling = partial(self._tools.call, self._grants.run_id, name, arguments)
        result = await self._within(calling, self._grants.caps.tool_seconds)
        answer = json.dumps(result).encode()
        entry.status, entry.sent = 200, len(answer)
        await connection.respond(200, answer, "application/json")

    async def _arguments(self, connection: HttpConnection, name: str) -> Json:
        """Return the arguments of a call of a tool that is granted by this name. Raise Refused."""
        if name not in named_tools(self._grants.capabilities):
            raise Refused(403, f"the tool {one_line(name, 80)} is not granted")
        try:
            arguments = parse(await connection.whole_body(self._grants.caps.tool_bytes) or b"{}")
        except ValueError as error:
            raise Refused(400, f"the body is no JSON: {error}") from error
        if not isinstance(arguments, dict):
            raise Refused(400, "the body is an object with the arguments by name")
        return arguments

    async def _within(self, work: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Await a call and return its result; the run's clock is stopped meanwhile. Raise Refused."""
        await self._stop_clock(seconds)
        refusal: Refused | None = None
        try:
            async with asyncio.timeout(seconds):
                answer = await work()
        except BudgetExceeded as error:
            refusal = Refused(402, error.message)
        except (ModelError, RequirementsError) as error:
            refusal = Refused(502, error.message, failed=True)
        except CallRefused as error:
            refusal = Refused(error.status, error.message, failed=error.failed)
        except SandboxUnavailable as error:
            # This run has begun, so it is not repeated elsewhere because another one could not begin.
            raise EngineLost(error.message, hint=error.hint) from error
        except TimeoutError:
            refusal = Refused(504, f"no reply within {seconds:g} s", failed=True)
        finally:
            unused_seconds = self._start_clock()
        if unused_seconds:
            await self._extend_limit(-unused_seconds)
        if refusal is not None:
            raise refusal
        return answer

    async def _stop_clock(self, seconds: float) -> None:
        """Stop the clock for `seconds` from now, unless it is stopped for longer already."""
        now = asyncio.get_running_loop().time()
        extension = now + seconds - (max(self._stopped_until, now) if self._waiting else now)
        self._waiting += 1
        self._stopped_until = max(self._stopped_until, now + seconds)
        if extension > 0:
            await self._extend_limit(extension)

    def _start_clock(self) -> float:
        """Count the end of a call; return the seconds of the extension that no call needs any more."""
        self._waiting -= 1
        if self._waiting:
            return 0.0
        unused_seconds, self._stopped_until = (
            max(self._stopped_until - asyncio.get_running_loop().time(), 0.0),
            0.0,
        )
        return unused_seconds


def model_request(body: bytes, most_tokens: int) -> ModelRequest:
    """Return the model request that a body asks for. Raise Refused."""
    try:
        parsed = parse(body)
    except ValueError as error:
        raise Refused(400, f"the body is no JSON: {error}") from error
    fields = parsed if isinstance(parsed, dict) else {}
    prompt, system, tokens = (
        fields.get("prompt"),
        fields.get("system", ""),
        fields.get("max_tokens", most_tokens),
    )
    if not isinstance(prompt, str) or not prompt.strip() or not isinstance(system, str):
        raise Refused(400, 'the body is {"prompt": TEXT, "system": TEXT, "max_tokens": NUMBER}')
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        raise Refused(400, "max_tokens has to be a whole number above 0")
    return ModelRequest(
        role="summariser",
        system=system or _SYSTEM,
        messages=(Message(role="user", text=prompt),),
        max_tokens=min(tokens, most_tokens),
    )


async def _discard_body(connection: HttpConnection) -> None:
    """Read and discard the body of a request that needs none."""
    await connection.whole_body(1 << 16)
