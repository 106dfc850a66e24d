"""Plays a recording as an event source, with the controls of a player. It cannot run anything.

The reader reduces the events as it does live. After a seek the reader takes `view`, and the next envelope that the
source yields follows exactly on it: between taking a position's envelope and yielding it there is no await, so
`view` and the stream never disagree.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from alita_tui.replay.breakpoints import Breakpoint, breakpoints, stopped_by
from alita_tui.replay.recording import IDLE_CAP, Recording
from alita_tui.spine.envelope import Envelope
from alita_tui.view.explain import Explanation
from alita_tui.view.model import SessionView
from alita_tui.view.queries import Mark

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, float("inf"))
"""Recorded seconds played per second; infinite skips all waiting."""
_SHARE = 64
"""Events yielded without a wait before other work on the event loop gets its turn."""


class Ticker(Protocol):
    """A monotonic clock that can be waited on."""

    def now(self) -> float:
        """Return seconds; only differences mean anything."""

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        """Return once `wake` is set or the seconds have passed."""


class WallTicker:
    """Real time."""

    def now(self) -> float:
        """Return the event loop's time."""
        return time.monotonic()

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        """Wait for the event or the seconds."""
        try:
            async with asyncio.timeout(seconds):
                await wake.wait()
        except TimeoutError:
            return


