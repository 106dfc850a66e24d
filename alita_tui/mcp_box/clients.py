"""MCP clients that can use alita's tools: where each keeps its servers, and in which format."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import tomlkit
import yaml
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table, Whitespace

from alita_tui.events import Value
from alita_tui.mcp_box.jsonc import Unreadable, with_entry
from alita_tui.spine.errors import UsageError

NAME = "alita"
ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode", "zed", "codex", "gemini", "goose"]
Form = Literal["json", "toml", "yaml"]


class ClientFile(Value, frozen=True):
    """The file in which a client keeps its servers."""

    client: ClientName
    path: Path
    form: Form
    under: str
    """The key that holds all servers by name."""

    def entry(self, command: tuple[str, ...]) -> dict[str, Any]:
        """Return the entry that makes this client start a command as a server."""
        program, *words = command
        match self.client:
            case "claude-code":
                return {"type": "stdio", "command": program, "args": words, "env": {}}
            case "vscode":
                return {"type": "stdio", "command": program, "args": words}
            case "zed":
                return {"source": "custom", "command": program, "args": words, "env": {}}
            case "goose":
                return {
                    "type": "stdio", "name": NAME, "enabled": True, "cmd": program, "args": words, "envs": {},
                    "env_keys": [], "timeout": 300,
                }  # fmt: skip
            case "claude-desktop" | "cursor" | "codex" | "gemini":
                return {"command": program, "args": words}

    def remote(self, url: str) -> dict[str, Any]:
        """Return the entry that makes this client use a URL; it has a placeholder, as the token is never printed."""
        headers = {"Authorization": "Bearer TOKEN"}
        match self.client:
            case "codex":
                return {"url": url, "bearer_token_env_var": "ALITA_MCP_TOKEN"}
            case "goose":
                fields = {"type": "streamable_http", "name": NAME, "enabled": True, "timeout": 300}
                return {**fields, "uri": url, "headers": headers}
            case "cursor" | "zed":
                return {"url": url, "headers": headers}
            case "claude-code" | "vscode" | "gemini":
                return {"type": "http", "url": url, "headers": headers}
            case "claude-desktop":
                raise UsageError("Claude Desktop's file takes no address.", hint="Leave --http out.")

    def shown(self, entry: dict[str, Any]) -> str:
        """Return a complete file that holds only this entry."""
        return self.changed("", entry)

    def changed(self, text: str, entry: dict[str, Any]) -> str:
        """Return the file's text with only the entry changed. Raises UsageError."""
        try:
            match self.form:
                case "json":
                    return with_entry(text, (self.under, NAME), entry)
                case "toml":
                    return _in_toml(text, self.under, entry)
                case "yaml":
                    return _in_yaml(text, self.under, entry)
        except Unreadable as error:
            raise UsageError(
                f"{self.path} is left as it is: {error}.",
                hint=f"Mend it, or put the entry in by hand: alita mcp config {self.client}",
            ) from error


_FILES: dict[ClientName, tuple[Literal["home", "config", "support"], str, Form, str]] = {
    "claude-code": ("home", ".claude.json", "json", "mcpServers"),
    "claude-desktop": ("support", "Claude/claude_desktop_config.json", "json", "mcpServers"),
    "cursor": ("home", ".cursor/mcp.json", "json", "mcpServers"),
    "vscode": ("support", "Code/User/mcp.json", "json", "servers"),
    "zed": ("config", "zed/settings.json", "json", "context_servers"),
    "codex": ("home", ".codex/config.toml", "toml", "mcp_servers"),
    "gemini": ("home", ".gemini/settings.json", "json", "mcpServers"),
    "goose": ("config", "goose/config.yaml", "yaml", "extensions"),
}
"""For each client: the folder that its file is below, the file's path there, its form, and the key for servers."""


