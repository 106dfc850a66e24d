"""A recorded session with an index: any moment of it is one short fold away."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Self, overload

from msgspec.structs import replace

from alita_tui.events import TaskSubmitted, UnknownEvent
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.gc_pause import gc_paused
from alita_tui.spine.history import History
from alita_tui.view.explain import Explanation, explain
from alita_tui.view.fold import RowMaker, fold
from alita_tui.view.model import Live, SessionView
from alita_tui.view.queries import Mark, mark
from alita_tui.view.trace import rows_for, rows_with_deferred_text

CHECKPOINT_EVERY = 100
"""Events between two stored views; a seek folds at most this many."""
IDLE_CAP = 2.0
"""Seconds of a pause that are played; the rest is skipped and reported."""


class _EnvelopesOnDisk(Sequence[Envelope]):
    """The envelopes of a history that reads them from the record when needed."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._count = 0

    def append(self, envelope: Envelope) -> None:
        self._count += 1
        assert envelope.seq == self._count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, key: int) -> Envelope: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Envelope]: ...
    def __getitem__(self, key: int | slice) -> Envelope | Sequence[Envelope]:
        if isinstance(key, slice):
            return [self[index] for index in range(*key.indices(self._count))]
        if not -self._count <= key < self._count:
            raise IndexError(key)
        return self.history[key + self._count if key < 0 else key]


