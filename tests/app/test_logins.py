"""Tokens of remote servers, in a keyring that is reached only at times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import pytest

from alita_tui.app.logins import StoredLogin


class Drawer(keyring.backend.KeyringBackend):
    """A keyring that takes new entries only while its desktop is there."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.open = True

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if not self.open:
            raise ConnectionResetError("no bus")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    before = keyring.get_keyring()
    made = Drawer()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def test_the_newest_login_counts_wherever_it_was_stored(tmp_path: Path, drawer: Drawer) -> None:
    login = StoredLogin(tmp_path, "https://mcp.example")
    login.write("first")
    drawer.open = False
    login.write("second")
    assert login.read() == "second"
    drawer.open = True
    login.write("third")
    assert login.read() == "third"
    assert not [*tmp_path.glob("*.json")]
    login.forget()
    assert login.read() == ""
