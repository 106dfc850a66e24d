"""The passages of pages that bear on a goal, ranked, within a budget: a page is long, and a prompt is not. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alita_tui.events import Source
from alita_tui.spine.fence import fenced
from alita_tui.spine.ranking import Ranker

PASSAGE_TOKENS = 4000
"""Most tokens of the toolsmith's prompt that the passages of all sources may take."""
_CHARACTERS_EACH = 3
"""Characters of one token; code has fewer than prose."""
_PASSAGE = 700
_MOST = 2000
"""Passages that are ranked."""
_GAP = "[…]"


def fenced_passages(sources: Sequence[Source], goal: str, *, tokens: int = PASSAGE_TOKENS) -> list[str]:
    """Return each source's passages that bear on the goal, fenced with its address; best source first."""
    ranker = Ranker()
    cut: dict[str, tuple[int, int, str]] = {}
    for number, source in enumerate(sources):
        for place, text in enumerate(_split(source.excerpt)):
            if len(cut) < _MOST:
                key = f"{number}:{place:05}"
                cut[key] = (number, place, text)
                ranker.put(key, ((text, 1.0), (source.title, 0.3)))
    ranked = [match.key for match in ranker.rank(goal, limit=_MOST)]
    ranked += [key for key in cut if key not in set(ranked)]
    room = tokens * _CHARACTERS_EACH
    chosen: dict[int, dict[int, str]] = {}
    for key in ranked:
        number, place, text = cut[key]
        if len(text) <= room:
            room -= len(text)
            chosen.setdefault(number, {})[place] = text
    return [
        fenced(sources[n].url, f"{sources[n].title}\n{_joined(parts)}".strip()) for n, parts in chosen.items()
    ]


def _joined(parts: dict[int, str]) -> str:
    lines: list[str] = []
    following = 0
    for place in sorted(parts):
        lines += [_GAP] if place > following else []
        lines.append(parts[place])
        following = place + 1
    return "\n".join(lines)


def _split(text: str) -> list[str]:
    """Split a text into passages of whole lines, unless a line is too long."""
    passages: list[str] = []
    current = ""
    for block in re.split(r"\n\s*\n", text):
        for line in block.strip("\n").split("\n"):
            for piece in [line[at : at + _PASSAGE] for at in range(0, len(line), _PASSAGE)]:
                if len(current) + len(piece) > _PASSAGE:
                    passages.append(current)
                    current = ""
                current += piece + "\n"
        if len(current) > _PASSAGE // 2:
            passages.append(current)
            current = ""
    return [passage.strip("\n") for passage in (*passages, current) if passage.strip()]
