"""How a card of the trace looks: pure functions from a deck and a width to styled lines.

One thing leads: the answer has full ink and a bold headline, a task is bold on a band, and the steps between
are one muted line each in the same columns: mark, verb, object, result, time. What waits for a person has a bar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace
from rich.cells import cell_len

from alita_tui.console.session.build_lines import EDGE, build_lines
from alita_tui.console.session.card_parts import (
    CARD,
    PROSE,
    VERB,
    Drawn,
    fitted,
    rating_mark,
    rows_of,
    ruled,
    style_of,
)
from alita_tui.console.session.inline_pictures import ROWS, WIDEST, Slice, pictures_of
from alita_tui.console.session.trace_lines import MARGIN, detail, glyph, words
from alita_tui.console.widgets.styled_text import Line, Piece, at_words, clip, cut, spread, width_of, wrap
from alita_tui.spine.text import one_line
from alita_tui.state.build import BuildState
from alita_tui.view.card_words import (
    evidence,
    files_of,
    section_summary,
    step_line,
)
from alita_tui.view.cards import Card, CardKind, Deck
from alita_tui.view.lanes import lane_of
from alita_tui.view.model import TraceRow

BuildOf = Callable[[str], BuildState | None]
"""Returns a build by its id."""

NEAR = 64
"""Cards looked back at for one that is shown, to tell whether a blank line is above; folded ones may be many."""
_BLANK = Drawn(-1, ())
PAPERS = {"band": "on surface", "waiting": "on panel", "chip": "foreground on panel"}
"""Papers used here, for `theme_styles`."""
_LEAST = 8
"""Cells in which a result says something; with fewer it gives way."""
_SHOWN = {"task": 6, "said": 6, "question": 12, "answer": 400}
"""Lines shown of a closed card, by kind; others get one."""
_SENT = " sent"
"""Stands where the time of a task will be, and is as wide, so that nothing moves."""
_STEP_GLYPHS = {
    "Searched": "⌕",
    "Web": "⌕",
    "Read": "⌕",
    "Looked": "⌕",
    "Ran": "▸",
    "Waited": "◌",
    "Build": "◆",
}
_STEP_STYLES = {"Ran": "run", "Build": "build"}


def draw(deck: Deck, index: int, width: int, build_of: BuildOf, review: str = "") -> list[Drawn]:
    """Return the lines of a card; none while it is folded away. `review` is the key that opens a review."""
    card = deck.cards[index]
    if deck.hidden(card):
        return []
    lines = _drawn(deck, index, width, build_of, review)
    if lines[:1] == [_BLANK] and _below_blank(deck, index, build_of):
        lines = lines[1:]
    lane = next(filter(None, (lane_of(deck.rows[row]) for row in card.rows)), "")
    return _marked(lines, lane) if lane else lines


def _below_blank(deck: Deck, index: int, build_of: BuildOf) -> bool:
    """Return True if nothing is above a card, or a blank line."""
    for card in reversed(deck.cards[max(index - NEAR, 0) : index]):
        if not deck.hidden(card):
            return _ends_blank(deck, card, build_of)
    return index == 0


def _ends_blank(deck: Deck, card: Card, build_of: BuildOf) -> bool:
    """Return True if the last line of a card is blank: what is opened is parted from what follows."""
    if card.kind in ("task", "steps", "answer"):
        return True
    build = build_of(card.build) if card.kind == "build" else None
    waits = build is not None and build.status == "pending"
    return waits or (deck.opened(card) and card.kind not in ("said", "question"))


def _marked(lines: list[Drawn], lane: str) -> list[Drawn]:
    """Return the lines with the letter of the task in the margin, or in the edge, of the first that has one."""
    for number, line in enumerate(lines):
        if line.line and line.line[0][0].startswith((" ", EDGE)):
            (text, style), *rest = line.line
            ink = "wait" if text == EDGE else "muted"
            marked = line._replace(line=((lane, ink), (text[1:], style), *rest))
            return [*lines[:number], marked, *lines[number + 1 :]]
    return lines


def _drawn(deck: Deck, index: int, width: int, build_of: BuildOf, review: str) -> list[Drawn]:
    card = deck.cards[index]
    width -= 1  # a blank at the right edge, as at the left
    if card.kind == "steps":
        return [*_header(deck, card, min(width, CARD)), _BLANK]
    row = deck.rows[card.rows[0]]
    opened = deck.opened(card)
    match card.kind:
        case "task" | "said":
            return _task(card.kind, row, min(width, CARD), opened)
        case "answer":
            return _answer(deck, card, row, width, opened)
        case "question":
            return [
                Drawn(-1, line)
                for line in _read(row, "question", width, 10**9 if opened else _SHOWN["question"])
            ]
        case "build":
            build = build_of(card.build)
            if build is not None:
                return _parted(build_lines(deck, card, build, width, opened, review), opened)
            return _parted(_step(deck, card, min(width, CARD), opened), opened)
        case "step":
            return _parted(_step(deck, card, min(width, CARD), opened), opened)
        case _:
            return _parted(_note(row, min(width, CARD), opened), opened)


def _parted(lines: list[Drawn], opened: bool) -> list[Drawn]:
    """Return the lines of a card with a blank line below it if it is opened."""
    return [*lines, _BLANK] if opened and lines[-1] != _BLANK else lines


def height(deck: Deck, index: int, width: int, build_of: BuildOf, review: str = "") -> int:
    """Return the number of lines of `draw`, without drawing where possible."""
    card = deck.cards[index]
    if deck.hidden(card):
        return 0
    if card.kind == "steps":
        return 2
    if card.kind in ("step", "thought", "plan", "note") and not deck.opened(card):
        return 1
    return len(draw(deck, index, width, build_of, review))


# --- tasks and answers --------------------------------------------------------------------


def _task(kind: CardKind, row: TraceRow, width: int, opened: bool) -> list[Drawn]:
    """Return what the person said, on a band; a task with a blank line around it."""
    at = row.at.astimezone().strftime("%H:%M") if not row.meta else row.meta
    lines = _read(row, "task", width, 10**9 if opened else _SHOWN["task"], meta=at)
    band = [Drawn(-1, line, "band") for line in lines]
    if kind == "said":
        return band
    return [_BLANK, *band, _BLANK]


def sent(deck: Deck, row: TraceRow, files: Sequence[str], width: int, build_of: BuildOf) -> list[Drawn]:
    """Return a task that was sent but not begun, as the cards that will take its place.

    The time of the task differs, and what is known of its files only once they are recorded.
    """
    lines = _read(row, "task", min(width - 1, CARD), _SHOWN["task"], meta=_SENT)
    above: list[Drawn] = []
    for name in files:
        file = replace(row, kind="file", title=one_line(f"File {name}"), meta=one_line(_SENT.strip()))
        above += _note(file, min(width - 1, CARD), opened=False)
    before = [] if not files and _below_blank(deck, len(deck.cards), build_of) else [_BLANK]
    return [*above, *before, *(Drawn(-1, line, "band") for line in lines), _BLANK]


def _read(row: TraceRow, style: str, width: int, most: int, meta: str | None = None) -> list[Line]:
    """Return a wrapped text with its mark and margin, cut after `most` lines."""
    meta = str(row.meta) if meta is None else meta
    room = max(width - MARGIN - (len(meta) + 2 if meta else 0), 10)
    whole = wrap(str(row.detail or row.title), room)
    shown = whole[:most]
    if len(shown) < len(whole):
        shown[-1] = f"{cut(shown[-1], max(room - 20, 4))} … {len(whole) - len(shown)} more lines"
    first, *rest = [cut(line, room) for line in shown]
    mark: Line = (
        (" ", ""),
        (f"{glyph(row)} ", "question" if style == "question" else "action"),
        (first, style),
    )
    return [
        spread(mark, (meta, "muted"), width),
        *(clip(((" " * MARGIN, ""), (text, style)), width) for text in rest),
    ]


def _header(deck: Deck, card: Card, width: int) -> list[Drawn]:
    """Return the one line of a task's steps."""
    section = card.section
    assert section is not None
    steps, deeds, time = section_summary(deck, section)
    left: Line = ((" ", ""), ("▸ " if deck.folded(section) else "▾ ", "muted"), (steps, "observation"))
    room = width - width_of(left) - cell_len(time) - 5
    while len(deeds) > 1 and cell_len(", ".join(deeds)) > room:
        deeds.remove(min(deeds, key=_worth))
    summary = f" · {', '.join(deeds)}" if deeds else ""
    return [Drawn(-1, fitted((*left, (summary, "muted")), [(time, "muted")], width))]


