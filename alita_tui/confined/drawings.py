"""Simple SVG drawings as pixels: the shapes that charts are made of, and their labels apart, to be written as text.

What uses anything else (paths, transforms, style sheets, other files) is not drawn at all: half a chart would mislead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

_FINER = 4
"""Pixels that are drawn for each one that is shown, across and down."""
_FAR, _THICKEST = 1e5, 4_000
"""Pixels from the edge, and of a line, beyond which nothing more is to be seen."""
_LARGEST = 1e6
"""Units of a drawing's side."""
_HEAD = 2_000
_INVISIBLE = frozenset({"title", "desc", "metadata"})
MOST_LABELS, _LONGEST_LABEL = 100, 80
_ABOVE_BASELINE = 0.35
"""How far the middle of letters is above their base line, as a share of their size."""
_LISTS = re.compile(r"[\s,]+")
_DEFAULTS = {
    "fill": "black",
    "stroke": "none",
    "stroke-width": "1",
    "text-anchor": "start",
    "font-size": "16",
    "dominant-baseline": "auto",
}
"""What an element has from those around it."""
Ink = Mapping[str, str]
"""Colours, the thickness of lines and the place of letters, as they are written."""
Point = tuple[float, float]


class Label(msgspec.Struct, frozen=True):
    """Words of a drawing."""

    x: int
    """Pixels of the scaled picture, of the point that `anchor` is about."""
    y: int
    """Pixels of the scaled picture, of the middle of the letters."""
    anchor: Literal["start", "middle", "end"]
    text: str


class NotDrawable(ValueError):
    """The drawing uses something that is not drawn here, or it is damaged."""


