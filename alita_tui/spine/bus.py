"""One writer, many readers. A durable event is recorded before any reader gets it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import ParamSpec, TypeVar

import msgspec

from alita_tui.events import BARRIERS, ModelDelta, OutputChunk, SavingStalled, SessionEvent, TaskId, Transient
from alita_tui.spine import origin
from alita_tui.spine.cancellation import finish
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.spine.history import History
from alita_tui.spine.origin import Origin
from alita_tui.spine.piece_redactor import PieceRedactor
from alita_tui.spine.ports.stream import Clock, Recorder
from alita_tui.spine.redaction import Redactor

T = TypeVar("T")
P = ParamSpec("P")

_MERGE_LIMIT = 16_384
"""Characters up to which neighbouring transient pieces are merged for a slow reader."""


_TEXTS = 64
"""Number of texts that may stream at the same time."""


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
        """Close the stream; the reader ends once it has read what is queued."""
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
    """Numbers, timestamps, records and distributes the engine's events."""

    def __init__(
        self,
        session_id: str,
        recorder: Recorder,
        clock: Clock,
        *,
        history: Iterable[Envelope] = (),
        redactor: Redactor | None = None,
        retry: float | None = None,
    ) -> None:
        """`retry`: seconds after which what could not be saved is tried again; None: it is an error at once."""
        self.session_id = session_id
        self.history = history if isinstance(history, History) else History(history)
        """Every durable envelope of the session, in order."""
        self._recorder = recorder
        self._clock = clock
        self._redactor = redactor or Redactor()
        self._pieces: dict[tuple[str, str], PieceRedactor] = {}
        self._retry = retry
        self._leaving = asyncio.Event()
        self._seq = self.history[-1].seq or 0 if self.history else 0
        self._readers: list[Subscription] = []
        self._order = asyncio.Lock()
        self._spans: dict[str, Origin] = {}
        """Open spans and where they were opened; later events of a span belong there, whoever emits them."""

    @property
    def last_seq(self) -> int:
        """The newest durable sequence number."""
        return self._seq

    def subscribe(self) -> Subscription:
        """Return a reader that gets every event from now on."""
        reader = Subscription()
        self._readers.append(reader)
        return reader

    def unsubscribe(self, reader: Subscription) -> None:
        """Remove a reader, which ends once it has read what is queued."""
        self._readers.remove(reader)
        reader.close()

    def hint(self, event: Transient, *, span: str = "") -> None:
        """Send readers a transient event. Event loop only; never blocks, never stored."""
        assert isinstance(event, Transient)
        if isinstance(event, ModelDelta | OutputChunk):
            visible = self._visible_part(event)
            if not visible:
                return
            event = msgspec.structs.replace(event, text=visible)
        self._fan_out(self._enveloped(None, event, span))  # type: ignore[arg-type]  # each is in SessionEvent

    def _enveloped(self, seq: int | None, event: SessionEvent, span: str) -> Envelope:
        event_origin = self._origin(span)
        return Envelope(
            seq=seq,
            session_id=self.session_id,
            at=self._clock(),
            task_id=event_origin.task_id,
            agent_id=event_origin.agent_id,
            step=event_origin.step,
            span=event_origin.span,
            parent=event_origin.parent,
            schema_version=SCHEMA_VERSION,
            event=self.redacted(event),
        )

    def _origin(self, span: str) -> Origin:
        """Return the origin of an event in a span: where the span was opened, at the agent's present step."""
        current = origin.current()
        if not span:
            return current
        opened = self._spans.setdefault(span, current.inside(span))
        if opened.task_id == current.task_id:
            return msgspec.structs.replace(opened, step=current.step)
        return opened

    def forget_spans(self, task_id: TaskId) -> None:
        """Forget the spans of a task that has ended."""
        self._spans = {span: opened for span, opened in self._spans.items() if opened.task_id != task_id}

    def _visible_part(self, event: ModelDelta | OutputChunk) -> str:
        """Return the part of a streamed text that can be shown without revealing half of a secret."""
        key: tuple[str, str]
        match event:
            case ModelDelta(call_id=call_id, channel=channel):
                key = (call_id, channel)
            case OutputChunk(run_id=run_id, stream=stream):
                key = (run_id, stream)
        redactor = self._pieces.pop(key, None) or PieceRedactor(self._redactor)
        self._pieces[key] = redactor  # the newest last
        while len(self._pieces) > _TEXTS:
            del self._pieces[next(iter(self._pieces))]
        return redactor.take(event.text)

    def redacted(self, value: T) -> T:
        """Return a value as it may be recorded; code that acts on it then agrees with the record."""
        return self._redactor.value(value)

    async def emit(self, event: SessionEvent, *, span: str = "") -> Envelope:
        """Record a durable event without its secrets, pass it to the readers, and return its envelope.

        If it cannot be saved, the caller waits, so that nothing is done without a record.
        Raises StoreError if waiting makes no sense.
        """
        assert not isinstance(event, Transient)
        async with self._order:
            envelope = self._enveloped(self._seq + 1, event, span)
            # A started write is finished even if the caller is cancelled: no event is lost, no number used twice.
            await self._with_retries(lambda: finish(self._record(envelope)))
            return envelope

    async def save_with(self, action: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run an action that saves something in a thread, retry it as `emit` does, and return its result.

        Raises what it raises.
        """
        return await self._with_retries(lambda: asyncio.to_thread(action, *arguments, **options))

    def leave(self) -> None:
        """Stop retrying because the session is being left: from now on a failed save raises at once."""
        self._leaving.set()

    async def _with_retries(self, attempt: Callable[[], Awaitable[T]]) -> T:
        stalled = False
        while True:
            try:
                result = await attempt()
            except StoreError as error:
                if self._retry is None or self._leaving.is_set():
                    raise
                self.hint(SavingStalled(text=error.message, hint=error.hint))
                stalled = True
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), self._retry)
            else:
                if stalled:
                    self.hint(SavingStalled())
                return result

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


def _merge(earlier: Envelope, later: Envelope) -> Envelope | None:
    """Return two neighbouring pieces of the same text as one; None if they cannot be merged."""
    first, second = earlier.event, later.event
    if isinstance(first, ModelDelta) and isinstance(second, ModelDelta):
        same_text = first.call_id == second.call_id and first.channel == second.channel
    elif isinstance(first, OutputChunk) and isinstance(second, OutputChunk):
        same_text = first.run_id == second.run_id and first.stream == second.stream
    else:
        return None
    if not same_text or len(first.text) + len(second.text) > _MERGE_LIMIT:
        return None
    return msgspec.structs.replace(
        later, event=msgspec.structs.replace(second, text=first.text + second.text)
    )
