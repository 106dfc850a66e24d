"""The viewer: Enter on a file's row, and what is shown of files of every kind, well-meant or not."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Input

from alita_tui import events as e
from alita_tui.artefacts.media import HEAD_BYTES, media_type
from alita_tui.console.app import AlitaApp
from alita_tui.console.files.pane import Pane
from alita_tui.console.files.picture import PicturePane
from alita_tui.console.files.screen import FileScreen
from alita_tui.console.files.table import TablePane
from alita_tui.console.files.tree import TreePane, nodes_of
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.plain import Plain
from tests.console.navigating import replaying, until
from tests.console.screens import FILES, SIZES, TAKEN, THEMES, console, drawn
from tests.console.test_markdown import ANSWER
from tests.support import streams

SIZE = (100, 30)


@pytest.fixture(autouse=True)
def no_files():
    FILES.clear()
    TAKEN.clear()
    yield
    FILES.clear()


def with_file(folder: Path, name: str, data: bytes, theme: str = "alita-dark") -> AlitaApp:
    path = folder / name
    path.write_bytes(data)
    FILES[name] = path
    return showing(name, media_type(name, data[:HEAD_BYTES]), len(data), theme)


def showing(name: str, kind: str, size: int, theme: str = "alita-dark") -> AlitaApp:
    tape = streams.Tape()
    streams.opened(tape)
    file = e.Artefact(
        handle="art_aaaaaaaaaa", digest="a" * 64, name=name, media_type=kind, size=size, preview="a,b"
    )
    tape.add(e.ArtefactAdded(artefact=file, origin="tool"))
    return console(tape.envelopes, theme)


async def opened(pilot) -> FileScreen:
    """Open the file of the last row, as a person does; return once something of it is shown."""
    await drawn(pilot, 4)
    await pilot.press("f2", "end", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, FileScreen))
    screen = pilot.app.screen
    assert isinstance(screen, FileScreen)
    await until(pilot, lambda: screen.pane is not None and screen.pane.has_focus)
    await settled(pilot)
    return screen


async def settled(pilot) -> None:
    """Wait until nothing is read any more."""
    await until(
        pilot,
        lambda: (
            not any(
                worker.group in ("show", "page", "count", "sort", "seek", "picture")
                and not worker.is_finished
                for worker in pilot.app.workers
            )
        ),
    )


def lines(screen: FileScreen) -> list[str]:
    pane = screen.pane
    assert pane is not None
    return [pane.render_line(y).text.rstrip() for y in range(pane.size.height)]


def said(screen: FileScreen, name: str = "said") -> str:
    return str(screen.query_one(f"#{name}", Plain).content)


TABLE = "id,name,amount\n" + "".join(f"{n},name {n % 97},{n * 37 % 1009 / 10}\n" for n in range(2_000))


async def test_a_table_is_shown_sorted_searched_and_left(tmp_path: Path) -> None:
    app = with_file(tmp_path, "sales.csv", TABLE.encode())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert lines(screen)[0].split() == ["id", "name", "amount"]
        assert lines(screen)[1].split() == ["1", "0", "name", "0", "0.0"]
        assert "2,000 rows · 3 columns · as table" in said(screen, "head")
        await pilot.press("right", "right", "enter")
        await settled(pilot)
        assert lines(screen)[0].split() == ["id", "name", "amount▲"]
        amounts = [float(line.split()[-1]) for line in lines(screen)[1:]]
        assert amounts == sorted(amounts)
        await pilot.press("enter")
        await settled(pilot)
        assert lines(screen)[1].split()[-1] == "100.8"
        assert "by amount, falling" in said(screen, "head")
        await pilot.press("enter", "end")
        await settled(pilot)
        assert lines(screen)[-1].split()[1] == "1999"
        assert said(screen) == "amount: 30.6"
        await pilot.press("colon", *"1,234", "enter")
        await settled(pilot)
        assert screen.pane is not None and screen.pane.cursor == 1_233
        assert any(line.split()[:2] == ["1,234", "1233"] for line in lines(screen))
        await pilot.press("home", "slash", *"NAME 50", "enter")
        await settled(pilot)
        assert screen.pane.cursor == 50
        await pilot.press("n")
        await settled(pilot)
        assert screen.pane.cursor == 147
        await pilot.press("N")
        await settled(pilot)
        assert screen.pane.cursor == 50
        await pilot.press("N")
        await settled(pilot)
        assert "was not found before" in said(screen)
        keys = str(screen.query_one("#keys").render())
        assert "next hit" in keys and "n N" in keys
        await pilot.press("y")
        await pilot.pause()
        assert app.clipboard == "50\tname 50\t84.1"
        await pilot.press("v")
        await until(pilot, lambda: screen.way == "text" and not isinstance(screen.pane, TablePane))
        await settled(pilot)
        assert lines(screen)[0] == "   1 │ id,name,amount"
        await pilot.press("v")
        await until(pilot, lambda: screen.way == "hex")
        await settled(pilot)
        assert "69 64 2c 6e 61 6d 65 2c  61 6d 6f 75 6e 74 0a 30" in lines(screen)[0]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)


async def test_the_mouse_chooses_cells_sorts_and_copies(tmp_path: Path) -> None:
    app = with_file(tmp_path, "sales.csv", TABLE.encode())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        pane = screen.pane
        assert isinstance(pane, TablePane)
        at = pane.render_line(3).text.index("name 2") + 2
        await pilot.click(pane, offset=(at, 3))
        await settled(pilot)
        assert (pane.cursor, pane.column) == (2, 1)
        await pilot.click(pane, offset=(pane.render_line(0).text.index("amount") + 2, 0))
        await settled(pilot)
        assert "by amount, rising" in said(screen, "head")
        found = pane.get_selection(Selection(Offset(0, 1), Offset(200, 2)))
        assert found is not None and found[0].count("\n") == 1 and "name" in found[0]


async def test_a_file_is_looked_into_while_a_recording_plays(tmp_path: Path) -> None:
    FILES["a.txt"] = tmp_path / "a.txt"
    FILES["a.txt"].write_text("what there was")
    tape = streams.Tape()
    streams.opened(tape)
    file = e.Artefact(handle="art_b", digest="b" * 64, name="a.txt", media_type="text/plain", size=14)
    tape.add(e.ArtefactAdded(artefact=file, origin="person"))
    app, playback, _catalog = replaying(tape.envelopes)
    async with app.run_test(size=SIZE) as pilot:
        playback.seek_seq(tape.envelopes[-1].seq or 0)
        await pilot.press("end")
        screen = await opened(pilot)
        assert lines(screen)[0] == "  1 │ what there was"


async def test_the_file_is_saved_and_opened_from_the_viewer(tmp_path: Path) -> None:
    app = with_file(tmp_path, "a.txt", b"hello")
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.press("s")
        await until(pilot, lambda: "Saved as /home/ada/a.txt" in said(screen))
        link = screen.query_one("#said", Plain).render_line(0)
        assert any(segment.style and segment.style.link == "file:///home/ada/a.txt" for segment in link)
        await pilot.press("o")
        await until(pilot, lambda: "Opened /home/ada/a.txt" in said(screen))
        assert [what for _session, _name, what in TAKEN] == ["save", "open"]


async def test_a_million_rows_are_shown_at_once(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    rows = "".join(f"{n},name {n % 977},{n * 7 % 10_007 / 100}\n" for n in range(50_000)).encode()
    with path.open("wb") as file:
        file.write(b"id,name,amount\n" + rows * 20)
    FILES["big.csv"] = path
    app = showing("big.csv", "text/csv", path.stat().st_size)
    async with app.run_test(size=SIZE) as pilot:
        await drawn(pilot, 4)
        await pilot.press("f2", "end")
        await pilot.press("enter")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, FileScreen) and app.screen.pane and "name 0" in lines(app.screen)[1]
            ),
        )
        screen = app.screen
        assert isinstance(screen, FileScreen)
        await pilot.press("colon", *"1000000", "enter")
        await settled(pilot)
        assert lines(screen)[-1].split() == ["1,000,000", "49999", "name", "172", "97.55"]
        assert "1,000,000 rows" in said(screen, "head")
        await pilot.press("enter")
        await settled(pilot)
        assert "More than 200,000 rows are not sorted here" in said(screen)


async def test_a_picture_is_drawn_in_half_blocks(tmp_path: Path) -> None:
    image = Image.new("RGBA", (400, 200), "#ff0000")
    ImageDraw.Draw(image).rectangle((0, 100, 400, 200), fill="#0000ff")
    written = io.BytesIO()
    image.save(written, "PNG")
    app = with_file(tmp_path, "chart.png", written.getvalue())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        pane = screen.pane
        assert isinstance(pane, PicturePane)
        await until(pilot, lambda: pane.count > 0)
        middle = pane.size.height // 2
        cells = [next(iter(pane.render_line(y).crop(50, 51))) for y in (middle - 5, middle + 5)]
        papers = [cell.style.bgcolor.name for cell in cells if cell.style and cell.style.bgcolor]
        assert papers == ["#ff0000", "#0000ff"]
        assert "400 × 200 pixels" in said(screen, "head")
        before = pane.count
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: 0 < pane.count < before)


async def test_a_picture_is_not_drawn_again_for_what_happens_in_the_session_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    Image.new("RGB", (400, 200), "#ff0000").save(written, "PNG")
    app = with_file(tmp_path, "chart.png", written.getvalue())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        pane, below = screen.pane, app.main
        assert isinstance(pane, PicturePane)
        await until(pilot, lambda: pane.count > 0)
        await pilot.pause()
        drawn: list[str] = []

        def noted(name: str, what: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any) -> Any:
                drawn.append(name)
                return what(*given)

            return call

        monkeypatch.setattr(pane, "render_lines", noted("picture", pane.render_lines))
        monkeypatch.setattr(below, "_compositor_refresh", noted("below", below._compositor_refresh))
        below.query_one(Trace).refresh()
        await until(pilot, lambda: "below" in drawn)
        screen.query_one("#said").refresh()
        await pilot.pause()
        assert "picture" not in drawn
        pane.refresh()
        await until(pilot, lambda: "picture" in drawn)


JSON = {
    "name": "sales",
    "rows": [
        {"region": "north", "amount": 1200.5, "tags": ["a", "b"]},
        {"region": "süd", "amount": 7, "tags": []},
    ],
    "note": None,
}


async def test_json_is_indented_and_folds(tmp_path: Path) -> None:
    app = with_file(tmp_path, "data.json", json.dumps(JSON, ensure_ascii=False).encode())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert isinstance(screen.pane, TreePane)
        assert lines(screen)[:4] == ["▾ {", '    "name": "sales",', '▾   "rows": [', "▾     {"]
        assert '        "region": "süd",' in [line for line in lines(screen)]
        await pilot.press("down", "down", "enter")
        assert lines(screen)[2:5] == ['▸   "rows": [ 2 entries ],', '    "note": null', "  }"]
        await pilot.press("slash", *"north", "enter")
        await settled(pilot)
        assert "north" in lines(screen)[screen.pane.cursor]


async def test_a_list_of_flat_objects_is_a_table_first(tmp_path: Path) -> None:
    app = with_file(tmp_path, "rows.json", json.dumps([{"a": n, "b": f"x{n}"} for n in range(9)]).encode())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert lines(screen)[0].split() == ["a", "b"] and lines(screen)[9].split() == ["9", "8", "x8"]
        await pilot.press("v")
        await until(pilot, lambda: isinstance(screen.pane, TreePane))


async def test_markdown_and_code_are_laid_out(tmp_path: Path) -> None:
    app = with_file(tmp_path, "report.md", ANSWER.encode())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert "region       sales  remark" in "\n".join(lines(screen))
        await pilot.press("y")
        await pilot.pause()
        assert app.clipboard == ANSWER
    app = with_file(tmp_path, "tool.py", b"def run():\n    return 'a'  # why\n")
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert lines(screen)[:2] == ["  1 │ def run():", "  2 │     return 'a'  # why"]
        assert screen.pane is not None
        strip = screen.pane.render_line(1)
        inks = {segment.text: segment.style.color for segment in strip if segment.style}
        assert inks["# why"] != inks["return"] != inks["a"]


async def test_long_lines_scroll_sideways(tmp_path: Path) -> None:
    app = with_file(tmp_path, "log.txt", b"0123456789" * 30 + b"\nshort\n")
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.press("right")
        await pilot.pause()
        assert lines(screen)[0].startswith("  1 │ 67890123")
        await pilot.press("left")
        await pilot.pause()
        assert lines(screen)[0].startswith("  1 │ 0123")


def photograph() -> bytes:
    written = io.BytesIO()
    Image.effect_noise((320, 200), 90).convert("RGB").save(written, "JPEG", quality=95)
    return written.getvalue()


HOSTILE = {
    "control.csv": b"na\x1b[31mme,[b]x[/b]\n\x1b]8;;http://evil\x07link\x1b[2J,\xe2\x80\xaegnp\n\x00,\xff\xfe\n",
    "wide.csv": b",".join(b"c%d" % n for n in range(10_000)) + b"\n" + b"1," * 9_999 + b"1\n",
    "long.csv": b"a,b\n" + b'"' + b"x" * 3_000_000,
    "empty.csv": b"",
    "deep.json": b"[" * 10_000 + b"]" * 10_000,
    "half.json": b'{"a": [1, 2',
    "markup.json": b'{"[bold]x[/bold]": "\\u001b[31m\\u202e[link=http://x]y", "n": 1e999, "big": 123456789012345678901234567890}',
    "cut.jpg": photograph()[:4_000],
    "junk.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + b"\x01" * 300,
    "wrong.png": b"\x89PNG\r\n\x1a\nno picture",
    "bad.txt": bytes(range(32, 256)) * 40,
    "line.txt": b"y" * 5_000_000,
    "bad.md": b"# \x1b[31mred\n[x](javascript:alert(1)) ![p](file:///etc/passwd) \xff\xfe [b]z[/b]\n"
    + b"> " * 5_000,
    "bad.py": b'"""' + b"\\" * 20_000 + b"\x1b[31m",
    "bytes.bin": bytes(range(256)),
    "nul.json": b"\x00\x01\x02",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_file_is_shown_and_changes_nothing(tmp_path: Path, name: str) -> None:
    app = with_file(tmp_path, name, HOSTILE[name])
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        for key in ("down", "pagedown", "end", "right", "right", "enter", "home", "v", "end", "y"):
            await pilot.press(key)
            await settled(pilot)
            shown = "\n".join(lines(screen))
            assert "\x1b" not in shown and "\u202e" not in shown and "\x07" not in shown
            for pane in screen.query(Pane):
                styles = [segment.style for y in range(pane.size.height) for segment in pane.render_line(y)]
                assert not any(style.link for style in styles if style)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)


