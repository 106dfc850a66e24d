"""Writes approved tools as a standalone server: a package with tests, pins and a container. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec

from alita_tui.events import Json
from alita_tui.mcp_box.export.portable import PortableTool
from alita_tui.mcp_box.export.skill import skill_name
from alita_tui.mcp_box.serve.descriptors import described, gives_object
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.errors import UsageError
from alita_tui.spine.grants import host_grants, secret_names
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.spine.text import one_line, reveal

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_STAND_INS = re.compile(r"(?m)^\s*(?:import|from)\s+(?:hosts|workspace)\b")
"""Matches tests that need the stand-ins of alita's sandbox."""


def server_name(name: str) -> str:
    """Return a name as a package spells it. Raises UsageError if that gives no valid name."""
    package_name = skill_name(name)
    if not _NAME.fullmatch(package_name):
        raise UsageError(
            f"{one_line(name, 60)!r} is no name for a server.", hint="Use letters, digits and hyphens."
        )
    return package_name


def server_files(name: str, tools: Sequence[PortableTool], limits: Limits, sdk: str) -> dict[str, bytes]:
    """Return the files of a server by path, except for its lock and packages of npm, which go into `npm_folder`.

    `sdk` is the version of the protocol's SDK to pin. Raises UsageError for tools that cannot share a server.
    """
    package = name.replace("-", "_")
    texts = {
        "pyproject.toml": _project(name, package, tools, sdk),
        "README.md": _readme(name, tools, limits),
        "Containerfile": _containerfile(name, tools, limits),
        ".containerignore": ".venv\n**/__pycache__\n.git\n",
        f"src/{package}/__init__.py": f'"""The tools {", ".join(tool.name for tool in tools)} over MCP."""\n',
        f"src/{package}/__main__.py": f'"""`python -m {package}`."""\n\nfrom {package}.server import main\n\nmain()\n',
        f"src/{package}/server.py": _template("server.py"),
        f"src/{package}/tools.json": _facts(name, tools, limits),
        "tests/test_server.py": _template("check_server.py"),
    }
    for tool in tools:
        draft = tool.record.draft
        folder = "in_alita" if _STAND_INS.search(draft.tests) else "tools"
        texts[f"src/{package}/tools/{_script(tool)}"] = draft.code
        if draft.language != "python":
            texts[f"tests/programs/{tool.name}.py"] = _template("program.py")
        texts[f"src/{package}/tools/{tool.name}.mcp.json"] = _pretty(tool.manifest)
        texts[f"tests/{folder}/test_{tool.name}.py"] = draft.tests
    return {path: text.encode("utf-8", "replace") for path, text in texts.items()}


def npm_folder(name: str, tool: PortableTool) -> str:
    """Return the folder for a tool's packages of npm. Each tool has its own, as two may want two versions."""
    return f"src/{name.replace('-', '_')}/tools/{tool.name}/node_modules"


def _script(tool: PortableTool) -> str:
    file = f"{tool.name}{runtime_of(tool.record.draft.language).suffix}"
    return f"{tool.name}/{file}" if tool.record.lock.npm else file


def _template(name: str) -> str:
    return files("alita_tui.mcp_box.export.template").joinpath(name).read_text("utf-8")


def _facts(name: str, tools: Sequence[PortableTool], limits: Limits) -> str:
    tools_facts = []
    for tool in tools:
        draft, example = tool.record.draft, tool.example
        descriptor = described(tool.record)
        descriptor["inputSchema"] = {"type": "object", **draft.input_schema}
        if not draft.output_schema:
            descriptor.pop("outputSchema", None)
        tools_facts.append({
            "descriptor": descriptor, "script": _script(tool), "takes": draft.input_schema,
            "parameters": runtime_of(draft.language).parameters(draft), "program": _program(draft.language),
            "wrapped": bool(draft.output_schema) and not gives_object(draft.output_schema),
            "secrets": list(secret_names(tool.record.granted)),
            "example": None if example is None else {"arguments": example.arguments, "result": example.result},
        })  # fmt: skip
    return _pretty(
        {
            "name": name,
            "version": _version(tools),
            "limits": msgspec.structs.asdict(limits),
            "tools": tools_facts,
        }
    )


def _program(language: str) -> Json:
    start = runtime_of(language).outside_start
    if start is None:
        return None
    return {"argv": list(start.argv), "env": dict(start.env), "reserved_bytes": start.reserved_bytes}


def _version(tools: Sequence[PortableTool]) -> str:
    return f"1.{max(tool.record.version for tool in tools)}.0"


def _pins(tools: Sequence[PortableTool]) -> list[str]:
    """Return the packages that the tools were approved with. Raises UsageError if two tools pin different versions."""
    pins: dict[str, tuple[str, str]] = {}
    for tool in tools:
        for package in tool.record.lock.wheels.packages:
            version, pinned_by = pins.setdefault(package.name, (package.version, tool.name))
            if version != package.version:
                raise UsageError(
                    f"{pinned_by} was approved with {package.name} {version}, {tool.name} with {package.version}: "
                    "one server cannot have both.",
                    hint="Export them as two servers.",
                )
    return [f"{name}=={version}" for name, (version, _) in sorted(pins.items())]


