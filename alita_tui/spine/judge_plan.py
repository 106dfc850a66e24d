"""The judge's plan for a draft: pieces of work, each under stated conditions. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from alita_tui.events import Json, Value

TOOL_FOLDER = "/tmp/tool"  # noqa: S108  # the sandbox's own
"""The folder of a tool's module when it runs."""


STAND_INS = ("workspace", "hosts")
"""Modules with which self-tests replace what the tool is granted."""
ANSWERS = ".hosts"
"""Among the files of a scratch workspace: what hosts answer, as JSON. No file can have this name."""
_STANDS_IN = re.compile(rf"^[ \t]*(?:import|from)[ \t]+(?:{'|'.join(STAND_INS)})\b", re.MULTILINE)


def stands_in(tests: str) -> bool:
    """Return True for tests that replace the person's files, hosts or models with their own."""
    return _STANDS_IN.search(tests) is not None


class Conditions(Value, frozen=True):
    """Conditions set in a draft's processes before anything of it is imported."""

    hash_seed: int | None = None
    """Hash seed of a new interpreter; None: the container's, which is random."""
    clock_shift_seconds: float = 0.0
    """How far ahead Python's clocks are; behind when negative. Clocks for durations stay unchanged."""
    time_zone: str = ""
    """An IANA name such as `Asia/Kolkata`, or a POSIX rule such as `XST-5:30`; empty: UTC."""
    locale: str = ""
    """For example `de_DE.UTF-8`; empty: C.UTF-8."""
    shuffle_seed: int | None = None
    """Shuffles the tests; None: their order in the file."""


class Piece(Value, frozen=True):
    """One piece of work on one version of the code."""

    kind: Literal["tests", "calls"]
    name: str
    """The tool's name, as its tests import it."""
    code: str
    module: str = ""
    """Name of the code's module; empty: the tool's."""
    folder: str = TOOL_FOLDER
    """Folder of the code's module, below /tmp."""
    tests: str = ""
    calls: tuple[Json, ...] = ()
    """Keyword arguments of `run`."""
    fresh: bool = False
    """Whether each call runs in a new process, which knows of no other."""
    files: Mapping[str, str] = {}
    """Files in the current folder of calls, by name, in Base64."""
    conditions: Conditions = Conditions()
    seconds: float = 2.0
    """Time limit of all tests together, or of each call."""
    watch: bool = False
    """Whether to record what the tool accesses and which places of instrumented code it passes."""
    stop: bool = False
    """Whether to stop at the first failed test."""
    ladders: tuple[int, ...] = ()
    """The ladder of each call, where growing sizes are timed: of the result only `length` and a `sum` are reported,
    and a ladder ends with a call that took `enough_ms` of CPU time or did not end.
    """
    enough_ms: float = 0.0


class Plan(Value, frozen=True):
    """The work of a `judge` job: its pieces in order, until the time is up."""

    pieces: tuple[Piece, ...]
    total: float = 12.0
    """Seconds after which no further piece starts."""