def is_drawing(body: bytes) -> bool:
    """Return whether a file begins as an SVG drawing does."""
    head = body[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith((b"<svg", b"<?xml")) and b"<svg" in head


def drawn(body: bytes, width: int, height: int) -> tuple[tuple[int, int], Image, tuple[Label, ...]]:
    """Return a drawing's own size, its picture, scaled to fit so many pixels, and its labels. Raise NotDrawable."""
    from xml.etree.ElementTree import ParseError, fromstring

    from PIL import Image, ImageDraw

    if b"\0" in body or re.search(rb"<!(?:DOCTYPE|ENTITY)", body, re.IGNORECASE):
        raise NotDrawable("it declares entities")
    try:
        root = fromstring(body)  # noqa: S314  # without declarations, in a process with limits
    except ParseError as error:
        raise NotDrawable("it is no XML") from error
    left, top, wide, high = _frame(root)
    scale = min(width / wide, height / high)
    columns, rows = (max(round(side * scale), 1) for side in (wide, high))
    canvas = Image.new("RGBA", (columns * _FINER, rows * _FINER))
    shapes = _Shapes(ImageDraw.Draw(canvas), (left, top, wide, high), scale * _FINER)
    labels: list[Label] = []
    for element, ink in _elements(root):
        if _name(element) != "text":
            shapes.draw(element, ink)
        elif (label := shapes.label(element, ink)) and len(labels) < MOST_LABELS:
            labels.append(label)
    return (round(wide), round(high)), canvas.resize((columns, rows), Image.Resampling.BOX), tuple(labels)


def _frame(root: Element) -> tuple[float, float, float, float]:
    """Return the left edge, upper edge, width and height of what is shown, in the drawing's units."""
    box = _LISTS.split(root.get("viewBox", "").strip())
    try:
        frame = [float(part) for part in box] if len(box) == 4 else None
        frame = frame or [
            0.0,
            0.0,
            *(float(root.get(side, "").removesuffix("px")) for side in ("width", "height")),
        ]
    except ValueError as error:
        raise NotDrawable("it has no size") from error
    left, top, wide, high = frame
    if not all(map(math.isfinite, frame)) or not (0 < wide < _LARGEST and 0 < high < _LARGEST):
        raise NotDrawable("it has no size")
    return left, top, wide, high


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _elements(root: Element) -> Iterator[tuple[Element, Ink]]:
    """Yield shapes and texts in the order in which they are painted, each with its colours."""
    if _name(root) != "svg":
        raise NotDrawable("it is no drawing")
    waiting: list[tuple[Element, Ink]] = [(root, _DEFAULTS)]
    while waiting:
        element, above = waiting.pop()
        if _name(element) in _INVISIBLE:
            continue
        if element.get("transform") or element.get("style") or element.get("class"):
            if _name(element) == "text":
                continue  # its place is unknown; the shapes are right without it
            raise NotDrawable("it uses transforms or style sheets")
        ink = {key: element.get(key, above[key]) for key in _DEFAULTS}
        if _name(element) in ("svg", "g"):
            waiting += [(child, ink) for child in reversed(element)]
        else:
            yield element, ink


class _Shapes:
    """Draws shapes into a finer picture."""

    def __init__(self, pen: ImageDraw, frame: tuple[float, float, float, float], scale: float) -> None:
        self._pen = pen
        self._left, self._top, self._wide, self._high = frame
        self._scale = scale

    def draw(self, element: Element, ink: Ink) -> None:
        """Draw a shape. Raise NotDrawable if it is none of those known here."""
        fill, stroke = _colour(ink["fill"]), _colour(ink["stroke"])
        thick = min(max(round(self._number(ink["stroke-width"], 1.0) * self._scale), 1), _THICKEST)
        match _name(element):
            case "rect":
                x, y, wide, high = self._lengths(element, "x", "y", "width", "height")
                if box := self._box((x, y), (x + wide, y + high)):
                    self._pen.rectangle(box, fill, stroke, thick if stroke else 0)
            case "circle" | "ellipse" as kind:
                radii = ("r", "r") if kind == "circle" else ("rx", "ry")
                x, y, across, down = self._lengths(element, "cx", "cy", *radii)
                if box := self._box((x - across, y - down), (x + across, y + down)):
                    self._pen.ellipse(box, fill, stroke, thick if stroke else 0)
            case "line":
                x, y, right, bottom = self._lengths(element, "x1", "y1", "x2", "y2")
                self._line([(x, y), (right, bottom)], stroke, thick)
            case "polyline" | "polygon" as kind:
                points = self._points(element.get("points", ""))
                if fill and len(points) > 2:
                    self._pen.polygon([self._at(point) for point in points], fill=fill)
                closed = [*points, *points[:1]] if kind == "polygon" else points
                self._line(closed, stroke, thick)
            case name:
                raise NotDrawable(f"it uses {name[:40]}")

    def label(self, element: Element, ink: Ink) -> Label | None:
        """Return the words of a text; None if it has none, or a place or size that is not understood."""
        text = " ".join("".join(element.itertext()).split())[:_LONGEST_LABEL]
        if not text or any(child.get("x") or child.get("y") for child in element):
            return None
        try:
            x = self._number(element.get("x", "0"), self._wide)
            y = self._number(element.get("y", "0"), self._high)
            size = self._number(ink["font-size"], 16.0)
        except NotDrawable:
            return None
        if ink["dominant-baseline"] not in ("middle", "central"):
            y -= _ABOVE_BASELINE * size
        across, down = (math.floor(value / _FINER) for value in self._at((x, y)))
        anchors: dict[str, Literal["middle", "end"]] = {"middle": "middle", "end": "end"}
        return Label(across, down, anchors.get(ink["text-anchor"], "start"), text)

    def _lengths(self, element: Element, *names: str) -> list[float]:
        """Return four lengths, across and down by turns; shares are of the width or the height of the whole."""
        sides = (self._wide, self._high) * 2
        return [self._number(element.get(name, "0"), side) for name, side in zip(names, sides, strict=True)]

    def _box(self, low: Point, high: Point) -> tuple[float, float, float, float] | None:
        """Return where a box is in the picture; None where nothing is in it."""
        (x, y), (right, bottom) = self._at(low), self._at(high)
        return (x, y, right, bottom) if right >= x and bottom >= y else None

    def _line(self, points: Sequence[Point], stroke: tuple[int, ...] | None, thick: int) -> None:
        if stroke and len(points) > 1:
            self._pen.line([self._at(point) for point in points], fill=stroke, width=thick)

    def _points(self, text: str) -> list[Point]:
        numbers = [self._number(part, 1.0) for part in _LISTS.split(text.strip()) if part]
        return list(zip(numbers[::2], numbers[1::2], strict=False))

    def _at(self, point: Point) -> Point:
        """Return where a point of the drawing is in the picture."""
        x, y = (point[0] - self._left) * self._scale, (point[1] - self._top) * self._scale
        return min(max(x, -_FAR), _FAR), min(max(y, -_FAR), _FAR)

    def _number(self, text: str, whole: float) -> float:
        """Return a length in the drawing's units; a share of `whole` where it is one."""
        share = text.endswith("%")
        try:
            value = float(text.removesuffix("%").removesuffix("px"))
        except ValueError as error:
            raise NotDrawable("a length is none") from error
        if not math.isfinite(value):
            raise NotDrawable("a length is none")
        return value / 100 * whole if share else value


def _colour(text: str) -> tuple[int, ...] | None:
    from PIL import ImageColor

    if text in ("none", "transparent"):
        return None
    try:
        return ImageColor.getrgb("black" if text == "currentColor" else text[:40])
    except ValueError as error:
        raise NotDrawable("it uses patterns or unknown colours") from error
