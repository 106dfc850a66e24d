"""A persistent list: a changed copy shares everything else, so every state stays frozen and cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
U = TypeVar("U")
_CHUNK = 256


class Rows(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An immutable sequence with cheap append, in chunks of 256 items so that a long one stays cheap."""

    full: tuple[tuple[T, ...], ...] = ()
    tail: tuple[T, ...] = ()

    def append(self, *items: T) -> Rows[T]:
        """Return the rows with more items at the end."""
        tail = self.tail + items
        if len(tail) < _CHUNK:
            return Rows(self.full, tail)
        cut = len(tail) - len(tail) % _CHUNK
        chunks = tuple(tail[i : i + _CHUNK] for i in range(0, cut, _CHUNK))
        return Rows(self.full + chunks, tail[cut:])

    def replace(self, index: int, item: T) -> Rows[T]:
        """Return the rows with another item in one place."""
        chunk, offset = divmod(index, _CHUNK)
        if chunk >= len(self.full):
            return Rows(self.full, _put(self.tail, offset, item))
        return Rows(_put(self.full, chunk, _put(self.full[chunk], offset, item)), self.tail)

    def change_newest(self, fits: Callable[[T], bool], change: Callable[[T], T]) -> Rows[T]:
        """Return the rows with the newest item that fits changed: nearly always the last one."""
        for index in range(len(self) - 1, -1, -1):
            if fits(self[index]):
                return self.replace(index, change(self[index]))
        return self

    def __len__(self) -> int:
        return len(self.full) * _CHUNK + len(self.tail)

    def __getitem__(self, index: int) -> T:
        if index < 0:
            index += len(self)
        chunk, offset = divmod(index, _CHUNK)
        return self.full[chunk][offset] if chunk < len(self.full) else self.tail[offset]

    def __iter__(self) -> Iterator[T]:
        for chunk in self.full:
            yield from chunk
        yield from self.tail

    def __reversed__(self) -> Iterator[T]:
        yield from reversed(self.tail)
        for chunk in reversed(self.full):
            yield from reversed(chunk)

    def since(self, index: int) -> Iterator[T]:
        """Yield the rows from `index` on."""
        for number in range(max(index, 0), len(self)):
            yield self[number]


def follow(shown: Rows[U], before: Rows[T], now: Rows[T], convert: Callable[[T], U]) -> Rows[U]:
    """Return `now` converted item by item, reusing `shown`, which is `before` converted.

    Cheap if `now` is `before` with items appended, or with one item changed near its end.
    """
    if now is before:
        return shown
    if len(now) > len(before):
        return shown.append(*map(convert, now.since(len(before))))
    for index in range(len(now) - 1, -1, -1):
        if now[index] is not before[index]:
            return shown.replace(index, convert(now[index]))
    return shown


def _put(items: tuple[U, ...], index: int, item: U) -> tuple[U, ...]:
    return (*items[:index], item, *items[index + 1 :])