def _worth(deed: str) -> int:
    """Return how much a reader would miss what a task did, where the line has no room for all of it."""
    return 0 if deed.startswith("noted ") else 2 if deed.startswith("built ") else 1


def _answer(deck: Deck, card: Card, row: TraceRow, width: int, opened: bool) -> list[Drawn]:
    """Return an answer with its files and what it rests on; how a task ended otherwise, as it is told."""
    section = card.section
    before: list[Drawn] = []
    if section is not None and not deck.folded(section) and section.cards[0] != card.at:
        before = [_BLANK]
    after = [_BLANK]
    if row.tone != "good":
        text = f"{row.title}\n{row.detail}" if row.detail else str(row.title)
        lines = wrap(text, max(min(width, PROSE) - MARGIN, 10))
        ink = "text" if row.tone == "normal" else row.tone
        mark: Line = ((" ", ""), (f"{'✗' if row.tone == 'bad' else glyph(row)} ", ink))
        first: Line = (*mark, (lines[0], ink))
        rest = [Drawn(-1, clip(((" " * MARGIN, ""), (text, "text")), width)) for text in lines[1:]]
        if rated := rating_mark(deck, card):
            rest.append(Drawn(-1, ((" " * MARGIN, ""), (f"you: {rated}", "muted"))))
        return [*before, Drawn(-1, clip(first, width)), *rest, *after]
    from alita_tui.console.widgets.markdown import markdown_lines  # nothing before the first answer needs it

    whole = markdown_lines(str(row.detail or row.title), max(min(width, PROSE) - MARGIN, 10))
    shown = list(whole if opened else whole[: _SHOWN["answer"]])
    if len(shown) < len(whole):
        shown.append(((f"… {len(whole) - len(shown)} more lines: Enter opens them", "muted"),))
    shown = _headlined(shown)
    drawn = [Drawn(-1, clip(((" ", ""), ("● ", "good"), *shown[0]), width))]
    drawn += [Drawn(-1, clip(((" " * MARGIN, ""), *line), width) if line else ()) for line in shown[1:]]
    foot = _foot(deck, card, row, width)
    return [*before, *drawn, *([_BLANK] if foot and len(shown) > 1 else []), *foot, *after]


