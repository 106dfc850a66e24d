"""Reads servers from other clients' configuration files: `mcpServers`, or the keys of VS Code and Zed.

The files may hold comments and trailing commas, as those of VS Code and Zed usually do.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from alita_tui.events import Value
from alita_tui.mcp_box.jsonc import Unreadable, parsed
from alita_tui.spine.errors import UsageError
from alita_tui.spine.redaction import secrets_in
from alita_tui.spine.text import one_line

_LARGEST = 4 << 20
_KEYS = ("mcpServers", "servers", "context_servers")
_SECRET = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/\s@]*:[^/\s@]+@")
"""Matches a password in a URL."""
_REFERENCE = re.compile(r"\$\{(?:env:|input:)?(\w+)(?::-[^}]*)?\}|\$(\w+)")


class Entry(Value, frozen=True):
    """One server of a file."""

    called: str
    """Its name in the file."""
    name: str
    """Its name in alita."""
    command: tuple[str, ...] = ()
    folder: str = ""
    env: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why it cannot be added; empty if it can."""
    off: bool = False
    """True if the file disables it."""


def servers_in(file: Path) -> tuple[Entry, ...]:
    """Return the servers of a configuration file. Raises UsageError."""
    try:
        raw = file.read_bytes()[: _LARGEST + 1]
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    try:
        # msgspec refuses what only Python's json accepts: NaN, half of a surrogate pair.
        document = msgspec.json.decode(json.dumps(parsed(raw.decode("utf-8-sig"))))
    except (UnicodeDecodeError, Unreadable, msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{file} is no JSON: {one_line(str(error), 200)}.") from error
    servers = next((document[key] for key in _KEYS if isinstance(document, dict) and key in document), None)
    if not isinstance(servers, dict):
        raise UsageError(
            f"{file} has no mcpServers.", hint="It is the file in which another client keeps its servers."
        )
    return tuple(_entry(str(name), entry) for name, entry in servers.items())


def _entry(file_name: str, entry: Any) -> Entry:
    name = re.sub(r"[^a-z0-9]+", "-", file_name.lower()).strip("-")[:31] or "server"
    name = name if name[0].isalpha() else f"s-{name}"[:31]
    if not isinstance(entry, dict):
        return Entry(called=file_name, name=name, problem="its entry is no object")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return Entry(called=file_name, name=name, off=True)
    env, secrets, notes = _variables(entry.get("env"))
    url = entry.get("url") or entry.get("httpUrl") or entry.get("serverUrl")
    if isinstance(url, str):
        if entry.get("type") == "sse":
            return Entry(
                called=file_name, name=name, problem="it speaks only the transport of before 2025, SSE"
            )
        problem = secret_in_url(url) or _header_command(entry.get("headers"), name, url)
        return Entry(called=file_name, name=name, command=(url,), notes=notes, problem=problem)
    command, arguments = entry.get("command"), entry.get("args") or []
    if isinstance(command, dict):  # Zed's older form
        older: dict[str, Any] = command
        command, arguments = older.get("path"), older.get("args") or []
    if not isinstance(command, str) or not all(isinstance(word, str) for word in arguments):
        return Entry(called=file_name, name=name, problem="it has neither a command nor a url")
    if secrets:
        names = ", ".join(secrets)
        problem = f"it needs {names}: add it by hand with --secret {secrets[0]}@HOST:PORT --host HOST:PORT"
        return Entry(called=file_name, name=name, command=(command, *arguments), notes=notes, problem=problem)
    words = (command, *arguments)
    return Entry(
        called=file_name, name=name, command=words, env=env, notes=notes, problem=_secret_in_words(words)
    )


def _variables(variables: Any) -> tuple[dict[str, str], list[str], tuple[str, ...]]:
    """Return the plain variables, the names of secret ones, and notes to the person about the secret ones."""
    values: dict[str, str] = {}
    secrets: list[str] = []
    for key, value in variables.items() if isinstance(variables, dict) else ():
        if _SECRET.search(str(key)) or _REFERENCE.search(str(value)) or _looks_secret(str(value)):
            secrets.append(one_line(str(key), 80))
        else:
            values[str(key)] = str(value)
    notes = tuple(f"{name} was not taken from the file: keep it as the secret {name}" for name in secrets)
    return values, secrets, notes


def _header_command(headers: Any, server: str, url: str) -> str:
    """Return what to type for a server with headers, as the person, not the file, decides where secrets are sent."""
    options = []
    for header, value in headers.items() if isinstance(headers, dict) else ():
        match = _REFERENCE.fullmatch(str(value))
        secret_name = re.sub(r"\W+", "_", f"{server}_{header}").upper()
        options += ["--header", f"{header}={(match[1] or match[2]) if match else secret_name}"]
    typed = shlex.join(("alita", "mcp", "add", server, url, *options))
    return (
        f"it would be sent secrets; if it may have them, keep each by its name and type: {typed}"
        if options
        else ""
    )


def _secret_in_words(words: tuple[str, ...]) -> str:
    """Return why a command is not imported; empty if nothing in it looks like a secret."""
    for word in words:
        option, equals, _ = word.partition("=")
        is_named = word.startswith("-") or equals
        if (is_named and _SECRET.search(option)) or _looks_secret(word):
            return f"its command has what looks like a secret ({one_line(option, 40) if is_named else 'an argument'})"
    return ""


def secret_typed(command: Iterable[str], env: Mapping[str, str]) -> str:
    """Return where a typed command or variable looks like it holds a secret; empty if none does."""
    if any(map(_looks_secret, command)):
        return "its command has what looks like a secret, and commands are on record"
    if name_found := next((name for name, value in env.items() if _looks_secret(value)), ""):
        return f"the variable {one_line(name_found, 40)} holds what looks like a secret, and variables are on record"
    return ""


def secret_in_url(url: str) -> str:
    """Return why a URL is not imported; empty if nothing in it looks like a secret."""
    query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    if _looks_secret(url) or any(_SECRET.search(name) or _looks_secret(value) for name, value in query):
        return "its address has what looks like a secret, and addresses are on record"
    return ""


def _looks_secret(text: str) -> bool:
    return bool(_PASSWORD.search(text) or secrets_in(text))
