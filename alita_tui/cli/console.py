"""The full-screen console, opened from the command line; Textual is imported here and not before."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alita_tui.console.ports import ConsoleOptions, SessionLine, Switch
    from alita_tui.console.setup import SetupResult
    from alita_tui.spine.values import ToolRecord
    from alita_tui.wiring import House


def open_console(home: Path | None, session: str | None, model: str | None) -> None:
    """Open the console on a new session or on `session`; switching opens the next one in its place."""
    from alita_tui.wiring import House, need_terminal

    need_terminal()
    house = House.open(home, {"model": model})
    if not house.loaded.settings.configured and session is None:
        result = asyncio.run(_setup(house))
        if result is None:
            return
        house = House.open(home, {"model": model})
    code, following = 0, session
    again = True
    while again:
        code, switch = asyncio.run(_live(house, following))
        again = switch is not None
        following = switch.session_id or None if switch is not None else None
    sys.exit(code)


def open_replay(home: Path | None, session: str | None) -> None:
    """Open the console on a recording: no engine, no sandbox, nowhere to send a command."""
    from alita_tui.wiring import House, need_terminal

    need_terminal()
    house = House.open(home, strict=False)
    sys.exit(asyncio.run(_replay(house, session)))


def open_setup(home: Path | None) -> None:
    """Open the wizard by itself."""
    from alita_tui.wiring import House, need_terminal

    need_terminal()
    house = House.open(home, strict=False)
    asyncio.run(_setup(house))


class HouseCatalog:
    """Meets the console's `Catalog` from the house's stores."""

    def __init__(self, house: House, painted: asyncio.Event | None = None) -> None:
        self._house = house
        self._painted = painted

    async def sessions(self) -> tuple[SessionLine, ...]:
        """See `Catalog.sessions`."""
        from alita_tui.console.ports import SessionLine
        from alita_tui.wiring import now

        found = await asyncio.to_thread(self._house.sessions.list)
        return tuple(
            SessionLine(
                session_id=one.session_id,
                title=one.title,
                started=one.started or now(),
                events=one.events,
                state="damaged" if one.discarded else "waiting" if one.pending else one.state,
                cost_usd=one.cost_usd,
                tools_built=one.tools_built,
            )
            for one in found
        )

    async def tool(self, name: str, version: int | None = None) -> ToolRecord:
        """See `Catalog.tool`."""
        return await asyncio.to_thread(self._house.shelf.get, name, version)

    async def save_theme(self, name: str) -> None:
        """See `Catalog.save_theme`."""
        from alita_tui.config.write import set_value

        await asyncio.to_thread(set_value, self._house.paths, "console.theme", name)

    async def preload(self) -> None:
        """See `Catalog.preload`."""
        from alita_tui.llm.factory import preload

        if self._painted is not None:
            self._painted.set()
        if not self._house.demo:
            await preload(self._house.loaded.settings.model.provider)


def _options(house: House, *, suggestions: tuple[str, ...] = ()) -> ConsoleOptions:
    from alita_tui.config.paths import shipped
    from alita_tui.console.ports import ConsoleOptions
    from alita_tui.console.terminal import dark_background

    chosen = house.loaded.settings.console
    dark = dark_background()
    theme = chosen.theme if dark or not chosen.theme_light else chosen.theme_light
    return ConsoleOptions(
        builtin_themes=shipped("themes"),
        user_themes=house.paths.themes,
        theme=theme or "auto",
        dark=dark,
        keymap=house.paths.keymap,
        reduced_motion=chosen.reduced_motion or os.environ.get("TEXTUAL_ANIMATIONS") == "none",
        bell=chosen.bell,
        suggestions=suggestions,
    )


async def _live(house: House, session: str | None) -> tuple[int, Switch | None]:
    """One session on screen until it is left; its engine runs beside it on the same loop."""
    from alita_tui.console.app import AlitaApp
    from alita_tui.console.terminal import guarded_screen
    from alita_tui.wiring import close, live

    opened = await live(house, session, parks=False)
    painted = asyncio.Event()

    async def serve() -> None:
        # The engine's own imports would share the interpreter with the first paint.
        await painted.wait()
        await opened.run()

    engine = asyncio.create_task(serve(), name="alita engine")
    app = AlitaApp(
        opened.source,
        opened,
        catalog=HouseCatalog(house, painted),
        options=_options(house, suggestions=house.suggestions),
    )
    engine.add_done_callback(lambda done: app.exit() if not done.cancelled() and done.exception() else None)
    with guarded_screen(house.paths.log):
        switch = await app.run_async(mouse=house.loaded.settings.console.mouse)
    painted.set()
    if not engine.done():
        await close(opened, engine)
    else:
        engine.result()
    return app.return_code or 0, switch


async def _replay(house: House, session: str | None) -> int:
    from alita_tui.console.app import AlitaApp
    from alita_tui.console.terminal import guarded_screen
    from alita_tui.replay.playback import Playback
    from alita_tui.replay.recording import Recording
    from alita_tui.wiring import recording

    envelopes = await asyncio.to_thread(recording, house, session)
    playback = Playback(await asyncio.to_thread(Recording.prepared, envelopes))
    app = AlitaApp(playback, None, catalog=HouseCatalog(house), options=_options(house), playback=playback)
    with guarded_screen(house.paths.log):
        await app.run_async(mouse=house.loaded.settings.console.mouse)
    return app.return_code or 0


async def _setup(house: House) -> SetupResult | None:
    from alita_tui.cli.wizard import run_wizard

    return await run_wizard(house, _options(house))
