"""What the console asks of the rest of the house. Met by `app`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from alita_tui.console.sessions.catalog import SessionCatalog
from alita_tui.events import Lineage, MoveKind, ToolRecord
from alita_tui.spine.inventory import Inventory
from alita_tui.spine.ports.stream import Clock
from alita_tui.view.habits import Habits

if TYPE_CHECKING:
    from alita_tui.console.setup.screen import SetupScreen


class DayLine(msgspec.Struct, frozen=True):
    """What all sessions spent on one day."""

    day: str
    """ISO 8601."""
    usd: float
    tokens: int


class SettingLine(msgspec.Struct, frozen=True):
    """One setting in the list."""

    key: str
    value: str
    """As it is written on a command line."""
    origin: str
    """Where it comes from, such as `default` or `config.toml line 3`."""
    meaning: str
    default: str = ""


class Switch(msgspec.Struct, frozen=True):
    """The app's result when another session is to be opened in its place."""

    session_id: str = ""
    """Empty for a new session."""


class Catalog(SessionCatalog, Protocol):
    """What is kept outside of the open session. Every method may raise AlitaError."""

    async def tool(self, name: str, version: int | None = None) -> ToolRecord:
        """One version of a tool, whole; the newest runnable one by default."""

    async def save_theme(self, name: str) -> None:
        """Keep the choice of a theme in the user's settings."""

    async def days(self) -> tuple[DayLine, ...]:
        """What was spent on each day, oldest first."""

    async def prices(self) -> str:
        """The price table and its date, in words."""

    async def settings(self) -> tuple[SettingLine, ...]:
        """Every setting."""

    async def change_setting(self, key: str, value: str) -> tuple[SettingLine, ...]:
        """Write one setting; gives every setting as it is then."""

    async def wizard(self) -> SetupScreen:
        """The wizard for provider, model and key; it keeps what is chosen."""

    async def lineage(self, name: str) -> Lineage:
        """All versions of a tool, and what was done with them."""

    async def move(self, name: str, kind: MoveKind | Literal["undo"], version: int | None) -> Lineage:
        """Do something with a version, or take the newest such thing back; what there is then."""

    async def habits(self) -> Habits:
        """How the newest verdicts on this machine were given."""

    async def suggestions(self) -> tuple[str, ...]:
        """Tasks to offer in an empty session."""

    async def preload(self) -> None:
        """Called once after the first paint: import what is slow, in a thread."""


class Upkeep(Protocol):
    """The sandbox around the open session. Every method may raise AlitaError.

    What changes by it for the session is told on the stream: a new status, the progress of a rebuild.
    """

    async def look(self) -> Inventory:
        """What is there now; what was missing is looked for again."""

    async def reap(self) -> tuple[int, int]:
        """Remove what dead sessions left: how many containers and folders."""

    async def rebuild(self) -> None:
        """Make the base image anew."""


class ConsoleOptions(msgspec.Struct, frozen=True):
    """How the console looks and behaves, from the settings."""

    builtin_themes: Path
    """Folder of the themes that ship with alita."""
    user_themes: Path | None = None
    theme: str = "auto"
    """A theme's name, or `auto` to follow the terminal's background."""
    dark: bool = True
    """The background that was found, for `auto`."""
    keymap: Path | None = None
    """The user's keymap file."""
    reduced_motion: bool = False
    """No spinner turns and no cursor blinks."""
    bell: bool = True
    """Call the person when a build waits and the terminal is not in front."""
    clock: Clock = lambda: datetime.now(UTC)
    """For how long ago something was."""
