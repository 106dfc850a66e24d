"""The full-screen console, opened from the command line; Textual is imported here and not before."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from alita_tui.cli.keeper import HouseKeeper

if TYPE_CHECKING:
    from alita_tui.console.ports import ConsoleOptions, DayLine, SettingLine, Switch
    from alita_tui.console.screens.setup import SetupScreen
    from alita_tui.console.setup import SetupResult
    from alita_tui.spine.commands import Command
    from alita_tui.spine.envelope import Envelope
    from alita_tui.spine.inventory import Inventory
    from alita_tui.spine.values import Lineage, MoveKind, ToolRecord
    from alita_tui.view.habits import Habits
    from alita_tui.wiring.house import House
    from alita_tui.wiring.live import Live


def open_console(home: Path | None = None, session: str | None = None, model: str | None = None) -> None:
    """Open the console on a new session or on `session`; switching opens the next one in its place."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.terminal import need_terminal

    need_terminal()
    gc.disable()  # until the first paint: nothing that is made on the way there is garbage
    house = House.open(home, {"model": model})
    house.paths.prepare()
    if not house.loaded.settings.configured and session is None:
        result = asyncio.run(_setup(house))
        if result is None:
            return
        house = House.open(home, {"model": model})
    _go_on(house, *asyncio.run(_live(house, session)))


def open_replay(home: Path | None, session: str | None, at: int | None = None) -> None:
    """Open the console on a recording, at an event: no engine, no sandbox, nowhere to send a command."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.terminal import need_terminal

    need_terminal()
    house = House.open(home, strict=False)
    house.paths.prepare()
    _go_on(house, *asyncio.run(_replay(house, session, at)))


def _go_on(house: House, code: int, switch: Switch | None) -> None:
    """Open what was asked for on leaving, until nothing is; ends the process."""
    while switch is not None:
        code, switch = asyncio.run(_live(house, switch.session_id or None))
    sys.exit(code)


def open_setup(home: Path | None) -> None:
    """Open the wizard by itself."""
    import typer

    from alita_tui.wiring.house import House
    from alita_tui.wiring.terminal import need_terminal

    need_terminal()
    house = House.open(home, strict=False)
    house.paths.prepare()
    if asyncio.run(_setup(house)) is not None and not house.shelf.cards():
        typer.echo("Some tools come with alita and wait for your approval: alita tools starters")


class Arriving:
    """A session that opens after the first paint. Meets `EventSource` and `CommandSink`."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[Live] = asyncio.get_running_loop().create_future()
        self._early: list[Command] = []

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        opened = await asyncio.shield(self.opened)  # a reader that goes takes nothing with it
        async for envelope in opened.source:
            yield envelope

    def arrive(self, opened: Live) -> None:
        """It is open: what was sent before is sent now."""
        self.opened.set_result(opened)
        for command in self._early:
            opened.send(command)

    def send(self, command: Command) -> None:
        """See `CommandSink.send`."""
        if self.opened.done():
            self.opened.result().send(command)
        else:
            self._early.append(command)


class SessionUpkeep:
    """Meets the console's `Upkeep` once the session is open."""

    def __init__(self, opened: asyncio.Future[Live]) -> None:
        self._opened = opened

    async def look(self) -> Inventory:
        """See `Upkeep.look`."""
        return await (await asyncio.shield(self._opened)).look()

    async def reap(self) -> tuple[int, int]:
        """See `Upkeep.reap`."""
        return await (await asyncio.shield(self._opened)).reap()

    async def rebuild(self) -> None:
        """See `Upkeep.rebuild`."""
        await (await asyncio.shield(self._opened)).rebuild()


