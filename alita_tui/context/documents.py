"""The passages of a folder of documents that are relevant to a task: plain text, Markdown, PDF."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import NamedTuple

from alita_tui.context.folder import Folder
from alita_tui.events import ContextBlock
from alita_tui.spine.ranking import Ranker, words
from alita_tui.spine.text import neutralise, one_line

ReadPdf = Callable[[bytes], str]
"""Returns the text of a PDF; empty if none can be extracted."""

_TEXTS = frozenset(".txt .md .markdown .rst .adoc .org".split())
_MOST_FILES = 500
_TEXT_BYTES, _PDF_BYTES = 1 << 20, 20 << 20
_PASSAGE = 700
_MOST_PASSAGES = 4_000
_ROOM = 4_000
"""Characters of all passages together."""
_WORTH, _WORDS, _NEAR = 0.2, 1.1, 0.6
"""Share of a task's words that a passage needs; for a short task, number of words; share of the best one's."""


class _Passage(NamedTuple):
    file: str
    place: int
    text: str


class Documents:
    """Reads one folder; a file that has not changed is not read again."""

    def __init__(self, root: Path, redact: Callable[[str], str], read_pdf: ReadPdf) -> None:
        self._root = root
        self._redact = redact
        self._read_pdf = read_pdf
        self._texts: dict[str, tuple[tuple[int, int], list[str]]] = {}
        self._indexed: dict[str, tuple[int, int]] = {}
        self._ranker = Ranker()
        self._passages: dict[str, _Passage] = {}

    def block(self, task: str, until: float) -> ContextBlock | None:
        """Return the passages relevant to a task, from what could be read until `until`. Raises UsageError."""
        folder = Folder(self._root)
        self._index(folder, until)
        room = _ROOM
        chosen: list[_Passage] = []
        ranked = self._ranker.rank(task)
        few = _WORDS / max(len(set(words(task))), 3)
        least = max(_WORTH, few, _NEAR * ranked[0].share if ranked else 0.0)
        for match in ranked:
            passage = self._passages[match.key]
            if match.share < least:
                continue
            if len(passage.text) <= room:
                room -= len(passage.text)
                chosen.append(passage)
        if not chosen:
            return None
        lines: list[str] = []
        for passage in chosen:
            head = f"[{one_line(passage.file, 120)}, passage {passage.place + 1}]"
            lines += [head, passage.text, ""]
        return ContextBlock(
            name="documents", source=f"the documents in {folder.name}", text="\n".join(lines).strip()
        )

    def _index(self, folder: Folder, until: float) -> None:
        names = [name for name in folder.names((monotonic() + until) / 2) if _readable(name)][:_MOST_FILES]
        for name in names:
            if monotonic() > until:
                break
            self._read(folder, name)
        stamps = {name: self._texts[name][0] for name in names if name in self._texts}
        if stamps == self._indexed:
            return
        self._ranker, self._passages, self._indexed = Ranker(), {}, stamps
        for name in stamps:
            for number, text in enumerate(self._texts[name][1]):
                if len(self._passages) >= _MOST_PASSAGES or monotonic() > until:
                    self._indexed = {}  # the rest is indexed the next time
                    return
                key = f"{name}:{number:05}"
                self._passages[key] = _Passage(name, number, text)
                self._ranker.put(key, ((text, 1.0), (PurePosixPath(name).stem, 0.3)))
                self._ranker.settle()  # all at once, because the time is limited

    def _read(self, folder: Folder, name: str) -> None:
        stamp = folder.stamp(name)
        if name in self._texts and self._texts[name][0] == stamp:
            return
        if name.casefold().endswith(".pdf"):
            raw = folder.read(name, _PDF_BYTES + 1) if stamp[1] <= _PDF_BYTES else b""
            text = self._read_pdf(raw) if raw else ""
        else:
            text = folder.text(name, _TEXT_BYTES)
        self._texts[name] = (stamp, passages(self._redact(neutralise(text))))


def _readable(name: str) -> bool:
    return PurePosixPath(name).suffix.casefold() in (*_TEXTS, ".pdf")


def passages(text: str) -> list[str]:
    """Split a text into pieces of whole paragraphs, unless a paragraph is too long."""
    finished: list[str] = []
    current = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for piece in [paragraph[at : at + _PASSAGE] for at in range(0, len(paragraph), _PASSAGE)]:
            if current and len(current) + len(piece) > _PASSAGE:
                finished.append(current.strip())
                current = ""
            current += piece + "\n\n"
    return [piece_text for piece_text in (*finished, current.strip()) if piece_text]
