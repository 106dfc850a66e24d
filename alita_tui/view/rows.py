"""A persistent list: a change shares everything else that was there, so each view stays frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
_CHUNK = 256


class Rows(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An immutable sequence with cheap append, in chunks of 256 so that a long one stays cheap."""

    full: tuple[tuple[T, ...], ...] = ()
    tail: tuple[T, ...] = ()

    def append(self, *items: T) -> Rows[T]:
        """The rows with more at the end."""
        tail = self.tail + items
        if len(tail) < _CHUNK:
            return Rows(self.full, tail)
        cut = len(tail) - len(tail) % _CHUNK
        chunks = tuple(tail[i : i + _CHUNK] for i in range(0, cut, _CHUNK))
        return Rows(self.full + chunks, tail[cut:])

    def replace(self, index: int, item: T) -> Rows[T]:
        """The rows with another item in one place."""
        chunk, place = divmod(index, _CHUNK)
        if chunk >= len(self.full):
            return Rows(self.full, _put(self.tail, place, item))
        return Rows(_put(self.full, chunk, _put(self.full[chunk], place, item)), self.tail)

    def change_newest(self, fits: Callable[[T], bool], change: Callable[[T], T]) -> Rows[T]:
        """The rows with the newest that fits changed: nearly always the last one, however many there are."""
        for index in range(len(self) - 1, -1, -1):
            if fits(self[index]):
                return self.replace(index, change(self[index]))
        return self

    def __len__(self) -> int:
        return len(self.full) * _CHUNK + len(self.tail)

    def __getitem__(self, index: int) -> T:
        if index < 0:
            index += len(self)
        chunk, place = divmod(index, _CHUNK)
        return self.full[chunk][place] if chunk < len(self.full) else self.tail[place]

    def __iter__(self) -> Iterator[T]:
        for chunk in self.full:
            yield from chunk
        yield from self.tail

    def __reversed__(self) -> Iterator[T]:
        yield from reversed(self.tail)
        for chunk in reversed(self.full):
            yield from reversed(chunk)

    def since(self, index: int) -> Iterator[T]:
        """The rows from `index` on."""
        for place in range(max(index, 0), len(self)):
            yield self[place]


U = TypeVar("U")


def _put(items: tuple[U, ...], place: int, item: U) -> tuple[U, ...]:
    return (*items[:place], item, *items[place + 1 :])
