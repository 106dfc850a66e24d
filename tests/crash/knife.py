"""Ends the process as `kill -9` does, before, inside or after the Nth change to the disk."""

from __future__ import annotations

import errno
import io
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

_CALLS = ("fsync", "fdatasync", "ftruncate", "replace", "rename", "link", "unlink", "mkdir")
_CUTS: tuple[Callable[[int], int], ...] = (lambda n: 0, lambda n: 1, lambda n: n // 2, lambda n: n - 1)


class Knife:
    """Counts the places where this process could end, and ends it at one of them."""

    def __init__(self, at: int = 0, *, refuse: int = 0) -> None:
        """`at`: number of the place, from 1; 0: none, only count.

        With `refuse` the process is not ended: from that place on the disk is full for so many changes.
        """
        self._refuse = refuse
        self.places = 0
        self._at = at
        self._refused = 0
        self._guard = threading.RLock()

    def sharpen(self) -> None:
        """From now on every change to the disk that this process makes has its places."""
        for name in _CALLS:
            setattr(os, name, self._whole(getattr(os, name)))
        os.pwrite = self._write(os.pwrite)
        plain = io.open

        def opened(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            made: Any = plain(file, mode, *more, **options)
            if "w" in mode or "a" in mode:
                raw = made.write
                made.write = self._piece(raw, made.flush)
            return made

        io.open = opened  # what pathlib opens with

    def _place(self) -> bool:
        with self._guard:
            self.places += 1
            if not self._refuse:
                return self.places == self._at
            if self.places >= self._at and self._refused < self._refuse:
                self._refused += 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return False

    def _whole(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def cut(*arguments: Any, **options: Any) -> Any:
            if self._place():
                _die()
            return call(*arguments, **options)

        return cut

    def _write(self, call: Callable[..., int]) -> Callable[..., int]:
        def cut(fd: int, data: bytes, offset: int) -> int:
            for keep in _CUTS:
                if self._place():
                    call(fd, bytes(data)[: keep(len(data))], offset)
                    _die()
            return call(fd, data, offset)

        return cut

    def _piece(self, call: Callable[..., int], flush: Callable[[], None]) -> Callable[..., int]:
        def cut(data: Any) -> int:
            for keep in _CUTS:
                if self._place():
                    call(data[: keep(len(data))])
                    flush()
                    _die()
            return call(data)

        return cut


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()  # the signal may come to another thread first
