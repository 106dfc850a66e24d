"""The lines that cards are made of, and how they give way when there is little room."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from alita_tui.console.session.inline_pictures import Slice
from alita_tui.console.session.result_table import result_lines
from alita_tui.console.session.trace_lines import MARGIN, detail, glyph, words
from alita_tui.console.widgets.styled_text import Line, Piece, at_words, clip, spread, width_of
from alita_tui.events.build import CHECKS
from alita_tui.view.cards import Card, Deck
from alita_tui.view.feedback import MARKS
from alita_tui.view.model import TraceRow

VERB = 9
"""Cells of a step's verb."""
PROSE = 88
"""Cells that prose takes at most, so that the eye finds the next line."""
CARD = 112
"""Cells that a step takes at most, so that its time stays near its words."""
_TITLE, _ENDED = max(len(check.title) for check in CHECKS.values()), len("could not run")
"""Cells of what a check is called, and of how it ended."""
_CHECK = re.compile(
    f"({'|'.join(re.escape(check.title) for check in CHECKS.values())}) (passed|failed|could not run): (.*)"
)
_PREVIEW = 12
"""Lines of a result that an opened step shows at once."""


class Drawn(NamedTuple):
    """A line of a card."""

    row: int
    """Of an opened card, the row that the line belongs to; -1 for the card itself."""
    line: Line
    paper: str = ""
    """Style of what is behind the whole line; empty for the screen's own."""
    picture: Slice | None = None
    """The line of a picture that stands here."""


def style_of(row: TraceRow) -> str:
    """Return the style of a row's mark."""
    style = row.tone if row.tone in ("good", "warn", "bad", "wait") else row.kind
    return {"session": "muted", "unknown": "muted", "error": "bad", "thought": "muted"}.get(style, style)


def rows_of(deck: Deck, card: Card, width: int, *, preview: bool) -> list[Drawn]:
    """Return the rows of an opened card, each with its text where it is opened."""
    lines: list[Drawn] = []
    for at in card.rows:
        row = deck.rows[at]
        chosen = at in deck.whole
        if preview and not chosen and row.kind in ("observation", "action", "run"):
            table = result_lines(str(row.detail), max(width - MARGIN - 2, 10))
            if table:
                lines += _tabled(at, row, table, width)
                continue
        head: Line = ((" │ ", "line"), (f"{glyph(row)} ", style_of(row)), *(_check(row) or words(row)))
        lines.append(Drawn(at, _spread_at_words(head, str(row.meta), width)))
        if not (chosen or preview) or not row.detail:
            continue
        text = detail(row, max(width - MARGIN - 2, 10))
        if preview and not chosen and len(text) > _PREVIEW:
            more = len(text) - _PREVIEW + 1
            text = [*text[: _PREVIEW - 1], ((f"… {more} more lines: Enter on this row shows them", "muted"),)]
        elif preview and len(text) == 1 and row.detail == row.title:
            continue
        lines += [Drawn(at, clip(((" │   ", "line"), *line), width)) for line in text]
    return lines


def _tabled(at: int, row: TraceRow, table: Sequence[Line], width: int) -> list[Drawn]:
    """Return arguments or a result told in words, and how to see a result as it came."""
    title: Line = (("Result", "observation"),) if row.kind == "observation" else words(row)
    head: Line = ((" │ ", "line"), (f"{glyph(row)} ", style_of(row)), *title)
    hint: Line = (
        (("Enter on this row shows it whole, as JSON", "muted"),) if row.kind == "observation" else ()
    )
    return [
        Drawn(at, _spread_at_words(head, str(row.meta), width)),
        *(Drawn(at, clip(((" │   ", "line"), *line), width)) for line in (*table, hint) if line),
    ]


def _check(row: TraceRow) -> Line:
    """Return the row of a check with what it is called, how it ended and what it saw each in its column."""
    match = _CHECK.match(str(row.title)) if row.kind == "build" else None
    if match is None:
        return ()
    title, ended, seen = match.groups()
    tone = row.tone if row.tone != "normal" else "muted"
    return ((f"{title:<{_TITLE}}  ", "observation"), (f"{ended:<{_ENDED}}  ", tone), (seen, "observation"))


def rating_mark(deck: Deck, card: Card) -> str:
    """Return the mark of what the person said of a card; empty where they said nothing."""
    rating = deck.ratings.get(card.at)
    return "" if rating is None else MARKS[rating]


def ruled(line: Line) -> Line:
    """Return a line beneath an opened card, behind a rule."""
    return ((" │ ", "line"), *line)


def fitted(left: Line, figures: Sequence[Piece], width: int) -> Line:
    """Return a line with figures at its right edge; they give way first, then the text at a word."""
    shown = [figure for figure in figures if figure[0]]
    while shown and width_of(left) + 1 + sum(len(text) + 2 for text, style_of in shown) > max(width, 24) + 1:
        if len(shown) == 1 and width_of(left) > width - 8 and len(shown[0][0]) <= 8 and width >= 40:
            break  # the text is cut anyhow; a short figure may stay
        shown.pop(0)
    right: list[Piece] = []
    for text, style in shown:
        right += [("  ", ""), (text, style)]
    room = width - width_of(tuple(right))
    text_pieces = left if width_of(left) <= room else _cut_line(left, room)
    return clip((*text_pieces, (" " * (room - width_of(text_pieces)), ""), *right), width)


def _spread_at_words(left: Line, figure: str, width: int) -> Line:
    """Return a line with a figure at its right edge, for which the text gives way at a word."""
    room = width - cell_len(figure) - 1 if figure else width
    return spread(_cut_line(left, max(room, 12)), (figure, "muted"), width)


def _cut_line(line: Line, width: int) -> Line:
    """Return a line cut to `width` cells, at a word where one is near."""
    pieces: list[Piece] = []
    room = width
    for text, style in line:
        if cell_len(text) > room:
            bare = text.rstrip()  # a column of a table is filled with blanks
            short = at_words(bare, room, before=width - room)
            if short != bare:
                pieces += [(short, style)] if short else []
                break
            text = bare + " " * (room - cell_len(bare))
        pieces.append((text, style))
        room -= cell_len(text)
    return tuple(pieces)