@pytest.mark.parametrize(
    ("name", "told"),
    [("deep.json", "nested too deeply"), ("half.json", "not valid JSON"), ("wrong.png", "as a picture"), ("cut.jpg", "cut off"),
     ("long.csv", "quotation mark"), ("wide.csv", "10,000 columns, the first 500 shown")],
)  # fmt: skip
async def test_a_file_that_cannot_be_shown_says_why(tmp_path: Path, name: str, told: str) -> None:
    app = with_file(tmp_path, name, HOSTILE[name])
    async with app.run_test(size=(200, 30)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: told in said(screen) + said(screen, "head"))


async def test_a_file_without_bytes_shows_its_record() -> None:
    app = showing("gone.csv", "text/csv", 9)
    async with app.run_test(size=SIZE) as pilot:
        await drawn(pilot, 4)
        await pilot.press("f2", "end", "enter")
        trace = app.main.query_one(Trace)
        await until(pilot, lambda: any("a,b" in trace.render_line(y).text for y in range(trace.size.height)))
        assert app.screen is app.main


async def test_a_file_that_is_removed_or_changed_is_reported(tmp_path: Path) -> None:
    app = with_file(tmp_path, "x.csv", b"a\n" + b"1\n" * 4_000)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        os.truncate(tmp_path / "x.csv", 4)
        await pilot.press("end")
        await settled(pilot)
        await pilot.press("v", "v", "v", "escape")
        await until(pilot, lambda: app.screen is app.main)
        assert not screen.is_attached


