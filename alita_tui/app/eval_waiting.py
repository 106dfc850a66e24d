"""Cases of a run that wait for the person: for a verdict, or until a console closes their session."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path

import msgspec

from alita_tui.app.background.consoles import open_in_console
from alita_tui.app.context import AppContext
from alita_tui.app.eval_costs import Key
from alita_tui.config.paths import locate
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.builds import ParkedBuild
from alita_tui.spine.text import one_line
from alita_tui.store import disk
from alita_tui.store.lock import is_open

Stamps = tuple[tuple[str, disk.Signature], ...]


class Wait(msgspec.Struct, frozen=True):
    """A case that waits."""

    key: Key
    home: Path
    named: str
    """The id of its session in a home that has others."""
    builds: tuple[ParkedBuild, ...]
    """Those that nobody has decided."""
    stamps: Stamps
    """Its files before it was found to wait: what changed since may be a verdict."""
    console: bool = False
    """Whether its session is open in another process, such as a console."""

    @property
    def asks(self) -> str:
        """What it waits for and what to do, in a line."""
        if self.console:
            return "its session is open in a console; it goes on when that is closed"
        return "; ".join(f"{asked(build)}: {command(self.home, build)}" for build in self.builds)


def asked(build: ParkedBuild) -> str:
    """Return what a build waits for."""
    return f"your decision on {one_line(build.name, 80)} v{build.version}"


def command(home: Path, build: ParkedBuild) -> str:
    """Return the command that shows a build of a case, and says how to decide on it."""
    return f"alita --home {shlex.quote(str(home))} builds show {build.approval_id}"


def stamps_of(home: Path, named: str = "") -> Stamps:
    """Return what changes when a verdict is left for a case, or its session goes on elsewhere. Blocks on the disk."""
    paths, stamps = locate(home, {}), []
    for path in (*paths.desk.glob("*.json"), *paths.sessions.glob(f"{named or '*'}.json*")):
        with suppress(OSError):
            stamps.append((str(path), disk.signature(path)))
    return tuple(sorted(stamps))


def held_elsewhere(home: Path, named: str = "") -> bool:
    """Return whether a process has the session of a case open. Blocks on the disk."""
    sessions = locate(home, {}).sessions
    names = {path.name.split(".")[0] for path in sessions.glob(f"{named or '*'}.json*")}
    return any(is_open(sessions / f"{name}.json") for name in names)


def shown_in_console(home: Path, session_id: str) -> bool:
    """Return whether the person has the session of a case open in a console. Blocks on the disk."""
    return session_id in open_in_console(locate(home, {}).consoles)


def may_go_on(wait: Wait) -> bool:
    """Return whether something was done about a case, and no other process is at it. Blocks on the disk."""
    if held_elsewhere(wait.home, wait.named):
        return False
    return wait.console or stamps_of(wait.home, wait.named) != wait.stamps


def pending_in(home: Path, session_id: str = "") -> tuple[ParkedBuild, ...]:
    """Return the builds that wait in a case's home, or in one of its sessions, also decided ones. Blocks on the disk.

    A home that cannot be read has none.
    """
    with suppress(AlitaError):
        case = AppContext.open(home, strict=False)
        try:
            return tuple(build for build in case.inbox.pending() if session_id in ("", build.session_id))
        finally:
            case.close()
    return ()


def settle_for_console(person: AppContext, home: Path) -> None:
    """Let a case be opened in a console with the settings and keys that its run has; keys are not copied.

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
