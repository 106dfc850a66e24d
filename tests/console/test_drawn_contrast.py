"""Contrast of what is painted: cursor, selection and focus in every theme, cell by cell, not token by token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rich.style import Style
from textual.color import Color
from textual.pilot import Pilot

from alita_tui.console.app import AlitaApp
from alita_tui.console.review.evidence import Evidence
from alita_tui.console.session.trace import Trace
from tests.console.approval_host import Host
from tests.console.navigating import until
from tests.console.screens import console, drawn
from tests.console.test_review_first_screen import changed, found
from tests.console.test_themes import BUILT_IN, ratio
from tests.support import streams

LEAST = 4.5
_DRAWING = set(" ·│─━┃╸╺▌▏▎▍▋▊▉█▁▂▃▄▅▆▇▔▕┄┊┌┐└┘├┤┬┴┼╭╮╯╰")
"""Rules, bars, edges: not text."""
THEMES = pytest.mark.parametrize("theme", [path.stem for path in BUILT_IN])


def _cells(app: Any) -> Iterator[tuple[int, int, str, Style]]:
    """Each painted character that is text, with its place."""
    for row, strip in enumerate(app.screen._compositor.render_strips()):
        column = 0
        for segment in strip:
            if segment.control:
                continue
            for char in segment.text:
                if char not in _DRAWING and segment.style is not None:
                    yield row, column, char, segment.style
                column += 1


def _colours(style: Style) -> tuple[Color, Color] | None:
    """Ink and paper as the terminal shows them."""
    if style.color is None or style.bgcolor is None:
        return None
    ink, paper = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    return (paper, ink) if style.reverse else (ink, paper)


def poor(app: Any) -> dict[str, float]:
    """Text on screen with too little contrast, by the line that it is in and its colours."""
    pairs: dict[str, float] = {}
    for row, _column, char, style in _cells(app):
        colours = _colours(style)
        assert colours is not None, f"{char!r} in line {row} has no colours of its own"
        if (seen := ratio(*colours)) < LEAST:
            pairs[f"line {row}: {char!r} {colours[0].hex} on {colours[1].hex}"] = round(seen, 2)
    return pairs


def papers(app: Any) -> set[str]:
    return {colours[1].hex for *_, style in _cells(app) if (colours := _colours(style))}


async def _settle(pilot: Pilot[Any]) -> None:
    for _ in range(3):
        await pilot.pause()


@THEMES
async def test_a_review_with_a_chosen_row_and_a_field_with_the_focus(theme: str) -> None:
    view = changed(findings=(found("ast/introspection", line=20), found("ast/environment", "medium", line=3)))
    app = Host(view, theme=theme)
    async with app.run_test(size=(120, 36)) as pilot:
        app.review.query_one(Evidence).focus()
        await _settle(pilot)
        before = papers(app)
        await pilot.press("down")
        await _settle(pilot)
        assert papers(app) != before, "the chosen row has a paper of its own"
        assert poor(app) == {}
        app.at += 2000
        app.review.tick()
        await pilot.press("r")
        await until(pilot, lambda: app.review.bar.mode == "reject")
        await pilot.press("n", "o")
        await _settle(pilot)
        assert poor(app) == {}


@THEMES
async def test_the_trace_with_its_cursor_and_with_selected_text(theme: str) -> None:
    envelopes = streams.waiting()
    app: AlitaApp = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        app.theme = theme
        trace = app.main.query_one(Trace)
        trace.focus()
        await pilot.press("up")
        await _settle(pilot)
        assert poor(app) == {}
        await pilot.mouse_down(trace, offset=(4, 2))
        await pilot.hover(trace, offset=(40, 6))
        await pilot.mouse_up(trace, offset=(40, 6))
        await _settle(pilot)
        assert app.main.selections, "text is selected"
        assert poor(app) == {}


def test_dim_text_is_distinguished_from_legible_text() -> None:
    grey = Style(color="#777777", bgcolor="#555555")
    colours = _colours(grey)
    assert colours is not None and ratio(*colours) < LEAST
    swapped = _colours(grey + Style(reverse=True))
    assert swapped == (colours[1], colours[0])
