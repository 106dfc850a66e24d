"""Keys and what they do, in as many lines as the width asks for: a key and its word stay together."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size

from alita_tui.console.widgets.plain import Plain


def packed(items: Sequence[Content], between: str, width: int) -> Content:
    """The items in lines that are as full as `width` cells allow."""
    lines: list[list[Content]] = [[]]
    taken = 0
    for item in items:
        more = item.cell_length + (len(between) if lines[-1] else 0)
        if lines[-1] and taken + more > width:
            lines.append([])
            taken, more = 0, item.cell_length
        lines[-1].append(item)
        taken += more
    return Content("\n").join(Content(between).join(line) for line in lines)


class KeyLine(Plain):
    """Its own lines, made anew when the width changes."""

    _items: tuple[Content, ...] = ()
    _between = ""

    def show(self, items: Sequence[Content], between: str = "   ") -> None:
        """Show these, with `between` between two of one line."""
        self._items, self._between = tuple(items), between
        self.update(Content(between).join(self._items))

    def render(self) -> Content:
        """See `Widget.render`."""
        return packed(self._items, self._between, self.content_size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """See `Widget.get_content_height`."""
        return packed(self._items, self._between, width).get_height({}, width)
