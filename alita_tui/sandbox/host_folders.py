"""The folders of the account that runs Podman: short, private, emptied after a boot, apart from root's."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from alita_tui.spine.errors import SandboxUnavailable

TEMPORARY = Path("/tmp")  # noqa: S108  # what lies there is ours alone: see `check_private`
_PAUSES = ("catatonit", "podman", "podman pause")
"""Names of the process that holds an account's user namespace."""
_SOCKET_PATH_BYTES = 107
"""Longest path of a Unix socket on Linux (unix(7)), without the closing zero."""
_NAME_BYTES = 40
"""Room for the names of sockets below the runtime folder."""
_ACCOUNTS_OWN = (".config", ".local", ".cache", "run")
"""Folders of the account's home that belong to the account; root writes to nothing below them."""


def runtime_folder(preferred: str, uid: int) -> Path:
    """Return a user's folder for sockets: `preferred` (XDG_RUNTIME_DIR), else the system's, else a short one in /tmp.

    Sessions without XDG_RUNTIME_DIR (`su -`, cron, ssh) have none, and below a long home the path of a socket would
    be longer than the kernel accepts.
    """
    for folder in filter(None, (preferred, f"/run/user/{uid}")):
        short = len(os.fsencode(folder)) + _NAME_BYTES <= _SOCKET_PATH_BYTES
        if short and folder.startswith("/") and os.access(folder, os.W_OK):
            return Path(folder)
    return TEMPORARY / f"alita-{uid}"


def check_private(folder: Path, uid: int) -> None:
    """Raise SandboxUnavailable unless a folder is this user's own, no link, and closed to everyone else."""
    status = folder.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == uid and not status.st_mode & 0o077:
        return
    if stat.S_ISDIR(status.st_mode) and status.st_uid == uid:
        hint = f"Close it: chmod 700 {folder}"
    else:
        hint = "Set XDG_RUNTIME_DIR to a folder of your own with mode 0700, or have that one removed."
    raise SandboxUnavailable(f"The runtime folder {folder} is not yours alone, so it is not used.", hint=hint)


def _read_small(path: Path, default: str = "") -> str:
    """Return the first 100 bytes of a file that another account may have made; follow no link, wait for no pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return default
    try:
        return os.read(fd, 100).decode("ascii", "replace")
    except OSError:
        return default
    finally:
        os.close(fd)


def forget_an_earlier_boot(runtime: Path, marker: Path, remove: Callable[[Path], None]) -> None:
    """Empty a runtime folder of an earlier boot; Podman expects that a boot empties its runtime folder.

    `marker` holds the id of the boot. The recorded pause process is forgotten too, if its pid now belongs to another
    program.
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
    """Make root the owner of an account's home, with folders for what the account has to write.

    Root keeps environments and the warden there. If the home were the account's, code that escaped a container
    could replace a folder by a link, and root would follow it. Raise SandboxUnavailable.
    """
    home_fd = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchown(home_fd, 0, 0)
        os.fchmod(home_fd, 0o755)
        for name in (*_ACCOUNTS_OWN, "area"):
            with suppress(FileExistsError):
                os.mkdir(name, 0o755 if name == "area" else 0o700, dir_fd=home_fd)
            try:
                folder_fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=home_fd)
            except NotADirectoryError:
                raise SandboxUnavailable(
                    f"{home / name} is a link or a file where a folder has to be; nothing was changed.",
                    hint=f"See where it leads, then remove it: rm {home / name}",
                ) from None
            try:
                if name != "area":
                    os.fchown(folder_fd, uid, gid)
                elif os.fstat(folder_fd).st_uid != 0:
                    raise SandboxUnavailable(
                        f"{home / name} was not made by root, so nothing in it is believed.",
                        hint=f"Remove it; alita makes it anew: rm -r {home / name}",
                    )
            finally:
                os.close(folder_fd)
    finally:
        os.close(home_fd)


def check_socket_path(path: Path) -> None:
    """Raise SandboxUnavailable where a socket's path is longer than the kernel accepts."""
    if (size := len(os.fsencode(path))) > _SOCKET_PATH_BYTES:
        raise SandboxUnavailable(
            f"The path of Podman's socket has {size} bytes; a Unix socket takes {_SOCKET_PATH_BYTES}: {path}",
            hint="Give a shorter path: sandbox.socket or XDG_RUNTIME_DIR.",
        )
