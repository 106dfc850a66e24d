"""The first screenful of the real review, 80 by 24, as what a person reads: its lines, and what is marked on it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rich.segment import Segment
from textual.color import Color as Colour

from alita_tui.spine.envelope import Envelope
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.attack.drafts.toolsmith import Made
from tests.console.approval_host import Host

SIZE = (80, 24)
_BORDERS = re.compile(r"^[\s│┃▌▏▕┊╎|]+")


@dataclass(frozen=True)
class Screenful:
    """What is on the screen when a review opens."""

    lines: tuple[str, ...]
    things: tuple[str, ...]
    """What is marked in the colours of an alarm or a warning, from the top, each as one line."""


class Reader:
    """Opens reviews, one after another, in one console without a terminal."""

    def __init__(
        self, app: Host, pause: asyncio.Queue[tuple[tuple[Envelope, ...], asyncio.Future[Screenful]]]
    ) -> None:
        self._app = app
        self._asked = pause

    async def read(self, made: Made) -> Screenful:
        """What a person sees first of a build that waits."""
        answer: asyncio.Future[Screenful] = asyncio.get_running_loop().create_future()
        await self._asked.put((made.history, answer))
        return await answer


@asynccontextmanager
async def reader() -> AsyncIterator[Reader]:
    """A console that is open as long as this lasts."""
    app = Host(SessionView())
    asked: asyncio.Queue[tuple[tuple[Envelope, ...], asyncio.Future[Screenful]]] = asyncio.Queue()

    async def serve() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            app.pop_screen()
            while True:
                history, answer = await asked.get()
                try:
                    app.view = fold_all(history)
                    app.open()
                    await pilot.pause()
                    await pilot.pause()
                    answer.set_result(_seen(app))
                    app.pop_screen()
                    await pilot.pause()
                except Exception as error:
                    if not answer.done():
                        answer.set_exception(error)

    serving = asyncio.create_task(serve())
    try:
        yield Reader(app, asked)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def _seen(app: Host) -> Screenful:
    colours = [
        Colour.parse(app.theme_variables[name]).rgb
        for name in ("error", "warning", "alita-bad", "alita-warn")
    ]
    strips = app.screen._compositor.render_strips()
    lines: list[str] = []
    things: list[str] = []
    column = None  # of the text of the thing that the line above belongs to
    for strip in strips:
        text = "".join(segment.text for segment in strip if not segment.control).rstrip()
        lines.append(text)
        plain = _BORDERS.sub("", text).strip()
        margin = len(text) - len(_BORDERS.sub("", text))
        if _marked(strip, colours) and not plain[:1].isalnum():
            things.append(plain)
            column = margin + 2
        elif column is not None and plain[:1].isalnum() and margin >= column:
            things[-1] += f" {plain}"
        else:
            column = None
    return Screenful(tuple(lines), tuple(things))


def _marked(strip: Iterable[Segment], colours: Sequence[Sequence[int]]) -> bool:
    """Whether a line begins in one of these colours."""
    seen = (one for one in strip if not one.control and _BORDERS.sub("", one.text).strip())
    first = next(seen, None)
    colour = first.style.color.triplet if first and first.style and first.style.color else None
    return colour is not None and any(_near(colour, one) for one in colours)


def _near(one: Sequence[int], other: Sequence[int]) -> bool:
    """The same colour, but for how it was rounded."""
    return all(abs(a - b) <= 3 for a, b in zip(one, other, strict=True))
