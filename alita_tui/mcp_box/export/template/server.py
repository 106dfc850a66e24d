"""A server of the Model Context Protocol on stdin and stdout, for the tools of `tools.json`.

Each call is a process of its own with an empty folder, an environment of few names, and limits on time, memory and
output. That limits mistakes. It is not a sandbox: what a tool may reach is up to whoever starts this server.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import sysconfig
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_HERE = Path(__file__).parent
_FACTS: dict[str, Any] = json.loads((_HERE / "tools.json").read_text("utf-8"))
TOOLS: dict[str, dict[str, Any]] = {facts["descriptor"]["name"]: facts for facts in _FACTS["tools"]}
_LIMITS: dict[str, float] = _FACTS["limits"]
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Environment variables that every tool gets."""
_PLACES = {
    "{python}": sys.executable, "{scripts}": sysconfig.get_path("scripts"), "{packages}": sysconfig.get_path("platlib"),
    "{memory_mb}": str(int(_LIMITS["memory_bytes"]) >> 20),
}  # fmt: skip
_NO_REASON = re.compile(r"\s*at |\s*\^|Node\.js v|\s*\d+: 0x|-----|[\s{}]*$")
"""Matches lines that follow the message of an error of node."""
_LIMITED = """
import os, resource, runpy, sys
cpu, memory, file = map(int, sys.argv[1:4])
resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
resource.setrlimit(resource.RLIMIT_FSIZE, (file, file))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
kind, sys.argv = sys.argv[4], sys.argv[5:]
if kind == "program":
    os.execvp(sys.argv[0], sys.argv)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


async def list_tools(_: Any, __: t.PaginatedRequestParams | None) -> t.ListToolsResult:
    """Return the tools."""
    return t.ListToolsResult(tools=[t.Tool.model_validate(facts["descriptor"]) for facts in TOOLS.values()])


async def call_tool(_: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
    """Run a tool; errors that the caller can fix are results."""
    facts = TOOLS.get(params.name)
    if facts is None:
        return _failed(f"There is no tool {params.name!r}. There are: {', '.join(TOOLS)}.")
    arguments = params.arguments or {}
    try:
        jsonschema.validate(arguments, facts["takes"])
    except jsonschema.ValidationError as error:
        return _failed(f"The arguments do not fit: {error.message} (at {error.json_path}).")
    try:
        with tempfile.TemporaryDirectory() as folder:
            output = await run_tool(facts, arguments, folder)
    except Ended as error:
        return _failed(str(error))
    result = json.loads(output)
    structured = {"result": result} if facts["wrapped"] else result
    return t.CallToolResult(
        content=[t.TextContent(type="text", text=json.dumps(result, ensure_ascii=False))],
        structured_content=structured if isinstance(structured, dict) else None,
    )


class Ended(Exception):
    """A run without a result; the message says why."""


async def run_tool(facts: dict[str, Any], arguments: dict[str, Any], folder: str) -> bytes:
    """Run a tool in a folder; return the JSON that it wrote. Raise Ended."""
    command, settings = _started(facts)
    environment = {name: os.environ[name] for name in (*_PASSED_ON, *facts["secrets"]) if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", _LIMITED, *command,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd=folder, env={**environment, **settings, "HOME": folder, "TMPDIR": folder}, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_LIMITS["wall_seconds"]):
            out, err = await _talk(process, json.dumps(arguments).encode())
    except TimeoutError:
        raise Ended(f"It was ended after {_LIMITS['wall_seconds']:g} seconds.") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if process.returncode != 0:
        lines = [line for line in err.decode("utf-8", "replace").splitlines() if not _NO_REASON.match(line)]
        raise Ended(lines[-1][:2_000] if lines else f"It ended with {process.returncode}.")
    try:
        json.loads(out)
    except ValueError as error:
        raise Ended("What it wrote is no JSON.") from error
    return out


def _started(facts: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Return a tool's limits with the words that start it, and its own environment variables."""
    program, file = facts["program"] or {}, str(_HERE / "tools" / facts["script"])

    def placed(text: str) -> str:
        for name, place in {**_PLACES, "{file}": file}.items():
            text = text.replace(name, place)
        return text

    memory = _LIMITS["memory_bytes"] + program.get("reserved_bytes", 0)
    limits = [str(int(limit)) for limit in (_LIMITS["cpu_seconds"], memory, _LIMITS["file_bytes"])]
    words = ["program", *map(placed, program["argv"])] if program else ["script", file]
    return [*limits, *words], {name: placed(text) for name, text in program.get("env", {}).items()}


async def _talk(process: asyncio.subprocess.Process, data: bytes) -> tuple[bytes, bytes]:
    """Write to a process and return its stdout and stderr. Raise Ended if it writes too much."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    writing = asyncio.ensure_future(_give(process.stdin, data))
    try:
        out, err = await asyncio.gather(
            _read(process.stdout, int(_LIMITS["result_bytes"])),
            _read(process.stderr, 16 * int(_LIMITS["output_bytes"])),
        )
        await process.wait()
    finally:
        writing.cancel()
    return out, err


async def _give(pipe: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it may end without reading everything
        pipe.write(data)
        await pipe.drain()
        pipe.close()


async def _read(pipe: asyncio.StreamReader, most: int) -> bytes:
    received = bytearray()
    while piece := await pipe.read(1 << 16):
        received += piece
        if len(received) > most:
            raise Ended(f"It wrote more than {most:,} bytes.")
    return bytes(received)


def _failed(why: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(type="text", text=why)], is_error=True)


async def serve() -> None:
    """Serve the client at the other end until it closes stdin."""
    server: Server[Any] = Server(
        _FACTS["name"], version=_FACTS["version"], on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware[:] = []  # without OpenTelemetry: nothing leaves by an exporter
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve."""
    asyncio.run(serve())


if __name__ == "__main__":
    main()
