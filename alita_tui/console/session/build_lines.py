"""How a build looks in the trace: one line, and a question while it waits for its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from alita_tui.console.session.card_parts import (
    CARD,
    PROSE,
    VERB,
    Drawn,
    fitted,
    rating_mark,
    rows_of,
    ruled,
)
from alita_tui.console.session.trace_lines import MARGIN
from alita_tui.console.widgets.styled_text import Line, at_words, clip, width_of, wrap
from alita_tui.spine.text import one_line
from alita_tui.state.build import BuildState
from alita_tui.view.card_words import build_marks, build_sentences, build_stage, duration
from alita_tui.view.cards import Card, Deck
from alita_tui.view.five_answers import touches

EDGE = "▌"
"""Left of each line of a build that waits for its verdict."""
BUILD_MARKS: dict[str, tuple[str, str]] = {
    "passed": ("■", "good"),
    "failed": ("✗", "bad"),
    "skipped": ("○", "warn"),
    "running": ("◧", "wait"),
    "open": ("·", "muted"),
}


def build_lines(
    deck: Deck, card: Card, build: BuildState, width: int, opened: bool, review: str
) -> list[Drawn]:
    """Return a build: one line, or a question while it waits; its rows beneath where it is opened."""
    wide = min(width, CARD)
    marks = build_marks(build)
    bar = tuple(BUILD_MARKS[mark] for _title, mark in marks)
    passed = sum(mark == "passed" for _title, mark in marks)
    amount = f"{passed} of {len(marks)}" if marks else ""
    first, last = deck.rows[card.rows[0]], deck.rows[card.rows[-1]]
    cost = f"${build.spent_usd:.2f}" if build.spent_usd >= 0.005 else ""
    time = duration(first.at, last.at)
    figures = [(amount, "muted"), (rating_mark(deck, card), "text"), (cost, "muted"), (time, "muted")]
    name = one_line(f"{build.name} v{build.version}", 80)
    if build.status == "pending":
        question = _waiting(build, name, bar, marks, time, wide, review, opened=opened)
        beneath = _beneath(deck, card, build, wide) if opened else []
        return [Drawn(-1, ()), *question, *beneath, Drawn(-1, ())]
    stage, tone = build_stage(build)
    mark = {"good": "✓", "bad": "✗"}.get(tone, "◆")
    ink = tone if tone in ("good", "bad") else "build"
    left: Line = (
        (" ", ""),
        (f"{mark} ", ink),
        ("Build".ljust(VERB), "muted"),
        (name, "strong"),
        (f"  {stage}", tone),
    )
    if width_of(left) + 2 + len(bar) + cell_len(time) + 2 > wide:
        bar = ()  # cut marks would tell of fewer checks
    lines = [Drawn(-1, fitted((*left, ("  ", ""), *bar), figures, wide))]
    return [*lines, *_beneath(deck, card, build, wide)] if opened else lines


def _beneath(deck: Deck, card: Card, build: BuildState, width: int) -> list[Drawn]:
    """Return what an opened card shows: the outcomes of its drafts, and its rows."""
    lines: list[Drawn] = []
    for number, sentence in enumerate(build_sentences(build)):
        if number or build.status != "pending":  # the question says the purpose already
            style = "muted" if number else "text"
            room = max(min(width, PROSE) - MARGIN, 10)
            lines += [Drawn(-1, ruled(((text, style),))) for text in wrap(sentence, room)]
    return lines + rows_of(deck, card, width, preview=False)


def _waiting(
    build: BuildState,
    name: str,
    bar: Line,
    marks: Sequence[tuple[str, str]],
    time: str,
    width: int,
    review: str,
    *,
    opened: bool,
) -> list[Drawn]:
    """Return the question of a build that waits: what, what it would reach, how sure, what to press."""
    room = max(width - MARGIN, 10)
    edge: Line = ((EDGE, "wait"), ("  ", ""))
    asked = " is ready. May it join your library?"
    if build.put_off:
        asked = " is ready; the task continues without it"
    if MARGIN + cell_len(name + asked + time) + 2 > width:
        asked = " is ready"
    title: Line = (
        (EDGE, "wait"),
        ("◈ ", "wait"),
        (name, "strong"),
        (asked, "text"),
    )
    attempt = build.presented
    lines: list[Line] = [fitted(title, [(time, "muted")], width)]
    if attempt is not None:
        description = wrap(one_line(attempt.draft.description, 300), room)
        lines += [(*edge, (text, "observation")) for text in description[:2]]
        touched = [text for text, _tone in touches(attempt)]
        if not attempt.draft.capabilities.none:
            reach = at_words(one_line("; ".join(touched), 300), max(room - 12, 8))
            lines.append((*edge, ("▲ ", "warn"), ("may touch ", "observation"), (reach, "strong")))
        else:
            none = wrap("asks for no permission: no files, no network, no secrets", room)
            lines += [(*edge, (text, "observation")) for text in none]
    if marks:
        states = [mark for _title, mark in marks]
        checks = f"{states.count('passed')} of {len(states)} checks passed"
        failed, skipped = states.count("failed"), states.count("skipped")
        checks += f", {failed} failed" if failed else ""
        checks += f", {skipped} could not run" if skipped else ""
        first, *more = wrap(checks, max(room - len(bar) - 2, 8))
        lines.append((*edge, *bar, (f"  {first}", "observation")))
        lines += [(*edge, (" " * (len(bar) + 2), ""), (text, "observation")) for text in more]
    if review:
        keys: Line = ((review, "strong"), (" review   ", "muted"))
        enter = " closes what was done" if opened else " opens what was done"
        lines.append((*edge, *keys, ("Enter", "strong"), (enter, "muted")))
    return [Drawn(-1, clip(line, width), "waiting") for line in lines]
