"""Pictures with a terminal's own pixels: sixel, and kitty's protocol with placeholders.

Sixel (https://vt100.net/docs/vt3xx-gp/chapter14.html) draws at the cursor and must be drawn again whenever the cells
are. Kitty's images (https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders) are sent once; then
characters stand for their cells.
"""

from __future__ import annotations

import base64
import fcntl
import re
import struct
import sys
import termios
import zlib
from itertools import islice

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from alita_tui.confined.pictures import Picture
from alita_tui.console.files.diacritics import DIACRITICS

Ink = tuple[int, int, int]
"""Red, green, blue."""

_COLOURS = 256
_BAND = 6
"""Rows of pixels in a row of sixels."""
_CHUNK = 4096
"""Characters of base64 that kitty takes at once."""
_PLACEHOLDER = "\U0010eeee"
WIDEST = len(DIACRITICS)
"""Cells of a picture that placeholders can count."""


def cell_pixels(fallback: tuple[int, int]) -> tuple[int, int]:
    """Return width and height of a cell as the terminal reports it now, else the fallback."""
    try:
        size = fcntl.ioctl(sys.__stdout__ or 1, termios.TIOCGWINSZ, b"\0" * 8)
    except (OSError, ValueError):
        return fallback
    rows, columns, width, height = struct.unpack("HHHH", size)
    if not (rows and columns and width >= columns and height >= rows):
        return fallback
    return width // columns, height // rows


def cells(picture: Picture, cell: tuple[int, int]) -> tuple[int, int]:
    """Return how many columns and rows of cells a picture covers, the last ones in part."""
    return -(-picture.columns // cell[0]), -(-picture.rows // cell[1])


def sixel(picture: Picture, paper: Ink) -> str:
    """Return the sequence that draws a picture at the cursor; what can be seen through shows the paper."""
    from PIL import Image

    size = (picture.columns, picture.rows)
    image = Image.frombytes("RGBA", size, picture.pixels)
    flat = Image.alpha_composite(Image.new("RGBA", size, (*paper, 255)), image).convert("RGB")
    indexed = flat.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette = indexed.getpalette() or []
    inks = zip(*(islice(palette, start, None, 3) for start in range(3)), strict=False)
    # Levels are per cent.
    table = "".join(
        f"#{number};2;{';'.join(str(round(level * 100 / 255)) for level in ink)}"
        for number, ink in enumerate(inks)
    )
    rows = indexed.tobytes()
    wide = picture.columns
    bands = (
        _band([rows[at * wide : (at + 1) * wide] for at in range(top, min(top + _BAND, picture.rows))])
        for top in range(0, picture.rows, _BAND)
    )
    # 1: pixels that no sixel sets keep what is there; the raster attributes say the size.
    return f'\x1bP0;1q"1;1;{wide};{picture.rows}{table}{"-".join(bands)}\x1b\\'


def _band(rows: list[bytes]) -> str:
    """Return up to six rows of colour numbers as sixels, one run through the band for each colour."""
    lines = []
    for colour in sorted(set().union(*rows)):
        bits = 0
        for number, row in enumerate(rows):
            alone = bytearray(256)
            alone[colour] = 1 << number
            bits |= int.from_bytes(row.translate(alone), "big")
        sixels = bits.to_bytes(len(rows[0]), "big").translate(_SIXELS).decode("ascii").rstrip("?")
        lines.append(f"#{colour}{_RUNS.sub(_counted, sixels)}")
    return "$".join(lines)


_SIXELS = bytes((value & 63) + 63 for value in range(256))
_RUNS = re.compile(r"(.)\1{3,}")


def _counted(run: re.Match[str]) -> str:
    return f"!{len(run[0])}{run[1]}"


def kitty(picture: Picture, number: int, columns: int, rows: int) -> str:
    """Return the sequences that send a picture under a number, to be shown where its placeholders are."""
    data = base64.standard_b64encode(zlib.compress(picture.pixels)).decode("ascii")
    chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    head = f"a=T,U=1,q=2,i={number},c={columns},r={rows},f=32,o=z,s={picture.columns},v={picture.rows},"
    last = len(chunks) - 1
    return "".join(
        f"\x1b_G{head if at == 0 else ''}m={int(at < last)};{chunk}\x1b\\" for at, chunk in enumerate(chunks)
    )


def forget(number: int) -> str:
    """Return the sequence that frees a picture."""
    return f"\x1b_Ga=d,d=I,q=2,i={number}\x1b\\"


def placeholders(number: int, columns: int, rows: int) -> list[Strip]:
    """Return the lines of cells in which kitty shows a picture: the colour is its number (24 bits)."""
    style = Style(color=Color.from_rgb(number >> 16 & 255, number >> 8 & 255, number & 255))
    return [
        Strip(
            [
                Segment(f"{_PLACEHOLDER}{DIACRITICS[row]}{DIACRITICS[column]}", style)
                for column in range(columns)
            ],
            columns,
        )
        for row in range(rows)
    ]
