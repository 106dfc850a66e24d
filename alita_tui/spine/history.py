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
"""Newest events that are in memory at least."""


class Stored(Protocol):
    """Where a session's events are recorded: event n at place n - 1."""

    def __len__(self) -> int: ...

    def reader(self, *, ahead: bool = True) -> Callable[[int], Envelope]:
        """Gives the event at a place; `ahead`: many will be asked for, in order. One thread. Raises StoreError."""

    def kind(self, place: int) -> str:
        """The kind (tag) of the event at a place; empty if it has to be read to know."""


class History(Sequence[Envelope]):
    """See the module. Grows at its end while the session runs; an iteration includes events that arrive meanwhile."""

    def __init__(self, known: Iterable[Envelope] = (), stored: Stored | None = None) -> None:
        """Events in `stored` are not held in memory, and new ones only until they are recorded there."""
        self._stored = stored
        self._read_one = self.__getitem__ if stored is None else stored.reader(ahead=False)
        self._newest: tuple[int, list[Envelope]] = (0 if stored is None else len(stored), list(known))
        """Place of the first event that is in memory, and all from there on."""

    @property
    def stored(self) -> bool:
        """Whether older events are read from the record when needed; event n is at place n - 1."""
        return self._stored is not None

    def append(self, envelope: Envelope) -> None:
        """Append the next event, which has been recorded."""
        first, newest = self._newest
        newest.append(envelope)
        if self._stored is not None and len(newest) > 2 * _KEPT:
            first_left = min(first + len(newest) - _KEPT, len(self._stored)) - first
            self._newest = (first + first_left, newest[first_left:])

    def __len__(self) -> int:
        first, newest = self._newest
        return first + len(newest)

    @overload
    def __getitem__(self, place: int) -> Envelope: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Envelope]: ...
    def __getitem__(self, place: int | slice) -> Envelope | Sequence[Envelope]:
        """One event, or a list of some."""
        if isinstance(place, slice):
            return list(self._at(range(*place.indices(len(self)))))
        first, newest = self._newest
        if place < 0:
            place += first + len(newest)
        if place < 0:
            raise IndexError(place)
        if place >= first:
            return newest[place - first]
        return self._read_one(place)

    def __iter__(self) -> Iterator[Envelope]:
        return self._at(count(), open_ended=True)

    def __reversed__(self) -> Iterator[Envelope]:
        return self._at(reversed(range(len(self))))

    def _at(self, places: Iterable[int], *, open_ended: bool = False) -> Iterator[Envelope]:
        read = self._stored.reader() if self._stored is not None else self.__getitem__
        for place in places:
            first, newest = self._newest
            if open_ended and place >= first + len(newest):
                return
            yield read(place) if place < first else newest[place - first]

    def of(self, *kinds: type[SessionEvent], since: int = 0) -> Iterator[Envelope]:
        """The events of some kinds, in order, from a place on."""
        return self._some(range(since, len(self)), kinds)

    def newest(self, *kinds: type[SessionEvent]) -> Iterator[Envelope]:
        """The events of some kinds, the newest first."""
        return self._some(reversed(range(len(self))), kinds)

    def _some(self, places: Iterable[int], kinds: tuple[type[SessionEvent], ...]) -> Iterator[Envelope]:
        tags = {"", *(str(kind.__struct_config__.tag) for kind in kinds)}
        stored = self._stored
        wanted = (
            place
            for place in places
            if stored is None or place >= self._newest[0] or stored.kind(place) in tags
        )
        return (envelope for envelope in self._at(wanted) if isinstance(envelope.event, kinds))


def between(history: Sequence[Envelope], after: int, upto: int) -> Sequence[Envelope]:
    """The events whose numbers are above `after` and not above `upto`."""

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
    """The events of some kinds, the newest first."""
    if isinstance(history, History):
        return history.newest(*kinds)
    return (envelope for envelope in reversed(history) if isinstance(envelope.event, kinds))
