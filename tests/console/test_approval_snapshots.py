"""What the review, the replay bar and the wizard look like, at three sizes, dark and light."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.setup.ports import Surroundings
from alita_tui.console.setup.screen import SetupScreen
from alita_tui.console.themes import ThemedApp, load
from alita_tui.replay.playback import Playback
from alita_tui.replay.recording import Recording
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.console.approval_cases import queue, risky
from tests.console.approval_host import Host as ReviewHost
from tests.console.approval_host import settled
from tests.console.screens import Catalog
from tests.console.setup_lab import PROVIDERS, Seen
from tests.support import goldens

SMALL, MIDDLE, LARGE = (80, 24), (120, 36), (200, 55)
Snap = Callable[..., bool]


def keys(*pressed: str) -> Callable[[Pilot[Any]], Any]:
    async def run(pilot: Pilot[Any]) -> None:
        pilot.app.animation_level = "none"
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await settled(pilot)
        await pilot.press(*pressed)
        await settled(pilot)
        if isinstance(pilot.app, ReviewHost):
            pilot.app.at += 2000
            pilot.app.review.tick()
            await pilot.pause()

    return run


SIZES = pytest.mark.parametrize("size", (SMALL, MIDDLE, LARGE), ids=lambda size: f"{size[0]}x{size[1]}")
SHADES = pytest.mark.parametrize("theme", ("alita-dark", "alita-light"))


def recorded() -> SessionView:
    """The build of the golden walk through, as it waited."""
    return fold_all(goldens.waiting())


@SIZES
@SHADES
def test_a_recorded_build(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    view = recorded()
    assert view.state.at is not None
    app = ReviewHost(view, theme=theme, now=view.state.at + timedelta(seconds=42))
    assert snap_compare(app, terminal_size=size, run_before=keys())


@pytest.mark.parametrize(
    ("case", "size", "theme", "pressed"),
    [
        (risky, SMALL, "alita-light", ("left_square_bracket", "left_square_bracket")),
        (queue, SMALL, "alita-dark", ("n", "r", "n", "o")),
        (risky, MIDDLE, "alita-dark", ("a", "f", "e")),
        (risky, LARGE, "alita-light", ("d",)),
        (risky, LARGE, "alita-dark", ("f", "s")),
        (risky, MIDDLE, "alita-light", ("d", "v")),
        (risky, SMALL, "alita-dark", ("b",)),
        (risky, MIDDLE, "alita-dark", ("c", "space")),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_review(
    snap_compare: Snap, case: Any, size: tuple[int, int], theme: str, pressed: tuple[str, ...]
) -> None:
    app = ReviewHost(case(), theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


FORMS = {
    "reject": ("r", *"Reads more than it needs."),
    "ban": ("b",),
    "grants": ("c", "space"),
    "name": ("a", "a"),
}
"""What the review asks for → the keys that lead there."""


@SIZES
@SHADES
@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_the_review(snap_compare: Snap, name: str, size: tuple[int, int], theme: str) -> None:
    app = ReviewHost(risky(), theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=keys(*FORMS[name]))


class Standstill:
    """A player's clock that stands still: what plays stays at its place however long the picture takes."""

    def now(self) -> float:
        return 0.0

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        await wake.wait()


@SIZES
@SHADES
def test_replay(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    playback = Playback(Recording(goldens.walkthrough()), Standstill())
    app = AlitaApp(
        playback,
        None,
        catalog=Catalog(),
        options=ConsoleOptions(builtin_themes=shipped("themes"), theme=theme, reduced_motion=True),
        playback=playback,
    )

    async def before(pilot: Pilot[Any]) -> None:
        await pilot.press("6", "right", "right", "space")
        async with asyncio.timeout(180):
            while app.main.view.seq != playback.position:
                await pilot.pause(0.01)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)


class Wizard(ThemedApp[None]):
    def __init__(self, theme: str) -> None:
        super().__init__()
        self.wanted_theme = theme

    def on_mount(self) -> None:
        for theme in load(Path(__file__).parents[2] / "themes").themes:
            self.register_theme(theme)
        self.theme = self.wanted_theme
        self.push_screen(
            SetupScreen(PROVIDERS, self.check, self.save, keys_found={"acme": "keyring"}, look=self.look)
        )

    async def look(self) -> Surroundings:
        said = "Sandbox: the base image is missing. Run `alita doctor --fix`."
        return Surroundings(servers={"local": ("qwen3:8b",)}, sandbox=said, sandbox_ready=False)

    async def check(self, _choice: object) -> Seen:
        return Seen(text="It has no price, so budgets count tokens.")

    async def save(self, _choice: object) -> str:
        return "keyring"


@SIZES
@SHADES
def test_wizard(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    app: App[Any] = Wizard(theme)
    pressed = () if size == SMALL else ("ctrl+t",)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))
