"""MCP clients that can use alita's tools: where each keeps its servers, and in which format."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import tomlkit
import yaml
from tomlkit.exceptions import TOMLKitError

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
        servers[NAME] = entry
        edited = tomlkit.dumps(document)
        after = tomlkit.parse(edited).unwrap()
    except (TOMLKitError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(str(error)) from error
    if after != {**before, under: {**before.get(under, {}), NAME: entry}}:
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _in_yaml(text: str, under: str, entry: dict[str, Any]) -> str:
    """Return the text with the entry inserted below `under:`; an earlier entry is replaced."""
    before = _read_yaml(text)
    if not isinstance(before.get(under) or {}, dict):
        raise Unreadable(f"{under} is no mapping")
    lines = text.splitlines()
    top = next((n for n, line in enumerate(lines) if line.rstrip() == f"{under}:"), None)
    if top is None:
        if under in before:
            raise Unreadable(f"{under} is written in a way that cannot be edited safely")
        lines, top = [*lines, f"{under}:"], len(lines)
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
    block = yaml.safe_dump({NAME: entry}, sort_keys=False).splitlines()
    edited = "\n".join([*lines[:begin], *(f"{indent}{line}" for line in block), *lines[end:]]) + "\n"
    if _read_yaml(edited) != {**before, under: {**(before.get(under) or {}), NAME: entry}}:
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _read_yaml(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Unreadable(" ".join(str(error).split())) from error
    if document is not None and not isinstance(document, dict):
        raise Unreadable("it is no mapping")
    return document or {}
