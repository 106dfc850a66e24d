"""Markdown and code: texts that are read as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from alita_tui.confined.code import CodeLine
from alita_tui.console.files.pane import Pane
from alita_tui.console.widgets.markdown import ink, markdown_lines
from alita_tui.console.widgets.styled_text import Line
from alita_tui.spine.text import SafeText, counted

_WIDEST = 110
"""Cells of a line of prose."""


class MarkdownPane(Pane):
    """Markdown, laid out for the width."""

    pointed = False

    def __init__(self, text: SafeText) -> None:
        super().__init__()
        self._text = text
        self._lines: Sequence[Line] = ()

    @property
    def count(self) -> int:
        """Return how many lines it takes."""
        return len(self._lines)

    @property
    def size_words(self) -> str:
        """Return how long the text is."""
        return counted(self._text.count("\n") + (not self._text.endswith("\n")), "line")

    def recount(self) -> None:
        """Lay out for the width."""
        width = min(self.scrollable_content_region.width - 2, _WIDEST)
        self._lines = markdown_lines(self._text, width, joined=True) if width > 0 else ()
        super().recount()

    def parts(self, number: int, width: int) -> tuple[Line, Line]:
        """Return a line."""
        return ((" ", ""),), self._lines[number]

    def go(self, number: int) -> None:
        """Bring a line to the top."""
        self.cursor = number
        self.scroll_to(y=max(number - 2, 0), animate=False, immediate=True, force=True)
        self.refresh()

    def copied(self) -> str:
        """Return the text as it was written."""
        return self._text


class CodePane(Pane):
    """Numbered lines of code."""

    def __init__(self, lines: Sequence[CodeLine]) -> None:
        super().__init__()
        self._lines = lines if len(lines) < 2 or lines[-1] not in ((), (("", ""),)) else lines[:-1]

    @property
    def count(self) -> int:
        """Return how many lines there are."""
        return len(self._lines)

    @property
    def size_words(self) -> str:
        """Return how many lines there are."""
        return counted(self.count, "line")

    def parts(self, number: int, width: int) -> tuple[Line, Line]:
        """Return a line and its number."""
        wide = max(len(str(self.count)), 3)
        line = tuple((text, ink(kind)) for text, kind in self._lines[number])
        return ((f"{number + 1:>{wide}} │ ", "muted"),), line

    def copied(self) -> str:
        """Return the code, without the last line's end."""
        return "\n".join("".join(text for text, _kind in line) for line in self._lines)
