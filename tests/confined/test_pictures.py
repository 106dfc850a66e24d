"""Pictures and code, parsed where nothing can be reached."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from alita_tui.confined import run
from alita_tui.confined.code import code_lines
from alita_tui.confined.pictures import picture


def made(kind: str, size: tuple[int, int] = (60, 40), mode: str = "RGB", **options) -> bytes:
    image = Image.new(mode, size, "white" if mode != "P" else 0)
    if mode in ("RGB", "RGBA"):
        ImageDraw.Draw(image).rectangle((0, 0, size[0] // 2 - 1, size[1]), fill="#ff0000")
    written = io.BytesIO()
    image.save(written, kind, **options)
    return written.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few kB that says it has so many pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 5_000_000, 9))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF"])
async def test_a_picture_is_made_smaller_and_keeps_its_proportions(kind: str) -> None:
    found = await picture(made(kind, (600, 300)), 100, 80)
    assert (found.width, found.height, found.columns, found.rows, found.problem) == (600, 300, 100, 50, "")
    red, white = found.pixels[:4], found.pixels[4 * 99 : 4 * 100]
    assert red[0] > 240 and red[1] < 20 and min(white) > 240


async def test_a_small_picture_is_enlarged_by_whole_pixels() -> None:
    found = await picture(made("PNG", (10, 6)), 45, 45)
    assert (found.width, found.height, found.columns, found.rows) == (10, 6, 40, 24)


@pytest.mark.parametrize("mode", ["L", "P", "1", "LA", "RGBA", "I;16", "CMYK"])
async def test_every_kind_of_pixel_is_shown(mode: str) -> None:
    found = await picture(made("PNG" if mode != "CMYK" else "JPEG", mode=mode), 60, 40)
    assert (found.columns, found.rows, found.problem) == (60, 40, "")


async def test_a_photograph_is_turned_as_its_camera_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    found = await picture(made("JPEG", (60, 20), exif=exif), 60, 60)
    assert (found.columns, found.rows) == (20, 60)


async def test_a_picture_with_too_many_pixels_is_not_decoded() -> None:
    found = await picture(bomb(50_000, 50_000), 100, 80)
    assert (found.width, found.height, found.columns) == (50_000, 50_000, 0)
    assert "too many pixels" in found.problem


async def test_a_truncated_picture_is_shown_as_far_as_it_goes() -> None:
    whole = made("JPEG", (640, 480), quality=95)
    found = await picture(whole[: len(whole) // 2], 64, 48)
    assert (found.width, found.columns) == (640, 64) and "cut off" in found.problem


@pytest.mark.parametrize(
    "body",
    [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xe0" + b"\0" * 500, b"<svg/>", made("PNG")[:40], bomb(5_000, 5_000),
     made("BMP"), made("TIFF"), made("PNG").replace(b"IDAT", b"IDAX")],
)  # fmt: skip
async def test_a_file_that_is_no_picture_is_reported(body: bytes) -> None:
    found = await picture(body, 40, 40)
    assert found.problem and len(found.pixels) == 4 * found.columns * found.rows


HOSTILE = """
import sys; sys.path.insert(0, sys.argv.pop(1)); sys.argv.pop(1)
import os, socket, json
from alita_tui.confined import pictures
def tried(body, width, height):
    done = []
    for name, one in {"read": lambda: open("/etc/passwd").read(1), "write": lambda: open("SECRET", "w").write("x"),
                      "exec": lambda: os.execv("/bin/true", ["true"])}.items():
        try:
            one()
            done.append(name)
        except OSError:
            pass
    return pictures.Picture(problem=f"{done} {sorted(os.environ)}")