class Playback:
    """An `EventSource` over a recording, for one reader at a time; ends only when closed."""

    def __init__(self, recording: Recording, ticker: Ticker | None = None, *, position: int = 0) -> None:
        self.recording = recording
        self.playing = False
        self._ticker = ticker or WallTicker()
        self._position = recording.clamp(position)
        self._speed = SPEEDS.index(1.0)
        self._waited = 0.0
        """Recorded seconds of the current gap that have passed."""
        self._seeks = 0
        self._changed = asyncio.Event()
        self._closed = False
        self._points: tuple[Breakpoint, ...] = ()
        self.stopped = ""
        """The breakpoint that playing stopped at, until the next control."""

    # --- what the console shows ---------------------------------------------------------

    @property
    def position(self) -> int:
        """The number of events that have happened."""
        return self._position

    @property
    def total(self) -> int:
        """The number of events."""
        return len(self.recording)

    @property
    def speed(self) -> float:
        """Recorded seconds per second; infinite for no waiting."""
        return SPEEDS[self._speed]

    @property
    def view(self) -> SessionView:
        """The view that the next yielded envelope follows on."""
        return self.recording.view_at(self._position)

    @property
    def marks(self) -> Sequence[Mark | None]:
        """The mark of each event."""
        return self.recording.marks

    @property
    def elapsed(self) -> float:
        """Recorded seconds up to here, idle time included."""
        return self.recording.elapsed(self._position)

    @property
    def length(self) -> float:
        """Recorded seconds of the whole session."""
        return self.recording.elapsed(self.total)

    @property
    def skipped(self) -> float:
        """Recorded seconds of idle time left out up to here."""
        return self.recording.skipped(self._position)

    @property
    def session_id(self) -> str:
        """The session that is played."""
        return self.recording.envelopes[0].session_id if self.total else ""

    @property
    def envelopes(self) -> Sequence[Envelope]:
        """All its events."""
        return self.recording.envelopes

    @property
    def seq(self) -> int:
        """The number of the event just before the position; 0 at the beginning."""
        return self.recording.envelopes[self._position - 1].seq or 0 if self._position else 0

    @property
    def breakpoints(self) -> str:
        """The conditions that playing stops at, as written."""
        return " ".join(point.text for point in self._points)

    def position_of(self, seq: int) -> int:
        """Return the position just after the event with a number."""
        return self.recording.position_of(seq)

    def explain(self, seq: int) -> Explanation:
        """Return why an event happened, what it changed and what it cost."""
        return self.recording.explain(self.recording.position_of(seq))

    # --- controls -----------------------------------------------------------------------

    def toggle(self) -> None:
        """Play or pause; at the end, play from the beginning."""
        if not self.playing and self._position >= self.total:
            self.seek(0)
        self.playing = not self.playing
        self._touch()

    def faster(self, steps: int = 1) -> None:
        """Change the speed by some steps of `SPEEDS`; negative is slower."""
        self._speed = max(0, min(self._speed + steps, len(SPEEDS) - 1))
        self._touch()

    def seek(self, position: int) -> None:
        """Go to a position; playing or paused as before."""
        self._position = self.recording.clamp(position)
        self._waited = 0.0
        self._seeks += 1
        self._touch()

    def seek_tenth(self, tenth: int) -> None:
        """Go to a tenth of the events, 0 to 9."""
        self.seek(round(self.total * tenth / 10))

    def move(self, events: int) -> None:
        """Move some events forward or back."""
        self.seek(self._position + events)

    def move_step(self, direction: int) -> bool:
        """Go to where the next (1) or previous (-1) step begins; return False if there is none."""
        return self._go(self.recording.find_step(self._position, direction))

    def move_mark(self, kinds: Collection[Mark], direction: int) -> bool:
        """Go to the next (1) or previous (-1) event with a mark; return False if there is none."""
        return self._go(self.recording.find_mark(self._position, kinds, direction))

    def find(self, needle: str, direction: int) -> bool:
        """Go to the next (1) or previous (-1) event with the text; return False if there is none."""
        return self._go(self.recording.find_text(self._position, needle, direction))

    def seek_seq(self, seq: int) -> None:
        """Go to just after the event with a number."""
        self.seek(self.recording.position_of(seq))

    def stop_at(self, conditions: str) -> None:
        """Set the conditions to stop at (see `breakpoints`); an empty text removes them. Raises UsageError."""
        self._points = breakpoints(conditions)

    def move_break(self, direction: int) -> bool:
        """Go to the next (1) or previous (-1) event that meets a breakpoint; return False if there is none."""
        return self._go(
            self.recording.find(
                self._position, lambda envelope: bool(stopped_by(self._points, envelope)), direction
            )
        )

    def close(self) -> None:
        """End the iteration."""
        self._closed = True
        self._changed.set()

    def _go(self, position: int | None) -> bool:
        if position is None:
            return False
        self.seek(position)
        return True

    def _touch(self) -> None:
        self.stopped = ""
        self._changed.set()

    # --- the source ---------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        yielded = 0
        while not self._closed:
            if self.playing and self._position >= self.total:
                self.playing = False
            if not self.playing:
                self._changed.clear()
                await self._changed.wait()
            elif not await self._until_due():
                continue
            else:
                envelope = self.recording.envelopes[self._position]
                self._position += 1
                yielded += 1
                if stopped := stopped_by(self._points, envelope):
                    self.playing, self.stopped = False, stopped
                yield envelope
                if yielded % _SHARE == 0:
                    await asyncio.sleep(0)

    async def _until_due(self) -> bool:
        """Wait for the next event's time; return False if a control was used meanwhile."""
        gap = min(self.recording.gap(self._position), IDLE_CAP)
        speed = self.speed
        if speed == float("inf") or self._waited >= gap:
            self._waited = max(0.0, self._waited - gap) if speed != float("inf") else 0.0
            return True
        self._changed.clear()
        seeks, started = self._seeks, self._ticker.now()
        await self._ticker.wait(self._changed, (gap - self._waited) / speed)
        if self._seeks == seeks:
            # A late wake-up shortens the next gap; time that the machine slept through is not made up.
            passed = (self._ticker.now() - started) * speed
            self._waited = min(self._waited + passed, gap + 0.1 * speed)
        return False


class LiveTape(Recording):
    """The running session as a recording that grows. Implements the console's `Tape`."""

    def newest(self) -> SessionView:
        """Return the view at its end, folding the few events since the last checkpoint."""
        return self.view_at(len(self))

    def player(self) -> Playback:
        """Return a player at the end."""
        return Playback(self, position=len(self))
