"""A session as a terminal recording, asciicast v2 (docs.asciinema.org/manual/asciicast/v2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from alita_tui.replay.export_facts import Facts
from alita_tui.replay.recording import IDLE_CAP, seconds_of
from alita_tui.spine.envelope import Envelope
from alita_tui.view.model import RowKind, Tone, TraceRow
from alita_tui.view.queries import mark
from alita_tui.view.trace import rows_for

WIDTH, HEIGHT = 100, 30
_DETAIL_LINES = 12
"""Lines of a row's text that the recording shows; other formats have all of it."""
_SIGNS: dict[RowKind, tuple[str, str]] = {
    "task": ("❯", "1;34"),
    "plan": ("≡", "34"),
    "thought": ("·", "3;35"),
    "action": ("→", "36"),
    "observation": ("←", "37"),
    "build": ("▲", "33"),
    "approval": ("◆", "1;33"),
    "run": ("■", "36"),
    "question": ("?", "1;33"),
    "memory": ("∘", "36"),
    "notice": ("!", "90"),
    "error": ("✖", "1;31"),
    "answer": ("●", "1;32"),
    "unknown": ("∅", "90"),
    "session": ("·", "90"),
}
_TONES: dict[Tone, str] = {"good": "32", "bad": "31", "warn": "33", "wait": "1;33", "muted": "90"}
_OPENED = frozenset({"answer", "task", "plan"})


def asciicast(envelopes: Sequence[Envelope], facts: Facts) -> str:
    """Return the recording: a head, output events, and a marker at each build, approval and error."""
    head = {
        "version": 2,
        "width": WIDTH,
        "height": HEIGHT,
        "timestamp": int(facts.started.timestamp()) if facts.started else 0,
        "idle_time_limit": IDLE_CAP,
        "title": f"{facts.title} — alita",
        "env": {"TERM": "xterm-256color"},
    }
    lines = [json.dumps(head, ensure_ascii=False)]
    lines += (json.dumps(envelope, ensure_ascii=False) for envelope in _events(envelopes, facts))
    return "\n".join(lines) + "\n"


def _events(envelopes: Sequence[Envelope], facts: Facts) -> Iterator[tuple[float, str, str]]:
    about = " · ".join(f"{label} {value}" for label, value in facts.lines)
    opening = [_ink("7", " REPLAY — nothing runs "), _ink("1", facts.title)]
    opening += [_ink("90", text) for paragraph in (about, facts.note) for text in _wrapped(paragraph, WIDTH)]
    yield 0.0, "o", "".join(f"{text}\r\n" for text in (*opening, ""))
    for at, envelope in zip(seconds_of(envelopes), envelopes, strict=True):
        if (kind := mark(envelope)) in ("build", "approval", "error"):
            yield round(at, 3), "m", str(kind)
        if drawn := "".join(f"{text}\r\n" for row in rows_for(envelope) for text in _row(row)):
            yield round(at, 3), "o", drawn


def _row(row: TraceRow) -> Iterator[str]:
    sign, ink = _SIGNS[row.kind]
    headline, *continuation = _wrapped(row.title, WIDTH - 4 - len(row.meta)) or [""]
    meta = "  " + _ink("90", row.meta) if row.meta else ""
    yield f"{_ink(ink, sign)} {_ink(_TONES.get(row.tone, ink), headline)}{meta}"
    yield from (f"  {_ink(_TONES.get(row.tone, ink), text)}" for text in continuation)
    if row.kind in _OPENED and row.detail != row.title:
        lines = [text for line in row.detail.split("\n") for text in _wrapped(line, WIDTH - 4)]
        yield from (f"    {text}" for text in lines[:_DETAIL_LINES])
        if len(lines) > _DETAIL_LINES:
            yield _ink("90", f"    … {len(lines) - _DETAIL_LINES} more lines")


def _wrapped(text: str, width: int) -> list[str]:
    """Return lines of limited length, broken between words where possible."""
    lines: list[str] = []
    while len(text) > width:
        at = text.rfind(" ", width // 2, width) + 1 or width
        lines.append(text[:at].rstrip())
        text = text[at:]
    return [*lines, text]


def _ink(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"
