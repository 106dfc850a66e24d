"""The screen of the next call: switching, looking again, hostile text."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual.widgets import OptionList

from alita_tui import agent
from alita_tui import events as e
from alita_tui.console.app import AlitaApp
from alita_tui.console.context.screen import ContextScreen
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.console.widgets.styled_text import rejoined, wrap
from alita_tui.spine.commands import SwitchBlock
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.spine.ports.context import NextCall
from tests.console.navigating import until
from tests.console.screens import NEXT_CALL, Sink, at_main, console, covered, drawn
from tests.support import goldens

PROMPTS = Path(agent.__file__).parent / "prompts"


class Source(Sink):
    """Takes commands, and tells more events when asked."""

    def __init__(self, envelopes: list[Envelope]) -> None:
        super().__init__()
        self.more: asyncio.Queue[Envelope] = asyncio.Queue()
        for envelope in envelopes:
            self.more.put_nowait(envelope)

    async def __aiter__(self):
        while True:
            yield await self.more.get()


def opened(sink: Sink, look) -> AlitaApp:
    app = console(goldens.walkthrough(), sink=sink)
    app._catalog.next_call = look  # type: ignore[method-assign]
    return app


async def asked(session_id: str) -> NextCall:
    return NEXT_CALL


def test_a_prompt_is_not_broken_where_it_was_wrapped_for_a_wider_page() -> None:
    for path in sorted(PROMPTS.glob("*.md")):
        text = path.read_text("utf-8")
        lines = wrap(rejoined(text, 107), 107)
        assert "".join(lines).replace(" ", "") == "".join(text.split()), path.name
        for line, following in zip(lines, lines[1:], strict=False):
            word = following.split(maxsplit=1)[:1]
            ends = (
                not line
                or not word
                or re.match(r"\s*([-#]|\d+\.|<)", following)
                or line.endswith((":", ".", "}"))
            )
            assert ends or len(line) + 1 + len(word[0]) > 80, (path.name, line, following)
    assert rejoined("a\nb", 80) == "a\nb", "what fits is shown as it is"


def place_of(name: str) -> int:
    return next(n for n, part in enumerate(NEXT_CALL.parts) if part.name == name)


def said(app: AlitaApp) -> str:
    return str(app.screen.query_one("#said", Plain).render())


async def open_it(pilot) -> OptionList:
    await drawn(pilot, goldens.walkthrough()[-1].seq)
    await pilot.press("shift+f2")
    await covered(pilot)
    await pilot.pause()
    assert isinstance(pilot.app.screen, ContextScreen)
    listed = pilot.app.screen.query_one(OptionList)
    async with asyncio.timeout(180):
        while not listed.option_count:
            await pilot.pause(0.01)
    return listed


async def test_a_key_switches_a_block_and_nothing_else() -> None:
    sink = Sink()
    app = opened(sink, asked)
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await open_it(pilot)
        assert listed.option_count == len(NEXT_CALL.parts)
        await pilot.press("space")
        assert sink.commands == [] and "cannot be switched off" in said(app)
        listed.highlighted = place_of("library")
        await pilot.press("space")
        listed.highlighted = place_of("memory")
        await pilot.press("space")
        await pilot.pause()
        await pilot.click(OptionList, offset=(6, 4))  # to read a part is not to switch it
        await pilot.pause()
        assert sink.commands == [SwitchBlock(block="library", on=False), SwitchBlock(block="memory", on=True)]
        await pilot.press("escape")
        assert at_main(app)


async def test_the_text_of_the_chosen_part_is_shown_harmless() -> None:
    app = opened(Sink(), asked)
    async with app.run_test(size=(80, 24)) as pilot:
        listed = await open_it(pilot)
        sheet = app.screen.query_one(Sheet)
        listed.highlighted = place_of("earlier")
        await pilot.pause()
        assert sheet.text() == "Earlier in this session: [b]two tasks[/b] red"
        listed.highlighted = place_of("memory")
        await pilot.pause()
        assert "It is off" in sheet.text() and "earlier sessions" in sheet.text()
        listed.highlighted = place_of("documents")
        await pilot.pause()
        assert "nothing to send" in sheet.text()
        assert "18,431 tokens: 58 % of a window of 32,000, which is assumed" in said(app)


async def test_new_events_reload_the_context_screen_and_keep_the_choice() -> None:
    envelopes = goldens.walkthrough()
    looks: list[str] = []

    async def look(session_id: str) -> NextCall:
        looks.append(session_id)
        parts = tuple(
            replace(part, on=False, tokens=0, text="") if part.name == "library" else part
            for part in NEXT_CALL.parts
        )
        return replace(
            NEXT_CALL,
            parts=parts if len(looks) > 1 else NEXT_CALL.parts,
            problems=("documents: gone",) if len(looks) > 1 else (),
        )

    source = Source(envelopes)
    app = opened(source, look)
    app._stage._source = source
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await open_it(pilot)
        listed.highlighted = place_of("library")
        await pilot.pause()
        last = envelopes[-1]
        news = (e.SessionResumed(restored=last.seq or 0), e.ContextSwitched(block="library", on=False))
        for number, event in enumerate(news, (last.seq or 0) + 1):
            source.more.put_nowait(replace(last, seq=number, event=event))
        async with asyncio.timeout(180):
            while "off" not in str(listed.get_option_at_index(place_of("library")).prompt):
                await pilot.pause(0.05)
        assert listed.highlighted == place_of("library") and {*looks} == {last.session_id}
        assert "not sent: documents: gone" in said(app)
        assert "It is off" in app.screen.query_one(Sheet).text()


async def test_an_unreadable_session_is_reported() -> None:
    async def look(session_id: str) -> NextCall:
        raise StoreError("The session is damaged.")

    app = opened(Sink(), look)
    async with app.run_test(size=(80, 24)) as pilot:
        await drawn(pilot, goldens.walkthrough()[-1].seq)
        await pilot.press("shift+f2")
        await covered(pilot)
        async with asyncio.timeout(180):
            while "damaged" not in said(app):
                await pilot.pause(0.01)
        await pilot.press("space", "escape")
        assert at_main(app)


@pytest.mark.parametrize("width", [40, 60, 80, 136])
async def test_every_part_takes_one_line(width: int) -> None:
    app = opened(Sink(), asked)
    async with app.run_test(size=(width, 36)) as pilot:
        listed = await open_it(pilot)
        await until(pilot, lambda: listed.option_count)
        room = listed.scrollable_content_region.width
        rows = [str(listed.get_option_at_index(n).prompt) for n in range(listed.option_count)]
        assert len(rows) == len(NEXT_CALL.parts)
        for part, row in zip(NEXT_CALL.parts, rows, strict=True):
            assert cell_len(row.rstrip()) <= room, row
            assert f"{part.tokens:,}" in row and part.name.split()[0] in row
