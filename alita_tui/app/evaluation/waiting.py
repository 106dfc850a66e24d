"""What a case of a run waits for: a verdict of the person, or a console that has its session open."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path

import msgspec

from alita_tui.app.background.consoles import open_in_console
from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.costs import Key
from alita_tui.config.paths import locate
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.builds import ParkedBuild
from alita_tui.spine.text import one_line
from alita_tui.store import disk
from alita_tui.store.lock import is_open

Stamps = tuple[tuple[str, disk.Signature], ...]


class Wait(msgspec.Struct, frozen=True):
    """A case that waits for the person."""

    key: Key
    home: Path
    session_id: str
    """Empty if its home has only this session."""
    builds: tuple[ParkedBuild, ...]
    """Its builds without a verdict."""
    stamps: Stamps
    """Its files before it was found to wait: a later change may be a verdict. Empty: it can go on at once."""
    console: bool = False
    """Whether its session is open in another process, such as a console."""

    @property
    def asks(self) -> str:
        """What it waits for and what the person can do, in one line."""
        if self.console:
            return "its session is open in a console; it goes on when that is closed"
        return "; ".join(f"{asked(build)}: {command(self.home, build)}" for build in self.builds)


def asked(build: ParkedBuild) -> str:
    """Return what a build waits for."""
    return f"your decision on {one_line(build.name, 80)} v{build.version}"


def command(home: Path, build: ParkedBuild) -> str:
    """Return the command that shows a build of a case and how to decide on it."""
    return f"alita --home {shlex.quote(str(home))} builds show {build.approval_id}"


def stamps_of(home: Path, session_id: str = "") -> Stamps:
    """Return the state of a case's inbox and session files; every verdict or event changes it. Blocks on the disk."""
    paths, stamps = locate(home, {}), []
    for path in (*paths.desk.glob("*.json"), *paths.sessions.glob(f"{session_id or '*'}.json*")):
        with suppress(OSError):
            stamps.append((str(path), disk.signature(path)))
    return tuple(sorted(stamps))


def held_elsewhere(home: Path, session_id: str = "") -> bool:
    """Return whether a process has the session of a case open. Blocks on the disk."""
    sessions = locate(home, {}).sessions
    names = {path.name.split(".")[0] for path in sessions.glob(f"{session_id or '*'}.json*")}
    return any(is_open(sessions / f"{name}.json") for name in names)


def shown_in_console(home: Path, session_id: str) -> bool:
    """Return whether the person has the session of a case open in a console. Blocks on the disk."""
    return session_id in open_in_console(locate(home, {}).consoles)


def may_go_on(wait: Wait) -> bool:
    """Return whether a case has changed since it was parked and no process has it open. Blocks on the disk."""
    if held_elsewhere(wait.home, wait.session_id):
        return False
    return wait.console or stamps_of(wait.home, wait.session_id) != wait.stamps


def pending_in(home: Path, session_id: str = "") -> tuple[ParkedBuild, ...]:
    """Return the parked builds of a case's home or of one of its sessions, including those with a verdict.

    Empty if the home cannot be read. Blocks on the disk.
    """
    with suppress(AlitaError):
        case = AppContext.open(home, strict=False)
        try:
            return tuple(build for build in case.inbox.pending() if session_id in ("", build.session_id))
        finally:
            case.close()
    return ()


def prepare_for_console(person: AppContext, home: Path) -> None:
    """Copy the person's settings into a case's home and link their keys, so that a console can open the case.

    Blocks on the disk. Raises StoreError.
    """
    paths = locate(home, {})
    try:
        if person.paths.config_file.is_file() and not paths.config_file.exists():
            disk.replace(paths.config_file, [person.paths.config_file.read_bytes()])
        if person.paths.env_file.is_file() and not paths.env_file.is_symlink():
            paths.env_file.symlink_to(person.paths.env_file.resolve())
    except OSError as error:
        raise disk.store_error("written", home, error) from error
