"""How a row of the trace looks, and what is still growing: pure functions to styled lines.

Colour is in the glyphs; words are coloured only where they matter. `card_lines` puts rows on cards.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from alita_tui.console.widgets.styled_text import Line, clip, code_folded, spread, wrap
from alita_tui.spine.text import neutralise
from alita_tui.view.model import Live, TraceRow

GLYPHS = {
    "session": "·", "task": "❯", "plan": "≡", "thought": "✧", "action": "→", "observation": "←", "build": "◆",
    "approval": "◈", "run": "▸", "file": "▤", "question": "?", "memory": "∴", "notice": "!", "error": "✗",
    "answer": "●", "unknown": "·",
}  # fmt: skip
STYLES = (
    "text strong muted task thought plan action observation build approval run file answer question memory notice "
    "good warn bad wait line keyword string number comment name hostile em code heading link"
).split()
"""Styles used here; each is a token of the theme."""

MARGIN = 3
"""Cells before the text of a card: a blank for the cursor, a glyph, a blank."""
_LIVE_LINES = 8
_BAR = 16
_PROSE, _ANSWER_LINES = 88, 40
"""Cells of prose, and lines, that are shown of an answer that is being written."""
_GREETING = 84
"""Cells that the greeting takes at most."""


def glyph(row: TraceRow) -> str:
    """Return the mark of a row."""
    if row.kind in ("build", "approval"):
        return {"good": "✓", "bad": "✗", "warn": "!"}.get(row.tone, GLYPHS[row.kind])
    return "!" if row.kind == "error" and row.tone == "warn" else GLYPHS[row.kind]


def words(row: TraceRow) -> Line:
    """Return a row's one line; of an action the verb is coloured."""
    if row.kind == "action":
        verb, colon, rest = row.title.partition(": ")
        return ((verb, "action"), (colon.strip() + " " if colon else "", "muted"), (rest, "text"))
    if row.kind in ("error", "approval") and row.tone in ("bad", "wait", "warn"):
        return ((row.title, row.tone),)
    if row.kind == "run":
        return ((row.title, "strong"),)
    quiet = row.kind in ("session", "unknown", "notice", "memory") or row.tone == "muted"
    loud = row.tone if row.kind == "notice" and row.tone in ("warn", "bad") else ""
    return ((row.title, loud or ("muted" if quiet else "plan" if row.kind == "plan" else "observation")),)


def detail(row: TraceRow, room: int) -> list[Line]:
    """Return the whole text of an opened row; code is highlighted."""
    if row.kind == "build" and row.meta and "\n" in row.detail:  # a draft: its meta is the digest's head
        from alita_tui.console.review.code import highlight

        return [piece for line in highlight(row.detail) for piece in code_folded(line, room)]
    style = "plan" if row.kind == "plan" else "observation"
    return [((text, style),) for text in wrap(str(row.detail or row.title), room)]


class State(NamedTuple):
    """Whether something that alita needs is available."""

    name: str
    said: str
    fix: str
    """What to do, or what else is worth knowing."""
    tone: str


def greeting(parts: tuple[str, ...], states: tuple[State, ...], width: int) -> list[Line]:
    """Return the lines of an empty trace; the first part is its heading."""
    room = max(min(width, _GREETING) - 4, 10)
    lines: list[Line] = [()]
    for number, part in enumerate(parts):
        lines += [()] if number == 2 else []
        lines += _states(states, room) if number == 2 else []
        style = "muted" if number else "strong"
        lines += [(("   ", ""), (text, style)) for text in wrap(part, room)]
    return lines


def _states(states: tuple[State, ...], room: int) -> list[Line]:
    lines: list[Line] = []
    for state in states:
        mark = {"good": "●", "muted": "·"}.get(state.tone, "▲")
        fits = len(state.said) + len(state.fix) + 14 <= room
        left: Line = (("   ", ""), (f"{mark} ", state.tone), (f"{state.name:<9}", "muted"))
        ink = "text" if state.tone == "good" else state.tone
        quiet = "muted" if state.tone == "good" else state.tone
        if fits:
            lines.append(spread((*left, (state.said, ink)), (state.fix, quiet), room + 3))
            continue
        wrapped = [
            *wrap(state.said, max(room - 11, 10)),
            *(wrap(state.fix, max(room - 11, 10)) if state.fix else []),
        ]
        lines += [(*(left if n == 0 else ((" " * 14, ""),)), (text, ink)) for n, text in enumerate(wrapped)]
    return [*lines, ()]


