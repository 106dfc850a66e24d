"""Code to read before it runs: numbered, highlighted, wrapped, nothing hidden or left out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby, zip_longest
from types import MappingProxyType

import msgspec

from alita_tui.console.widgets.sheet import Row, Sheet
from alita_tui.console.widgets.styled_text import Line, Piece, text_of
from alita_tui.spine.text import reveal

_SPELLED_OUT = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩")
_TRAILING = re.compile(r" +$")


class Base(msgspec.Struct, frozen=True):
    """Code to compare with."""

    label: str
    """For example `v1` or `attempt 2`."""
    code: str


Marks = Mapping[int, Piece]
"""The mark in the margin of each line that has a finding, by line number."""
_UNMARKED: Marks = MappingProxyType({})
MARK, _HERE = "▌", "▸"
"""Marks of a line with a finding, and of the finding that was jumped to."""


def _lexer(code: str) -> str:
    first = code.partition("\n")[0]
    if first.startswith("#!"):
        return "bash" if first.endswith("bash") else "typescript" if first.endswith("node") else "python"
    return "python"


@lru_cache(maxsize=16)
def highlight(code: str) -> tuple[Line, ...]:
    """Highlight code in the language of its first line (default Python).

    Hidden characters are spelled out, trailing blanks dotted. Letters outside ASCII in a name are emphasised:
    they can look like others (UTS #39).
    """
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token  # type: ignore[import-untyped]

    def style(kind: object, text: str) -> str:
        if kind in Comment:
            return "comment"
        if kind in String:
            return "string"
        if kind in Number:
            return "number"
        if kind in Keyword or kind in Operator.Word:
            return "keyword"
        if kind in Name and not text.isascii():
            return "hostile"
        if kind in Name.Function or kind in Name.Class or kind in Name.Decorator:
            return "name"
        return "hostile" if kind in Token.Error and not text.isascii() else ""

    lines: list[list[tuple[str, str]]] = [[]]
    # The unprocessed tokens keep every byte; the usual entry would drop carriage returns.
    for _at, kind, text in get_lexer_by_name(_lexer(code)).get_tokens_unprocessed(reveal(code)):
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((part, style(kind, part)))
    if code.endswith("\n"):
        lines.pop()
    return tuple(_emphasised(tuple(line)) for line in lines)


def _emphasised(line: Line) -> Line:
    """Return a line with spelled-out characters and trailing blanks made conspicuous."""
    text = text_of(line)
    spans = [(match.start(), match.end(), "hostile") for match in _SPELLED_OUT.finditer(text)]
    if blank := _TRAILING.search(text):
        spans.append((blank.start(), blank.end(), "warn"))
    if not spans:
        return line
    styles = [style for piece, style in line for _char in piece]
    for start, end, style in spans:
        styles[start:end] = [style] * (end - start)
    if blank:
        text = text[: blank.start()] + "·" * (blank.end() - blank.start())
    pairs = groupby(zip(text, styles, strict=True), key=lambda pair: pair[1])
    return tuple(("".join(char for char, _style in group), style) for style, group in pairs)


def code_rows(code: str, *, sources: bool = True, marks: Marks = _UNMARKED) -> list[Row]:
    """Return numbered rows of code; with `sources` each counts as a line to read."""
    lines = highlight(code)
    width = max(len(str(len(lines))), 3)
    return [
        Row(
            body,
            ((f"{number:>{width}} │", "muted"), _mark(marks, number)),
            ((f"{'↪':>{width}} │ ", "muted"),),
            source=number if sources else 0,
            hard=True,
            code=True,
        )
        for number, body in enumerate(lines, 1)
    ]


def _mark(marks: Marks, number: int) -> Piece:
    """Return the last cell of a line's margin."""
    return marks.get(number, (" ", "muted"))


def diff_rows(code: str, base: Base, marks: Marks = _UNMARKED) -> list[Row]:
    """Return a unified diff from a base to the code, with three lines of context and the code's line numbers."""
    before, after = _plain(base.code), _plain(code)
    old_lines, new_lines = highlight(base.code), highlight(code)
    rows = [Row(((f" from {base.label} to this draft", "heading"),))]
    width = max(len(str(len(after))), 3)
    groups = list(difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(3))
    if not groups:
        return [*rows, Row((("  The code is the same.", "muted"),))]
    for group in groups:
        first, last = group[0], group[-1]
        rows.append(Row(((f" @@ lines {first[3] + 1} to {last[4]} @@", "wait"),)))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                rows += [
                    _diff_row(" ", n + 1, width, _line(new_lines, n, after), marks) for n in range(j1, j2)
                ]
                continue
            rows += [_diff_row("-", 0, width, _line(old_lines, n, before)) for n in range(i1, i2)]
            rows += [_diff_row("+", n + 1, width, _line(new_lines, n, after), marks) for n in range(j1, j2)]
    return rows


def split_rows(code: str, base: Base, marks: Marks = _UNMARKED) -> list[Row]:
    """Return both texts side by side, matching lines in one row."""
    before, after = _plain(base.code), _plain(code)
    old_lines, new_lines = highlight(base.code), highlight(code)
    width = max(len(str(max(len(before), len(after)))), 3)
    rows = [_pair(Row(((f" {base.label}", "heading"),)), Row((("this draft", "heading"),)))]
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for left, right in zip_longest(range(i1, i2), range(j1, j2)):
            old = new = Row()
            if left is not None:
                old = _diff_row(
                    " " if tag == "equal" else "-", left + 1, width, _line(old_lines, left, before)
                )
            if right is not None:
                sign = " " if tag == "equal" else "+"
                new = _diff_row(sign, right + 1, width, _line(new_lines, right, after), marks)
            rows.append(_pair(old, new))
    return rows


def _pair(left: Row, right: Row) -> Row:
    """Join two rows; the right one counts as read."""
    return msgspec.structs.replace(left, beside=right, source=right.source)


def _plain(code: str) -> list[str]:
    lines = reveal(code).split("\n")
    return [*lines, "⟨no line end⟩"] if lines[-1] else lines[:-1]


def _line(lines: tuple[Line, ...], number: int, plain_lines: list[str]) -> Line:
    return lines[number] if number < len(lines) else ((plain_lines[number], ""),)


def _tinted(line: Line, style: str) -> Line:
    """Return a line in one style, except emphasised parts."""
    return tuple(
        (text, piece_style if piece_style in ("hostile", "warn") else style) for text, piece_style in line
    )


def _diff_row(sign: str, number: int, width: int, body: Line, marks: Marks = _UNMARKED) -> Row:
    style = {"+": "added", "-": "removed"}.get(sign, "muted")
    emphasised = _emphasised(body if sign == " " else _tinted(body, style))
    return Row(
        emphasised,
        ((f"{number or '':>{width}} ", "muted"), (sign, style), _mark(marks, number)),
        ((f"{'↪':>{width}} ", "muted"), ("  ", "")),
        source=number,
        hard=True,
        code=True,
    )


class CodeView(Sheet):
    """Shows code or a diff, and records which lines were on screen."""

    DEFAULT_CSS = """
    CodeView { background: $surface; }
    """

    def __init__(self, code: str = "", bases: Sequence[Base] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.code = code
        self.bases = tuple(bases)
        self.marks: Marks = _UNMARKED
        self._finding = 0
        """The line of the finding that was jumped to last; 0 for none."""
        self._mode = 0
        self.split = False
        """Whether a diff is shown side by side."""
        self._show()

    def load(self, code: str, bases: Sequence[Base] = (), marks: Marks = _UNMARKED) -> None:
        """Show other code, none of it read yet."""
        self.code, self.bases, self._mode = code, tuple(bases), 0
        self.marks, self._finding = marks, 0
        self.forget_seen()
        self._show()

    @property
    def base(self) -> Base | None:
        """The code that a diff compares with; None while no diff is shown."""
        return self.bases[self._mode - 1] if self._mode else None

    def cycle(self) -> bool:
        """Switch code → each diff → code; return False if there is nothing to compare with."""
        if not self.bases:
            return False
        self._mode = (self._mode + 1) % (len(self.bases) + 1)
        self._show()
        return True

    def go_to_line(self, line: int) -> None:
        """Scroll to a line of the code, in the diff if it is there."""
        if not self.scroll_to_source(line) and self._mode:
            self._mode = 0
            self._show()
            self.scroll_to_source(line)

    def next_finding(self) -> int:
        """Go to the next line with a mark, after the last one to the first; return its number, 0 for none."""
        lines = sorted(self.marks)
        if lines:
            self._finding = next((line for line in lines if line > self._finding), lines[0])
            self._show()
            self.go_to_line(self._finding)
        return self._finding

    def toggle_split(self) -> None:
        """Switch between side-by-side and unified diff."""
        self.split = not self.split
        self._show()

    @property
    def lines(self) -> int:
        """Number of lines."""
        return len(highlight(self.code)) if self.code else 0

    @property
    def unread(self) -> int:
        """Number of lines that were never fully on screen."""
        return sum(not self.seen(number) for number in range(1, self.lines + 1))

    @property
    def read(self) -> bool:
        """Whether all of the code was on screen."""
        return not self.unread

    def _show(self) -> None:
        base = self.base
        compare = split_rows if self.split else diff_rows
        marks = dict(self.marks)
        if self._finding:
            marks[self._finding] = (_HERE, marks[self._finding][1])
        rows = compare(self.code, base, marks) if base else code_rows(self.code, marks=marks)
        self.show(rows)
