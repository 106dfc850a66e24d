# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Draw a bar, line or scatter chart as an SVG file, from points or from two columns of a CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 24, 52, 74
_INK, _LINES, _FILL = "#333333", "#d0d0d0", "#3465a4"
_MOST = 2000
_LARGEST, _CLOSEST = 1e300, 1e-300

Point = tuple[str, float]


def run(
    kind: str,
    points: list[dict[str, object]] | None = None,
    table: str = "",
    x: str = "",
    y: str = "",
    title: str = "",
    save_as: str = "chart.svg",
) -> dict[str, object]:
    """Leaves the chart under the name `save_as`; returns that name and what it shows.

    The points are given as [{"x": "north", "y": 12.5}, …], or `table` is a CSV file with a heading and
    `x` and `y` name its columns. For a scatter chart x has to be a number, too. Raises ValueError for
    another kind, missing columns and what is no number.
    """
    if kind not in ("bar", "line", "scatter"):
        raise ValueError("kind has to be bar, line or scatter")
    if bool(points) == bool(table):
        raise ValueError("give either points or a table")
    if Path(save_as).name != save_as or not save_as.endswith(".svg") or save_as.startswith("."):
        raise ValueError("save_as is a plain file name that ends in .svg")
    found = (
        _of_table(table, x, y) if table else [(str(p.get("x")), _number(p.get("y"))) for p in points or []]
    )
    if not found:
        raise ValueError("there is nothing to draw")
    if len(found) > _MOST:
        raise ValueError(
            f"{len(found)} points are more than a chart can show; sum them up to {_MOST} or fewer first"
        )
    values = [value for _, value in found]
    ticks = _ticks(min(values), max(values), from_zero=kind == "bar")
    drawn = _DRAWN[kind](found, ticks)
    Path(save_as).write_text(_page([*_axis(ticks), *drawn, *_titles(title, x, y)]), "utf-8")
    return {
        "file": save_as,
        "kind": kind,
        "points": len(found),
        "smallest": min(values),
        "largest": max(values),
    }


def _of_table(table: str, x: str, y: str) -> list[Point]:
    try:
        with open(table, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            names = list(rows.fieldnames or ())
            for name in (x, y):
                if name not in names:
                    raise ValueError(f"there is no column {name!r}; there are {', '.join(names)}")
            return [(str(row[x]), _number(row[y])) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"the table cannot be read: {error}") from error


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is no number")
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"{value!r} is no number") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r} cannot be drawn")
    if abs(number) > _LARGEST:
        raise ValueError(f"{value!r} is too large to be drawn; numbers may be up to {_LARGEST:g}")
    return number


def _ticks(low: float, high: float, *, from_zero: bool) -> list[float]:
    """Round values from below the smallest to above the largest, four to nine of them."""
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    furthest = max(abs(low), abs(high))
    if high - low <= max(furthest * 1e-12, _CLOSEST):  # the same number, as far as an axis can tell
        room = max(furthest * 0.1, 1.0)
        low, high = low - room, high + room
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _place(value: float, low: float, high: float, start: float, end: float) -> float:
    return start + (value - low) / (high - low) * (end - start)


def _up(value: float, ticks: Sequence[float]) -> float:
    return _place(value, ticks[0], ticks[-1], _HEIGHT - _BOTTOM, _TOP)


def _axis(ticks: Sequence[float]) -> list[str]:
    parts = []
    for tick in ticks:
        at = _up(tick, ticks)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="{_LINES}"/>'
        )
        parts.append(_text(f"{tick:,.10g}", _LEFT - 8, at + 4, "end"))
    return parts


def _text(text: str, x: float, y: float, anchor: str, size: int = 12, turn: int = 0) -> str:
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    plain = escape(
        "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{turned}>{plain}</text>'


def _titles(title: str, x: str, y: str) -> list[str]:
    parts = [_text(title, _WIDTH / 2, 30, "middle", 17)] if title else []
    parts += [_text(x, (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, "middle", 13)] if x else []
    return parts + ([_text(y, 18, (_TOP + _HEIGHT - _BOTTOM) / 2, "middle", 13, -90)] if y else [])


def _labels(names: Sequence[str], places: Sequence[float]) -> list[str]:
    """Names below the axis: each of them where there is room, else every second, third … one."""
    every = math.ceil(len(names) / 16)
    slanted = max(len(name) for name in names) * 7 > (_WIDTH - _LEFT - _RIGHT) / min(len(names), 16)
    below = _HEIGHT - _BOTTOM + 18
    return [
        _text(
            name if len(name) <= 18 else name[:17] + "…",
            at,
            below,
            "end" if slanted else "middle",
            12,
            -25 * slanted,
        )
        for name, at in list(zip(names, places, strict=True))[::every]
    ]


def _bars(points: Sequence[Point], ticks: Sequence[float]) -> list[str]:
    room = (_WIDTH - _LEFT - _RIGHT) / len(points)
    parts = []
    for number, (_, value) in enumerate(points):
        top, bottom = sorted((_up(value, ticks), _up(0.0, ticks)))
        at = _LEFT + room * (number + 0.15)
        parts.append(
            f'<rect x="{at:.1f}" y="{top:.1f}" width="{room * 0.7:.1f}" height="{bottom - top:.1f}" fill="{_FILL}"/>'
        )
    middles = [_LEFT + room * (number + 0.5) for number in range(len(points))]
    return parts + _labels([name for name, _ in points], middles)


def _line(points: Sequence[Point], ticks: Sequence[float]) -> list[str]:
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(points) - 1, 1)
    places = [_LEFT + step * number for number in range(len(points))]
    path = " ".join(
        f"{at:.1f},{_up(value, ticks):.1f}" for at, (_, value) in zip(places, points, strict=True)
    )
    dots = [_dot(at, _up(value, ticks)) for at, (_, value) in zip(places, points, strict=True)]
    drawn = f'<polyline points="{path}" fill="none" stroke="{_FILL}" stroke-width="2"/>'
    return [drawn, *(dots if len(points) <= 60 else []), *_labels([name for name, _ in points], places)]


def _scatter(points: Sequence[Point], ticks: Sequence[float]) -> list[str]:
    across = [_number(name) for name, _ in points]
    marks = _ticks(min(across), max(across), from_zero=False)
    edges = (marks[0], marks[-1], _LEFT, _WIDTH - _RIGHT)
    dots = [
        _dot(_place(at, *edges), _up(value, ticks)) for at, (_, value) in zip(across, points, strict=True)
    ]
    return dots + _labels([f"{mark:,.10g}" for mark in marks], [_place(mark, *edges) for mark in marks])


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_FILL}"/>'


_DRAWN: dict[str, Callable[[Sequence[Point], Sequence[float]], list[str]]] = {
    "bar": _bars,
    "line": _line,
    "scatter": _scatter,
}


def _page(parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' font-family="sans-serif" fill="{_INK}">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>', *parts, "</svg>\n"])


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
