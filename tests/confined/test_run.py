"""A filter's process ends with whoever asked for it, in whatever moment that is."""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from pathlib import Path

import pytest

from alita_tui.confined.run import filtered


def _children() -> set[int]:
    """Return the processes whose parent is this one, those that ended unnoticed among them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == os.getpid():
            found.add(int(stat.parent.name))
    return found


async def _asked_and_left(steps: int) -> None:
    """Ask for a filter that waits for input, and leave after so many rounds of the loop, as a console that closes."""
    asking = asyncio.create_task(filtered("alita_tui.confined.code", ("x.py",), b"x = 1\n" * 50_000))
    for _ in range(steps):
        await asyncio.sleep(0.002)
    asking.cancel()  # the screen goes; what follows is the end of the loop, which cancels a second time


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55])
def test_no_process_is_left_by_a_console_that_closes(steps: int) -> None:
    before = _children()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        asyncio.run(_asked_and_left(steps))
        gc.collect()
    assert [str(one.message) for one in heard] == []
    assert _children() <= before
