"""Secrets in the operating system's keyring. One that does not work is as one that is empty.

All of it blocks, on a locked keyring until the person has unlocked it.
"""

from __future__ import annotations

from contextlib import suppress

_SERVICE = "alita"


def read(name: str) -> str:
    """Return a secret; empty if the keyring has none."""
    try:
        import keyring

        return keyring.get_password(_SERVICE, name) or ""
    except Exception:  # noqa: BLE001 - back ends raise what their desktop's bus raises
        return ""


def write(name: str, value: str) -> bool:
    """Store a secret; return whether the keyring has it, as some back ends accept everything and keep nothing."""
    try:
        import keyring

        keyring.set_password(_SERVICE, name, value)
        return keyring.get_password(_SERVICE, name) == value
    except Exception:  # noqa: BLE001 - as in `read`
        return False


def remove(name: str) -> None:
    """Remove a secret, if there is one."""
    with suppress(Exception):  # as in `read`
        import keyring

        keyring.delete_password(_SERVICE, name)