def client_file(client: ClientName, environ: Mapping[str, str]) -> ClientFile:
    """Return where a client keeps its servers on this machine."""
    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    support = home / "Library" / "Application Support" if sys.platform == "darwin" else config
    base, name, form, under = _FILES[client]
    path = {"home": home, "config": config, "support": support}[base] / name
    if client == "codex" and environ.get("CODEX_HOME"):
        path = Path(environ["CODEX_HOME"]) / "config.toml"
    return ClientFile(client=client, path=path, form=form, under=under)


def _in_toml(text: str, key: str, entry: dict[str, Any]) -> str:
    try:
        document = tomlkit.parse(text)
        original = document.unwrap()
        servers = document.setdefault(key, tomlkit.table(is_super_table=True))
        earlier = servers.get(NAME)
        if isinstance(earlier, OutOfOrderTableProxy):
            raise Unreadable(f"{key}.{NAME} is written in several places")
        servers[NAME] = entry
        if isinstance(earlier, Table):
            servers[NAME].add(Whitespace(_comments_behind(earlier.as_string())))
        edited = tomlkit.dumps(document)
        if "\n" in text and "\n" not in text.replace("\r\n", ""):
            edited = re.sub(r"(?<!\r)\n", "\r\n", edited)
        reparsed = tomlkit.parse(edited).unwrap()
    except (TOMLKitError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(str(error)) from error
    if reparsed != {**original, key: {**original.get(key, {}), NAME: entry}}:
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _comments_behind(table: str) -> str:
    """Return the blank lines and comments at the end of a table, which belong to what follows it."""
    lines = table.splitlines(keepends=True)
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return "".join(lines[end:])


def _in_yaml(text: str, key: str, entry: dict[str, Any]) -> str:
    """Return the text with the entry inserted below `key:`; an earlier entry is replaced."""
    original = _read_yaml(text)
    if not isinstance(original.get(key) or {}, dict):
        raise Unreadable(f"{key} is no mapping")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    heading = re.compile(rf"{key}:\s*(\s#.*)?")
    heading_line = next(
        (number for number, line in enumerate(lines) if heading.fullmatch(line.rstrip("\r\n"))), None
    )
    if heading_line is None and not original.get(key):
        heading_line = _remove_empty_value(lines, key)
    if heading_line is None:
        if key in original:
            raise Unreadable(f"{key} is written in a way that cannot be edited safely")
        closing = newline if text and not text.endswith("\n") else ""
        lines, heading_line = [*lines, f"{closing}{key}:{newline}"], len(lines)
    elif not lines[heading_line].endswith("\n"):
        lines[heading_line] += newline
    first_entry = next(
        (line for line in lines[heading_line + 1 :] if line.strip() and not line.lstrip().startswith("#")), ""
    )
    indent = first_entry[: len(first_entry) - len(first_entry.lstrip())] or "  "
    own_lines = [
        number
        for number, line in enumerate(lines)
        if number > heading_line and line.rstrip() == f"{indent}{NAME}:"
    ]
    begin = own_lines[0] if own_lines else heading_line + 1
    end = begin
    if own_lines:
        end += 1
        while end < len(lines) and lines[end].startswith(f"{indent} "):
            end += 1
    block = [
        f"{indent}{line}{newline}" for line in yaml.safe_dump({NAME: entry}, sort_keys=False).splitlines()
    ]
    edited = "".join([*lines[:begin], *block, *lines[end:]])
    if _read_yaml(edited) != {**original, key: {**(original.get(key) or {}), NAME: entry}}:
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _remove_empty_value(lines: list[str], key: str) -> int | None:
    """Remove an empty value such as `{}` behind `key:`; return the number of that line, if there is one."""
    empty = re.compile(rf"({key}:)\s+(?:\{{\s*\}}|~|null)(\s*(?:\s#.*)?)", re.DOTALL)
    for number, line in enumerate(lines):
        if match := empty.fullmatch(line):
            lines[number] = match[1] + match[2]
            return number
    return None


def _read_yaml(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Unreadable(" ".join(str(error).split())) from error
    if document is not None and not isinstance(document, dict):
        raise Unreadable("it is no mapping")
    return document or {}
