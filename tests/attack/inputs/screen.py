"""What a terminal shows of what was written to it: enough of an emulator to see which review is whole on screen."""

from __future__ import annotations

import codecs
import re

_TOKEN = re.compile(
    r"(?P<csi>\x1b\[(?P<args>[0-?]*)[ -/]*(?P<end>[@-~]))|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]"
    r"|(?P<text>[^\x00-\x1f\x7f]+)|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
)
_UNFINISHED = re.compile(r"\x1b(\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?)?\Z")
_HEAD = re.compile(r"BUILD \d+ of \d+ · count_(\d+) ")


class Screen:
    """A grid of characters with a cursor; colours do not matter here."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self._rows = [" " * width for _ in range(height)]
        self._x = self._y = 0
        self._rest = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._whole = ""

    def write(self, data: bytes) -> None:
        """Take what the console wrote, broken off anywhere."""
        text = self._rest + self._decode(data)
        unfinished = _UNFINISHED.search(text)
        self._rest = unfinished.group() if unfinished else ""
        for token in _TOKEN.finditer(text[: len(text) - len(self._rest)]):
            if token["text"]:
                self._put(token["text"])
            elif token["csi"]:
                self._control(token["args"], token["end"])
            elif token["control"] == "\n":
                self._y = min(self._y + 1, len(self._rows) - 1)
            elif token["control"] == "\r":
                self._x = 0

    def _put(self, text: str) -> None:
        row = self._rows[self._y]
        self._rows[self._y] = (row[: self._x] + text + row[self._x + len(text) :])[: self.width]
        self._x = min(self._x + len(text), self.width)

    def _control(self, args: str, end: str) -> None:
        numbers = [int(one) if one.isdecimal() else 1 for one in args.split(";")]
        if end in "Hf":
            row, column = (*numbers, 1)[:2]
            self._y, self._x = min(row, len(self._rows)) - 1, min(column, self.width) - 1
        elif end == "J" or (end == "h" and args == "?1049"):
            self._rows = [" " * self.width for _ in self._rows]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self._rows)

    @property
    def review(self) -> str:
        """The approval whose review is painted, with its code at least once since it came; empty for none."""
        found = _HEAD.search(self.text)
        number = found[1] if found else ""
        if number and number != self._whole and f"REVIEW-OF-count_{number}-IS-PAINTED" not in self.text:
            return ""
        self._whole = number
        return f"p{number}" if number else ""
