"""A recorded session, indexed: any moment of it is one fast fold away."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

from alita_tui.spine.envelope import Envelope
from alita_tui.spine.events import TaskSubmitted, UnknownEvent
from alita_tui.view.fold import fold
from alita_tui.view.model import SessionView
from alita_tui.view.queries import Mark, mark
from alita_tui.view.trace import rows_for

CHECKPOINT_EVERY = 100
"""Events between two kept views; a seek folds at most this many."""
IDLE_CAP = 2.0
"""Seconds of a pause that are played; the rest is skipped and told."""


class Recording:
    """The durable events of one session. A position `n` means: the first `n` events have happened."""

    def __init__(self, envelopes: Iterable[Envelope]) -> None:
        self.envelopes = _in_order(envelopes)
        self.marks: tuple[Mark | None, ...] = tuple(mark(envelope) for envelope in self.envelopes)
        self.steps: tuple[int, ...] = _steps(self.envelopes)
        """Positions just after a step of the agent, or a task, began."""
        self._seconds = seconds_of(self.envelopes)
        self._views: list[SessionView] = [SessionView()]

    @classmethod
    def prepared(cls, envelopes: Iterable[Envelope]) -> Recording:
        """A recording with every checkpoint folded already; for a thread, where the session is long."""
        made = cls(envelopes)
        made.view_at(len(made))
        return made

    def __len__(self) -> int:
        return len(self.envelopes)

    def view_at(self, position: int) -> SessionView:
        """The view after the first `position` events."""
        position = self.clamp(position)
        kept = min(position // CHECKPOINT_EVERY, len(self._views) - 1)
        view = self._views[kept]
        for index in range(kept * CHECKPOINT_EVERY, position):
            view = fold(view, self.envelopes[index])
            if index + 1 == len(self._views) * CHECKPOINT_EVERY:
                self._views.append(view)
        return view

    def clamp(self, position: int) -> int:
        """The nearest position that exists."""
        return max(0, min(position, len(self.envelopes)))

    def elapsed(self, position: int) -> float:
        """Recorded seconds from the first event to the one just before `position`."""
        return self._seconds[self.clamp(position) - 1] if self._seconds and position > 0 else 0.0

    def gap(self, position: int) -> float:
        """Recorded seconds that pass at `position` before the next event."""
        if not 0 < position < len(self._seconds):
            return 0.0
        return self._seconds[position] - self._seconds[position - 1]

    @cached_property
    def _skipped(self) -> tuple[float, ...]:
        total, sums = 0.0, [0.0]
        for position in range(len(self)):
            total += max(0.0, self.gap(position) - IDLE_CAP)
            sums.append(total)
        return tuple(sums)

    def skipped(self, position: int) -> float:
        """Recorded seconds of idle time that playing up to `position` leaves out."""
        return self._skipped[self.clamp(position)]

    def find_mark(self, position: int, kinds: Collection[Mark], direction: int) -> int | None:
        """The position just after the nearest event so marked, forward (1) or back (-1) of the current one."""
        wanted = range(position, len(self)) if direction > 0 else range(position - 2, -1, -1)
        return next((index + 1 for index in wanted if self.marks[index] in kinds), None)

    def find_step(self, position: int, direction: int) -> int | None:
        """The nearest position at which a step begins, forward (1) or back (-1)."""
        if direction > 0:
            return next((start for start in self.steps if start > position), None)
        return next((start for start in reversed(self.steps) if start < position), None)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(
            "\n".join(f"{row.title}\n{row.detail}\n{row.meta}" for row in rows_for(envelope)).casefold()
            for envelope in self.envelopes
        )

    def find_text(self, position: int, needle: str, direction: int) -> int | None:
        """The position just after the nearest event whose row in the trace has the text; case is ignored."""
        sought = needle.casefold()
        if not sought:
            return None
        wanted = range(position, len(self)) if direction > 0 else range(position - 2, -1, -1)
        return next((index + 1 for index in wanted if sought in self._texts[index]), None)


def _in_order(envelopes: Iterable[Envelope]) -> tuple[Envelope, ...]:
    """What the fold would take: durable events, each with a higher number than the one before."""
    kept: list[Envelope] = []
    last = 0
    for envelope in envelopes:
        if envelope.durable and envelope.seq is not None and envelope.seq > last:
            kept.append(envelope)
            last = envelope.seq
    return tuple(kept)


def _steps(envelopes: tuple[Envelope, ...]) -> tuple[int, ...]:
    starts: list[int] = []
    step = 0
    for position, envelope in enumerate(envelopes, 1):
        if isinstance(envelope.event, TaskSubmitted) or (envelope.step and envelope.step != step):
            starts.append(position)
        step = envelope.step
    return tuple(starts)


def seconds_of(envelopes: Iterable[Envelope]) -> tuple[float, ...]:
    """Seconds since the first event, never falling: an unreadable record may carry no true time."""
    seconds: list[float] = []
    start = None
    for envelope in envelopes:
        before = seconds[-1] if seconds else 0.0
        if isinstance(envelope.event, UnknownEvent):
            seconds.append(before)
            continue
        start = start or envelope.at
        seconds.append(max(before, (envelope.at - start).total_seconds()))
    return tuple(seconds)
