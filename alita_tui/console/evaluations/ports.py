"""What the screen of evaluations needs; implemented in `app`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from alita_tui.console.replay.player import Player

RunState = Literal["running", "finished", "stopped", "waiting"]
CaseState = Literal["solved", "failed", "running", "waiting", "stopped", "left"]


class RunLine(msgspec.Struct, frozen=True):
    """A run in the list."""

    run: str
    suite: str
    models: tuple[str, ...]
    state: RunState
    """`waiting`: for the person's verdicts. `stopped`: ended early, and can be gone on with."""
    started: datetime | None = None
    ended: int = 0
    """Cases that have ended."""
    of: int = 0
    """Cases that it has; 0 where its suite can no longer be read."""
    solved: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Calls without a known price."""
    repeat: int = 1
    budget_usd: float = 0.0
    approve: str = "none"
    without: tuple[str, ...] = ()


class CaseLine(msgspec.Struct, frozen=True):
    """One case with one model, once."""

    case: str
    model: str
    turn: int
    state: CaseState
    why: str = ""
    """What went wrong."""
    usd: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    session_id: str = ""
    """Empty while there is none."""
    home: str = ""
    """Folder of its home."""
    at: int = 0
    """The event where it went wrong; 0: none."""
    command: str = ""
    """Replays it in a shell, or shows the build that waits there."""


class RunSheet(msgspec.Struct, frozen=True):
    """A run with its cases, in the order in which they are done."""

    line: RunLine
    cases: tuple[CaseLine, ...]
    judges: tuple[str, ...] = ()
    """How far each judge model agrees with people."""


class EvaluationsCatalog(Protocol):
    """Runs of suites. Every method may raise AlitaError."""

    async def evaluations(self) -> tuple[RunLine, ...]:
        """Return all runs, newest first."""

    async def evaluation(self, run: str) -> RunSheet:
        """Return one run as it stands now."""

    async def case_player(self, case: CaseLine) -> Player:
        """Return a player for the session of a case."""

    async def begin_evaluation(self, words: str) -> str:
        """Begin a run in a process of its own, which goes on without the console; return its name.

        `words`: as after `alita eval run`. Raises UsageError where they are not understood.
        """
