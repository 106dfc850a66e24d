"""What the sandbox's account owns cannot lead root astray: links planted in its home are not followed."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import pytest

from alita_tui.sandbox.host import Host
from alita_tui.sandbox.host_folders import divide_home
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import prepare_account
from alita_tui.spine.errors import SandboxUnavailable

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
ACCOUNT = 65534


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An account's home as earlier versions made it: all of it the account's."""
    tmp_path.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, ACCOUNT, ACCOUNT)
    return home


def owner(path: Path) -> int:
    return path.lstat().st_uid


def test_the_folder_of_root_lies_in_a_folder_owned_by_root(home: Path) -> None:
    divide_home(home, ACCOUNT, ACCOUNT)
    assert (owner(home), stat.S_IMODE(home.stat().st_mode)) == (0, 0o755)
    assert owner(home / "area") == 0
    assert {owner(home / name) for name in (".config", ".local", ".cache", "run")} == {ACCOUNT}
    divide_home(home, ACCOUNT, ACCOUNT)  # and again


@pytest.mark.parametrize("name", ["area", "run", ".config", ".local", ".cache"])
def test_a_planted_link_is_refused_and_its_target_unchanged(home: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / "etc"
    target.mkdir()
    (home / name).symlink_to(target)
    with pytest.raises(SandboxUnavailable, match="is a link or a file"):
        divide_home(home, ACCOUNT, ACCOUNT)
    assert owner(target) == 0
    assert list(target.iterdir()) == []


def test_a_folder_made_by_the_account_is_not_trusted(home: Path) -> None:
    (home / "area").mkdir()
    os.chown(home / "area", ACCOUNT, ACCOUNT)
    with pytest.raises(SandboxUnavailable, match="was not made by root"):
        divide_home(home, ACCOUNT, ACCOUNT)


@pytest.mark.podman
async def test_setup_as_root_follows_no_link_of_the_account(
    settings: EngineSettings, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack as a whole: each file that root's set-up writes is a link to a file of root's."""
    secret = tmp_path / "shadow"
    secret.write_text("root's own")
    secret.chmod(0o600)
    host = Host(settings)
    account = pwd.getpwnam(host.account)
    divide_home(home, account.pw_uid, account.pw_gid)
    containers = home / ".config" / "containers"
    containers.mkdir()
    os.chown(containers, account.pw_uid, account.pw_gid)
    for name in ("storage.conf", "containers.conf", "extra"):
        (containers / name).symlink_to(secret)
        os.lchown(containers / name, account.pw_uid, account.pw_gid)
    found = pwd.struct_passwd(
        (host.account, "x", account.pw_uid, account.pw_gid, "", str(home), "/bin/false")
    )
    monkeypatch.setattr(pwd, "getpwnam", lambda _: found)
    try:
        await prepare_account(host, lambda *_: None)
    except SandboxUnavailable:
        pass  # refusing is an answer too
    assert secret.read_text() == "root's own"
    assert owner(secret) == 0
