"""All durable events of a session as a sequence of which only the newest are in memory.

The others are read again from the record when they are needed, so a long session takes no more memory than a short
one. Use `of` to look for events of some kinds: then only those are read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Protocol, TypeVar, cast, overload

import msgspec

from alita_tui.events import SessionEvent
from alita_tui.spine.envelope import Envelope

E = TypeVar("E", bound=msgspec.Struct)

_KEPT = 512
"""Minimum number of newest events held in memory."""


class Stored(Protocol):
    """A session's recorded events: event n is at place n - 1."""

    def __len__(self) -> int: ...

    def reader(self, *, ahead: bool = True) -> Callable[[int], Envelope]:
        """Return a function that reads the event at a place; `ahead` for many in order. One thread only.

        The function raises StoreError.
        """

    def kind(self, place: int) -> str:
        """Return the kind (tag) of the event at a place; empty if the event has to be read to know it."""


class History(Sequence[Envelope]):
    """See the module. Grows at its end while the session runs; an iteration includes events that arrive meanwhile."""

    def __init__(self, in_memory: Iterable[Envelope] = (), stored: Stored | None = None) -> None:
        """Events in `stored` are not held in memory, and new ones only until they are recorded there."""
        self._stored = stored
        self._read_one = self.__getitem__ if stored is None else stored.reader(ahead=False)
        self._newest: tuple[int, list[Envelope]] = (0 if stored is None else len(stored), list(in_memory))
        """Place of the first event in memory, and the events from there on."""

    @property
    def stored(self) -> bool:
        """Whether older events are read from the record when needed; event n is at place n - 1."""
        return self._stored is not None

    def append(self, envelope: Envelope) -> None:
        """Append the next event, which has been recorded."""
        first_index, newest = self._newest
        newest.append(envelope)
        if self._stored is not None and len(newest) > 2 * _KEPT:
            first_left = min(first_index + len(newest) - _KEPT, len(self._stored)) - first_index
            self._newest = (first_index + first_left, newest[first_left:])

    def __len__(self) -> int:
        first_index, newest = self._newest
        return first_index + len(newest)

    @overload
    def __getitem__(self, index: int) -> Envelope: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Envelope]: ...
    def __getitem__(self, index: int | slice) -> Envelope | Sequence[Envelope]:
        """Return one event, or a list for a slice."""
        if isinstance(index, slice):
            return list(self._at(range(*index.indices(len(self)))))
        first_index, newest = self._newest
        if index < 0:
            index += first_index + len(newest)
        if index < 0:
            raise IndexError(index)
        if index >= first_index:
            return newest[index - first_index]
        return self._read_one(index)

    def __iter__(self) -> Iterator[Envelope]:
        return self._at(count(), open_ended=True)

    def __reversed__(self) -> Iterator[Envelope]:
        return self._at(reversed(range(len(self))))

    def _at(self, indices: Iterable[int], *, open_ended: bool = False) -> Iterator[Envelope]:
        read = self._stored.reader() if self._stored is not None else self.__getitem__
        for index in indices:
            first_index, newest = self._newest
            if open_ended and index >= first_index + len(newest):
                return
            yield read(index) if index < first_index else newest[index - first_index]

    def of(self, *kinds: type[SessionEvent], since: int = 0) -> Iterator[Envelope]:
        """Yield the events of some kinds, in order, from the place `since` on."""
        return self._of_kinds(range(since, len(self)), kinds)

    def newest(self, *kinds: type[SessionEvent]) -> Iterator[Envelope]:
        """Yield the events of some kinds, newest first."""
        return self._of_kinds(reversed(range(len(self))), kinds)

    def _of_kinds(self, indices: Iterable[int], kinds: tuple[type[SessionEvent], ...]) -> Iterator[Envelope]:
        tags = {"", *(str(kind.__struct_config__.tag) for kind in kinds)}
        stored = self._stored
        matching = (
            index
            for index in indices
            if stored is None or index >= self._newest[0] or stored.kind(index) in tags
        )
        return (envelope for envelope in self._at(matching) if isinstance(envelope.event, kinds))


def between(history: Sequence[Envelope], after: int, upto: int) -> Sequence[Envelope]:
    """Return the events with `after` < sequence number <= `upto`."""

    def place(seq: int) -> int:
        return bisect_right(history, seq, key=lambda envelope: envelope.seq or 0)

    return history[place(after) : place(upto)]


def of(history: Iterable[Envelope], *kinds: type[SessionEvent]) -> Iterator[Envelope]:
    """Return the events of some kinds, in order; reads only those if the history is a `History`."""
    if isinstance(history, History):
        return history.of(*kinds)
    return (envelope for envelope in history if isinstance(envelope.event, kinds))


def of_kind(history: Iterable[Envelope], kind: type[E]) -> Iterator[E]:
    """Return the events of one kind, in order, without their envelopes."""
    return (cast(E, envelope.event) for envelope in of(history, cast(type[SessionEvent], kind)))


def newest(history: Sequence[Envelope], *kinds: type[SessionEvent]) -> Iterator[Envelope]:
    """Return the events of some kinds, newest first."""
    if isinstance(history, History):
        return history.newest(*kinds)
    return (envelope for envelope in reversed(history) if isinstance(envelope.event, kinds))