def _project(name: str, package: str, tools: Sequence[PortableTool], sdk: str) -> str:
    summary = one_line(f"Tools over MCP: {'; '.join(tool.record.draft.description for tool in tools)}", 400)
    pins = "".join(f"  {json.dumps(pin)},\n" for pin in (f"mcp=={sdk}", *_pins(tools)))
    return f"""[build-system]
requires = ["uv_build>=0.9,<1"]
build-backend = "uv_build"

[project]
name = "{name}"
version = "{_version(tools)}"
description = {json.dumps(summary, ensure_ascii=False)}
readme = "README.md"
requires-python = ">=3.11"
dependencies = [
{pins}]

[project.scripts]
{name} = "{package}.server:main"

[dependency-groups]
dev = ["pytest>=8.4,<10"]

[tool.pytest.ini_options]
testpaths = ["tests/test_server.py", "tests/tools"]
pythonpath = ["src/{package}/tools", "tests/programs"]
"""


def _run_options(tools: Sequence[PortableTool], limits: Limits) -> str:
    """Return the options with which Podman enforces the limits under which the tools were approved."""
    reaches_hosts = any(host_grants(tool.record.granted) for tool in tools)
    memory = (limits.memory_bytes + limits.scratch_bytes + (128 << 20)) >> 20
    secrets = sorted({name for tool in tools for name in secret_names(tool.record.granted)})
    return " ".join((
        "--rm -i", *(() if reaches_hosts else ("--network=none",)), "--read-only --cap-drop=all",
        "--security-opt=no-new-privileges",
        f"--memory={memory}m --memory-swap={memory}m --pids-limit={limits.processes + 16}",
        f"--tmpfs=/tmp:rw,nosuid,nodev,noexec,size={limits.scratch_bytes >> 20}m",
        *(f"--env={name}" for name in secrets),
    ))  # fmt: skip


def _containerfile(name: str, tools: Sequence[PortableTool], limits: Limits) -> str:
    return f"""FROM docker.io/library/python:3.11-slim
COPY --from=ghcr.io/astral-sh/uv:0.13 /uv /usr/local/bin/uv
WORKDIR /server
COPY . .
RUN uv sync --frozen --no-dev --compile-bytecode
USER 65534:65534
ENV PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["/server/.venv/bin/{name}"]
# The limits are the run's: podman container runlabel run {name}
LABEL run="podman run {_run_options(tools, limits)} IMAGE"
"""


def _readme(name: str, tools: Sequence[PortableTool], limits: Limits) -> str:
    config = _pretty({"mcpServers": {name: {"command": "uvx", "args": ["--from", f"/path/to/{name}", name]}}})
    lines = [
        f"# {name}", "", "A server of the Model Context Protocol on stdin and stdout, for these tools:", "",
        *(f"- `{tool.name}`: {one_line(reveal(tool.record.draft.description), 400)}" for tool in tools), "",
        "```sh", f"uvx --from . {name}            # run it",
        "uv run --frozen pytest       # its tests and those of its tools",
        f"podman build -t {name} . && podman run {_run_options(tools, limits)} {name}", "```", "", "In a client:", "",
        "```json", config.rstrip(), "```", "", "## What holds the tools", "",
        f"Each call is a process of its own, with {limits.wall_seconds:g} seconds, {limits.memory_bytes >> 20} MB of "
        f"memory, {limits.result_bytes >> 10} kB of result and an empty folder; what it leaves there is removed.",
        "Nothing more holds them outside of a container. What each was granted where it was approved:", "",
        *(f"- `{tool.name}`: {one_line('; '.join(tool.may) or 'nothing but its arguments', 600)}" for tool in tools),
        "",
    ]  # fmt: skip
    if any(host_grants(tool.record.granted) for tool in tools):
        lines += ["Hosts are not held apart here: in the container the server has the whole network.", ""]
    if secrets := sorted({name for tool in tools for name in secret_names(tool.record.granted)}):
        lines += [f"Secrets are read from the environment: {', '.join(secrets)}.", ""]
    lines += _languages(name, tools)
    lines += ["## Where they come from", ""]
    for tool in tools:
        date = f" on {tool.approved_at[:10]}" if tool.approved_at else ""
        lines.append(
            f"- `{tool.name}` v{tool.record.version}, written and tested in alita, approved by a person{date}; SHA-256 "
            f"of the approved build `{tool.record.digest}`."
        )
    if sandbox_only := [tool.name for tool in tools if _STAND_INS.search(tool.record.draft.tests)]:
        lines += [
            "",
            f"The tests of {', '.join(sandbox_only)} are in `tests/in_alita`: they need stand-ins of alita's sandbox.",
        ]
    return "\n".join(lines) + "\n"


def _languages(name: str, tools: Sequence[PortableTool]) -> list[str]:
    """Return what is to be known of tools that are not in Python."""
    others = [tool for tool in tools if tool.record.draft.language != "python"]
    if not others:
        return []
    titles = (
        f"`{tool.name}` is written in {runtime_of(tool.record.draft.language).title}" for tool in others
    )
    missing = {runtime_of(tool.record.draft.language).outside_missing for tool in others} - {""}
    lines = ["## Languages", "", f"{'; '.join(titles)}. What runs it comes with the packages of the server."]
    if missing:
        lines.append(f"The machine has to have {' and '.join(sorted(missing))}.")
    if npm := [tool for tool in others if tool.record.lock.npm]:
        folders = ", ".join(f"`{npm_folder(name, tool)}`" for tool in npm)
        lines.append(
            f"Packages of npm are in {folders}: what the sha512 of the approval names, unpacked without any script."
        )
    return [*lines, ""]


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
