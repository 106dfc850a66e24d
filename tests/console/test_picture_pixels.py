"""Pictures in the terminal's own pixels: a real console in a pseudo-terminal, whose other end decodes what is drawn.

The decoder knows sixel and kitty's protocol from their documents, nothing of the code that writes them.
"""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageStat

from alita_tui.console.files.diacritics import DIACRITICS

ROWS, COLUMNS, CELL = 30, 100, (9, 18)
SIXEL, KITTY, NEITHER = b"\x1b[?62;4;22c", b"\x1b_Gi=31;OK\x1b\\\x1b[?62;22c", b"\x1b[?62;22c"
OPEN = b"\x1bOQ\x1b[F\r"  # F2: the trace; End; Enter


class Window:
    """A terminal that answers as it is told, and keeps everything that was written to it."""

    def __init__(self, picture: Path, answer: bytes, *, sized: bool = True) -> None:
        self.answer = answer
        self.written = b""
        self.main, side = pty.openpty()
        pixels = (COLUMNS * CELL[0], ROWS * CELL[1]) if sized else (0, 0)
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, *pixels))
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.console.picture_host", str(picture)],
            stdin=side, stdout=side, stderr=side, env=environ, start_new_session=True,
        )  # fmt: skip
        os.close(side)

    def until(self, done: Callable[[bytes], object], what: str) -> None:
        assert self.came(done, 60), f"never {what}: {self.written[-300:]!r}"

    def came(self, done: Callable[[bytes], object], seconds: float) -> bool:
        """Read until it is done, or so many seconds at most."""
        end = time.monotonic() + seconds
        while not done(self.written):
            left = end - time.monotonic()
            if left <= 0:
                return False
            if select.select([self.main], [], [], left)[0]:
                piece = os.read(self.main, 65536)
                self.written += piece
                if b"\x1b[c" in piece:
                    os.write(self.main, self.answer)
                os.write(self.main, b"\x1b[0n" * piece.count(b"\x1b[5n"))
        return True

    def press(self, key: bytes) -> None:
        os.write(self.main, key)

    def open(self) -> None:
        """Open the file of the last row; while the console still starts, keys may find nothing there."""
        for _ in range(20):
            self.press(OPEN)
            if self.came(lambda written: "640 × 400 pixels".encode() in written, 3):
                return
        raise AssertionError(f"never opened: {self.written[-300:]!r}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.main)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    image = Image.new("RGB", (640, 400), (20, 40, 60))
    draw = ImageDraw.Draw(image)
    draw.rectangle((40, 40, 300, 200), fill=(220, 30, 30))
    draw.ellipse((320, 150, 600, 380), fill=(30, 200, 90))
    draw.line((0, 399, 639, 0), fill=(250, 250, 250), width=9)
    path = tmp_path / "chart.png"
    image.save(path)
    return path


@pytest.fixture
def window(picture: Path, request: pytest.FixtureRequest) -> Iterator[Window]:
    answer, *sized = request.param
    opened = Window(picture, answer, sized=not sized)
    try:
        opened.until(lambda written: b"chart.png" in written, "listed the file")
        opened.open()
        yield opened
    finally:
        opened.close()


def decoded_sixel(body: str, size: tuple[int, int]) -> Image.Image:
    """Return what a sixel terminal would show."""
    canvas = Image.new("RGB", size)
    pixels = canvas.load()
    assert pixels is not None
    palette: dict[int, tuple[int, int, int]] = {}
    x = y = colour = 0
    for token in re.findall(r"#\d+(?:;\d+)*|![0-9]+[?-~]|[?-~]|\$|-|.", body):
        if token[0] == "#":
            numbers = [int(part) for part in token[1:].split(";")]
            colour = numbers[0]
            if len(numbers) == 5:
                assert numbers[1] == 2, "RGB"
                palette[colour] = tuple(level * 255 // 100 for level in numbers[2:])  # type: ignore[assignment]
        elif token == "$":
            x = 0
        elif token == "-":
            x, y = 0, y + 6
        else:
            count, char = (int(token[1:-1]), token[-1]) if token[0] == "!" else (1, token)
            assert "?" <= char <= "~", f"no sixel: {token!r}"
            for _ in range(count):
                for bit in range(6):
                    if (ord(char) - 63) >> bit & 1:
                        pixels[x, y + bit] = palette[colour]  # outside of the picture: IndexError
                x += 1
    return canvas


def far_from(shown: Image.Image, source: Path) -> float:
    """Return the mean difference from the picture in that size, in levels of 255."""
    wanted = Image.open(source).convert("RGB").resize(shown.size, Image.Resampling.BOX)
    return max(ImageStat.Stat(ImageChops.difference(shown, wanted)).mean)


_SIXELS = re.compile(rb'\x1b7\x1b\[(\d+);(\d+)H\x1bP0;1q"1;1;(\d+);(\d+)([^\x1b]*)\x1b\\\x1b8')


@pytest.mark.parametrize("window", [(SIXEL,), (b"\x1b[6;18;9t" + SIXEL, "no size in pixels")], indirect=True)
def test_a_sixel_terminal_shows_the_picture_in_its_place(window: Window, picture: Path) -> None:
    window.until(_SIXELS.search, "drew sixels")
    row, column, wide, high = (int(part) for part in _SIXELS.findall(window.written)[-1][:4])
    shown = decoded_sixel(_SIXELS.findall(window.written)[-1][4].decode(), (wide, high))
    assert far_from(shown, picture) < 6
    assert wide > 500, "it fills the pane, as far as its proportions let it"
    assert abs(wide / high - 640 / 400) < 0.02
    assert row >= 2
    assert (row - 1) * CELL[1] + high <= (ROWS - 2) * CELL[1], "the lines below stay free"
    assert (column - 1) * CELL[0] + wide <= COLUMNS * CELL[0]


@pytest.mark.parametrize("window", [(SIXEL,)], indirect=True)
def test_a_sixel_picture_is_drawn_again_after_help_was_open(window: Window) -> None:
    window.until(_SIXELS.search, "drew sixels")
    window.press(b"\x1bOP")
    window.until(lambda written: b"keymap.toml" in written, "opened the help")
    opened = len(window.written)
    window.press(b"\x1b")
    window.until(lambda written: _SIXELS.search(written, opened), "drew the picture again")


_KITTY = re.compile(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\")


@pytest.mark.parametrize("window", [(KITTY,)], indirect=True)
def test_a_picture_is_sent_to_kitty_once_and_freed(window: Window, picture: Path) -> None:
    window.until(lambda written: "\U0010eeee".encode() in written, "drew placeholders")
    window.press(b"\x1b")
    window.until(lambda written: b"a=d,d=I" in written, "freed the picture")
    sent = [
        (dict(part.split("=") for part in head.decode().split(",")), data)
        for head, data in _KITTY.findall(window.written)
    ]
    first = next(head for head, _ in sent if head.get("a") == "T")
    assert all(head.get("m") == "1" for head, data in sent if len(data) == 4096 and head.get("a") != "q")
    body = b"".join(data for head, data in sent if head.get("a") not in ("q", "d"))
    pixels = zlib.decompress(base64.standard_b64decode(body))
    size = int(first["s"]), int(first["v"])
    shown = Image.frombytes("RGBA", size, pixels).convert("RGB")
    assert far_from(shown, picture) < 6
    columns, rows, number = int(first["c"]), int(first["r"]), int(first["i"])
    assert abs(columns * CELL[0] - size[0]) < CELL[0]
    assert abs(rows * CELL[1] - size[1]) < CELL[1]
    colour = f"38;2;{number >> 16 & 255};{number >> 8 & 255};{number & 255}"
    last = "\U0010eeee" + DIACRITICS[rows - 1] + DIACRITICS[columns - 1]
    assert re.search(f"{colour}[;0-9]*m[^\x1b]*{last}".encode(), window.written)
    assert [head["i"] for head, _ in sent if head.get("a") == "d"] == [str(number)]


@pytest.mark.parametrize("window", [(NEITHER,), (SIXEL, "no size in pixels")], indirect=True)
def test_other_terminals_get_half_blocks(window: Window) -> None:
    window.until(lambda written: "▀".encode() in written, "drew half blocks")
    assert b"\x1bP" not in window.written
    assert b"a=T" not in window.written


def test_placeholder_marks_match_the_table_that_kitty_publishes() -> None:
    """Its first and last, how many it has, and of what kind they all are."""
    assert len(DIACRITICS) == 297
    assert [ord(DIACRITICS[at]) for at in (0, 1, 296)] == [0x305, 0x30D, 0x1D244]
    assert {unicodedata.combining(mark) for mark in DIACRITICS} == {230}
    assert sorted(DIACRITICS) == list(DIACRITICS)