def _headlined(lines: Sequence[Line]) -> list[Line]:
    """Return an answer whose first line is bold if it is a heading, or a sentence that stands alone."""
    first, *rest = lines
    if not rest or not rest[0] or any(style == "heading" for _text, style in first):
        bold = tuple(
            (text, "strong" if style in ("text", "heading", "em") else style) for text, style in first
        )
        return [bold, *rest]
    return [first, *rest]


def _foot(deck: Deck, card: Card, row: TraceRow, width: int) -> list[Drawn]:
    """Return the files that were made for an answer, and what it rests on."""
    section = card.section
    if section is None:
        return []
    chips: list[Piece] = []
    lines: list[Drawn] = []
    room = width - MARGIN
    files = files_of(deck, section)
    for file in files:
        name = file.title.partition(":")[0].removeprefix("File ")
        chip = f" {cut(name, max(room - 4, 8))} "
        if chips and width_of(tuple(chips)) + cell_len(chip) + 2 > room:
            lines.append(Drawn(-1, ((" " * MARGIN, ""), *chips)))
            chips = []
        chips += [("  ", "")] if chips else []
        chips.append((chip, "chip"))
    if chips:
        lines.append(Drawn(-1, ((" " * MARGIN, ""), *chips)))
    for handle in pictures_of(files):
        if handle in deck.unreadable:
            name = next(file.title for file in files if file.detail.partition("\n")[0] == handle)
            name = name.partition(":")[0].removeprefix("File ")
            told_line = cut(f"{name}: the picture cannot be read", room)
            lines.append(Drawn(-1, ((" " * MARGIN, ""), (told_line, "muted"))))
            continue
        columns = min(room, WIDEST)
        lines += [
            Drawn(-1, (), picture=Slice(handle, number, columns))
            for number in range(deck.picture_rows.get((handle, columns), ROWS))
        ]
    mark = rating_mark(deck, card)
    parts = (evidence(section), str(row.meta), f"you: {mark}" if mark else "")
    if text := " · ".join(filter(None, parts)):
        lines.append(Drawn(-1, clip(((" " * MARGIN, ""), (text, "muted")), width)))
    return lines


