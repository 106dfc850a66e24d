"""API keys: environment, then the `.env` file, then the operating system's keyring. Never logged.

Reading and writing block, on a locked keyring until the person has unlocked it: call them in a
thread where an event loop runs.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from alita_tui.llm.presets import preset
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.values import Value

_SERVICE = "alita"
_KEY = re.compile(r"[\x21-\x7e]{1,4096}")


class FoundKey(Value, frozen=True):
    """A key and where it is kept."""

    value: str
    where: str
    """`given`, `environment`, `keyring`, or the path of the file."""
    warning: str = ""
    """What is wrong with that place; empty when nothing is."""

    def __repr__(self) -> str:
        return f"FoundKey(where={self.where!r})"


def look_up(
    provider: str, *, env_file: Path, environ: Mapping[str, str], explicit: str = "", name: str = ""
) -> FoundKey | None:
    """The key of a provider and where it is, or None where there is none.

    `name` is the name that it is kept under, where that is not the provider's own. Raises ConfigError
    for an unknown provider.
    """
    name = name or preset(provider).key_name
    if explicit:
        return FoundKey(value=explicit, where="given")
    if environ.get(name):
        return FoundKey(value=environ[name].strip(), where="environment")
    if kept := _in_file(env_file, name):
        open_to_others = env_file.stat().st_mode & 0o077
        warning = f"Other accounts can read {env_file}: run `chmod 600` on it." if open_to_others else ""
        return FoundKey(value=kept, where=str(env_file), warning=warning)
    held = _keyring_get(name)
    return FoundKey(value=held, where="keyring") if held else None


def find_key(
    provider: str, *, env_file: Path, environ: Mapping[str, str], explicit: str = "", name: str = ""
) -> str | None:
    """The key alone; see `look_up`."""
    found = look_up(provider, env_file=env_file, environ=environ, explicit=explicit, name=name)
    return found.value if found else None


def save_key(provider: str, key: str, env_file: Path) -> str:
    """Keep a key; returns where: `keyring`, or the file's path where no keyring works.

    Raises UsageError for what cannot be a key, StoreError when it can be kept nowhere.
    """
    name, key = preset(provider).key_name, key.strip()
    if not _KEY.fullmatch(key) or "'" in key:
        raise UsageError(
            f"That is no key for {provider}.",
            hint="Copy it again: letters, digits and signs, without spaces.",
        )
    if _keyring_set(name, key):
        _rewrite(env_file, name, None)  # an older key in the file would go before it
        return "keyring"
    _rewrite(env_file, name, key)
    return str(env_file)


def forget_key(provider: str, env_file: Path) -> None:
    """Remove a key from the keyring and the file; none there is no error. Raises StoreError."""
    name = preset(provider).key_name
    _rewrite(env_file, name, None)
    try:
        import keyring

        keyring.delete_password(_SERVICE, name)
    except Exception:  # noqa: BLE001 - as in `_keyring_set`
        return


def _keyring_set(name: str, key: str) -> bool:
    """True when the keyring has it; some back ends take everything and keep nothing."""
    try:
        import keyring

        keyring.set_password(_SERVICE, name, key)
        return keyring.get_password(_SERVICE, name) == key
    except Exception:  # noqa: BLE001 - back ends raise what their desktop's bus raises
        return False


def _keyring_get(name: str) -> str | None:
    try:
        import keyring

        return keyring.get_password(_SERVICE, name) or None
    except Exception:  # noqa: BLE001 - as in `_keyring_set`
        return None


def _assigns(line: str, name: str) -> str | None:
    """What the line assigns to the name, without quotes and comment; None when it does not."""
    match = re.fullmatch(rf"\s*(?:export\s+)?{re.escape(name)}\s*=\s*(.*?)\s*", line)
    if match is None:
        return None
    quoted = re.fullmatch(r"""(["'])(.*)\1\s*(?:#.*)?""", match[1])
    return quoted[2] if quoted else re.split(r"(?:^|\s)#", match[1], maxsplit=1)[0].strip()


def _in_file(env_file: Path, name: str) -> str:
    try:
        lines = env_file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    found = [value for line in lines if (value := _assigns(line, name)) is not None]
    return found[-1] if found else ""


def _rewrite(env_file: Path, name: str, key: str | None) -> None:
    """Set or drop one line of the file, atomically, readable by its owner only."""
    target = Path(os.path.realpath(env_file))  # a link stays a link
    try:
        lines = target.read_text("utf-8").splitlines() if target.exists() else []
        kept = [line for line in lines if _assigns(line, name) is None]
        if key is None and len(kept) == len(lines):
            return
        if key is not None:
            kept.append(f"{name}='{key}'")
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _replace(target, "".join(f"{line}\n" for line in kept))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise StoreError(f"The key could not be saved in {env_file}: {reason}.") from error


def _replace(target: Path, text: str) -> None:
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".env-")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
