"""Where keys are found and kept."""

import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.backends.null
import pytest

from alita_tui.llm.keys import find_key, forget_key, look_up, save_key
from alita_tui.spine.env_file import parse
from alita_tui.spine.errors import ConfigError, StoreError, UsageError
from tests.llm.keyrings import Drawer


class Locked(keyring.backend.KeyringBackend):
    """A keyring whose desktop is away."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        raise ConnectionResetError("no bus")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise ConnectionResetError("no bus")

    def delete_password(self, service: str, username: str) -> None:
        raise ConnectionResetError("no bus")


@pytest.fixture(autouse=True)
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def drawer(no_keyring: None) -> Drawer:
    made = Drawer()
    keyring.set_keyring(made)
    return made


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / ".env"


def found(env_file: Path, **environ: str) -> str | None:
    return find_key("openai", env_file=env_file, environ=environ)


def test_the_more_specific_place_wins(env_file: Path, drawer: Drawer) -> None:
    assert found(env_file) is None
    drawer.set_password("alita", "OPENAI_API_KEY", "from-keyring")
    assert found(env_file) == "from-keyring"
    env_file.parent.mkdir()
    env_file.write_text("OPENAI_API_KEY=from-file\n")
    assert found(env_file) == "from-file"
    assert found(env_file, OPENAI_API_KEY="from-environment") == "from-environment"


@pytest.mark.parametrize(
    "line",
    [
        "OPENAI_API_KEY=k-1",
        "export OPENAI_API_KEY = 'k-1'  # mine",
        'OPENAI_API_KEY="k-1"',
        "OPENAI_API_KEY=k-1 # mine",
    ],
)
def test_an_env_file_is_read_as_people_write_it(env_file: Path, line: str) -> None:
    env_file.parent.mkdir()
    env_file.write_text(f"# keys\nOTHER_OPENAI_API_KEY=no\n#OPENAI_API_KEY=no\n{line}\n")
    assert found(env_file) == "k-1"


def test_a_file_that_others_can_read_is_reported(env_file: Path) -> None:
    env_file.parent.mkdir()
    env_file.write_text("OPENAI_API_KEY=k-1\n")
    env_file.chmod(0o644)
    key = look_up("openai", env_file=env_file, environ={})
    assert key is not None
    assert "chmod 600" in key.warning
    env_file.chmod(0o600)
    key = look_up("openai", env_file=env_file, environ={})
    assert key is not None
    assert key.warning == ""
    assert "k-1" not in repr(key)


def test_a_working_keyring_stores_the_key_and_an_older_one_leaves_the_file(
    env_file: Path, drawer: Drawer
) -> None:
    env_file.parent.mkdir()
    env_file.write_text("OPENAI_API_KEY=old\nGROQ_API_KEY=g\n")
    assert save_key("openai", " new-key\n", env_file) == "keyring"
    assert found(env_file) == "new-key"
    assert env_file.read_text() == "GROQ_API_KEY=g\n"


@pytest.mark.parametrize("backend", [keyring.backends.fail.Keyring, keyring.backends.null.Keyring, Locked])
def test_without_a_keyring_the_private_file_stores_the_key(
    env_file: Path, backend: type[keyring.backend.KeyringBackend]
) -> None:
    keyring.set_keyring(backend())
    assert found(env_file) is None
    assert save_key("openai", "sk-1", env_file) == str(env_file)
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(env_file.parent.stat().st_mode) == 0o700
    assert found(env_file) == "sk-1"
    forget_key("openai", env_file)
    assert found(env_file) is None


def test_saving_replaces_one_line_and_leaves_the_rest(env_file: Path) -> None:
    env_file.parent.mkdir()
    env_file.write_text("# mine\nexport OPENAI_API_KEY='old'\nALITA_MODEL=openai:x\n")
    env_file.chmod(0o644)
    save_key("openai", "new", env_file)
    assert env_file.read_text() == "# mine\nALITA_MODEL=openai:x\nOPENAI_API_KEY='new'\n"
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
    assert [path.name for path in env_file.parent.iterdir()] == [".env"]


def test_saving_a_key_keeps_a_linked_env_file_a_link(env_file: Path, tmp_path: Path) -> None:
    env_file.parent.mkdir()
    target = tmp_path / "dotfiles.env"
    target.write_text("A=1\n")
    env_file.symlink_to(target)
    save_key("openai", "k", env_file)
    assert env_file.is_symlink()
    assert target.read_text() == "A=1\nOPENAI_API_KEY='k'\n"


def test_a_file_that_cannot_be_read_is_not_overwritten(env_file: Path) -> None:
    env_file.parent.mkdir()
    env_file.write_bytes(b"A=\xff\n")
    with pytest.raises(StoreError, match="UTF-8"):
        save_key("openai", "k", env_file)
    assert env_file.read_bytes() == b"A=\xff\n"


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file")
    with pytest.raises(StoreError) as caught:
        save_key("openai", "sk-secret", tmp_path / "config" / ".env")
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "  ", "two words", "line\nbreak", "tab\tkey", "quo'te", "ключ"])
def test_an_invalid_key_is_not_saved(env_file: Path, key: str) -> None:
    with pytest.raises(UsageError):
        save_key("openai", key, env_file)
    assert not env_file.exists()


def test_forgetting_clears_both_places_and_can_be_repeated(env_file: Path, drawer: Drawer) -> None:
    save_key("openai", "k", env_file)
    env_file.parent.mkdir()
    env_file.write_text("OPENAI_API_KEY=k\n")
    forget_key("openai", env_file)
    forget_key("openai", env_file)
    assert (drawer.kept, env_file.read_text(), found(env_file)) == ({}, "", None)


def test_an_unknown_provider_is_named(env_file: Path) -> None:
    with pytest.raises(ConfigError, match="opneai"):
        find_key("opneai", env_file=env_file, environ={})


@pytest.mark.parametrize("key", ['sk-#"\\$x', "ends-in-\\", "two\\\\", "sk=a=b==", "#sk", '"sk"', "${HOME}"])
def test_a_saved_key_is_read_back_unchanged(env_file: Path, key: str) -> None:
    save_key("openai", key, env_file)
    (entry,) = parse(env_file.read_text())
    assert (entry.name, entry.value, entry.problem) == ("OPENAI_API_KEY", key, "")
    assert found(env_file) == key


def test_saving_leaves_every_other_line_as_it_was(env_file: Path) -> None:
    env_file.parent.mkdir()
    before = "A='two\nlines'\n\nnot an assignment\n  B = \"open\n# OPENAI_API_KEY=no\n"
    env_file.write_text(before + "OPENAI_API_KEY=old\nOPENAI_API_KEY='older'\nC=1")
    save_key("openai", "new", env_file)
    assert env_file.read_text() == before + "C=1\nOPENAI_API_KEY='new'\n"
    forget_key("openai", env_file)
    assert env_file.read_text() == before + "C=1\n"
