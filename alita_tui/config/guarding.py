"""Checks who may write the files that alita relies on: settings, rules, keys and records belong to one person.

Refused are files that others can write, keys that others can read, links in place of the audit log and the library,
and pipes and devices in place of records. Group access is accepted if the group has no other members, as with a group
per user (umask 002). Settings, `.env` and what is not signed may be links, as dotfile managers create them, to files
that only their owner can write; rules, keys, audit log and library may not.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from alita_tui.config.paths import Paths
from alita_tui.events import Value
from alita_tui.spine.errors import ConfigError, StoreError


class Fault(Value, frozen=True):
    """A file or folder that is open to others."""

    path: str
    what: str
    """The problem, in a sentence that names the path."""
    command: str
    """The command that fixes it."""
    mode: int = -1
    """The right mode; -1 if another mode does not help."""
    link: bool = False
    """It is a link and has to be a plain file."""
    refused: bool = True
    """alita does not start with it; otherwise only `alita doctor` reports it."""


def faults(paths: Paths) -> tuple[Fault, ...]:
    """Return everything that is open to others, and links where a plain file is required."""
    return tuple(_faults(paths))


def refusals(paths: Paths) -> tuple[ConfigError, ...]:
    """Return the faults that alita does not start with, as errors with the command that fixes them."""
    return tuple(
        ConfigError(f"{fault.what}.", hint=f"Mend it with: {fault.command}  (or all: alita doctor --fix)")
        for fault in faults(paths)
        if fault.refused
    )


def _faults(paths: Paths) -> Iterator[Fault]:
    folders = (
        paths.config, paths.data, paths.audit_key_folder, paths.mcp_box, paths.desk, paths.sessions, paths.cluster
    )  # fmt: skip
    for folder in dict.fromkeys(folders):
        yield from _open(folder, what="folder", linked=folder not in (paths.audit_key_folder, paths.desk))
    yield from _open(paths.config_file, what="settings file", linked=True, any_kind=True)
    yield from _open(paths.env_file, what="file with keys", linked=True, private=True, any_kind=True)
    yield from _open(paths.preferences, what="preferences", linked=True, any_kind=True)
    yield from _open(paths.policy, what="policy")
    yield from _open(paths.audit_key_folder / "key", what="key of the audit log", private=True)
    yield from _open(paths.audit_key_folder / "head", what="head of the audit log")
    yield from _open(paths.cluster / "authority.pem", what="authority of the cluster", linked=True)
    for key in ("authority.key", "machine.key"):
        yield from _open(paths.cluster / key, what="key of the cluster", linked=True, private=True)
    yield from _open(paths.audit, what="audit log")
    yield from _open(paths.audit.with_suffix(".head"), what="head of the audit log")
    for record, what, linked in (
        (paths.registry, "library", False), (paths.memory, "memory", True), (paths.labels, "list of titles", True),
        (paths.servers, "list of servers", True), (paths.background, "list of background tasks", True),
    ):  # fmt: skip
        yield from _open(record, what=what, linked=linked)
        yield from _open(
            record.with_name(record.name + ".journal"), what=f"journal of the {what}", linked=linked
        )


def _open(
    path: Path, *, what: str, linked: bool = False, private: bool = False, any_kind: bool = False
) -> Iterator[Fault]:
    """Check one file; with `any_kind` it may be a pipe, as password managers provide `.env`, or a device."""
    try:
        link_status = path.lstat()
        status = path.stat()
    except OSError:
        return
    quoted_path = shlex.quote(str(path))
    if stat.S_ISLNK(link_status.st_mode) and not linked:
        yield Fault(
            path=str(path),
            what=f"The {what} {path} is a link to another place",
            command=f'cp --remove-destination "$(readlink -f {quoted_path})" {quoted_path}',
            link=True,
        )
        return
    if not (any_kind or stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        yield Fault(
            path=str(path),
            what=f"The {what} {path} is not a plain file",
            command=f"rm {quoted_path}",
        )
        return
    if status.st_uid not in (os.geteuid(), 0):
        yield Fault(
            path=str(path),
            what=f"The {what} {path} belongs to another user",
            command=f'sudo chown "$(id -un)" {quoted_path}',
        )
        return
    mode = stat.S_IMODE(status.st_mode)
    excess = mode & stat.S_IWOTH
    if mode & stat.S_IWGRP and not (status.st_gid == os.getegid() and _alone(status.st_gid)):
        excess |= stat.S_IWGRP
    if private:
        excess |= mode & 0o077
    if excess:
        access = "read" if private and not excess & 0o022 else "write to"
        yield Fault(
            path=str(path),
            what=f"Other users can {access} the {what} {path}",
            command=f"chmod {'go=' if private else 'go-w'} {quoted_path}",
            mode=mode & ~(0o077 if private else 0o022),
            refused=bool(excess & 0o022) or not linked,
        )


@cache
def _alone(gid: int) -> bool:
    """Return True if no other user is in a group, as with a user's own group."""
    import grp
    import pwd

    try:
        me, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    members = {user.pw_name for user in pwd.getpwall() if user.pw_gid == gid} | set(group.gr_mem)
    return members <= {me.pw_name}


def mend(fault: Fault) -> bool:
    """Fix a fault; return False if only another user can. Raises StoreError."""
    path = Path(fault.path)
    try:
        if fault.link:
            raw = path.read_bytes() if path.is_file() else None
            if raw is None:
                return False
            draft = path.with_name(path.name + ".tmp")
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(raw)
            draft.replace(path)
            return True
        if fault.mode < 0:
            return False
        path.chmod(fault.mode)
        return True
    except OSError as error:
        raise StoreError(f"{path} could not be mended: {error.strerror}.", hint=fault.command) from error