# --- steps --------------------------------------------------------------------------------


def _note(row: TraceRow, width: int, opened: bool) -> list[Drawn]:
    """Return a card of one row: a line, and its whole text where it is opened."""
    if row.kind == "thought":
        pieces: Line = (("Thought".ljust(VERB), "muted"), (row.title, "muted"))
    elif row.kind == "plan":
        pieces = (("Plan".ljust(VERB), "muted"), (row.title, "plan"))
    else:
        pieces = words(row)
    ink = row.tone if row.tone in ("warn", "bad", "wait") else style_of(row)
    head: Line = ((" ", ""), (f"{glyph(row)} ", ink))
    lines = [Drawn(-1, fitted((*head, *pieces), [(str(row.meta), "muted")], width))]
    if opened:
        lines += [Drawn(-1, ruled(line)) for line in detail(row, max(width - MARGIN, 10))]
    return lines


def _step(deck: Deck, card: Card, width: int, opened: bool) -> list[Drawn]:
    """Return a step: one line, and its rows beneath it where it is opened."""
    rows = [deck.rows[at] for at in card.rows]
    summary = step_line(rows)
    failed = summary.tone in ("bad", "warn")
    mark = "✗" if summary.tone == "bad" else _STEP_GLYPHS.get(summary.verb, "·")
    ink = summary.tone if failed else _STEP_STYLES.get(summary.verb, "action")
    time = summary.time or (str(rows[-1].meta) if len(rows) == 1 else "")
    verb = summary.verb.ljust(VERB) if len(summary.verb) < VERB else f"{summary.verb} "
    rated = rating_mark(deck, card)
    used = (len(time) + 1 if time else 0) + (cell_len(rated) + 2 if rated else 0)
    room = max(width - MARGIN - cell_len(verb) - used, 8)
    subject, result = str(summary.subject), str(summary.result)
    if not result and summary.tone == "wait":
        result = "…"
    if result and cell_len(subject) + 5 + cell_len(result) > room:
        subject = at_words(subject, room)
        left = room - 5 - cell_len(subject)
        result = at_words(result, left, before=room - left) if left >= _LEAST else ""
        result = "" if cell_len(result) < _LEAST // 2 else result  # a bare ellipsis says nothing
    arrow = ("  →  ", "muted") if result else ("", "")
    tone = summary.tone if failed or summary.tone == "wait" else "muted"
    pieces: Line = (
        (verb, "muted"),
        (subject, "strong" if summary.verb == "Ran" else "observation"),
        arrow,
        (result, tone),
    )
    figures = [(rated, "text"), (time, "muted")]
    lines = [Drawn(-1, fitted(((" ", ""), (f"{mark} ", ink), *pieces), figures, width))]
    if opened:
        lines += rows_of(deck, card, width, preview=True)
    return lines
