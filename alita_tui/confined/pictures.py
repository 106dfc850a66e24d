"""Pictures as pixels for a pane: Pillow as a filter, and the function that calls it."""

from __future__ import annotations

import sys
from io import BytesIO

import msgspec

from alita_tui.confined.drawings import MOST_LABELS, Label
from alita_tui.confined.limits import confine
from alita_tui.confined.run import filtered

MOST_BYTES = 64_000_000
"""Largest picture file, in bytes."""
_MOST_PIXELS = 64_000_000
"""Most pixels of a picture; each takes up to eight bytes while it is scaled down."""
_FORMATS = ("PNG", "JPEG", "GIF")
_LARGER = 8
"""Largest factor by which a small picture is enlarged."""
_WIDEST = 2_000


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture scaled to fit a pane, or why there is none."""

    width: int = 0
    """Pixels of the original picture."""
    height: int = 0
    columns: int = 0
    """Pixels of the scaled picture."""
    rows: int = 0
    pixels: bytes = b""
    """Four bytes for each pixel, row by row: red, green, blue, opacity."""
    labels: tuple[Label, ...] = ()
    """Words of a drawing, which its pixels do not have."""
    problem: str = ""


async def picture(body: bytes, width: int, height: int) -> Picture:
    """Return a picture scaled to fit into `width` × `height` pixels, keeping its proportions."""
    width, height = (min(max(size, 1), _WIDEST) for size in (width, height))
    output, _ = await filtered("alita_tui.confined.pictures", (str(width), str(height)), body)
    head, _, pixels = output.partition(b"\n")
    try:
        result = msgspec.json.decode(head, type=Picture)
    except msgspec.DecodeError:
        return Picture(problem="It takes too much time or memory to be decoded.")
    if len(pixels) != 4 * result.columns * result.rows or not (
        0 <= result.columns <= width and 0 <= result.rows <= height
    ):
        return Picture(
            width=result.width,
            height=result.height,
            problem="It takes too much time or memory to be decoded.",
        )
    return msgspec.structs.replace(result, pixels=pixels, labels=result.labels[:MOST_LABELS])


def _sketched(body: bytes, width: int, height: int) -> Picture:
    """Return the shapes and labels of a simple SVG drawing."""
    from alita_tui.confined.drawings import NotDrawable, drawn

    try:
        size, image, labels = drawn(body, width, height)
    except NotDrawable as error:
        return Picture(problem=f"It cannot be drawn: {error}.")
    columns, rows = image.size
    return Picture(
        width=size[0], height=size[1], columns=columns, rows=rows, pixels=image.tobytes(), labels=labels
    )


def _scaled(body: bytes, width: int, height: int) -> Picture:
    from alita_tui.confined.drawings import is_drawing

    if is_drawing(body):
        return _sketched(body, width, height)
    from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # reported below, with the size
    try:
        image = Image.open(BytesIO(body), formats=_FORMATS)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        return Picture(problem=f"It cannot be read as a picture: {type(error).__name__}.")
    size = image.size
    if size[0] * size[1] > _MOST_PIXELS:
        return Picture(width=size[0], height=size[1], problem="It has too many pixels to be shown.")
    image.draft("RGB", (width, height))
    problem = ""
    try:
        image.load()
    except (OSError, ValueError, SyntaxError):
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        problem = "The file is cut off or damaged; this is what there is of it."
        try:
            image = Image.open(BytesIO(body), formats=_FORMATS)
            image.load()
        except (OSError, ValueError, SyntaxError):
            return Picture(width=size[0], height=size[1], problem="The file is cut off or damaged.")
    upright = ImageOps.exif_transpose(image).convert("RGBA")
    if upright.size[0] <= width and upright.size[1] <= height:
        times = min(width // upright.size[0], height // upright.size[1], _LARGER)
        scaled = upright.resize((upright.size[0] * times, upright.size[1] * times), Image.Resampling.NEAREST)
    else:
        scaled = upright
        scaled.thumbnail((width, height), Image.Resampling.BOX)
    columns, rows = scaled.size
    return Picture(
        width=size[0], height=size[1], columns=columns, rows=rows, pixels=scaled.tobytes(), problem=problem
    )


def main() -> None:
    """Filter for `picture`: arguments are CPU seconds, bytes of memory, and the pixels to fit."""
    seconds, memory, width, height = map(int, sys.argv[1:5])
    body = sys.stdin.buffer.read()
    confine(seconds, memory)
    result = _scaled(body, width, height)
    sys.stdout.buffer.write(
        msgspec.json.encode(msgspec.structs.replace(result, pixels=b"")) + b"\n" + result.pixels
    )
