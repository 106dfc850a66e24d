"""The account that runs Podman, and its folders: the person's own, or an unprivileged one when alita is root."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from alita_tui.sandbox import gvisor
from alita_tui.sandbox.host_folders import (
    TEMPORARY,
    check_private,
    divide_home,
    forget_an_earlier_boot,
    runtime_folder,
)
from alita_tui.sandbox.processes import bound, running
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.cancellation import finish
from alita_tui.spine.errors import SandboxUnavailable

FIX = "`alita doctor` says what is missing, `alita doctor --fix` installs it."
_NO_PROCESS_LEFT = "podman system migrate"
"""What Podman advises when none of the containers it has on record has a process left."""
_WRITE = 'umask 022; mkdir -p "${1%/*}" && cat >"$1.new" && mv -f "$1.new" "$1"'
"""Writes its standard input to the file that its argument names, completely or not at all."""


class Host:
    """Commands, folders and files as the account that runs Podman sees them."""

    elsewhere = False
    """True when Podman runs on another machine."""
    program = "podman"
    """What has to be installed here."""
    title = "Podman's service"
    hint = FIX

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.as_root = os.geteuid() == 0
        self.account = settings.account if self.as_root else ""

    @property
    def home(self) -> Path:
        """Return the account's home. Raise SandboxUnavailable when there is no such account."""
        if not self.as_root:
            return Path.home()
        import pwd

        try:
            return Path(pwd.getpwnam(self.account).pw_dir)
        except KeyError:
            raise SandboxUnavailable(
                f"alita runs as root, and the account {self.account} that runs Podman does not exist.",
                hint="Run `alita doctor --fix`, which creates it.",
            ) from None

    @property
    def area(self) -> Path:
        """Return the folder of what the account reads: environments, the warden, the seccomp profile."""
        if self.settings.area:
            return Path(self.settings.area)
        return self.home / "area" if self.as_root else Path(self.settings.cache_dir) / "sandbox"

    @property
    def runtime(self) -> Path:
        """Return the account's XDG_RUNTIME_DIR, or a folder of our own where that is missing or too long."""
        if self.as_root:
            return self.home / "run"
        return runtime_folder(os.environ.get("XDG_RUNTIME_DIR", ""), os.geteuid())

    def prepare(self) -> None:
        """Create the folders. Raise SandboxUnavailable."""
        try:
            if self.as_root:
                self._prepare_account_home()
            self.area.mkdir(parents=True, exist_ok=True)
            if not self.as_root:
                self.runtime.mkdir(exist_ok=True, mode=0o700)
                check_private(self.runtime, os.geteuid())
            if self.runtime.parent in (self.home, TEMPORARY):
                # As root beside the folder, not in it: root writes nothing where the account may write.
                marker = (self.home if self.as_root else self.runtime) / ".boot"
                forget_an_earlier_boot(self.runtime, marker, self._remove)
                self.runtime.mkdir(exist_ok=True, mode=0o700)
                if self.as_root:
                    self._prepare_account_home()
        except OSError as error:
            raise SandboxUnavailable(
                f"The sandbox's folder {error.filename or self.area} cannot be created: {error.strerror}."
            ) from error

    def _prepare_account_home(self) -> None:
        import pwd

        account = pwd.getpwnam(self.account)
        divide_home(self.home, account.pw_uid, account.pw_gid)

    def _remove(self, path: Path) -> None:
        """Remove a file or a folder of the account, as the account."""
        subprocess.run(self.command("rm", "-rf", "--", str(path)), check=False, cwd="/", capture_output=True)

    def write(self, path: Path, text: str) -> None:
        """Write a file in the account's home, as the account. Raise SandboxUnavailable."""
        # Not `install /dev/stdin`: newer kernels let no account open a pipe that root made, only read it.
        command = self.command("sh", "-c", _WRITE, "sh", str(path))
        completed = subprocess.run(command, input=text.encode(), cwd="/", capture_output=True)
        if completed.returncode:
            reason = completed.stderr.decode("utf-8", "replace").strip()
            raise SandboxUnavailable(f"The sandbox's file {path} cannot be written: {reason}")

    @property
    def environ(self) -> dict[str, str]:
        """Return Podman's environment variables: paths and proxies, and no other variable of alita's."""
        variables = {
            name: os.environ[name] for name in ("PATH", "LANG", "SSL_CERT_FILE") if name in os.environ
        }
        proxies = {
            name: value
            for name, value in os.environ.items()
            if name.lower() in ("http_proxy", "https_proxy", "no_proxy")
        }
        path = os.pathsep.join(
            (variables.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")
        )
        return {
            **variables, **proxies, "PATH": path.lstrip(os.pathsep), "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime), "TMPDIR": "/var/tmp",  # noqa: S108  # Podman needs room, and makes private folders
        }  # fmt: skip

    def command(self, *argv: str) -> list[str]:
        """Return the command as the account runs it; it ends when alita does."""
        if not self.as_root:
            return [*bound(), *argv]
        pairs = [f"{name}={value}" for name, value in self.environ.items()]
        return [*bound(), "runuser", "-u", self.account, "--", "env", "-i", *pairs, *bound(), *argv]

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the options with which Podman's service can make containers of the profile."""
        return gvisor.FLAGS if self.settings.profile == "gvisor" else ()

    async def serving(self, socket: Path, idle_seconds: int) -> list[str]:
        """Return the command that makes Podman's service answer at a socket here. Raise SandboxUnavailable."""
        return self.command(
            "nice", "-n", "5", *self._service(str(socket), idle_seconds)
        )  # the screen goes first

    def _service(self, socket: str, idle_seconds: int) -> tuple[str, ...]:
        """Return the service's own command."""
        return ("podman", *self.flags, "system", "service", "--time", str(idle_seconds), f"unix://{socket}")

    @asynccontextmanager
    async def started(self, *argv: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
        """Yield a command started as the account; its output never goes to the terminal. Raise SandboxUnavailable."""
        self.prepare()
        async with AsyncExitStack() as stack:
            try:
                command = running(*self.command(*argv), env=self.environ, **options)
                process = await stack.enter_async_context(command)
            except OSError as error:
                raise SandboxUnavailable(
                    f"{argv[0]} cannot be started: {error.strerror}.",
                    hint="Run `alita doctor --fix`, which installs what is missing.",
                ) from error
            yield process

    async def lines(self, *argv: str, seconds: float) -> AsyncIterator[str]:
        """Yield a command's output line by line. Raise SandboxUnavailable when it fails or takes too long."""
        last_lines: list[str] = []
        try:
            async with self.started(*argv) as process, asyncio.timeout(seconds):
                assert process.stdout is not None
                async for raw in process.stdout:
                    line = raw.decode("utf-8", "replace").rstrip()
                    last_lines = [*last_lines[-4:], line]
                    yield line
                code = await process.wait()
        except TimeoutError:
            raise SandboxUnavailable(f"{argv[0]} {argv[1]} took longer than {seconds:.0f} s.") from None
        if code:
            raise SandboxUnavailable(f"{argv[0]} {argv[1]} failed ({code}): {' '.join(last_lines)[-600:]}")

    async def built(self, result: Path, *argv: str, seconds: float) -> AsyncIterator[str]:
        """Yield the output of a command that makes a file, which is removed if the command fails or alita ends.

        Raise SandboxUnavailable.
        """
        source = Path(__file__).with_name("build_supervisor.py").read_text()
        supervised = ("python3", "-I", "-c", source, str(result), *argv)
        last_lines: list[str] = []
        try:
            async with self.started(*supervised, stdin=asyncio.subprocess.PIPE) as process:
                assert process.stdout is not None
                assert process.stdin is not None
                try:
                    async with asyncio.timeout(seconds):
                        async for raw in process.stdout:
                            line = raw.decode("utf-8", "replace").rstrip()
                            last_lines = [*last_lines[-4:], line]
                            yield line
                finally:
                    process.stdin.close()  # if it still runs, it ends everything and cleans up
                    await finish(process.communicate())
                    code = process.returncode
        except TimeoutError:
            raise SandboxUnavailable(f"{argv[0]} {argv[1]} took longer than {seconds:.0f} s.") from None
        if code:
            raise SandboxUnavailable(f"{argv[0]} {argv[1]} failed ({code}): {' '.join(last_lines)[-600:]}")

    async def output(self, *argv: str, seconds: float = 60.0) -> str:
        """Return a command's whole output. Raise SandboxUnavailable."""
        try:
            return "\n".join([line async for line in self.lines(*argv, seconds=seconds)])
        except SandboxUnavailable as error:
            if not await self.recovered(error.message):
                raise
        return "\n".join([line async for line in self.lines(*argv, seconds=seconds)])

    async def recovered(self, output: str) -> bool:
        """Make Podman forget containers without processes, if it failed because of them; return whether to try again.

        After a logout, or once all of a user's processes were killed, Podman has containers on record as running,
        finds none of their processes and runs no command but `podman system migrate`
        (https://docs.podman.io/en/latest/markdown/podman-system-migrate.1.html).
        """
        if self.elsewhere or _NO_PROCESS_LEFT not in output:
            return False
        # Another alita may have done it meanwhile and may have containers, which `migrate` would stop.
        # `migrate` fails for containers without an exit code, but repairs the others all the same.
        repair_once = "podman ps --quiet >/dev/null 2>&1 || podman system migrate || true"
        async for _ in self.lines("flock", str(self.runtime), "sh", "-c", repair_once, seconds=60):
            pass
        return True
