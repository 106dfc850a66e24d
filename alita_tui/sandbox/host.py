"""Who runs Podman and where: the person's own account, or an unprivileged one when alita is root."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

from alita_tui.sandbox import gvisor
from alita_tui.sandbox.policy import SandboxSettings
from alita_tui.spine.errors import SandboxUnavailable


def bound() -> tuple[str, ...]:
    """What in front of a command has the kernel kill it when its parent ends (prctl(2), PR_SET_PDEATHSIG)."""
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


_PAUSES = ("catatonit", "podman", "podman pause")
"""Names of the process that holds an account's user namespace."""


_NONE_LEFT = "podman system migrate"
"""What Podman advises where none of the containers that it notes as running has a process left."""

_TEMPORARY = Path("/tmp")  # noqa: S108  # what lies there is ours alone: see `check_private`
_SOCKET_PATH_BYTES = 107
"""Of a Unix socket's path on Linux (unix(7)), the closing zero not counted."""
_NAME_BYTES = 40
"""Room for the names of sockets below the runtime folder."""


def runtime_folder(given: str, uid: int) -> Path:
    """The folder for sockets of a user: `given` (XDG_RUNTIME_DIR), else the system's, else a short one in /tmp.

    A session without XDG_RUNTIME_DIR (`su -`, cron, ssh) has none; and below a long home a socket's path would
    be longer than the kernel takes.
    """
    for folder in filter(None, (given, f"/run/user/{uid}")):
        short = len(os.fsencode(folder)) + _NAME_BYTES <= _SOCKET_PATH_BYTES
        if short and folder.startswith("/") and os.access(folder, os.W_OK):
            return Path(folder)
    return _TEMPORARY / f"alita-{uid}"


def check_private(folder: Path, uid: int) -> None:
    """Raises SandboxUnavailable unless a folder is this user's own, no link, and closed to everyone else."""
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o077:
        return
    if stat.S_ISDIR(found.st_mode) and found.st_uid == uid:
        hint = f"Close it: chmod 700 {folder}"
    else:
        hint = "Set XDG_RUNTIME_DIR to a folder of your own with mode 0700, or have that one removed."
    raise SandboxUnavailable(f"The runtime folder {folder} is not yours alone, so it is not used.", hint=hint)


_ACCOUNTS_OWN = (".config", ".local", ".cache", "run")
"""Folders of the account's home that belong to the account; root writes to nothing below them."""


def _read_small(path: Path, otherwise: str = "") -> str:
    """The beginning of a file that may be somebody else's: no link is followed and no pipe waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return otherwise
    try:
        return os.read(fd, 100).decode("ascii", "replace")
    except OSError:
        return otherwise
    finally:
        os.close(fd)


def forget_an_earlier_boot(runtime: Path, marker: Path, remove: Callable[[Path], None]) -> None:
    """Empty a runtime folder that outlived its boot: the system's own is lost with it, and Podman counts on that.

    `marker` holds the id of the boot. Its pause process is forgotten, too, where the number belongs to another
    program by now.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    pause = runtime / "libpod" / "tmp" / "pause.pid"
    if _read_small(marker, _read_small(runtime / ".boot", boot)) != boot:
        remove(runtime)
        marker.unlink(missing_ok=True)
    with suppress(ValueError):
        holder = Path(f"/proc/{int(_read_small(pause))}/comm")
        if not holder.exists() or holder.read_text().strip() not in _PAUSES:
            remove(pause)
    if marker.parent.exists() and not marker.exists():
        marker.write_text(boot)


def divide_home(home: Path, uid: int, gid: int) -> None:
    """Make an account's home root's own, with folders for what the account has to write.

    Root keeps environments and the warden there. Were the home the account's, what got out of a container
    could put a link in place of a folder, and root would follow it. Raises SandboxUnavailable.
    """
    inside = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchown(inside, 0, 0)
        os.fchmod(inside, 0o755)
        for name in (*_ACCOUNTS_OWN, "area"):
            with suppress(FileExistsError):
                os.mkdir(name, 0o755 if name == "area" else 0o700, dir_fd=inside)
            try:
                folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=inside)
            except NotADirectoryError:
                raise SandboxUnavailable(
                    f"{home / name} is a link or a file where a folder has to be; nothing was changed.",
                    hint=f"See where it leads, then remove it: rm {home / name}",
                ) from None
            try:
                if name != "area":
                    os.fchown(folder, uid, gid)
                elif os.fstat(folder).st_uid != 0:
                    raise SandboxUnavailable(
                        f"{home / name} was not made by root, so nothing in it is believed.",
                        hint=f"Remove it; alita makes it anew: rm -r {home / name}",
                    )
            finally:
                os.close(folder)
    finally:
        os.close(inside)


def check_socket_path(path: Path) -> None:
    """Raises SandboxUnavailable where the kernel would refuse a socket's path for its length."""
    if (size := len(os.fsencode(path))) > _SOCKET_PATH_BYTES:
        raise SandboxUnavailable(
            f"The path of Podman's socket has {size} bytes; a Unix socket takes {_SOCKET_PATH_BYTES}: {path}",
            hint="Give a shorter path: sandbox.socket or XDG_RUNTIME_DIR.",
        )


