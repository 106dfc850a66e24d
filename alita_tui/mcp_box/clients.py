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
        """Return the entry that makes this client use a URL, with a placeholder: the token is never printed."""
        headers = {"Authorization": "Bearer TOKEN"}
        match self.client:
            case "codex":
                return {"url": url, "bearer_token_env_var": "ALITA_MCP_TOKEN"}
            case "goose":
                own = {"type": "streamable_http", "name": NAME, "enabled": True, "timeout": 300}
                return {**own, "uri": url, "headers": headers}
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
        """Return the file's text with the entry set and nothing else changed. Raise UsageError."""
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


def client_file(client: ClientName, environ: Mapping[str, str]) -> ClientFile:
    """Return where a client keeps its servers on this machine."""
    home = Path(environ.get("HOME") or Path.home())
    mac = sys.platform == "darwin"
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    support = home / "Library" / "Application Support" if mac else config
    match client:
        case "claude-code":
            return ClientFile(client=client, path=home / ".claude.json", form="json", under="mcpServers")
        case "claude-desktop":
            path = support / "Claude" / "claude_desktop_config.json"
            return ClientFile(client=client, path=path, form="json", under="mcpServers")
        case "cursor":
            return ClientFile(
                client=client, path=home / ".cursor" / "mcp.json", form="json", under="mcpServers"
            )
        case "vscode":
            path = support / "Code" / "User" / "mcp.json"
            return ClientFile(client=client, path=path, form="json", under="servers")
        case "zed":
            path = config / "zed" / "settings.json"
            return ClientFile(client=client, path=path, form="json", under="context_servers")
        case "codex":
            path = Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
            return ClientFile(client=client, path=path, form="toml", under="mcp_servers")
        case "gemini":
            path = home / ".gemini" / "settings.json"
            return ClientFile(client=client, path=path, form="json", under="mcpServers")
        case "goose":
            path = config / "goose" / "config.yaml"
            return ClientFile(client=client, path=path, form="yaml", under="extensions")


def _in_toml(text: str, under: str, entry: dict[str, Any]) -> str:
    try:
        document = tomlkit.parse(text)
        before = document.unwrap()
        servers = document.setdefault(under, tomlkit.table(is_super_table=True))
        earlier = servers.get(NAME)
        if isinstance(earlier, OutOfOrderTableProxy):
            raise Unreadable(f"{under}.{NAME} is written in several places")
        servers[NAME] = entry
        if isinstance(earlier, Table):
            servers[NAME].add(Whitespace(_comments_behind(earlier.as_string())))
        edited = tomlkit.dumps(document)
        if "\n" in text and "\n" not in text.replace("\r\n", ""):
            edited = re.sub(r"(?<!\r)\n", "\r\n", edited)
        after = tomlkit.parse(edited).unwrap()
    except (TOMLKitError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(str(error)) from error
    if after != {**before, under: {**before.get(under, {}), NAME: entry}}:
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _comments_behind(table: str) -> str:
    """Return the blank lines and comments at the end of a table: they are about what follows it."""
    lines = table.splitlines(keepends=True)
    behind = len(lines)
    while behind and (not lines[behind - 1].strip() or lines[behind - 1].lstrip().startswith("#")):
        behind -= 1
    return "".join(lines[behind:])


def _in_yaml(text: str, under: str, entry: dict[str, Any]) -> str:
    """Return the text with the entry inserted below `under:`; an earlier entry is replaced."""
    before = _read_yaml(text)
    if not isinstance(before.get(under) or {}, dict):
        raise Unreadable(f"{under} is no mapping")
    ends = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    heading = re.compile(rf"{under}:\s*(\s#.*)?")
    top = next((n for n, line in enumerate(lines) if heading.fullmatch(line.rstrip("\r\n"))), None)
    if top is None and not before.get(under):
        top = _opened(lines, under)
    if top is None:
        if under in before:
            raise Unreadable(f"{under} is written in a way that cannot be edited safely")
        closing = ends if text and not text.endswith("\n") else ""
        lines, top = [*lines, f"{closing}{under}:{ends}"], len(lines)
    elif not lines[top].endswith("\n"):
        lines[top] += ends
    first = next(
        (line for line in lines[top + 1 :] if line.strip() and not line.lstrip().startswith("#")), ""
    )
    indent = first[: len(first) - len(first.lstrip())] or "  "
    own = [n for n, line in enumerate(lines) if n > top and line.rstrip() == f"{indent}{NAME}:"]
    begin = own[0] if own else top + 1
    end = begin
    if own:
        end += 1
        while end < len(lines) and lines[end].startswith(f"{indent} "):
            end += 1
    block = [f"{indent}{line}{ends}" for line in yaml.safe_dump({NAME: entry}, sort_keys=False).splitlines()]
    edited = "".join([*lines[:begin], *block, *lines[end:]])
    if _read_yaml(edited) != {**before, under: {**(before.get(under) or {}), NAME: entry}}:
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _opened(lines: list[str], under: str) -> int | None:
    """Remove an empty value such as `{}` from the line of `under:`, and return that line's number."""
    empty = re.compile(rf"({under}:)\s+(?:\{{\s*\}}|~|null)(\s*(?:\s#.*)?)", re.DOTALL)
    for number, line in enumerate(lines):
        if found := empty.fullmatch(line):
            lines[number] = found[1] + found[2]
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
