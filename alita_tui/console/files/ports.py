"""What the viewer asks of a file; the app reads it."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from alita_tui.artefacts.records import Extent
from alita_tui.artefacts.tables import Shown
from alita_tui.confined.code import CodeLine
from alita_tui.confined.pictures import Picture
from alita_tui.spine.text import SafeText

Way = Literal["table", "picture", "markdown", "json", "code", "text", "hex"]
"""A way to show a file."""


class Pages(Protocol):
    """Records of a file: rows of a table, lines, or sixteen bytes each. Every method may raise AlitaError."""

    @property
    def head(self) -> tuple[SafeText, ...]:
        """Return the names of a table's columns; empty for everything else."""

    @property
    def columns(self) -> int:
        """Return how many columns there are, those that are not shown among them."""

    async def extent(self, *, further: bool = False) -> Extent:
        """Return how many records are known; with `further` after looking for more."""

    async def page(self, first: int, count: int) -> tuple[Shown, ...]:
        """Return some records."""

    async def find(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next record from `start` on that contains a text, and where to look on; -1 at the end."""

    async def sort(self, column: int | None, *, descending: bool = False) -> None:
        """Order the rows by a column, or as in the file."""


class OpenFile(Protocol):
    """A file of a session, to look at. Every method may raise AlitaError."""

    @property
    def ways(self) -> tuple[Way, ...]:
        """Return how it can be shown, the best first."""

    async def pages(self, way: Way) -> Pages:
        """Return its records as table, text or bytes."""

    async def text(self) -> SafeText:
        """Return the whole text, if it is not too long."""

    async def value(self) -> Any:
        """Return the JSON value, if it is not too large or too deep."""

    async def code(self) -> tuple[CodeLine, ...]:
        """Return the lines of code with the kinds of their parts."""

    async def picture(self, width: int, height: int) -> Picture:
        """Return the picture, scaled to fit so many pixels."""

    async def check(self) -> None:
        """Raise StoreError if the bytes are not what was added."""

    def close(self) -> None:
        """Close the file."""
