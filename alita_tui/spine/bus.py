"""One writer, many readers. A durable event is recorded before anyone hears of it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

import msgspec

from alita_tui.spine.envelope import Envelope
from alita_tui.spine.events import BARRIERS, ModelDelta, OutputChunk, SessionEvent, Transient
from alita_tui.spine.ports import Clock, Recorder
from alita_tui.spine.redaction import Redactor

T = TypeVar("T")

_MERGE_LIMIT = 16_384
"""Characters up to which neighbouring transient pieces are merged for a slow reader."""


class Subscription:
    """One reader's queue: durable events are never dropped, transient ones are merged."""

    def __init__(self) -> None:
        self._queue: deque[Envelope] = deque()
        self._ready = asyncio.Event()
        self._closed = False

    def offer(self, envelope: Envelope) -> None:
        """Put one envelope in; called on the event loop."""
        if self._queue and (merged := _merge(self._queue[-1], envelope)) is not None:
            self._queue[-1] = merged
        else:
            self._queue.append(envelope)
        self._ready.set()

    def close(self) -> None:
        """No more will come; the reader ends once it has read what is there."""
        self._closed = True
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        while True:
            while self._queue:
                yield self._queue.popleft()
            if self._closed:
                return
            self._ready.clear()
            await self._ready.wait()


class Bus:
    """Numbers, times, records and hands out what the engine says happened."""

    def __init__(
        self,
        session_id: str,
        recorder: Recorder,
        clock: Clock,
        *,
        history: Iterable[Envelope] = (),
        redactor: Redactor | None = None,
    ) -> None:
        self.session_id = session_id
        self.history = list(history)
        """Every durable envelope of the session, in order."""
        self._recorder = recorder
        self._clock = clock
        self._redactor = redactor or Redactor()
        self._seq = self.history[-1].seq or 0 if self.history else 0
        self._readers: list[Subscription] = []
        self._order = asyncio.Lock()
        self.step = 0
        """ReAct step that new envelopes belong to."""

    @property
    def last_seq(self) -> int:
        """The newest durable sequence number."""
        return self._seq

    def subscribe(self) -> Subscription:
        """A reader that hears everything from now on."""
        reader = Subscription()
        self._readers.append(reader)
        return reader

    def hint(self, event: Transient, *, span: str = "") -> None:
        """Tell readers something transient. Event loop only; never blocks, never stored."""
        assert isinstance(event, Transient)
        self._fan_out(
            Envelope(
                seq=None,
                session_id=self.session_id,
                at=self._clock(),
                step=self.step,
                span=span,
                event=event,  # type: ignore[arg-type]  # every Transient is in SessionEvent
            )
        )

    def redacted(self, value: T) -> T:
        """A value as it may be recorded: whoever acts on it acts on what the record says."""
        return self._redactor.value(value)

    async def emit(self, event: SessionEvent, *, span: str = "") -> Envelope:
        """Record a durable event without its secrets, then tell readers. Raises StoreError when it cannot be saved."""
        assert not isinstance(event, Transient)
        async with self._order:
            envelope = Envelope(
                seq=self._seq + 1,
                session_id=self.session_id,
                at=self._clock(),
                step=self.step,
                span=span,
                event=self.redacted(event),
            )
            recording = asyncio.ensure_future(self._record(envelope))
            try:
                await asyncio.shield(recording)
            except asyncio.CancelledError:
                # What is being recorded is finished first: no event is left untold, no number given twice.
                await asyncio.wait((recording,))
                raise
            return envelope

    async def _record(self, envelope: Envelope) -> None:
        await self._recorder.record(envelope, barrier=isinstance(envelope.event, BARRIERS))
        assert envelope.seq is not None
        self._seq = envelope.seq
        self.history.append(envelope)
        self._fan_out(envelope)

    def close(self) -> None:
        """End every reader's stream."""
        for reader in self._readers:
            reader.close()

    def _fan_out(self, envelope: Envelope) -> None:
        for reader in self._readers:
            reader.offer(envelope)


def _merge(last: Envelope, new: Envelope) -> Envelope | None:
    """Two neighbouring pieces of the same thing as one, or None."""
    a, b = last.event, new.event
    if isinstance(a, ModelDelta) and isinstance(b, ModelDelta):
        same = a.call_id == b.call_id and a.channel == b.channel
    elif isinstance(a, OutputChunk) and isinstance(b, OutputChunk):
        same = a.run_id == b.run_id and a.stream == b.stream
    else:
        return None
    if not same or len(a.text) + len(b.text) > _MERGE_LIMIT:
        return None
    return msgspec.structs.replace(new, event=msgspec.structs.replace(b, text=a.text + b.text))
