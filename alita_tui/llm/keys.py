"""API keys: environment, then the 0600 `.env`, then the operating system's keyring. Never logged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from alita_tui.llm.presets import preset
from alita_tui.spine.errors import StoreError

_SERVICE = "alita"


def find_key(provider: str, *, env_file: Path, environ: Mapping[str, str]) -> str | None:
    """The key of a provider, or None where there is none. Raises ConfigError for an unknown provider."""
    name = preset(provider).key_name
    if not name:
        return None
    return environ.get(name) or _in_file(env_file, name) or _in_keyring(name)


def save_key(provider: str, key: str, env_file: Path) -> str:
    """Keep a key; returns where: `keyring`, or the file's path where no keyring works.

    Raises StoreError when neither can be written.
    """
    name = preset(provider).key_name or "ALITA_API_KEY"
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return _write(env_file, name, key)
    try:
        keyring.set_password(_SERVICE, name, key)
    except (KeyringError, RuntimeError):
        return _write(env_file, name, key)
    return "keyring"


def forget_key(provider: str, env_file: Path) -> None:
    """Remove a key from the keyring and the file; none there is no error."""
    name = preset(provider).key_name or "ALITA_API_KEY"
    _write(env_file, name, None)
    try:
        import keyring
        from keyring.errors import KeyringError

        keyring.delete_password(_SERVICE, name)
    except (ImportError, KeyringError, RuntimeError):
        return


def _in_keyring(name: str) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(_SERVICE, name) or None
    except (KeyringError, RuntimeError):
        return None


def _lines(env_file: Path) -> list[str]:
    try:
        return env_file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _in_file(env_file: Path, name: str) -> str | None:
    for line in _lines(env_file):
        key, equals, value = line.partition("=")
        if equals and key.strip().removeprefix("export ").strip() == name:
            return value.strip().strip("'\"") or None
    return None


def _write(env_file: Path, name: str, key: str | None) -> str:
    """Replace one line of the file, atomically, readable by its owner only."""
    kept = [line for line in _lines(env_file) if line.partition("=")[0].strip() != name]
    if key is not None:
        kept.append(f'{name}="{key}"')
    elif not env_file.exists():
        return str(env_file)
    try:
        env_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", dir=env_file.parent, delete=False, encoding="utf-8") as draft:
            draft.write("\n".join(kept) + "\n" if kept else "")
            draft.flush()
            os.fsync(draft.fileno())
        Path(draft.name).replace(env_file)
    except OSError as error:
        raise StoreError(f"The key could not be saved in {env_file}: {error.strerror}.") from error
    return str(env_file)