pictures._scaled = tried
pictures.main()
"""


async def test_a_compromised_decoder_reaches_nothing(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret = tmp_path / "secret"
    secret.write_text("the key")
    monkeypatch.setattr(run, "_START", HOSTILE.replace("SECRET", str(secret)))
    assert (await picture(made("PNG"), 10, 10)).problem == "[] ['LC_ALL']"
    assert secret.read_text() == "the key"


@pytest.mark.parametrize(
    "said",
    ["", "no json\\n", '{"columns": 3, "rows": 1}\\nabc', '{"columns": -1, "rows": -1}\\nabcd', "[1]\\n", '{"columns": 99, "rows": 1}\\n' + "a" * 396],
)  # fmt: skip
async def test_output_of_a_decoder_is_checked(monkeypatch, said: str) -> None:
    monkeypatch.setattr(run, "_START", f"import sys; sys.stdout.write('{said}')")
    found = await picture(made("PNG"), 10, 10)
    assert found.pixels == b"" and found.problem


async def test_a_decoder_with_too_much_output_is_stopped(monkeypatch) -> None:
    monkeypatch.setattr(run, "_LONGEST_OUTPUT", 1_000_000)
    monkeypatch.setattr(run, "_START", "import sys\nwhile True: sys.stdout.write('a' * 100_000)")
    assert (await picture(made("PNG"), 10, 10)).problem


async def test_code_is_coloured_by_the_name_of_its_file() -> None:
    found = await code_lines("import x  # why\n\nprint('a\tb')\n", "tool.py")
    assert found[0][0] == ("import", "Token.Keyword.Namespace")
    assert found[0][-1] == ("# why", "Token.Comment.Single")
    assert ["".join(part for part, _ in line) for line in found] == [
        "import x  # why",
        "",
        "print('a\tb')",
        "",
    ]
    assert await code_lines("no\nlanguage", "file.zzz") == ((("no", ""),), (("language", ""),))


async def test_code_that_takes_a_lexer_too_long_is_shown_plain(monkeypatch) -> None:
    monkeypatch.setattr(run, "SECONDS", 2)
    endless = "import time\nwhile True: pass"
    monkeypatch.setattr(run, "_START", endless)
    assert await code_lines("a = 1", "x.py") == ((("a = 1", ""),),)
    other = """import sys; sys.stdout.write('[["rm -rf", "Token.Name"]]\\n')"""
    monkeypatch.setattr(run, "_START", other)
    assert await code_lines("a = 1", "x.py") == ((("a = 1", ""),),)


def test_pillow_is_not_loaded_into_this_process() -> None:
    asked = "import sys, alita_tui.confined.pictures; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], env=dict(os.environ), check=False).returncode == 0


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="300" viewBox="0 0 600 300">%s</svg>'


async def test_a_chart_in_svg_is_drawn_by_its_shapes() -> None:
    shapes = (
        b'<rect width="100%" height="100%" fill="#fff"/><text x="5" y="9">title</text>'
        b'<g fill="#ff0000"><rect width="300" height="300"/></g>'
        b'<line x1="450" y1="0" x2="450" y2="300" stroke="#0000ff" stroke-width="60"/>'
        b'<polyline points="500,290 599,290" fill="none" stroke="#00ff00" stroke-width="20"/>'
        b'<circle cx="550" cy="50" r="40" fill="#222222"/>'
    )
    found = await picture(SVG.replace(b"%s", shapes), 100, 80)
    assert (found.width, found.height, found.columns, found.rows, found.problem) == (600, 300, 100, 50, "")

    def ink(column: int, row: int) -> tuple[int, ...]:
        at = 4 * (row * found.columns + column)
        return tuple(found.pixels[at : at + 4])

    assert ink(20, 25) == (255, 0, 0, 255) and ink(60, 25) == (255, 255, 255, 255)
    assert ink(75, 25) == (0, 0, 255, 255) and ink(90, 48) == (0, 255, 0, 255)
    assert ink(91, 8) == (0x22, 0x22, 0x22, 255)


async def test_labels_of_a_chart_come_apart_from_its_pixels() -> None:
    texts = (
        b'<g text-anchor="end" font-size="20"><text x="300" y="157">  south\n <tspan>east</tspan></text></g>'
        b'<text x="50%" y="150" text-anchor="middle" dominant-baseline="middle">\xe2\x80\xaeA&lt;b&gt;</text>'
        b'<text x="6" y="6" transform="rotate(-90)">axis</text><text x="nowhere" y="9">lost</text><text x="9" y="9"/>'
        b'<text><tspan x="1" y="1">apart</tspan></text><text x="-1e9" y="1e9">far</text>'
    )
    found = await picture(SVG.replace(b"%s", texts), 60, 60)
    assert (found.columns, found.rows, found.problem) == (60, 30, "")
    assert [(label.x, label.y, label.anchor, label.text) for label in found.labels[:2]] == [
        (30, 15, "end", "south east"),
        (30, 15, "middle", "\u202eA<b>"),
    ]
    assert [label.text for label in found.labels[2:]] == ["far"]
    assert len((await picture(SVG.replace(b"%s", b"<text>x</text>" * 5_000), 60, 60)).labels) == 100


def starter_charts(folder: Path) -> Iterator[bytes]:
    """What the chart tool that comes with alita draws."""
    code = Path(run.__file__).parents[1] / "_shipped/starters/chart/chart.py"
    points = [{"x": n, "y": n % 5 - 1} for n in range(9)]
    for kind in ("bar", "line", "scatter"):
        given = json.dumps({"kind": kind, "points": points})
        subprocess.run([sys.executable, str(code)], input=given, text=True, cwd=folder, check=True)
        yield (folder / "chart.svg").read_bytes()


async def test_what_the_chart_tool_draws_is_shown(tmp_path: Path) -> None:
    for body in starter_charts(tmp_path):
        found = await picture(body, 64, 24)
        assert (found.problem, found.width, found.height, found.rows) == ("", 720, 440, 24)
        pixels = {found.pixels[at : at + 3] for at in range(0, len(found.pixels), 4)}
        assert any(pixel[2] > pixel[0] + 40 for pixel in pixels), "something blue stands on the paper"
        assert {"0", "8"} <= {label.text for label in found.labels}, "its axis"


@pytest.mark.parametrize(
    "body",
    [
        SVG % b'<path d="M0 0L9 9"/>',
        SVG % b'<g transform="scale(2)"><rect width="9" height="9"/></g>',
        SVG % b'<image href="file:///etc/passwd" width="9" height="9"/>',
        SVG % b"<style>rect{fill:red}</style>",
        SVG % b'<rect width="1e999" height="9"/>',
        SVG % b'<rect fill="url(#x)" width="9" height="9"/>',
        SVG % b"<rect",
        b'<svg width="0" height="9"/>',
        b'<svg width="1e300" height="1e300" viewBox="a b c d"/>',
        b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><svg width="9" height="9">&b;</svg>',
        b"<svg width='9' height='9'>" + b"<g>" * 100_000,
    ],
    ids=range(11),
)
async def test_an_unsupported_drawing_is_not_drawn_in_part(body: bytes) -> None:
    found = await picture(body, 64, 24)
    assert found.problem and not found.pixels


async def test_distant_and_deeply_nested_shapes_do_no_harm() -> None:
    far = b'<line x1="-9e99" y1="1e99" x2="9e99" y2="0" stroke="red" stroke-width="9e99"/><circle r="9e99"/>'
    deep = b"<g>" * 20_000 + b'<rect width="9" height="9"/>' + b"</g>" * 20_000
    for shapes in (far, deep, b'<rect width="3" height="3"/>' * 50_000, b'<polygon points="1 2 3"/>'):
        found = await picture(SVG.replace(b"%s", shapes), 64, 24)
        assert found.problem or found.columns == 48
