"""What the judge in the sandbox is asked to do with a draft: pieces of work, each under stated conditions. Pure."""

from __future__ import annotations

from typing import Literal

from alita_tui.events import Json, Value

TOOL_FOLDER = "/tmp/tool"  # noqa: S108  # the sandbox's own
"""Where a tool's module lies when it runs."""


class Conditions(Value, frozen=True):
    """What is set in a draft's processes before anything of it is imported."""

    hash_seed: int | None = None
    """Of an interpreter of its own; None: the container's, which is random."""
    clock_shift_seconds: float = 0.0
    """How far ahead Python's clocks are; behind when negative. Durations are measured as ever."""
    time_zone: str = ""
    """An IANA name such as `Asia/Kolkata`, or a POSIX rule such as `XST-5:30`; empty: as it is (UTC)."""
    locale: str = ""
    """For example `de_DE.UTF-8`; empty: C.UTF-8."""
    shuffle_seed: int | None = None
    """Tests run in another order; None: as they are written."""


class Piece(Value, frozen=True):
    """One piece of work on one version of the code."""

    kind: Literal["tests", "calls"]
    name: str
    """Of the tool, as its tests import it."""
    code: str
    module: str = ""
    """What the code's own module is called; empty: as the tool."""
    folder: str = TOOL_FOLDER
    """Where the code's own module lies, below /tmp."""
    tests: str = ""
    calls: tuple[Json, ...] = ()
    """Keyword arguments of `run`."""
    fresh: bool = False
    """Whether each call has a process of its own, that knows of no other."""
    conditions: Conditions = Conditions()
    seconds: float = 2.0
    """For all tests together, or for each call."""
    watch: bool = False
    """Whether it is noted what the tool reaches for, and which places of instrumented code it passes."""
    stop: bool = False
    """Whether the first test that fails is the last."""
    ladders: tuple[int, ...] = ()
    """Which ladder each call belongs to, where sizes are tried one after the other: the time it takes is asked, of
    the result only `length` and a `sum` are told, and a ladder ends with a call that took `enough_ms` of processor
    time or came to no end.
    """
    enough_ms: float = 0.0


class Plan(Value, frozen=True):
    """What a `judge` job does: the pieces in their order, until there is no more time."""

    pieces: tuple[Piece, ...]
    total: float = 12.0
    """Seconds; a piece that has not begun by then is left out."""
