"""Ends this process as `kill -9` does, or fills the disk, at the Nth change that it makes to the disk."""

from __future__ import annotations

import errno
import io
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

_CALLS = ("fsync", "fdatasync", "ftruncate", "replace", "rename", "link", "unlink", "mkdir")
_WRITTEN: tuple[Callable[[int], int], ...] = (lambda n: 0, lambda n: 1, lambda n: n // 2, lambda n: n - 1)
"""How many of n bytes are written before the process ends: each is a point of its own."""


class FaultInjector:
    """Counts the points at which this process could fail, and lets it fail at one of them."""

    def __init__(self, at: int = 0, *, full_for: int = 0) -> None:
        """`at` is the number of the point, from 1; 0 only counts.

        The process is killed there. With `full_for` it is not: that many changes fail because the disk is full.
        """
        self.points = 0
        self._at = at
        self._full_for = full_for
        self._refused = 0
        self._lock = threading.RLock()

    def install(self) -> None:
        """Make every change to the disk a point, from now on."""
        for name in _CALLS:
            setattr(os, name, self._before(getattr(os, name)))
        os.pwrite = self._within_pwrite(os.pwrite)
        plain_open = io.open

        def opened(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            stream: Any = plain_open(file, mode, *more, **options)
            if "w" in mode or "a" in mode:
                stream.write = self._within_write(stream.write, stream.flush)
            return stream

        io.open = opened  # pathlib opens files with it

    def _kills_here(self) -> bool:
        """Count a point and return whether to end the process here. Raise OSError if the disk is full here."""
        with self._lock:
            self.points += 1
            if not self._full_for:
                return self.points == self._at
            if self.points >= self._at and self._refused < self._full_for:
                self._refused += 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return False

    def _before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def faulty(*arguments: Any, **options: Any) -> Any:
            if self._kills_here():
                _die()
            return call(*arguments, **options)

        return faulty

    def _within_pwrite(self, pwrite: Callable[..., int]) -> Callable[..., int]:
        def faulty(fd: int, data: bytes, offset: int) -> int:
            for written in _WRITTEN:
                if self._kills_here():
                    pwrite(fd, bytes(data)[: written(len(data))], offset)
                    _die()
            return pwrite(fd, data, offset)

        return faulty

    def _within_write(self, write: Callable[..., int], flush: Callable[[], None]) -> Callable[..., int]:
        def faulty(data: Any) -> int:
            for written in _WRITTEN:
                if self._kills_here():
                    write(data[: written(len(data))])
                    flush()
                    _die()
            return write(data)

        return faulty


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()  # the signal may come to another thread first
