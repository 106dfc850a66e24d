"""The console in a replay, or gone back in a running session."""

from __future__ import annotations

import asyncio

from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.replay.screen import ReplayScreen
from alita_tui.replay.playback import LiveTape, Playback
from alita_tui.replay.recording import Recording
from alita_tui.spine.envelope import Envelope
from tests.console.keeping_lab import NOW
from tests.console.screens import Catalog, Sink


class Growing:
    """A session that goes on when it is told to."""

    def __init__(self, envelopes: list[Envelope]) -> None:
        self.queue: asyncio.Queue[Envelope] = asyncio.Queue()
        for envelope in envelopes:
            self.queue.put_nowait(envelope)

    async def __aiter__(self):
        while True:
            yield await self.queue.get()


def running(envelopes: list[Envelope], sink: Sink | None = None) -> tuple[AlitaApp, Growing, Catalog]:
    options = ConsoleOptions(
        builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True, clock=lambda: NOW
    )
    source, catalog = Growing(envelopes), Catalog()
    return (
        AlitaApp(source, sink or Sink(), catalog=catalog, options=options, tape=LiveTape()),
        source,
        catalog,
    )


def replaying(envelopes: list[Envelope]) -> tuple[AlitaApp, Playback, Catalog]:
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True)
    playback, catalog = Playback(Recording(envelopes)), Catalog()
    return AlitaApp(playback, None, catalog=catalog, options=options, playback=playback), playback, catalog


async def until(pilot, holds) -> None:
    """Let the app run until something holds."""
    async with asyncio.timeout(180):
        while not holds():
            await pilot.pause(0.01)
    await pilot.pause()


def past(app: AlitaApp) -> ReplayScreen:
    """Return the screen that replays the session."""
    assert isinstance(app.screen, ReplayScreen)
    return app.screen


def on(app: AlitaApp, kind: type) -> bool:
    return isinstance(app.screen, kind) and app.screen.is_mounted