_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def waiting(waits_for: str, frame: int, width: int) -> Line:
    """Return the line that says what a task waits for that was just sent; `frame` turns the spinner."""
    turning: Line = ((" ", ""), (f"{_FRAMES[frame % len(_FRAMES)]} ", "action"), (waits_for, "muted"))
    return clip(turning, width)


# --- what is still growing ------------------------------------------------------------------

_FIELD = re.compile(r'"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)\\?$', re.DOTALL)
_TEXT = re.compile(r'"text"\s*:\s*"((?:[^"\\]|\\.)*)("?)', re.DOTALL)
_BEGUN = re.compile(r"(?:(?:\A|(?<=\n))`{1,2}|(?:\A|(?<=\n\n))\|[^\n]*(?:\n\|?[ :|-]*)?)\Z")
"""A fence, or the head of a table, of which too little is there to tell it from text."""
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")


def growing(live: Live, width: int) -> list[Line]:
    """Return the end of a streaming reply or draft, and the progress of long work."""
    room = max(width - MARGIN, 10)
    lines: list[Line] = []
    if live.thinking and not live.text:
        lines += _end(live.thinking, room, "✧", "thought")
    if live.text:
        lines += _end(live.text, room, "✧", "thought")
    if live.arguments and live.role == "toolsmith":
        field, text = unfinished(live.arguments)
        lines.append(((" ", ""), ("◆ ", "build"), (f"writing {field} …", "muted")))
        draft = [piece for line in text.split("\n") for piece in wrap(line, max(room - 2, 10))]
        lines += [((" │ ", "line"), (line, "observation")) for line in draft[-_LIVE_LINES:]]
    if live.arguments and live.role == "orchestrator":
        lines += _answering(live.arguments, width)
    if live.output is not None and live.output.text.strip():
        lines += _end(live.output.text, room, "▸", "run")
    if live.work:
        lines.append(_work(live, width))
    return [clip(line, width) for line in lines]


def _answering(arguments: str, width: int) -> list[Line]:
    """Return the end of an answer that is being written, laid out like a finished one; it stays once it is whole."""
    match = _TEXT.search(arguments)
    if match is None:
        return []
    text = _unescaped(match[1])
    if not match[2]:
        text = _BEGUN.sub("", text)
    if not text.strip():
        return []
    from alita_tui.console.widgets.markdown import markdown_lines  # nothing before the first answer needs it

    lines = markdown_lines(neutralise(text), max(min(width, _PROSE) - MARGIN, 10))
    shown = lines[-_ANSWER_LINES:]
    return [((" ", ""), ("● " if number == 0 else "  ", "good"), *line) for number, line in enumerate(shown)]


def unfinished(arguments: str) -> tuple[str, str]:
    """Return name and text of the string field that unfinished JSON ends in."""
    match = _FIELD.search(arguments)
    if match is None:
        return "the draft", ""
    return f"its {match[1]}", _unescaped(match[2])


def _unescaped(text: str) -> str:
    """Return the inside of a JSON string as text."""
    plain = {"n": "\n", "t": "    ", "r": "", "b": "", "f": ""}

    def letter(escape: re.Match[str]) -> str:
        code = escape[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else plain.get(code, code)

    return _ESCAPE.sub(letter, text)


def _end(text: str, room: int, glyph: str, style: str) -> list[Line]:
    shown = wrap(text.rstrip(), room)[-_LIVE_LINES:]
    return [
        ((" ", ""), (f"{glyph} " if n == 0 else "  ", style), (line, style)) for n, line in enumerate(shown)
    ]


def _work(live: Live, width: int) -> Line:
    text = f"{live.work}  {live.work_detail}".rstrip()
    if not live.work_total:
        return clip(((" ", ""), ("… ", "wait"), (text, "muted")), width)
    full = round(_BAR * min(max(live.work_done / live.work_total, 0.0), 1.0))
    bar: Line = (("━" * full, "wait"), ("─" * (_BAR - full), "line"))
    amount = (
        f"{live.work_done:.0f} of {live.work_total:.0f}"
        if live.work_total < 1000
        else (f"{100 * live.work_done / live.work_total:.0f} %")
    )
    return spread(((" ", ""), ("… ", "wait"), *bar, ("  ", ""), (text, "muted")), (amount, "muted"), width)
