"""Every screen says that F1 lists its keys, and a hint names a key as the person's keymap has it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from alita_tui.console.review.evidence import Evidence
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.session.words import welcome
from alita_tui.console.settings.screen import SettingsScreen
from alita_tui.console.widgets.plain import Plain
from tests.console.frames import Frames
from tests.console.navigating import on, replaying, until
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


async def test_a_hint_names_the_key_that_the_keymap_gives(tmp_path: Path) -> None:
    keymap = tmp_path / "keymap.toml"
    keymap.write_text(
        '[keys]\n"settings.find" = "f24"\n"approval.log" = "f24"\n"replay.toggle" = "f24"\n', "utf-8"
    )
    app = console(goldens.waiting(), sink=Sink(), keymap=keymap)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, goldens.waiting()[-1].seq)
        await pilot.press("ctrl+backslash")
        await until(pilot, lambda: on(app, SettingsScreen))
        assert "F24 filters" in str(app.screen.query_one(Plain).content)
        await pilot.press("escape", "f8")
        await until(pilot, lambda: on(app, ApprovalScreen))
        await until(pilot, lambda: "F24 shows them" in app.screen.query_one(Evidence).text())
    assert welcome({"replay.toggle": "f24"}, replay=True)[1].startswith("F24 plays it")
