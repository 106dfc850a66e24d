"""Podman on another machine, through an ssh tunnel: the same policy, and nothing of this machine mounted.

One ssh process holds the tunnel and the service: when it ends, the channel to every warden closes, and what runs there
ends too. Host keys are checked strictly and ssh never asks: a person logs in once by hand and compares the key.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from alita_tui.sandbox import image
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.processes import bound, running
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.ports.stream import Progress

_OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "ExitOnForwardFailure": "yes",
    "StreamLocalBindUnlink": "yes",
    "ConnectTimeout": "10",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "ControlMaster": "no",
    "ControlPath": "none",
}
"""ssh_config(5); on the command line they take precedence over the person's own file."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PATH = re.compile(r"/[A-Za-z0-9_./-]+")
_PIECE = 1 << 20
_COPY_SECONDS = 1800.0


class Remote(Host):
    """Commands and sockets of a Podman that `ssh` reaches."""

    elsewhere = True
    program = "ssh"

    def __init__(self, settings: EngineSettings, url: str) -> None:
        """Raise UsageError for anything but `ssh://[USER@]HOST[:PORT][/PATH/OF/PODMAN.SOCK]`."""
        super().__init__(msgspec.structs.replace(settings, socket=""))
        self.as_root, self.account = False, ""
        self.here = Host(settings) if "local" in settings.engines else None
        """This machine's engine, whose base image is copied, so that all engines have the same one."""
        self.url = url
        self._user, self._name, self._port, self._path = _parts(url)
        self.title = f"The engine {url}"
        where = f"{self._user}@{self._name}" if self._user else self._name
        self.hint = (
            f"`ssh {where} podman info` has to work without a question; log in once to accept the key."
        )

    @property
    def environ(self) -> dict[str, str]:
        """Return ssh's environment variables: those of a local Podman, and the person's ssh agent."""
        agent = {name: os.environ[name] for name in ("SSH_AUTH_SOCK",) if name in os.environ}
        return {**super().environ, **agent}

    def command(self, *argv: str) -> list[str]:
        """Return the ssh command that runs this one there; ssh ends when alita does."""
        return [*bound(), *self._ssh(), self._name, shlex.join(argv)]

    async def serving(self, socket: Path, idle_seconds: int) -> list[str]:
        """Return the ssh command that opens the tunnel and runs the service. Raise SandboxUnavailable."""
        if self._path:
            return [*bound(), *self._ssh("-N", "-L", f"{socket}:{self._path}"), self._name]
        remote_socket = f"{await self._runtime()}/{socket.name}"
        service = shlex.join(self._service(remote_socket, idle_seconds))
        return [*bound(), *self._ssh("-L", f"{socket}:{remote_socket}"), self._name, service]

    async def _runtime(self) -> str:
        """Return the folder for sockets there, which `podman info` creates."""
        try:
            output = await self.output("podman", "info", "--format", "{{.Host.RemoteSocket.Path}}")
        except SandboxUnavailable as error:
            raise SandboxUnavailable(
                f"{self.title} cannot be used: {error.message}", hint=self.hint
            ) from error
        for line in output.splitlines():
            path = line.strip().removeprefix("unix://")
            if _PATH.fullmatch(path):
                return str(Path(path).parent.parent)
        raise SandboxUnavailable(f"{self.title} does not say where its sockets are: {output[-200:]}")

    def _ssh(self, *extra: str) -> list[str]:
        options = [part for name, value in _OPTIONS.items() for part in ("-o", f"{name}={value}")]
        config = ["-F", self.settings.ssh_config] if self.settings.ssh_config else []
        port = ["-p", str(self._port)] if self._port else []
        user = ["-l", self._user] if self._user else []
        return ["ssh", "-T", *config, *options, *port, *user, *extra, "--"]


def _parts(url: str) -> tuple[str, str, int, str]:
    """Return user, host, port and socket path, none of which ssh can take for an option. Raise UsageError."""
    try:
        address = urlsplit(url)
        user, name, port, path = (
            address.username or "",
            address.hostname or "",
            address.port or 0,
            address.path,
        )
    except ValueError:
        name = ""
    valid = (
        name
        and address.scheme == "ssh"
        and not (address.password or address.query or address.fragment)
        and (_NAME.fullmatch(name) or ":" in name)
        and (not user or _NAME.fullmatch(user))
        and (path in ("", "/") or _PATH.fullmatch(path))
    )
    if not valid:
        raise UsageError(
            f"{url!r} is no engine.", hint="Write `local` or `ssh://USER@HOST[:PORT][/PATH/OF/PODMAN.SOCK]`."
        )
    return user, name, port, path.rstrip("/")


async def bring(remote: Remote, progress: Progress) -> image.Base:
    """Return the remote base image: copied from this machine, or pulled where no engine runs here.

    Raise SandboxUnavailable.
    """
    if remote.here is None:
        return await image.ensure(remote, progress)
    remote_image = await image.present(remote)
    local_image = await image.present(remote.here)
    if remote_image is not None and (local_image is None or remote_image.digest == local_image.digest):
        return remote_image
    if local_image is None:
        raise SandboxUnavailable("The base image is not here yet, so it cannot be copied.", hint=remote.hint)
    await _copy(remote.here, remote, progress)
    remote_image = await image.present(remote)
    if remote_image is None or remote_image.digest != local_image.digest:
        raise SandboxUnavailable(f"{remote.title} has another base image after the copy.", hint=remote.hint)
    return remote_image


async def _copy(local: Host, remote: Remote, progress: Progress) -> None:
    """Stream the image from one Podman into the other."""
    title = f"Copying the base image to {remote.url}"
    progress(title, 0, 0, "")
    copied = 0
    saving = running(
        *local.command("podman", "save", "--quiet", "--format", "oci-archive", local.settings.tag),
        env=local.environ, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    loading = remote.started("podman", "load", "--quiet", stdin=asyncio.subprocess.PIPE)
    try:
        async with saving as save, loading as load, asyncio.timeout(_COPY_SECONDS):
            assert save.stdout is not None
            assert load.stdin is not None
            assert load.stdout is not None
            reading = asyncio.create_task(load.stdout.read())
            while piece := await save.stdout.read(_PIECE):
                load.stdin.write(piece)
                await load.stdin.drain()
                copied += len(piece)
                progress(title, copied, 0, f"{copied >> 20} MB")
            load.stdin.close()
            output = await reading
            codes = await save.wait(), await load.wait()
    except (TimeoutError, ConnectionError) as error:
        raise SandboxUnavailable(
            f"{remote.title} did not take the base image: {error}.", hint=remote.hint
        ) from error
    if any(codes):
        reason = output.decode("utf-8", "replace").strip()[-300:]
        raise SandboxUnavailable(f"{remote.title} did not take the base image: {reason}", hint=remote.hint)
