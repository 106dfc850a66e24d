"""Cuts the input of a terminal into whole keys, sequences and pastes. Pure.

A sequence that is broken off, too long or invalid becomes `junk`, never keys.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

ESC = "\x1b"
PASTE_BEGINS, PASTE_ENDS = f"{ESC}[200~", f"{ESC}[201~"
LONGEST_SEQUENCE, LONGEST_STRING = 256, 65_536
"""Maximum length of a sequence, and of a string such as OSC."""
ESCAPE_SECONDS, REST_SECONDS, PASTE_SECONDS = 0.1, 1.0, 2.0
"""Timeouts for what may follow Esc, for the rest of a sequence, and for more of a paste."""

Kind = Literal["text", "escape", "alt", "sequence", "paste", "junk"]

_COMPLETE = re.compile(
    r"\x1b(?:\[(?:\[.|M[\s\S]{3}|\d+\$(?!y)|[0-?]*[ -/]*[@-LN-Z\\-~]|[0-?]+[ -/]*M|[ -/]+M)|O[ -~]"
    r"|\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|[P_^X][^\x1b\x9c]*(?:\x1b\\|\x9c)|(?P<alt>[^\x1b\[OP\]_^X]))"
)
_INCOMPLETE = re.compile(
    r"\x1b(?:\[(?:\[?|M[\s\S]{0,2}|[0-?]*[ -/]*)|O|\][^\x07\x1b\x9c]*\x1b?|[P_^X][^\x1b\x9c]*\x1b?)?\Z"
)
_STRING = re.compile(r"\x1b[P\]_^X]")


class Token(NamedTuple):
    """One unit of input."""

    kind: Kind
    text: str
    pieced: bool = False
    """It began in an earlier read."""


class SequenceSplitter:
    """Splits text into complete tokens, and buffers an incomplete rest."""

    def __init__(self) -> None:
        self._rest = ""
        self._pasted: list[str] | None = None
        self._newest = 0.0

    @property
    def open(self) -> bool:
        """Whether an incomplete rest is buffered."""
        return bool(self._rest) or self._pasted is not None

    def feed(self, text: str, at: float) -> list[Token]:
        """Add text; return the tokens that are complete now."""
        pieced = bool(self._rest)
        self._rest += text
        self._newest = at
        tokens: list[Token] = []
        while self._rest and (token := self._next()):
            if token.text or token.kind == "paste":
                tokens.append(token._replace(pieced=pieced))
            pieced = False
        return tokens

    def tick(self, at: float) -> list[Token]:
        """Return tokens whose time ran out, at a poll without input."""
        silence = at - self._newest
        if self._pasted is not None:
            return [self._end_paste(self._rest)] if silence >= PASTE_SECONDS else []
        if not self._rest or silence < (ESCAPE_SECONDS if len(self._rest) <= 2 else REST_SECONDS):
            return []
        rest, self._rest = self._rest, ""
        if rest == ESC:
            return [Token("escape", rest)]
        return [Token("alt" if len(rest) == 2 else "junk", rest)]

    def _next(self) -> Token | None:
        """Cut off the next token; return None if it is incomplete."""
        if self._pasted is not None:
            return self._paste()
        rest = self._rest
        if rest[0] != ESC:
            return self._cut(1, "junk" if "\x7f" < rest[0] < "\xa0" or rest[0] == "\ufffd" else "text")
        if match := _COMPLETE.match(rest):
            if match.group() == PASTE_BEGINS:
                self._rest, self._pasted = rest[match.end() :], []
                return Token("junk", "")
            return self._cut(match.end(), "alt" if match["alt"] else "sequence")
        limit = LONGEST_STRING if _STRING.match(rest) else LONGEST_SEQUENCE
        if _INCOMPLETE.match(rest) and len(rest) <= limit:
            return None
        if rest.startswith(ESC * 2):
            return self._cut(1, "escape")
        return self._cut(_broken(rest, limit), "junk")

    def _cut(self, end: int, kind: Kind) -> Token:
        token = Token(kind, self._rest[:end])
        self._rest = self._rest[end:]
        return token

    def _paste(self) -> Token | None:
        assert self._pasted is not None
        end = self._rest.find(PASTE_ENDS)
        if end >= 0:
            text, rest = self._rest[:end], self._rest[end + len(PASTE_ENDS) :]
            token = self._end_paste(text)
            self._rest = rest
            return token
        overlap = len(PASTE_ENDS) - 1
        self._pasted.append(self._rest[:-overlap])
        self._rest = self._rest[-overlap:]
        return None

    def _end_paste(self, text: str) -> Token:
        token = Token("paste", "".join([*(self._pasted or ()), text]))
        self._pasted, self._rest = None, ""
        return token


def _broken(rest: str, limit: int) -> int:
    """Return the length of a broken sequence: up to the next Esc, or to the character that broke it."""
    following = rest.find(ESC, 1)
    end = len(rest) if following < 0 else following
    return min(
        end,
        next((length for length in range(2, min(end, limit)) if not _INCOMPLETE.match(rest[:length])), end),
    )