class Host:
    """Commands, folders and files as the account that runs Podman sees them."""

    elsewhere = False
    """True when Podman runs on another machine."""
    program = "podman"
    """What has to be installed here."""
    what = "Podman's service"
    hint = "`alita doctor` says what is missing, `alita doctor --fix` installs it."

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        self.as_root = os.geteuid() == 0
        self.account = settings.account if self.as_root else ""

    @property
    def home(self) -> Path:
        """The account's home. Raises SandboxUnavailable when there is no such account."""
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
        """Folder for what the account has to read: environments, the warden, the profile."""
        if self.settings.area:
            return Path(self.settings.area)
        return self.home / "area" if self.as_root else Path(self.settings.cache_dir) / "sandbox"

    @property
    def runtime(self) -> Path:
        """XDG_RUNTIME_DIR of the account, short enough for sockets; one of our own where there is no such folder."""
        if self.as_root:
            return self.home / "run"
        return runtime_folder(os.environ.get("XDG_RUNTIME_DIR", ""), os.geteuid())

    def prepare(self) -> None:
        """Create the folders. Raises SandboxUnavailable."""
        try:
            if self.as_root:
                self._prepare_account_home()
            self.area.mkdir(parents=True, exist_ok=True)
            if not self.as_root:
                self.runtime.mkdir(exist_ok=True, mode=0o700)
                check_private(self.runtime, os.geteuid())
            if self.runtime.parent in (self.home, _TEMPORARY):
                # As root beside the folder, not in it: what the account may write to, root does not.
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

        home = self.home
        account = pwd.getpwnam(self.account)
        divide_home(home, account.pw_uid, account.pw_gid)

    def _remove(self, path: Path) -> None:
        """Remove a file or a folder of the account, as the account."""
        subprocess.run(self.command("rm", "-rf", "--", str(path)), check=False, cwd="/", capture_output=True)

    def write(self, path: Path, text: str) -> None:
        """Write a file in the account's home, as the account. Raises SandboxUnavailable."""
        command = self.command("install", "-D", "-m", "644", "/dev/stdin", str(path))
        done = subprocess.run(command, input=text.encode(), cwd="/", capture_output=True)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise SandboxUnavailable(f"The sandbox's file {path} cannot be written: {said}")

    @property
    def environ(self) -> dict[str, str]:
        """The environment of Podman: nothing of ours but where things are."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "SSL_CERT_FILE") if name in os.environ}
        proxies = {
            name: value
            for name, value in os.environ.items()
            if name.lower() in ("http_proxy", "https_proxy", "no_proxy")
        }
        path = os.pathsep.join(
            (kept.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")
        )
        return {
            **kept, **proxies, "PATH": path.lstrip(os.pathsep), "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime), "TMPDIR": "/var/tmp",  # noqa: S108  # Podman needs room, and makes private folders
        }  # fmt: skip

    def command(self, *argv: str) -> list[str]:
        """The command as the account runs it; it ends when alita does."""
        if not self.as_root:
            return [*bound(), *argv]
        pairs = [f"{name}={value}" for name, value in self.environ.items()]
        return [*bound(), "runuser", "-u", self.account, "--", "env", "-i", *pairs, *bound(), *argv]

    @property
    def flags(self) -> tuple[str, ...]:
        """What Podman's service is started with, so that it can make containers of the profile."""
        return gvisor.FLAGS if self.settings.profile == "gvisor" else ()

    async def serving(self, socket: Path, idle_seconds: int) -> list[str]:
        """The command that has Podman's service answer at a socket of this machine. Raises SandboxUnavailable."""
        service = (
            "podman",
            *self.flags,
            "system",
            "service",
            "--time",
            str(idle_seconds),
            f"unix://{socket}",
        )
        return self.command("nice", "-n", "5", *service)  # a refill must not slow the screen down

    async def start(self, *argv: str, stdin: int | None = None) -> asyncio.subprocess.Process:
        """Start a command; its output is ours to read, never the terminal's. Raises SandboxUnavailable."""
        self.prepare()
        try:
            return await asyncio.create_subprocess_exec(
                *self.command(*argv),
                cwd="/",
                env=self.environ,
                stdin=stdin if stdin is not None else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxUnavailable(
                f"{argv[0]} cannot be started: {error.strerror}.",
                hint="Run `alita doctor --fix`, which installs what is missing.",
            ) from error

    async def lines(self, *argv: str, seconds: float) -> AsyncIterator[str]:
        """A command's output, line by line. Raises SandboxUnavailable when it fails or takes too long."""
        process = await self.start(*argv)
        assert process.stdout is not None
        last: list[str] = []
        try:
            async with asyncio.timeout(seconds):
                async for raw in process.stdout:
                    line = raw.decode("utf-8", "replace").rstrip()
                    last = [*last[-4:], line]
                    yield line
                code = await process.wait()
        except TimeoutError:
            raise SandboxUnavailable(f"{argv[0]} {argv[1]} took longer than {seconds:.0f} s.") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if code:
            raise SandboxUnavailable(f"{argv[0]} {argv[1]} failed ({code}): {' '.join(last)[-600:]}")

    async def output(self, *argv: str, seconds: float = 60.0) -> str:
        """A command's whole output. Raises SandboxUnavailable."""
        try:
            return "\n".join([line async for line in self.lines(*argv, seconds=seconds)])
        except SandboxUnavailable as error:
            if not await self.recovered(error.message):
                raise
        return "\n".join([line async for line in self.lines(*argv, seconds=seconds)])

    async def recovered(self, said: str) -> bool:
        """Have Podman forget containers whose processes are all gone, if that is what it failed for.

        Returns whether it makes sense to try again. After a logout, or a kill of everything a user runs, Podman
        still notes containers as running, finds none of their processes and starts no command at all but this
        one (https://docs.podman.io/en/latest/markdown/podman-system-migrate.1.html).
        """
        if self.elsewhere or _NONE_LEFT not in said:
            return False
        # Another alita may have done it meanwhile and have containers by now, which `migrate` would stop.
        # It fails over containers that left no exit code, and has mended the rest all the same.
        once = "podman ps --quiet >/dev/null 2>&1 || podman system migrate || true"
        async for _ in self.lines("flock", str(self.runtime), "sh", "-c", once, seconds=60):
            pass
        return True
