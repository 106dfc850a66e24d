"""How trace rows look: pure functions from a row and a width to styled lines.

A task and its answer stand at the left edge; the steps between them are indented, each numbered once; what
belongs to a build hangs on a rule. Colour is in the glyphs; words are coloured only where they matter.
"""

from __future__ import annotations

import re

from alita_tui.console.widgets.styled_text import Line, clip, cut, spread, wrap
from alita_tui.view.lanes import lane_of
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

GUTTER = 6
_MARGIN = 3
_SHOWN = {"task": 6, "thought": 3, "question": 12, "answer": 400}
"""Lines shown of a closed row, by kind; other kinds get one."""
_OUTER = ("task", "answer")
_UNNUMBERED = ("session", "memory", "notice", "unknown")
_LIVE_LINES = 8
_BAR = 16


def spaced(row: TraceRow, before: TraceRow | None) -> bool:
    """Return whether an empty line precedes the row: tasks and answers are set off."""
    if before is None:
        return False
    return (row.kind == "task" and not row.meta) or (row.kind == "answer" and before.kind != "task")


def height(row: TraceRow, before: TraceRow | None, width: int, *, opened: bool) -> int:
    """Return the number of lines of `fold`, without drawing where possible."""
    if opened or (row.kind in _SHOWN and (_is_markdown(row) or not _fits(row, width))):
        return len(fold(row, before, width, opened=opened))
    return 1 + spaced(row, before)


def _is_markdown(row: TraceRow) -> bool:
    """Return whether the row is an answer, and not how a task ended without one."""
    return row.kind == "answer" and row.tone == "good"


def _fits(row: TraceRow, width: int) -> bool:
    """Return whether the closed text certainly takes one line."""
    text = _said(row, opened=False)
    return len(text) * (1 if text.isascii() else 2) <= _room(row, width) and "\n" not in text


def _said(row: TraceRow, *, opened: bool) -> str:
    """Return a row's text: whole if it is opened or an answer."""
    if row.kind == "answer" and row.tone in ("warn", "bad", "wait"):
        return f"{row.title}\n{row.detail}" if row.detail else row.title
    return row.detail if row.detail and (opened or row.kind == "answer") else row.title


def _room(row: TraceRow, width: int) -> int:
    indent = _MARGIN if row.kind in _OUTER else GUTTER
    return max(width - indent - (len(row.meta) + 2 if row.meta else 0), 10)


def fold(row: TraceRow, before: TraceRow | None, width: int, *, opened: bool) -> list[Line]:
    """Return the lines of a row; `opened` with its whole text."""
    lines: list[Line] = [()] if spaced(row, before) else []
    head, pad = _margins(row, before)
    if _is_markdown(row):
        return lines + _answered(row, head, pad, width, opened=opened)
    if row.kind in _SHOWN:
        return lines + _read(row, head, pad, width, opened=opened)
    lines.append(spread((*head, *_words(row)), (row.meta, "muted"), width))
    if opened:
        rule: Line = (*pad, ("│ ", "line"))
        room = max(width - sum(len(text) for text, _style in rule), 10)
        lines += [(*rule, *line) for line in _detail(row, room)]
    return lines


def _margins(row: TraceRow, before: TraceRow | None) -> tuple[Line, Line]:
    """Return the margins of the first line and of the others."""
    glyph = f"{_glyph(row)} "
    style: str = row.tone if row.tone in ("good", "warn", "bad", "wait") else row.kind
    style = {"session": "muted", "unknown": "muted", "error": "bad"}.get(style, style)
    lane = lane_of(row)
    if row.kind in _OUTER:
        return ((lane or " ", "muted" if lane else ""), (glyph, style)), ((" " * _MARGIN, ""),)
    again = before is not None and before.step == row.step and lane_of(before) == lane
    first = row.step and row.kind not in _UNNUMBERED and not again
    number = (f"{lane}{row.step if first else '':>{3 - len(lane)}} ", "muted")
    if row.kind in ("build", "approval"):
        return (number, ("│ ", "line"), (glyph, style)), (("    ", ""), ("│   ", "line"))
    return (number, (glyph, style)), ((" " * GUTTER, ""),)


def _glyph(row: TraceRow) -> str:
    if row.kind in ("build", "approval"):
        return {"good": "✓", "bad": "✗", "warn": "!"}.get(row.tone, GLYPHS[row.kind])
    return "!" if row.kind == "error" and row.tone == "warn" else GLYPHS[row.kind]


def _words(row: TraceRow) -> Line:
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


