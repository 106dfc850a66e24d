"""Every screen says that F1 lists its keys, at the smallest size and at a usual one."""

from __future__ import annotations

import asyncio

import pytest

from tests.console.frames import Frames
from tests.console.navigating import replaying
from tests.console.screens import Sink, console, covered, drawn
from tests.support import goldens

_KEYS = {
    "sessions": ("f5",),
    "two sessions": ("f5", "down", "down", "m", "up", "up", "c"),
    "tasks": ("ctrl+k",),
    "next call": ("shift+f2",),
    "memory": ("shift+f4",),
    "servers": ("shift+f5",),
    "statistics": ("shift+f9",),
    "evaluations": ("shift+f8",),
    "settings": ("ctrl+backslash",),
    "sandbox": ("ctrl+s",),
    "theme": ("f6",),
    "tool": ("f3", "enter"),
}


async def _named(pilot, frames: Frames) -> None:
    async with asyncio.timeout(60):
        while "F1 " not in "\n".join(frames.seen[-1]):
            await pilot.pause(0.02)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", _KEYS)
async def test_a_screen_names_f1(name: str, size: tuple[int, int]) -> None:
    events = goldens.walkthrough() if name == "tool" else goldens.waiting()  # which has no tool yet
    app = console(events, sink=Sink())
    frames = Frames(app, size)
    async with app.run_test(size=size) as pilot:
        await drawn(pilot, events[-1].seq)
        for key in _KEYS[name]:
            await pilot.press(key)
            await pilot.pause()
        await covered(pilot)
        await _named(pilot, frames)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_replay_names_f1(size: tuple[int, int]) -> None:
    app, _playback, _catalog = replaying(goldens.waiting())
    frames = Frames(app, size)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await _named(pilot, frames)
