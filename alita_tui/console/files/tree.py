"""JSON, indented; objects and lists fold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from alita_tui.console.files.pane import Pane
from alita_tui.console.widgets.styled_text import Line, Piece
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted, neutralise

_MOST = 300_000
"""Lines."""
_LONGEST = 2_000
"""Characters of a text that are shown."""


class Node(NamedTuple):
    """A line."""

    depth: int
    body: Line
    end: int = 0
    """Index of the line that closes the object or list that begins here; 0 if none begins."""
    inside: int = 0
    """Number of its entries."""


def nodes_of(value: Any) -> list[Node]:
    """Return the lines of a JSON value. Raise UsageError where there are too many."""
    nodes: list[Node] = []
    below: list[tuple[int, Iterator[tuple[tuple[Line, Any], bool]], str]] = []

    def begin(key: Line, item: Any, more: bool) -> None:
        comma: Line = ((",", "muted"),) if more else ()
        depth = len(below)
        if isinstance(item, dict | list) and item:
            first, last = "{}" if isinstance(item, dict) else "[]"
            entries: Iterator[tuple[Line, Any]] = (
                (((_text(name), "name"), (": ", "muted")), inner) for name, inner in item.items()
            ) if isinstance(item, dict) else (((), inner) for inner in item)  # fmt: skip
            below.append((len(nodes), _with_ends(entries), last + ("," if more else "")))
            nodes.append(Node(depth, (*key, (first, "muted")), inside=len(item)))
        else:
            nodes.append(Node(depth, (*key, _scalar(item), *comma)))

    begin((), value, False)
    while below:
        opening, entries, closing = below[-1]
        entry = next(entries, None)
        if entry is None:
            below.pop()
            nodes[opening] = nodes[opening]._replace(end=len(nodes))
            nodes.append(Node(len(below), ((closing, "muted"),)))
        else:
            (key, item), more = entry
            begin(key, item, more)
        if len(nodes) > _MOST:
            raise UsageError(f"It has more than {_MOST:,} lines as JSON.")
    return nodes


def _with_ends(entries: Iterator[tuple[Line, Any]]) -> Iterator[tuple[tuple[Line, Any], bool]]:
    """Yield each entry and whether another follows."""
    previous = next(entries)
    for entry in entries:
        yield previous, True
        previous = entry
    yield previous, False


def _text(value: str) -> str:
    shown = json.dumps(neutralise(value[:_LONGEST]), ensure_ascii=False)
    return shown if len(value) <= _LONGEST else f'{shown[:-1]}…" ({len(value):,} characters)'


def _scalar(value: Any) -> Piece:
    match value:
        case str():
            return _text(value), "string"
        case None | bool():
            return json.dumps(value), "keyword"
        case dict() | list():
            return "{}" if isinstance(value, dict) else "[]", "muted"
        case _:
            return str(value)[:_LONGEST], "number"


class TreePane(Pane):
    """A JSON value; Enter folds the object or list at the cursor, or the one around it."""

    def __init__(self, nodes: list[Node]) -> None:
        super().__init__()
        self._all = nodes
        self._folded: set[int] = set()
        self._shown = list(range(len(nodes)))

    @property
    def count(self) -> int:
        """Return how many lines are not folded away."""
        return len(self._shown)

    @property
    def size_words(self) -> str:
        """Return how many lines there are."""
        return counted(len(self._all), "line")

    def parts(self, number: int, width: int) -> tuple[Line, Line]:
        """Return a line; if folded, with the number of its entries."""
        index = self._shown[number]
        node = self._all[index]
        mark = ("▸ " if index in self._folded else "▾ ") if node.end else "  "
        body: Line = (("  " * node.depth, ""), *node.body)
        if index in self._folded:
            count = f" {node.inside:,} {'entry' if node.inside == 1 else 'entries'} "
            body = (*body, (count, "muted"), *self._all[node.end].body)
        return ((mark, "muted"),), body

    def action_open(self) -> None:
        """Fold or unfold."""
        index = self._shown[self.cursor]
        if not self._all[index].end:
            depth = self._all[index].depth
            holders = (
                number
                for number in range(index, -1, -1)
                if self._all[number].end > 0 and self._all[number].depth < max(depth, 1)
            )
            closed = next((number for number in range(index, -1, -1) if self._all[number].end == index), None)
            index = closed if closed is not None else next(holders, 0)
        self._folded ^= {index}
        self._show()
        self.go(self._shown.index(index))

    def _show(self) -> None:
        self._shown, index = [], 0
        while index < len(self._all):
            self._shown.append(index)
            index = self._all[index].end + 1 if index in self._folded else index + 1
        self.recount()

    async def look_for(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next line that contains a text, whatever is folded, and where to look on."""
        if self._folded:
            index = self._shown[min(start, self.count - 1)]
            self._folded.clear()
            self._show()
            start = index
        return await super().look_for(needle, start, direction)