def _read(row: TraceRow, head: Line, pad: Line, width: int, *, opened: bool) -> list[Line]:
    """Return the lines of a wrapped row, cut after some lines while it is closed."""
    style = {"task": "task", "thought": "thought", "question": "question"}.get(row.kind, "text")
    if row.kind == "answer" and row.tone in ("warn", "bad", "wait"):
        style = row.tone
    room = _room(row, width)
    whole = wrap(_said(row, opened=opened), room)
    shown = whole if opened else whole[: _SHOWN[row.kind]]
    if len(shown) < len(whole):
        shown[-1] = (
            cut(shown[-1] + " …", room) if len(shown[-1]) + 2 <= room else cut(shown[-1], room - 1) + "…"
        )
    first, *rest = shown
    body = "text" if row.kind == "answer" else style
    return [
        spread((*head, (first, style)), (row.meta, "muted"), width),
        *(clip((*pad, (text, body)), width) for text in rest),
    ]


def _answered(row: TraceRow, head: Line, pad: Line, width: int, *, opened: bool) -> list[Line]:
    """Return the lines of an answer, laid out as Markdown; cut after very many while it is closed."""
    from alita_tui.console.widgets.markdown import markdown_lines  # nothing before the first answer needs it

    whole = markdown_lines(_said(row, opened=opened), _room(row, width))
    shown = list(whole if opened else whole[: _SHOWN["answer"]])
    if len(shown) < len(whole):
        shown.append(((f"… {len(whole) - len(shown)} more lines", "muted"),))
    first, *rest = shown
    return [spread((*head, *first), (row.meta, "muted"), width), *((*pad, *line) for line in rest)]


def _detail(row: TraceRow, room: int) -> list[Line]:
    """Return the whole text of an opened row; code is highlighted."""
    if row.kind == "build" and row.meta and "\n" in row.detail:  # a draft: its meta is the digest's head
        from alita_tui.console.review.code import highlight

        return [piece for line in highlight(row.detail) for piece in broken(line, room)]
    style = "plan" if row.kind == "plan" else "observation"
    return [((text, style),) for text in wrap(str(row.detail or row.title), room)]


def broken(line: Line, room: int) -> list[Line]:
    """Return a line of code in pieces of at most `room` cells."""
    from alita_tui.console.widgets.sheet import Row, fold_row

    return fold_row(Row(line, hard=True), room)


def greeting(parts: tuple[str, ...], width: int) -> list[Line]:
    """Return the lines of an empty trace; the first part is its heading."""
    lines: list[Line] = [()]
    for number, part in enumerate(parts):
        style = "muted" if number else "strong"
        lines += [(("   ", ""), (text, style)) for text in wrap(part, max(width - 4, 10))]
    return lines


# --- what is still growing ------------------------------------------------------------------

_FIELD = re.compile(r'"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)\\?$', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")


def growing(live: Live, width: int) -> list[Line]:
    """Return the end of a streaming reply or draft, and the progress of long work."""
    room = max(width - GUTTER, 10)
    found: list[Line] = []
    if live.thinking and not live.text:
        found += _end(live.thinking, room, "✧", "thought")
    if live.text:
        found += _end(live.text, room, "✧", "thought")
    if live.arguments and live.role == "toolsmith":
        what, text = unfinished(live.arguments)
        found.append((("    ", ""), ("│ ", "line"), ("◆ ", "build"), (f"writing {what} …", "muted")))
        lines = [piece for line in text.split("\n") for piece in wrap(line, max(room - 2, 10))]
        found += [(("    ", ""), ("│   ", "line"), (line, "observation")) for line in lines[-_LIVE_LINES:]]
    if live.output is not None and live.output.text.strip():
        found += _end(live.output.text, room, "▸", "run")
    if live.work:
        found.append(_work(live, width))
    return [clip(line, width) for line in found]


def unfinished(arguments: str) -> tuple[str, str]:
    """Return name and text of the string field that unfinished JSON ends in."""
    match = _FIELD.search(arguments)
    if match is None:
        return "the draft", ""
    plain = {"n": "\n", "t": "    ", "r": "", "b": "", "f": ""}

    def letter(escape: re.Match[str]) -> str:
        code = escape[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else plain.get(code, code)

    return f"its {match[1]}", _ESCAPE.sub(letter, match[2])


def _end(text: str, room: int, glyph: str, style: str) -> list[Line]:
    shown = wrap(text.rstrip(), room)[-_LIVE_LINES:]
    return [
        (("    ", ""), (f"{glyph} " if n == 0 else "  ", style), (line, style))
        for n, line in enumerate(shown)
    ]


def _work(live: Live, width: int) -> Line:
    said = f"{live.work}  {live.work_detail}".rstrip()
    if not live.work_total:
        return clip((("    ", ""), ("… ", "wait"), (said, "muted")), width)
    full = round(_BAR * min(max(live.work_done / live.work_total, 0.0), 1.0))
    bar: Line = (("━" * full, "wait"), ("─" * (_BAR - full), "line"))
    amount = (
        f"{live.work_done:.0f} of {live.work_total:.0f}"
        if live.work_total < 1000
        else (f"{100 * live.work_done / live.work_total:.0f} %")
    )
    return spread((("    ", ""), ("… ", "wait"), *bar, ("  ", ""), (said, "muted")), (amount, "muted"), width)
