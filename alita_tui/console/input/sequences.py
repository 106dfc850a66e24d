"""Cuts what a terminal sends into whole keys, sequences and pastes. Pure.

Nothing that was broken off, is over-long or is no sequence at all comes out as keys: it comes out as `junk`.
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

_WHOLE = re.compile(
    r"\x1b(?:\[(?:\[.|M[\s\S]{3}|\d+\$(?!y)|[0-?]*[ -/]*[@-LN-Z\\-~]|[0-?]+[ -/]*M|[ -/]+M)|O[ -~]"
    r"|\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|[P_^X][^\x1b\x9c]*(?:\x1b\\|\x9c)|(?P<alt>[^\x1b\[OP\]_^X]))"
)
_BEGUN = re.compile(
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
    """Splits text into whole tokens, keeping an incomplete rest."""

    def __init__(self) -> None:
        self._rest = ""
        self._pasted: list[str] | None = None
        self._newest = 0.0

    @property
    def open(self) -> bool:
        """Whether a rest is kept."""
        return bool(self._rest) or self._pasted is not None

    def feed(self, text: str, at: float) -> list[Token]:
        """Take text; return the tokens that became complete."""
        pieced = bool(self._rest)
        self._rest += text
        self._newest = at
        found: list[Token] = []
        while self._rest and (token := self._next()):
            if token.text or token.kind == "paste":
                found.append(token._replace(pieced=pieced))
            pieced = False
        return found

    def tick(self, at: float) -> list[Token]:
        """Return tokens whose time ran out, at a poll without input."""
        waited = at - self._newest
        if self._pasted is not None:
            return [self._end_paste(self._rest)] if waited >= PASTE_SECONDS else []
        if not self._rest or waited < (ESCAPE_SECONDS if len(self._rest) <= 2 else REST_SECONDS):
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
        if whole := _WHOLE.match(rest):
            if whole.group() == PASTE_BEGINS:
                self._rest, self._pasted = rest[whole.end() :], []
                return Token("junk", "")
            return self._cut(whole.end(), "alt" if whole["alt"] else "sequence")
        limit = LONGEST_STRING if _STRING.match(rest) else LONGEST_SEQUENCE
        if _BEGUN.match(rest) and len(rest) <= limit:
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
        found = self._rest.find(PASTE_ENDS)
        if found >= 0:
            text, after = self._rest[:found], self._rest[found + len(PASTE_ENDS) :]
            token = self._end_paste(text)
            self._rest = after
            return token
        keep = len(PASTE_ENDS) - 1
        self._pasted.append(self._rest[:-keep])
        self._rest = self._rest[-keep:]
        return None

    def _end_paste(self, text: str) -> Token:
        token = Token("paste", "".join([*(self._pasted or ()), text]))
        self._pasted, self._rest = None, ""
        return token


def _broken(rest: str, limit: int) -> int:
    """Return the length of a broken sequence: up to the next Esc, or to what ended it."""
    following = rest.find(ESC, 1)
    end = len(rest) if following < 0 else following
    return min(end, next((n for n in range(2, min(end, limit)) if not _BEGUN.match(rest[:n])), end))
