"""The stream's ends: clock, progress, where events come from and commands go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Protocol

from alita_tui.spine.commands import Command
from alita_tui.spine.envelope import Envelope

Clock = Callable[[], datetime]
"""The time in UTC."""


Progress = Callable[[str, float, float, str], None]
"""`(work, done, total, detail)`; total 0 when unknown. Called from any thread."""


class EventSource(Protocol):
    """A live engine or a recording; the reader cannot tell them apart."""

    def __aiter__(self) -> AsyncIterator[Envelope]: ...


class CommandSink(Protocol):
    """Takes a person's commands. A replay has none."""

    def send(self, command: Command) -> None:
        """Hand the command over; never blocks."""


class Recorder(Protocol):
    """Stores durable envelopes. Implemented by `store`."""

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        """Store one durable envelope; with `barrier` return only once it is on disk. Raise StoreError."""
