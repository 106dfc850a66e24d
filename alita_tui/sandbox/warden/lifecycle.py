"""The states of one run as a table: the next state and the effects of each event in each state.

Pure: no clock, process or descriptor. `oversight.py` feeds in the events and carries out the effects.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import Enum
from typing import Any


class State(Enum):
    """How far a run has come."""

    RUNNING = "the child lives, within its limits"
    STOPPING = "a limit was exceeded: everything was killed, the child is not reaped yet"
    DRAINING = "the child is reaped, what it wrote is still read"
    ENDED = "the report is made"


class Event(Enum):
    """What the warden observes."""

    LIMIT_EXCEEDED = "a limit was exceeded"
    TIME_UP = "the time allowed for this state is over"
    EXITED = "the child was reaped"
    OUTPUT_CLOSED = "none of the child's pipes is open"


class Effect(Enum):
    """What the warden then does, in this order."""

    KILL_ALL = "kill every process but the warden"
    CUT_OFF = "drop unsent orders, close connections, allow a short time to read the rest"
    REPORT = "measure and report, once per run"


TRANSITIONS: dict[tuple[State, Event], tuple[State, tuple[Effect, ...]]] = {
    (State.RUNNING, Event.LIMIT_EXCEEDED): (State.STOPPING, (Effect.KILL_ALL,)),
    (State.RUNNING, Event.TIME_UP): (State.STOPPING, (Effect.KILL_ALL,)),
    (State.RUNNING, Event.EXITED): (State.DRAINING, (Effect.KILL_ALL, Effect.CUT_OFF)),
    (State.RUNNING, Event.OUTPUT_CLOSED): (State.RUNNING, ()),
    # What forks faster than one kill reaches it is killed again at every look.
    (State.STOPPING, Event.LIMIT_EXCEEDED): (State.STOPPING, (Effect.KILL_ALL,)),
    (State.STOPPING, Event.TIME_UP): (State.STOPPING, (Effect.KILL_ALL,)),
    (State.STOPPING, Event.EXITED): (State.DRAINING, (Effect.KILL_ALL, Effect.CUT_OFF)),
    (State.STOPPING, Event.OUTPUT_CLOSED): (State.STOPPING, ()),
    (State.DRAINING, Event.LIMIT_EXCEEDED): (State.DRAINING, (Effect.KILL_ALL,)),
    (State.DRAINING, Event.TIME_UP): (State.ENDED, (Effect.REPORT,)),
    (State.DRAINING, Event.EXITED): (State.DRAINING, ()),
    (State.DRAINING, Event.OUTPUT_CLOSED): (State.ENDED, (Effect.REPORT,)),
    (State.ENDED, Event.LIMIT_EXCEEDED): (State.ENDED, ()),
    (State.ENDED, Event.TIME_UP): (State.ENDED, ()),
    (State.ENDED, Event.EXITED): (State.ENDED, ()),
    (State.ENDED, Event.OUTPUT_CLOSED): (State.ENDED, ()),
}


class Lifecycle:
    """The state of one run, the limits it exceeded and how its process ended."""

    def __init__(self) -> None:
        self.state = State.RUNNING
        self.limits_hit: list[str] = []
        self.wait_status: int | None = None

    @property
    def alive(self) -> bool:
        """Return whether the child is not reaped yet."""
        return self.state in (State.RUNNING, State.STOPPING)

    def limit_exceeded(self, limit: str) -> tuple[Effect, ...]:
        """Record a limit, unless the report is made, and return the effects."""
        if self.state is not State.ENDED:
            self._record(limit)
        return self._move(Event.LIMIT_EXCEEDED)

    def time_up(self) -> tuple[Effect, ...]:
        """Record the wall limit while the child lives, and return the effects; afterwards the draining ends."""
        if self.alive:
            self._record("wall")
        return self._move(Event.TIME_UP)

    def exited(self, wait_status: int) -> tuple[Effect, ...]:
        """Record how the child ended and return the effects; a second call changes nothing."""
        if self.alive:
            self.wait_status = wait_status
        return self._move(Event.EXITED)

    def output_closed(self) -> tuple[Effect, ...]:
        """Return the effects of all pipes being closed; may be called repeatedly."""
        return self._move(Event.OUTPUT_CLOSED)

    def outcome(self, *, cpu_exhausted: bool, out_of_memory: Callable[[], bool]) -> dict[str, Any]:
        """Return exit code or signal, and every limit that explains the end.

        `cpu_exhausted` says that the run used about all of its CPU time. `out_of_memory`, which says whether the kernel
        killed a process because memory ran out, is called only when the child was killed without a known reason.
        """
        assert self.wait_status is not None
        killed_by = os.WTERMSIG(self.wait_status) if os.WIFSIGNALED(self.wait_status) else None
        if killed_by == signal.SIGXCPU:
            self._record("cpu")
        elif killed_by is not None and not self.limits_hit and out_of_memory():
            self._record("memory")
        elif killed_by is not None and not self.limits_hit and cpu_exhausted:
            self._record("cpu")  # SIGXCPU was ignored: the kernel kills at the hard limit
        if killed_by == signal.SIGXFSZ:
            self._record("files")
        return {
            "exit_code": os.WEXITSTATUS(self.wait_status) if killed_by is None else None,
            "signal": killed_by,
            "limits_hit": self.limits_hit,
        }

    def _move(self, event: Event) -> tuple[Effect, ...]:
        self.state, effects = TRANSITIONS[self.state, event]
        return effects

    def _record(self, limit: str) -> None:
        if limit not in self.limits_hit:
            self.limits_hit.append(limit)