class Recording:
    """The durable events of one session. At position `n` the first `n` events have happened.

    It may grow at its end: a running session is a recording as well.
    """

    def __init__(self, envelopes: Iterable[Envelope] = ()) -> None:
        self._envelopes: list[Envelope] | _EnvelopesOnDisk = []
        self.rows_of: RowMaker = rows_for
        """Makes the rows of an event in the trace."""
        self._last = (0, 0)
        """Number and step of the newest event."""
        self._marks: list[Mark | None] = []
        self._steps: list[int] = []
        self._seconds = array("d")
        self._skipped = array("d", [0.0])
        self._texts: list[str] = []
        self._views: list[SessionView] = [SessionView()]
        self._start: datetime | None = None
        for envelope in envelopes:
            self.add(envelope)

    @classmethod
    def prepared(cls, envelopes: Iterable[Envelope]) -> Self:
        """Return a recording with every checkpoint folded already; for long sessions, in a thread."""
        recording = cls()
        if isinstance(envelopes, History):
            recording.follow(envelopes)
        view = recording.view_at(0)
        with gc_paused():
            for envelope in envelopes:
                view = fold(view, envelope, recording.rows_of)
                recording.add(envelope, view)
        return recording

    def follow(self, history: History) -> None:
        """Read events from the history instead of holding them, and drop long row texts. Only while this is empty."""
        assert not self._envelopes
        if history.stored:
            self._envelopes = _EnvelopesOnDisk(history)
            self.rows_of = rows_with_deferred_text(lambda seq: history[seq - 1])

    def add(self, envelope: Envelope, view: SessionView | None = None) -> None:
        """Add the durable events that follow on the newest one; skip others, as the fold does.

        `view` is the view after it, if the caller has it: then it need not be folded again.
        """
        last_seq, last_step = self._last
        if not envelope.durable or envelope.seq is None or envelope.seq <= last_seq:
            return
        submitted = isinstance(envelope.event, TaskSubmitted)
        self._last = (envelope.seq, envelope.step if submitted else envelope.step or last_step)
        self._envelopes.append(envelope)
        self._marks.append(mark(envelope))
        count = len(self._envelopes)
        if submitted or (envelope.step and envelope.step != last_step):
            self._steps.append(count)
        self._time(envelope)
        if view is not None and count == len(self._views) * CHECKPOINT_EVERY:
            self._views.append(replace(view, live=Live()))

    def _time(self, envelope: Envelope) -> None:
        previous = self._seconds[-1] if self._seconds else 0.0
        self._start, seconds = _seconds_after(envelope, self._start, previous)
        gap = seconds - previous if self._seconds else 0.0
        self._seconds.append(seconds)
        self._skipped.append(self._skipped[-1] + max(0.0, gap - IDLE_CAP))

    @property
    def envelopes(self) -> Sequence[Envelope]:
        """The events in order."""
        return self._envelopes

    @property
    def marks(self) -> Sequence[Mark | None]:
        """The mark of each event on the timeline."""
        return self._marks

    @property
    def steps(self) -> Sequence[int]:
        """Positions just after a step of the agent, or a task, began."""
        return self._steps

    def __len__(self) -> int:
        return len(self.envelopes)

    def view_at(self, position: int) -> SessionView:
        """Return the view after the first `position` events."""
        position = self.clamp(position)
        checkpoint = min(position // CHECKPOINT_EVERY, len(self._views) - 1)
        view = self._views[checkpoint]
        for index in range(checkpoint * CHECKPOINT_EVERY, position):
            view = fold(view, self._envelopes[index], self.rows_of)
            if index + 1 == len(self._views) * CHECKPOINT_EVERY:
                self._views.append(view)
        return view

    def clamp(self, position: int) -> int:
        """Return the nearest position that exists."""
        return max(0, min(position, len(self.envelopes)))

    def elapsed(self, position: int) -> float:
        """Return the recorded seconds from the first event to the one just before `position`."""
        return self._seconds[self.clamp(position) - 1] if self._seconds and position > 0 else 0.0

    def gap(self, position: int) -> float:
        """Return the recorded seconds at `position` before the next event."""
        if not 0 < position < len(self._seconds):
            return 0.0
        return self._seconds[position] - self._seconds[position - 1]

    def skipped(self, position: int) -> float:
        """Return the recorded seconds of idle time that playing up to `position` skips."""
        return self._skipped[self.clamp(position)]

    def find(self, position: int, fits: Callable[[Envelope], bool], direction: int) -> int | None:
        """Return the position just after the nearest matching event, forward (1) or back (-1)."""
        candidates = range(position, len(self)) if direction > 0 else range(position - 2, -1, -1)
        return next((index + 1 for index in candidates if fits(self._envelopes[index])), None)

    def position_of(self, seq: int) -> int:
        """Return the position just after the event with a number, or after the last one before it."""
        return bisect_right(self._envelopes, seq, key=lambda envelope: envelope.seq or 0)

    def explain(self, position: int) -> Explanation:
        """Return why the event just before a position happened, what it changed and what it cost."""
        position = max(1, self.clamp(position))
        before, after = self.view_at(position - 1), self.view_at(position)
        return explain(self._envelopes, position - 1, before, after)

    def find_mark(self, position: int, kinds: Collection[Mark], direction: int) -> int | None:
        """Return the position just after the nearest event with a mark, forward (1) or back (-1)."""
        candidates = range(position, len(self)) if direction > 0 else range(position - 2, -1, -1)
        return next((index + 1 for index in candidates if self.marks[index] in kinds), None)

    def find_step(self, position: int, direction: int) -> int | None:
        """Return the nearest position at which a step begins, forward (1) or back (-1)."""
        if direction > 0:
            return next((start for start in self.steps if start > position), None)
        return next((start for start in reversed(self.steps) if start < position), None)

    def _text(self, index: int) -> str:
        """Return an event's text in the trace, for searching; made when first needed."""
        if isinstance(self._envelopes, _EnvelopesOnDisk):
            return _searched(self._envelopes[index])
        for envelope in self._envelopes[len(self._texts) : index + 1]:
            self._texts.append(_searched(envelope))
        return self._texts[index]

    def find_text(self, position: int, needle: str, direction: int) -> int | None:
        """Return the position just after the nearest event whose row has the text; case is ignored."""
        sought = needle.casefold()
        if not sought:
            return None
        candidates = range(position, len(self)) if direction > 0 else range(position - 2, -1, -1)
        return next((index + 1 for index in candidates if sought in self._text(index)), None)


def _searched(envelope: Envelope) -> str:
    return "\n".join(f"{row.title}\n{row.detail}\n{row.meta}" for row in rows_for(envelope)).casefold()


def seconds_of(envelopes: Iterable[Envelope]) -> tuple[float, ...]:
    """Return seconds since the first event, never falling: an unreadable record may have no true time."""
    seconds: list[float] = []
    start: datetime | None = None
    for envelope in envelopes:
        start, elapsed = _seconds_after(envelope, start, seconds[-1] if seconds else 0.0)
        seconds.append(elapsed)
    return tuple(seconds)


def _seconds_after(
    envelope: Envelope, start: datetime | None, previous: float
) -> tuple[datetime | None, float]:
    if isinstance(envelope.event, UnknownEvent):
        return start, previous
    start = start or envelope.at
    return start, max(previous, (envelope.at - start).total_seconds())
