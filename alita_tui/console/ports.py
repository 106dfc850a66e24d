"""What the console needs from the rest of alita; implemented in `app`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import msgspec

from alita_tui.console.evaluations.ports import EvaluationsCatalog
from alita_tui.console.memory.ports import MemoryCatalog
from alita_tui.console.servers.ports import ServersCatalog
from alita_tui.console.sessions.catalog import SessionCatalog
from alita_tui.console.statistics.ports import StatisticsCatalog
from alita_tui.console.terminal import Graphics as Graphics
from alita_tui.events import Artefact, Lineage, MoveKind, ToolRecord
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.inventory import Inventory
from alita_tui.spine.ports.context import NextCall
from alita_tui.spine.ports.models import DaySpend
from alita_tui.spine.ports.stream import Clock
from alita_tui.view.habits import Habits

if TYPE_CHECKING:
    from alita_tui.console.files.ports import OpenFile
    from alita_tui.console.setup.screen import SetupScreen


class SettingLine(msgspec.Struct, frozen=True):
    """A setting in the list."""

    key: str
    value: str
    """As written on a command line."""
    origin: str
    """Where it comes from, such as `default` or `config.toml line 3`."""
    meaning: str
    default: str = ""


class Switch(msgspec.Struct, frozen=True):
    """The app's result when another session should open in its place."""

    session_id: str = ""
    """Empty for a new session."""


class RunningSession(msgspec.Struct, frozen=True):
    """A session that the background of this home works on."""

    session_id: str
    state: str
    """`opening`, `working`, `waiting` (for the person) or `ending`."""
    task: str
    """The newest task, in one line."""


class Catalog(SessionCatalog, MemoryCatalog, ServersCatalog, StatisticsCatalog, EvaluationsCatalog, Protocol):
    """Everything stored outside of the open session. Every method may raise AlitaError."""

    async def tool(self, name: str, version: int | None = None) -> ToolRecord:
        """Return a version of a tool; by default the newest that may run."""

    async def running(self) -> tuple[RunningSession, ...]:
        """Return the sessions that the background works on; none where none runs."""

    async def save_theme(self, name: str) -> None:
        """Save the theme in the user's settings."""

    async def days(self) -> Mapping[str, DaySpend]:
        """Return what was spent on each day (ISO 8601), oldest first."""

    async def prices(self) -> str:
        """Describe the price table and its date."""

    async def settings(self) -> tuple[SettingLine, ...]:
        """List every setting."""

    async def change_setting(self, key: str, value: str) -> tuple[SettingLine, ...]:
        """Write a setting; return all of them."""

    async def wizard(self) -> SetupScreen:
        """Return the wizard for provider, model and key."""

    async def lineage(self, name: str) -> Lineage:
        """Return all versions of a tool and its history."""

    async def move(self, name: str, kind: MoveKind | Literal["undo"], version: int | None) -> Lineage:
        """Change the state of a version, or undo the newest change; return the lineage."""

    async def next_call(self, session_id: str) -> NextCall:
        """Return what the next call of a session would send."""

    async def habits(self) -> Habits:
        """Return how the newest verdicts on this machine were given."""

    async def take_file(self, session_id: str, artefact: Artefact, what: Literal["save", "open"]) -> str:
        """Save a file of a session in the current folder, or open a copy with the system's program; return its path.

        Raises UsageError, StoreError.
        """

    async def look_in(self, session_id: str, artefact: Artefact) -> OpenFile:
        """Open a file of a session to look at it. Raises UsageError, StoreError."""

    async def suggestions(self) -> tuple[str, ...]:
        """Return tasks to offer in an empty session."""

    async def preload(self) -> None:
        """Import what is slow; called once after the first paint."""


class Upkeep(Protocol):
    """The sandbox around the open session. Every method may raise AlitaError.

    What changes by it for the session is told on the stream: a new status, the progress of a rebuild.
    """

    async def look(self) -> Inventory:
        """Return what exists now; look again for what was missing."""

    async def reap(self) -> tuple[int, int]:
        """Remove what dead sessions left; return how many containers and folders."""

    async def rebuild(self) -> None:
        """Rebuild the base image."""


@runtime_checkable
class HeldSource(Protocol):
    """A stream of which much is on record already when it is read."""

    def __aiter__(self) -> AsyncIterator[Envelope]: ...

    async def end(self, count: int) -> tuple[int, Sequence[Envelope]]:
        """Return the number of the last event on record, and the last `count` events."""


class ConsoleOptions(msgspec.Struct, frozen=True):
    """The console's settings."""

    builtin_themes: Path
    """Folder of the built-in themes."""
    user_themes: Path | None = None
    theme: str = "auto"
    """A theme's name, or `auto` to match the terminal's background."""
    dark: bool = True
    """Whether the terminal's background is dark, for `auto`."""
    graphics: Graphics | None = None
    """How the terminal shows pictures; without, in half blocks."""
    keymap: Path | None = None
    """The user's keymap file."""
    reduced_motion: bool = False
    """Stop spinners and cursor blinking."""
    detail: Literal["answer", "steps", "everything"] = "steps"
    """How much the trace shows."""
    bell: bool = True
    """Ring when a build waits and the terminal is not in front."""
    way_back: str = "alita --session"
    """The command that opens this session again, up to the session's id."""
    written: str = ""
    """What stands in the composer at the start: it was piped in."""
    clock: Clock = lambda: datetime.now(UTC)
    """For relative times."""
