"""A tool's line of versions on screen: looked at, moved, taken back; a recording moves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest
from textual.pilot import Pilot

from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.library.tool import ToolScreen, _rows
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.events import BuildDigest, Lineage, Move, ToolRecord
from alita_tui.spine.commands import RefreshLibrary
from alita_tui.spine.errors import DigestMismatch
from tests.console.screens import MOVED, Catalog, Sink, Source, console, drawn
from tests.support import streams

SIZES = [(80, 24), (120, 36), (200, 55)]


@pytest.fixture(autouse=True)
def _nothing_moved() -> None:
    MOVED.clear()


async def until(pilot: Pilot[Any], done: Callable[[], object]) -> None:
    async with asyncio.timeout(180):
        while not done():
            await pilot.pause()


async def opened(app: AlitaApp, pilot: Pilot[Any]) -> ToolScreen:
    await drawn(pilot, streams.walkthrough()[-1].seq)
    app.open_tool(streams.DRAFT.name)
    await until(pilot, lambda: isinstance(app.screen, ToolScreen) and app.screen.query(Sheet))
    assert isinstance(app.screen, ToolScreen)
    return app.screen


def text(screen: ToolScreen) -> str:
    return screen.query_one(Sheet).text()


@pytest.mark.parametrize("size", SIZES)
async def test_the_lineage_and_its_moves_are_shown(size: tuple[int, int]) -> None:
    app = console(streams.walkthrough(), sink=Sink())
    async with app.run_test(size=size) as pilot:
        screen = await opened(app, pilot)
        shown = text(screen)
        assert "v2   trusted" in shown and "v1   archived" in shown
        assert "from v1" in shown and "41 runs, 3 failed" in shown
        assert "$0.0461 to build" in shown
        assert "archive v1 by ada: v2 is faster" in shown
        assert streams.DRAFT.code.splitlines()[4] in shown and "def test_accepts" in shown
        assert "v2  trusted" in str(screen.query_one("#head", Plain).content)
        await pilot.press("left_square_bracket")
        assert "v1  archived" in str(screen.query_one("#head", Plain).content)
        await pilot.press("left_square_bracket", "right_square_bracket", "right_square_bracket")
        assert "v2  trusted" in str(screen.query_one("#head", Plain).content)


@pytest.mark.parametrize(
    ("key", "kind"),
    [("b", "rollback"), ("a", "archive"), ("z", "quarantine"), ("x", "revoke"), ("s", "restore"), ("p", "pin"), ("u", "undo")],
)  # fmt: skip
async def test_each_move_is_one_key_and_reaches_the_session(key: str, kind: str) -> None:
    sink = Sink()
    app = console(streams.walkthrough(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(app, pilot)
        await pilot.press(key)
        await until(pilot, lambda: sink.commands and "taken back" in text(screen))
        assert MOVED == [(streams.DRAFT.name, kind, 2)]
        assert sink.commands == [RefreshLibrary()]
        assert app.screen is screen
        assert "taken back" in text(screen), "the line is drawn anew"


async def test_a_recording_moves_nothing() -> None:
    options = ConsoleOptions(builtin_themes=shipped("themes"), reduced_motion=True)
    app = AlitaApp(Source(streams.walkthrough()), None, catalog=Catalog(), options=options)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(app, pilot)
        assert "revoke" not in str(screen.query_one("#keys", Plain).content)
        await pilot.press("x", "b", "a", "z", "s", "p", "u")
        await pilot.pause()
        assert MOVED == []


async def test_a_version_that_does_not_run_says_why() -> None:
    class Changed(Catalog):
        async def tool(self, name: str, version: int | None = None) -> ToolRecord:
            if version is not None:
                raise DigestMismatch("The files are not the ones that were approved.", hint="Put them back.")
            return await super().tool(name)

    options = ConsoleOptions(builtin_themes=shipped("themes"), reduced_motion=True)
    app = AlitaApp(Source(streams.walkthrough()), Sink(), catalog=Changed(), options=options)
    async with app.run_test(size=(120, 36)) as pilot:
        assert "not the ones that were approved" in text(await opened(app, pilot))


def test_one_run_and_no_cost_are_worded_naturally() -> None:
    record = ToolRecord(
        draft=streams.DRAFT, lock=streams.LOCK, version=1, digest=BuildDigest("f" * 64), state="provisional", runs=1, approval_id="p1",
        created_at="2026-11-28T20:46:36+00:00",
    )  # fmt: skip
    shown = "\n".join(
        row.text
        for row in _rows(Lineage(name="t", versions=(record,), current=1, spent_usd={1: 0.0}), record, "")
    )
    assert "1 run ·" in shown and "$0.00 to build" in shown
    assert "more" not in shown and "on 2026-11-28 20:46" in shown and "$0.000" not in shown


def test_other_names_are_shown_with_the_moves_that_gave_and_took_them() -> None:
    record = ToolRecord(
        draft=streams.DRAFT,
        version=1,
        digest=streams.DIGEST,
        state="trusted",
        lock=streams.LOCK,
        approval_id="p1",
    )
    changes: tuple[tuple[Literal["alias", "unalias"], str, str], ...] = (
        ("alias", "", "sift_mails"),
        ("unalias", "old_name", ""),
    )
    moves = tuple(
        Move(
            name=record.draft.name,
            version=1,
            kind=kind,
            before=before,
            after=after,
            by="ada",
            at="2026-11-21",
        )
        for kind, before, after in changes
    )
    lineage = Lineage(
        name=record.draft.name, versions=(record,), current=1, moves=moves, aliases=("sift_mails", "x\u202ey")
    )
    said = "\n".join(str(row) for row in _rows(lineage, record, ""))
    assert "also called" in said and "sift_mails" in said and "\u202e" not in said
    assert "alias sift_mails v1 by ada" in said and "unalias old_name v1 by ada" in said
