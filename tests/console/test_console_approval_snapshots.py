"""What the review, the replay bar and the wizard look like, at three sizes, dark and light."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from approval_cases import calm, queue, risky
from approval_host import Host as ReviewHost
from test_console_replay import IDLE
from test_console_replay import Host as ReplayHost
from test_console_setup import PROVIDERS, Seen
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from alita_tui.console.screens.setup import SetupScreen
from alita_tui.console.themes import Themed, load
from alita_tui.replay.playback import Playback
from alita_tui.replay.recording import Recording

SMALL, MIDDLE, LARGE = (80, 24), (120, 36), (200, 55)
Snap = Callable[..., bool]


def keys(*pressed: str) -> Callable[[Pilot[Any]], Any]:
    async def run(pilot: Pilot[Any]) -> None:
        pilot.app.animation_level = "none"
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause()
        await pilot.press(*pressed)
        await pilot.pause()
        if isinstance(pilot.app, ReviewHost):
            pilot.app.stopped = pilot.app.clock() + 2000
            pilot.app.review.tick()
            await pilot.pause()

    return run


@pytest.mark.parametrize(
    ("case", "size", "theme", "pressed"),
    [
        (calm, SMALL, "alita-dark", ()),
        (risky, SMALL, "alita-light", ("left_square_bracket", "left_square_bracket")),
        (queue, SMALL, "alita-dark", ("n", "r", "n", "o")),
        (calm, MIDDLE, "alita-light", ()),
        (risky, MIDDLE, "alita-dark", ("a", "f", "e")),
        (risky, LARGE, "alita-light", ("d",)),
        (risky, LARGE, "alita-dark", ("f", "s")),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_review(
    snap_compare: Snap, case: Any, size: tuple[int, int], theme: str, pressed: tuple[str, ...]
) -> None:
    app = ReviewHost(case(), theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize(
    ("size", "theme", "pressed"),
    [
        (SMALL, "alita-light", ("5",)),
        (MIDDLE, "alita-dark", ("7", "plus", "plus")),
        (LARGE, "alita-light", ("slash", "e", "m")),
    ],
    ids=["small", "middle", "large"],
)
def test_replay(snap_compare: Snap, size: tuple[int, int], theme: str, pressed: tuple[str, ...]) -> None:
    app = ReplayHost(Playback(Recording(IDLE)), theme)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


class Wizard(Themed):
    def __init__(self, theme: str) -> None:
        super().__init__()
        self.wanted_theme = theme

    def on_mount(self) -> None:
        for theme in load(Path(__file__).parents[2] / "themes").themes:
            self.register_theme(theme)
        self.theme = self.wanted_theme
        self.push_screen(SetupScreen(PROVIDERS, self.check, self.save, found={"acme": "keyring"}))

    async def check(self, _choice: object) -> Seen:
        return Seen(text="It has no price, so budgets count tokens.")

    async def save(self, _choice: object) -> str:
        return "keyring"


@pytest.mark.parametrize(
    ("size", "theme", "pressed"),
    [
        (SMALL, "alita-dark", ()),
        (MIDDLE, "alita-light", ("ctrl+t",)),
        (LARGE, "alita-dark", ("end", "ctrl+t")),
    ],
    ids=["small", "middle", "large"],
)
def test_wizard(snap_compare: Snap, size: tuple[int, int], theme: str, pressed: tuple[str, ...]) -> None:
    app: App[Any] = Wizard(theme)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))
