"""Keys and labels, wrapped so that each pair stays together."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size

from alita_tui.console.widgets.plain import Plain


def packed(items: Sequence[Content], between: str, width: int) -> Content:
    """Arrange items in lines of at most `width` cells."""
    lines: list[list[Content]] = [[]]
    used = 0
    for item in items:
        needed = item.cell_length + (len(between) if lines[-1] else 0)
        if lines[-1] and used + needed > width:
            lines.append([])
            used, needed = 0, item.cell_length
        lines[-1].append(item)
        used += needed
    return Content("\n").join(Content(between).join(line) for line in lines)


class KeyLine(Plain):
    """Wraps its items for its width."""

    _items: tuple[Content, ...] = ()
    _between = ""

    def show(self, items: Sequence[Content], between: str = "   ") -> None:
        """Show items, separated by `between`."""
        self._items, self._between = tuple(items), between
        self.update(Content(between).join(self._items))

    def render(self) -> Content:
        """Render the items for the current width."""
        return packed(self._items, self._between, self.content_size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines at this width."""
        return packed(self._items, self._between, width).get_height({}, width)
