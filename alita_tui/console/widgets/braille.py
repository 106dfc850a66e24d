"""A line over time in braille dots, two by four to a cell."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_SPARKS = " ▁▂▃▄▅▆"
"""Six of eight levels, so that rows above each other do not touch."""


def braille(
    values: Sequence[float | None],
    width: int,
    height: int,
    low: float,
    high: float,
    marked: Collection[int] = (),
) -> list[list[tuple[str, bool]]]:
    """Draw values from left to right between `low` and `high`; return for each line its pieces, and whether marked.

    None leaves a gap. `marked` are indices of values; the line is marked there and halfway to their neighbours.
    """
    cells = [[0] * width for _ in range(height)]
    flagged = [[False] * width for _ in range(height)]
    columns, rows = width * 2, height * 4
    previous: int | None = None
    for column in range(columns):
        position = column * (len(values) - 1) / max(columns - 1, 1) if values else 0.0
        value = _between(values, position)
        if value is None or not high > low:
            previous = None
            continue
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        dot = rows - 1 - round(share * (rows - 1))
        start = dot if previous is None else previous + (1 if dot > previous else -1 if dot < previous else 0)
        for row in range(min(start, dot), max(start, dot) + 1):
            cells[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
            flagged[row // 4][column // 2] |= round(position) in marked
        previous = dot
    return [_pieces(line, flags) for line, flags in zip(cells, flagged, strict=True)]


def _between(values: Sequence[float | None], position: float) -> float | None:
    """Return the value at a position between two values; None beside a gap."""
    low = values[int(position)] if values else None
    high = values[min(int(position) + 1, len(values) - 1)] if values else None
    if low is None or high is None:
        return low if position - int(position) < 0.5 else high
    return low + (high - low) * (position - int(position))


def _pieces(cells: Sequence[int], flags: Sequence[bool]) -> list[tuple[str, bool]]:
    pieces: list[tuple[str, bool]] = []
    for cell, flag in zip(cells, flags, strict=True):
        text = chr(0x2800 + cell) if cell else " "
        if pieces and (pieces[-1][1] == flag or not cell):
            pieces[-1] = (pieces[-1][0] + text, pieces[-1][1])
        else:
            pieces.append((text, flag))
    return pieces


def spark(values: Sequence[int], width: int) -> str:
    """Draw counts as small columns, the newest at the right, scaled to the largest; a blank for 0."""
    if not values or not width:
        return ""
    step = max(len(values) / width, 1.0)
    count = min(width, len(values))
    sums = [
        sum(values[int(column * step) : max(int((column + 1) * step), int(column * step) + 1)])
        for column in range(count)
    ]
    top = max(sums) or 1
    return "".join(_SPARKS[0 if not total else max(round(total / top * 6), 1)] for total in sums)
