"""Where sockets lie for a user without XDG_RUNTIME_DIR or with a long home: short, private, checked."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec
import pytest

from alita_tui.sandbox.host import Host
from alita_tui.sandbox.host_folders import check_private, check_socket_path, runtime_folder
from alita_tui.sandbox.podman_service import PodmanService
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import SandboxUnavailable

NOBODY = 65534


def bindable(folder: Path, name: str) -> bool:
    """Whether the kernel takes a socket's path of that length; asked below /tmp in a folder as long."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.bind(str(folder / name))
    except OSError as error:
        return "too long" not in str(error)
    (folder / name).unlink()
    return True


@pytest.mark.parametrize("given", ["", "relative", "/surely/not/here", "/tmp/" + "long-" * 25])
def test_a_session_without_a_usable_runtime_folder_gets_a_short_one(given: str, tmp_path: Path) -> None:
    folder = runtime_folder(given, NOBODY)
    assert folder == Path("/tmp/alita-65534")
    assert bindable(folder, f"alita-{2**22}-{'f' * 8}.sock")  # the longest name that the service gives


def test_a_long_home_does_not_lengthen_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / ("h" * 150)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    service = PodmanService(Host(EngineSettings(cache_dir=str(home / "cache"))))
    check_socket_path(service.socket)


def test_the_systems_own_folder_is_used(tmp_path: Path) -> None:
    folder = Path("/tmp") / f"alita-test-{os.getpid()}"
    folder.mkdir(mode=0o700)
    try:
        assert runtime_folder(str(folder), NOBODY) == folder
    finally:
        folder.rmdir()


def test_only_a_private_own_folder_is_used(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    check_private(own, os.geteuid())
    link = tmp_path / "link"
    link.symlink_to(own)
    with pytest.raises(SandboxUnavailable, match="not yours alone") as refused:
        check_private(link, os.geteuid())
    with pytest.raises(SandboxUnavailable, match="not yours alone"):
        check_private(own, NOBODY)  # somebody else made it first
    own.chmod(0o770)
    with pytest.raises(SandboxUnavailable) as refused:
        check_private(own, os.geteuid())
    assert refused.value.hint == f"Close it: chmod 700 {own}"


async def test_a_path_that_is_too_long_is_explained(tmp_path: Path) -> None:
    path = tmp_path / ("deep-" * 20) / "podman.sock"
    settings = EngineSettings(cache_dir=str(tmp_path / "cache"))
    service = PodmanService(Host(msgspec.structs.replace(settings, socket=str(path))))
    with pytest.raises(SandboxUnavailable, match=r"a Unix socket takes 107") as refused:
        await service.ensure()
    assert "sandbox.socket" in refused.value.hint
