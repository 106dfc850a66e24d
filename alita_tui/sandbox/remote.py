"""Another machine's Podman, through a tunnel of ssh: the same policy, and nothing of this machine mounted.

One ssh process carries the tunnel and the service: when it ends, so does the line to every warden,
and what runs there ends with that. Host keys are strict and nothing is ever asked: a person logs in
once by hand, compares the key, and from then on alita can.
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
from alita_tui.sandbox.host import Host, bound
from alita_tui.sandbox.policy import SandboxSettings
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
"""ssh_config(5); given on the command line they outrank a person's own file."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PATH = re.compile(r"/[A-Za-z0-9_./-]+")
_PIECE = 1 << 20
_COPY_SECONDS = 1800.0


class Remote(Host):
    """Commands and sockets of a Podman that `ssh` reaches."""

    elsewhere = True
    program = "ssh"

    def __init__(self, settings: SandboxSettings, url: str) -> None:
        """Raises UsageError for what is no `ssh://[USER@]HOST[:PORT][/PATH/OF/PODMAN.SOCK]`."""
        super().__init__(msgspec.structs.replace(settings, socket=""))
        self.as_root, self.account = False, ""
        self.here = Host(settings) if "local" in settings.engines else None
        """The engine that the base image comes from, so that all have the same."""
        self.url = url
        self._user, self._name, self._port, self._path = _parts(url)
        self.what = f"The engine {url}"
        where = f"{self._user}@{self._name}" if self._user else self._name
        self.hint = (
            f"`ssh {where} podman info` has to work without a question; log in once to accept the key."
        )

    @property
    def environ(self) -> dict[str, str]:
        """Of ssh: as here, and where the person's agent is."""
        agent = {name: os.environ[name] for name in ("SSH_AUTH_SOCK",) if name in os.environ}
        return {**super().environ, **agent}

    def command(self, *argv: str) -> list[str]:
        """The command as it runs there; it ends here when alita does."""
        return [*bound(), *self._ssh(), self._name, shlex.join(argv)]

    async def serving(self, socket: Path, idle_seconds: int) -> list[str]:
        """See `Host.serving`: one ssh process is tunnel and service."""
        if self._path:
            return [*bound(), *self._ssh("-N", "-L", f"{socket}:{self._path}"), self._name]
        there = f"{await self._runtime()}/{socket.name}"
        service = ("podman", *self.flags, "system", "service", "--time", str(idle_seconds), f"unix://{there}")
        return [*bound(), *self._ssh("-L", f"{socket}:{there}"), self._name, shlex.join(service)]

    async def _runtime(self) -> str:
        """The folder for sockets there; Podman makes it when it is asked."""
        asked = ("podman", "info", "--format", "{{.Host.RemoteSocket.Path}}")
        try:
            said = await self.output(*asked)
        except SandboxUnavailable as error:
            raise SandboxUnavailable(
                f"{self.what} cannot be used: {error.message}", hint=self.hint
            ) from error
        for line in said.splitlines():
            path = line.strip().removeprefix("unix://")
            if _PATH.fullmatch(path):
                return str(Path(path).parent.parent)
        raise SandboxUnavailable(f"{self.what} does not say where its sockets are: {said[-200:]}")

    def _ssh(self, *more: str) -> list[str]:
        options = [part for name, value in _OPTIONS.items() for part in ("-o", f"{name}={value}")]
        config = ["-F", self.settings.ssh_config] if self.settings.ssh_config else []
        port = ["-p", str(self._port)] if self._port else []
        user = ["-l", self._user] if self._user else []
        return ["ssh", "-T", *config, *options, *port, *user, *more, "--"]


def _parts(url: str) -> tuple[str, str, int, str]:
    """User, host, port and path of the socket. Raises UsageError; nothing in them can be an option of ssh."""
    try:
        read = urlsplit(url)
        user, name, port, path = read.username or "", read.hostname or "", read.port or 0, read.path
    except ValueError:
        name = ""
    good = (
        name
        and read.scheme == "ssh"
        and not (read.password or read.query or read.fragment)
        and (_NAME.fullmatch(name) or ":" in name)
        and (not user or _NAME.fullmatch(user))
        and (path in ("", "/") or _PATH.fullmatch(path))
    )
    if not good:
        raise UsageError(
            f"{url!r} is no engine.", hint="Write `local` or `ssh://USER@HOST[:PORT][/PATH/OF/PODMAN.SOCK]`."
        )
    return user, name, port, path.rstrip("/")


async def bring(there: Remote, progress: Progress) -> image.Base:
    """The base image there, the same as here; pulled where there is none here. Raises SandboxUnavailable."""
    if there.here is None:
        return await image.ensure(there, progress)
    found = await image.present(there)
    ours = await image.present(there.here)
    if found is not None and (ours is None or found.digest == ours.digest):
        return found
    if ours is None:
        raise SandboxUnavailable("The base image is not here yet, so it cannot be copied.", hint=there.hint)
    await _copy(there.here, there, progress)
    found = await image.present(there)
    if found is None or found.digest != ours.digest:
        raise SandboxUnavailable(f"{there.what} has another base image after the copy.", hint=there.hint)
    return found


async def _copy(here: Host, there: Remote, progress: Progress) -> None:
    """Stream the image from one Podman into the other."""
    title = f"Copying the base image to {there.url}"
    progress(title, 0, 0, "")
    save = await asyncio.create_subprocess_exec(
        *here.command("podman", "save", "--quiet", "--format", "oci-archive", here.settings.tag),
        cwd="/", env=here.environ, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    load = await there.start("podman", "load", "--quiet", stdin=asyncio.subprocess.PIPE)
    assert save.stdout is not None
    assert load.stdin is not None
    assert load.stdout is not None
    try:
        async with asyncio.timeout(_COPY_SECONDS):
            saying = asyncio.create_task(load.stdout.read())
            done = 0
            while piece := await save.stdout.read(_PIECE):
                load.stdin.write(piece)
                await load.stdin.drain()
                done += len(piece)
                progress(title, done, 0, f"{done >> 20} MB")
            load.stdin.close()
            said = (await saying).decode("utf-8", "replace").strip()
            codes = await save.wait(), await load.wait()
    except (TimeoutError, ConnectionError) as error:
        raise SandboxUnavailable(
            f"{there.what} did not take the base image: {error}.", hint=there.hint
        ) from error
    finally:
        for process in (save, load):
            if process.returncode is None:
                process.kill()
                await process.wait()
    if any(codes):
        raise SandboxUnavailable(f"{there.what} did not take the base image: {said[-300:]}", hint=there.hint)
