"""API keys: environment, then the `.env` file, then the operating system's keyring. Never logged.

Reading and writing block, on a locked keyring until the person has unlocked it: call them in a
thread where an event loop runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from alita_tui.events import Value
from alita_tui.llm.presets import preset
from alita_tui.spine.env_file import parse as parse_env_file
from alita_tui.spine.env_file import quoted
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.system import files, secrets

_KEY = re.compile(r"[\x21-\x7e]{1,4096}")


class FoundKey(Value, frozen=True):
    """A key and the place it comes from."""

    value: str
    where: str
    """`environment`, `keyring`, or the path of the file."""
    warning: str = ""
    """What is wrong with that place, if anything."""

    def __repr__(self) -> str:
        return f"FoundKey(where={self.where!r})"


def look_up(provider: str, *, env_file: Path, environ: Mapping[str, str], name: str = "") -> FoundKey | None:
    """Return the key of a provider and its place, or None.

    `name` is what the key is stored under, where that is not the provider's own. Raise ConfigError for an
    unknown provider.
    """
    name = name or preset(provider).key_name
    if environ.get(name):
        return FoundKey(value=environ[name].strip(), where="environment")
    if in_file := _in_file(env_file, name):
        open_to_others = env_file.stat().st_mode & 0o077
        warning = f"Other accounts can read {env_file}: run `chmod 600` on it." if open_to_others else ""
        return FoundKey(value=in_file, where=str(env_file), warning=warning)
    in_keyring = secrets.read(name)
    return FoundKey(value=in_keyring, where="keyring") if in_keyring else None


def find_key(provider: str, *, env_file: Path, environ: Mapping[str, str], name: str = "") -> str | None:
    """Return what `look_up` finds without its place."""
    key = look_up(provider, env_file=env_file, environ=environ, name=name)
    return key.value if key else None


def save_key(provider: str, key: str, env_file: Path) -> str:
    """Store a key; return `keyring`, or the file's path where no keyring works.

    Raise UsageError for what cannot be a key, StoreError when it cannot be stored anywhere.
    """
    name, key = preset(provider).key_name, key.strip()
    if not _KEY.fullmatch(key) or "'" in key:
        raise UsageError(
            f"That is not a key for {provider}.",
            hint="Copy it again: letters, digits and signs, without spaces.",
        )
    if secrets.write(name, key):
        _rewrite(env_file, name, None)  # an older key in the file would take precedence
        return "keyring"
    _rewrite(env_file, name, key)
    return str(env_file)


def forget_key(provider: str, env_file: Path) -> None:
    """Remove a key from the keyring and the file, if it is there. Raise StoreError."""
    name = preset(provider).key_name
    _rewrite(env_file, name, None)
    secrets.remove(name)


def _in_file(path: Path, name: str) -> str:
    try:
        entries = parse_env_file(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    values = [entry.value for entry in entries if entry.name == name]
    return values[-1] if values else ""


def _rewrite(path: Path, name: str, key: str | None) -> None:
    """Set or remove one key in the file, atomically, readable by its owner only."""
    target = Path(os.path.realpath(path))  # a link stays a link
    try:
        entries = parse_env_file(target.read_text("utf-8")) if target.exists() else ()
        lines = [entry.text for entry in entries if entry.name != name]
        if key is None and len(lines) == len(entries):
            return
        if lines and not lines[-1].endswith("\n"):
            lines.append("\n")
        if key is not None:
            lines.append(f"{name}={quoted(key)}\n")
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.replace(target, "".join(lines))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise StoreError(f"The key could not be saved in {path}: {reason}.") from error
