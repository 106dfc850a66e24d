"""The first screenful of a review: five answers, the most important first."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from alita_tui.console.widgets.sheet import Row, fact, flat, heading
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.runtimes.languages import title_of
from alita_tui.spine.text import counted, reveal
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.five_answers import Words, five_answers
from alita_tui.view.risk import Risk, names_to_accept

_MOST, _MOST_FULL, _LABEL = 4, 2, 13
"""Risks shown at most; number of risks up to which each is shown in full; columns of a label."""
_MOST_TOUCHED, _CLAIM = 6, 150
"""Lines of what it may touch at most; characters of the author's claim."""

Brief = Literal[0, 1, 2, 3]
"""How much is shortened: little; the author's claim to one line; what is unusual, too; the heading and figures, too."""
LEVELS: tuple[Brief, ...] = (1, 2, 3)
"""From little to much."""


def glance(
    build: BuildState, attempt: Attempt, withheld: Collection[str] = (), *, brief: Brief = 0
) -> list[Row]:
    """Return the five answers in order: may touch, does, how sure, unusual (the worst first), changes.

    What is shortened is listed whole in `evidence`, below.
    """
    answers = five_answers(build, attempt, withheld)
    rows = heading("At a glance", needed(answers.unusual, brief=brief > 0)) if brief < 3 else []
    rows += _touches(answers.touches)
    rows.append(_answer("does", reveal(flat(answers.does)), "strong"))
    claim = at_words(f"Its author says: {reveal(flat(answers.claim))}", _CLAIM)
    row = _answer("", claim, "muted")
    rows.append(Row(row.body, row.gutter, clip=min(brief, 1)))
    if attempt.draft.language != "python":
        written_in = f"{title_of(attempt.draft.language)}{answers.why_language}"
        rows.append(_short("written in", reveal(flat(written_in))))
    sure = _figures_in_short(answers.how_sure) if brief == 3 else answers.how_sure
    rows.append(fact("how sure", _marks_kept(sure), width=_LABEL))
    rows += _unusual(answers.unusual, brief=brief)
    gains = any(risk.name == "gains" for risk in answers.unusual[: _MOST - 1])
    sentences = answers.changes[:1] if brief and gains else answers.changes
    for number, change in enumerate(sentences):
        rows.append(fact("" if number else "changes", reveal(flat(change)), width=_LABEL))
    return rows


def _touches(touches: Sequence[Words]) -> list[Row]:
    """Return what it may touch, never cut; if that is very much, how much more follows below."""
    shown = touches if len(touches) <= _MOST_TOUCHED else touches[: _MOST_TOUCHED - 1]
    rows = [
        _answer("" if number else "may touch", reveal(flat(text)), tone)
        for number, (text, tone) in enumerate(shown)
    ]
    if len(shown) < len(touches):
        rows.append(_answer("", f"and {len(touches) - len(shown)} more, listed whole below", "bad"))
    return rows


def _unusual(found_risks: Sequence[Risk], *, brief: Brief) -> list[Row]:
    """Return what is unusual, the worst first; one line if nothing is."""
    if not found_risks:
        text = "nothing" if brief else "nothing: all checks passed, no permissions needed"
        return [_answer("unusual", text, "good")]
    shown = _MOST if len(found_risks) <= _MOST else _MOST - 1
    clip = 1 if len(found_risks) > _MOST_FULL else (0, 4, 2, 2)[brief]
    rows = [
        risk_row(found_risk, clip=clip, label="" if number else "unusual")
        for number, found_risk in enumerate(found_risks[:shown])
    ]
    if more := found_risks[shown:]:
        names = ", ".join(dict.fromkeys(risk.name for risk in more))
        body = ((f"{len(more)} more below: ", "bad"), (names, "strong"))
        rows.append(Row(body, ((f"  {'':<{_LABEL - 2}} ", ""), ("▲ ", "bad")), clip=(0, 2, 1, 1)[brief]))
    return rows


def _figures_in_short(pieces: Sequence[Words]) -> tuple[Words, ...]:
    return tuple((re.sub(r"(\d+) of (\d+)", r"\1/\2", text), tone) for text, tone in pieces)


def _marks_kept(pieces: Sequence[Words]) -> tuple[Words, ...]:
    """Return the pieces with each mark on the line of its words, and each dot on that of the words before it."""
    kept = "\N{NO-BREAK SPACE}"
    return tuple((kept if text == " " else text.replace(" · ", f"{kept}· "), tone) for text, tone in pieces)


def _answer(label: str, text: str, style: str) -> Row:
    return fact(label, ((text, style),), width=_LABEL)


def needed(found_risks: Collection[Risk], *, brief: bool = False) -> str:
    """Return what an approval requires."""
    names = names_to_accept(found_risks)
    if not names and brief:
        return "no risk to accept"
    if not names:
        return "approving takes one key, two if code is unread"
    return f"{counted(len(names), 'risk')} to accept by name"


def risk_row(risk: Risk, *, clip: int = 0, label: str | None = None) -> Row:
    """Return a risk with its name, after the label if there is one; `clip` cuts it to so many lines."""
    style = "bad" if risk.serious else "warn"
    body = ((f"{risk.name}  ", "strong"), (reveal(flat(risk.text)), style))
    lead = "  " if label is None else f"  {label:<{_LABEL - 2}} "
    return Row(
        body, ((lead, "muted"), (f"{'▲' if risk.serious else '△'} ", style)), clip=clip, link=risk.line
    )


def _short(label: str, text: str) -> Row:
    row = fact(label, ((text, "muted"),), width=_LABEL)
    return Row(row.body, row.gutter, clip=1)