class HouseCatalog(HouseKeeper):
    """Meets the console's `Catalog` from the house's stores."""

    def __init__(self, house: House, painted: asyncio.Event | None = None) -> None:
        super().__init__(house)
        self._painted = painted

    async def tool(self, name: str, version: int | None = None) -> ToolRecord:
        """See `Catalog.tool`."""
        return await asyncio.to_thread(self._house.shelf.get, name, version)

    async def lineage(self, name: str) -> Lineage:
        """See `Catalog.lineage`."""
        from alita_tui.wiring.records import lineage

        return await asyncio.to_thread(lineage, self._house, name)

    async def move(self, name: str, kind: MoveKind | Literal["undo"], version: int | None) -> Lineage:
        """See `Catalog.move`."""
        from alita_tui.wiring.identity import me
        from alita_tui.wiring.records import lineage

        kept = self._house.lineages("console")
        if kind == "undo":
            await asyncio.to_thread(kept.undo, name, by=me())
        else:
            await asyncio.to_thread(kept.move, name, kind, version, by=me())
        return await asyncio.to_thread(lineage, self._house, name)

    async def days(self) -> tuple[DayLine, ...]:
        """See `Catalog.days`."""
        from alita_tui.console.ports import DayLine

        found = await asyncio.to_thread(lambda: self._house.spend_book("").days())
        return tuple(DayLine(day=day, usd=spent.usd, tokens=spent.tokens) for day, spent in found.items())

    async def habits(self) -> Habits:
        """See `Catalog.habits`."""
        from alita_tui.view.habits import Look, habits

        entries = await asyncio.to_thread(self._house.audit.entries)
        return habits(
            [
                Look(one.seen_ms, one.scrolled_to_end)
                for one in entries
                if one.via == "console" and one.on_build
            ]
        )

    async def prices(self) -> str:
        """See `Catalog.prices`."""
        from alita_tui.llm.prices import table_of
        from alita_tui.wiring.identity import now

        return f"prices: {await asyncio.to_thread(table_of, now().date())}"

    async def settings(self) -> tuple[SettingLine, ...]:
        """See `Catalog.settings`."""
        return await asyncio.to_thread(_setting_lines, self._house)

    async def change_setting(self, key: str, value: str) -> tuple[SettingLine, ...]:
        """See `Catalog.change_setting`."""
        from alita_tui.config.write import set_value

        await asyncio.to_thread(set_value, self._house.paths, key, value)
        return await self.settings()

    async def save_theme(self, name: str) -> None:
        """See `Catalog.save_theme`."""
        from alita_tui.config.write import set_value

        await asyncio.to_thread(set_value, self._house.paths, "console.theme", name)

    async def wizard(self) -> SetupScreen:
        """See `Catalog.wizard`."""
        from alita_tui.cli.wizard import wizard

        return await wizard(self._house)

    async def suggestions(self) -> tuple[str, ...]:
        """See `Catalog.suggestions`."""
        return await asyncio.to_thread(lambda: self._house.suggestions)

    async def preload(self) -> None:
        """See `Catalog.preload`."""
        gc.freeze()
        gc.enable()
        if self._painted is not None:
            self._painted.set()
        if not self._house.demo:
            from alita_tui.llm.factory import preload

            await preload(self._house.loaded.settings.model.provider)


def _setting_lines(house: House) -> tuple[SettingLine, ...]:
    """As the files and the environment are now, with the flags of this process."""
    from alita_tui.config import catalogue
    from alita_tui.config.load import load
    from alita_tui.console.ports import SettingLine

    loaded = load(house.paths, house.environ, house.flags, strict=False)
    return tuple(
        SettingLine(
            key=key,
            value=catalogue.written(loaded.value(key)),
            origin=loaded.origin(key),
            meaning=catalogue.meaning(key),
            default=catalogue.written(field.default),
        )
        for key, field in catalogue.fields().items()
    )


def _options(house: House) -> ConsoleOptions:
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
    )


async def _live(house: House, session: str | None) -> tuple[int, Switch | None]:
    """One session on screen until it is left; its engine runs beside it on the same loop."""
    from alita_tui.console.app import AlitaApp
    from alita_tui.console.terminal import guarded_screen
    from alita_tui.replay.playback import LiveTape
    from alita_tui.wiring.live import close, live, open_file

    # A session that was asked for is opened first: what is wrong with it is said without a screen.
    file = await asyncio.to_thread(open_file, house, session) if session is not None else None
    painted = asyncio.Event()
    session_to_be = Arriving()
    tape = LiveTape()

    async def serve() -> None:
        # The engine's own imports would share the interpreter with the first paint.
        await painted.wait()
        opened = await live(house, file, parks=False)
        opened.seen = tape.newest
        tape.follow(opened.bus.history)
        session_to_be.arrive(opened)
        await opened.run()

    engine = asyncio.create_task(serve(), name="alita engine")
    app = AlitaApp(
        session_to_be,
        session_to_be,
        catalog=HouseCatalog(house, painted),
        options=_options(house),
        upkeep=SessionUpkeep(session_to_be.opened),
        tape=tape,
    )
    engine.add_done_callback(lambda done: app.exit() if not done.cancelled() and done.exception() else None)
    with guarded_screen(house.paths.log):
        switch = await app.run_async(mouse=house.loaded.settings.console.mouse)
    painted.set()
    await asyncio.wait((engine, session_to_be.opened), return_when=asyncio.FIRST_COMPLETED)
    if not engine.done():
        await close(session_to_be.opened.result(), engine)
    else:
        engine.result()
    return app.return_code or 0, switch


async def _replay(house: House, session: str | None, at: int | None) -> tuple[int, Switch | None]:
    from rich import console

    from alita_tui.console.app import AlitaApp
    from alita_tui.console.terminal import guarded_screen
    from alita_tui.replay.playback import Playback
    from alita_tui.replay.recording import Recording
    from alita_tui.spine.text import one_line
    from alita_tui.wiring.records import history

    damaged: list[str] = []
    with console.Console(stderr=True).status("Opening the session …"):
        envelopes = await asyncio.to_thread(history, house, session, damaged.append)
        playback = Playback(await asyncio.to_thread(Recording.prepared, envelopes))
    if at is not None:
        playback.seek_seq(at)
    app = AlitaApp(playback, None, catalog=HouseCatalog(house), options=_options(house), playback=playback)
    for note in damaged:
        app.call_later(app.notify, one_line(note, 300), severity="warning", markup=False, timeout=30)
    with guarded_screen(house.paths.log):
        switch = await app.run_async(mouse=house.loaded.settings.console.mouse)
    return app.return_code or 0, switch


async def _setup(house: House) -> SetupResult | None:
    from alita_tui.cli.wizard import run_wizard

    return await run_wizard(house, _options(house))
