"""What a terminal shows after each frame that the console paints, read from the bytes of the frames alone."""

from __future__ import annotations

import re

from rich.cells import cell_len
from textual._compositor import CompositorUpdate
from textual.app import App

_PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|(\r|\n)|([^\x1b\r\n])")


class Frames:
    """Records every frame of an app from the moment it is made."""

    def __init__(self, app: App[object], size: tuple[int, int]) -> None:
        self._cells = [[" "] * size[0] for _line in range(size[1])]
        self._row = self._column = 0
        self.seen: list[list[str]] = []
        """The lines on screen after each frame."""
        display = app._display

        def record(screen, renderable) -> None:
            if isinstance(renderable, CompositorUpdate) and not app._batch_count:
                self._take(renderable.render_segments(app.console))
                self.seen.append(["".join(cells) for cells in self._cells])
            display(screen, renderable)

        app._display = record  # type: ignore[method-assign]

    def _take(self, text: str) -> None:
        for numbers, command, control, character in _PART.findall(text):
            if command in ("H", "G"):
                row, _, column = f"{numbers}".rpartition(";")
                self._row = int(row or 1) - 1 if command == "H" else self._row
                self._column = int(column or 1) - 1
            elif command == "X":
                self._cells[self._row][self._column : self._column + int(numbers)] = [" "] * int(numbers)
            elif command == "C":
                self._column += int(numbers or 1)
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._row, self._column = self._row + 1, 0
            elif character:
                width = cell_len(character)
                if self._row < len(self._cells) and self._column + width <= len(self._cells[0]):
                    self._cells[self._row][self._column : self._column + width] = [
                        character,
                        *[""] * (width - 1),
                    ]
                self._column += width
