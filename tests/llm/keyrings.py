"""A keyring in memory."""

from __future__ import annotations

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.backends.null


class Drawer(keyring.backend.KeyringBackend):
    """A keyring that works."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]