def test_json_of_many_lines_is_refused_and_deep_json_laid_out() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    assert len(nodes_of(deep)) == 10_001
    from alita_tui.spine.errors import UsageError

    with pytest.raises(UsageError, match="300,000"):
        nodes_of([0] * 300_001)


def picture() -> bytes:
    image = Image.new("RGB", (240, 160), "#fbfaf7")
    draw = ImageDraw.Draw(image)
    for at, tall in enumerate((40, 90, 130, 70, 110)):
        draw.rectangle((20 + at * 42, 150 - tall, 50 + at * 42, 150), fill=("#7fb4f5", "#f0b45f")[at % 2])
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


SHOWN = {
    "sales.csv": TABLE.encode(), "chart.png": picture(), "data.json": json.dumps(JSON, ensure_ascii=False).encode(),
    "report.md": ANSWER.encode(), "tool.py": b'def run(rows: list[int]) -> int:\n    """Add."""\n    return sum(rows)  # all\n',
    "bytes.bin": bytes(range(256)) * 8,
}  # fmt: skip


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SHOWN)
def test_a_file(snap_compare, tmp_path: Path, name: str, size: tuple[int, int], theme: str) -> None:
    app = with_file(tmp_path, name, SHOWN[name], theme)

    async def before(pilot) -> None:
        screen = await opened(pilot)
        if name == "chart.png":
            await until(pilot, lambda: screen.pane is not None and screen.pane.count > 0)
        await pilot.press("down", "down")
        await settled(pilot)
        await pilot.pause()

    assert snap_compare(app, run_before=before, terminal_size=size)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("sent", [False, True], ids=["asked", "found"])
def test_a_search_in_a_file(
    snap_compare, tmp_path: Path, sent: bool, size: tuple[int, int], theme: str
) -> None:
    app = with_file(tmp_path, "report.md", ANSWER.encode(), theme)

    async def before(pilot) -> None:
        screen = await opened(pilot)
        for field in screen.query(Input):
            field.cursor_blink = False
        await pilot.press("slash", *"the", *(("enter",) if sent else ()))
        await settled(pilot)
        await pilot.pause()

    assert snap_compare(app, run_before=before, terminal_size=size)
