"""Podman after everything that a user ran was killed, as by a logout, in a home and a runtime folder of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_tui.sandbox.host import Host
from alita_tui.sandbox.podman_service import PodmanService
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import SandboxUnavailable


class Apart(Host):
    """The account with another home, so that its other containers are left alone."""

    apart: Path

    @property
    def environ(self) -> dict[str, str]:
        return {**super().environ, "HOME": str(self.apart)}

    @property
    def runtime(self) -> Path:
        return self.apart / "run"


@pytest.fixture
def host(settings: EngineSettings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    found = Apart(settings)
    plain = Host(settings)
    apart = Path(
        subprocess.check_output(
            plain.command("mktemp", "-d", "/var/tmp/alita-apart-XXXXXX"), cwd="/", text=True
        ).strip()
    )
    found.apart = apart
    run(plain, "mkdir", "-m", "700", str(apart / "run"), str(apart / ".config"))
    shutil.copytree(plain.home / ".config" / "containers", apart / ".config" / "containers")
    yield found
    subprocess.run(found.command("podman", "system", "migrate"), cwd="/", capture_output=True)
    subprocess.run(found.command("podman", "unshare", "rm", "-rf", str(apart)), cwd="/", capture_output=True)
    shutil.rmtree(apart, ignore_errors=True)


def run(host: Host, *argv: str) -> str:
    done = subprocess.run(host.command(*argv), cwd="/", env=host.environ, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


def kill_all(host: Apart) -> None:
    """Start a container, then end it, what watches it and what holds the user namespace."""
    system = host.apart / "system"
    run(host, "mkdir", "-p", *(str(system / name) for name in ("usr", "proc", "dev", "sys", "run", "etc")))
    for name in ("bin", "lib", "lib64"):
        run(host, "ln", "-sf", f"usr/{name}", str(system / name))
    started = ("podman", "run", "--detach", "--network", "none", "--volume", "/usr:/usr:ro", "--rootfs")
    container = run(host, *started, str(system), "sleep", "1000").strip()
    of = run(host, "podman", "inspect", "--format", "{{.State.ConmonPid}} {{.State.Pid}}", container).split()
    pause = (host.runtime / "libpod" / "tmp" / "pause.pid").read_text()
    for pid in (*of, pause):
        os.kill(int(pid), signal.SIGKILL)
    (host.runtime / "libpod" / "tmp" / "pause.pid").unlink()
    with pytest.raises(AssertionError, match="podman system migrate"):
        run(host, "podman", "ps")


async def test_a_podman_command_works_again_after_all_processes_were_killed(host: Apart) -> None:
    await asyncio.to_thread(kill_all, host)
    assert "level=error" not in await host.output("podman", "ps", "--quiet")


async def test_the_podman_service_starts_again_after_all_processes_were_killed(host: Apart) -> None:
    await asyncio.to_thread(kill_all, host)
    service = PodmanService(host)
    try:
        await service.ensure()
        assert await service.answers()
    finally:
        await service.close()


async def test_another_failure_is_not_mistaken_for_lost_processes(host: Apart) -> None:
    with pytest.raises(SandboxUnavailable, match="unrecognized"):
        await host.output("podman", "no-such-command")
    assert not await host.recovered("Error: unrecognized command")
