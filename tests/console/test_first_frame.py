"""The first frame: what is painted before Textual is imported stands where the console will have it."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
from typing import Any

import pytest
from rich.cells import cell_len

from alita_tui.config.paths import shipped
from alita_tui.console.first_frame import frame, palette_of
from tests.console.screens import console, drawn
from tests.support import streams

SGR = re.compile("\x1b\\[[0-9;]*m")


def rows(columns: int, lines: int, palette: dict[str, str]) -> list[str]:
    """The rows that a terminal shows of the frame."""
    shown = [""] * lines
    for line, text in re.findall(
        "\x1b\\[(\\d+);1H((?:(?!\x1b\\[\\d+;1H).)*)", frame(columns, lines, palette)
    ):
        shown[int(line) - 1] = SGR.sub("", text)
    return shown


@pytest.mark.parametrize(
    "size", [(20, 6), (80, 24), (99, 30), (100, 30), (120, 36), (179, 50), (200, 55), (400, 90)]
)
def test_the_first_frame_fills_each_size_exactly(size: tuple[int, int]) -> None:
    shown = rows(*size, palette_of((shipped("themes"),), "auto", dark=True))
    assert [cell_len(row) for row in shown] == [size[0]] * size[1]


async def test_the_first_frame_matches_the_layout_of_the_console() -> None:
    envelopes = streams.walkthrough()[:1]
    app = console(envelopes, sink=None)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        for size in ((120, 36), (180, 50), (181, 50), (183, 50), (184, 50), (200, 55), (260, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            shown = rows(*size, {})
            library, side = app.screen.query_one("#title-library"), app.screen.query_one("#side")
            assert shown[library.region.y].find("Library") == library.region.x + 1
            assert shown[1].find("│") == side.region.x
            assert shown[0].find("Trace") == app.screen.query_one("#title-trace").region.x + 1


def test_the_first_frame_uses_the_theme_colours_or_none(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    themes = (shipped("themes"), tmp_path)
    dark, light = (palette_of(themes, "auto", dark=dark) for dark in (True, False))
    assert dark["background"] == "17;21;28" and light["background"] != dark["background"]
    (tmp_path / "mine.toml").write_text('[palette]\nbackground = "\\u001b[2J"\n')
    assert palette_of(themes, "mine", dark=True) == palette_of(themes, "gone", dark=True) == {}
    monkeypatch.setenv("NO_COLOR", "1")
    assert palette_of(themes, "auto", dark=True) == {}
    assert not SGR.search(frame(120, 36, {}))


def test_the_first_paint_imports_only_what_it_needs() -> None:
    code = (
        "import sys, alita_tui.app.console, alita_tui.console.app, alita_tui.console.drafts;"
        "print(*sorted({'pygments', 'rich.traceback', 'markdown_it', 'PIL', 'httpx', 'openai', 'anthropic',"
        "'alita_tui.app.session', 'alita_tui.agent', 'alita_tui.toolsmith'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# --- signals in the moments between two owners of the terminal ------------------------------

OPENING = """
import signal
from textual.app import App
from alita_tui.console.first_frame import FirstFrame
from alita_tui.console.terminal import Terminal

first = FirstFrame(Terminal())
first.paint({})
first.hand_over()

class Opening(App):
    def compose(self):  # Textual holds the terminal, the app has no handlers yet
        signal.raise_signal(signal.SIGTERM)
        return ()

Opening().run()
"""
CLOSING = """
import asyncio, signal
from tests.console.screens import console
from tests.support import streams

app = console(streams.walkthrough()[:1], sink=None)

async def close():  # the app is on its way out: what was typed is being written
    signal.raise_signal(signal.SIGTERM)
    while not app.return_code:
        await asyncio.sleep(0.01)

app.drafts.close = close
app.call_later(app.exit)
asyncio.run(app.run_async())
raise SystemExit(app.return_code)
"""
BEGUN = {b"1000", b"1003", b"1004", b"1006", b"1015", b"1049", b"2004"}
"""What Textual switches on in every terminal."""


def ended(code: str) -> tuple[int, bytes, list[Any], list[Any]]:
    """Run a program in a terminal; return its exit code, what it wrote, and the terminal's settings before and after."""
    main, side = pty.openpty()
    before = termios.tcgetattr(side)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    written = b""
    while process.poll() is None or select.select([main], [], [], 0)[0]:
        if select.select([main], [], [], 0.05)[0]:
            written += os.read(main, 65536)
    after = termios.tcgetattr(side)
    os.close(side)
    os.close(main)
    return process.returncode, written, before, after


@pytest.mark.pty
@pytest.mark.parametrize("code", [OPENING, CLOSING], ids=["opening", "closing"])
def test_a_signal_before_the_console_starts_restores_the_terminal(code: str) -> None:
    exit_code, written, before, after = ended(code)
    assert exit_code == 143, written[-1500:].decode("utf-8", "replace")
    assert after == before, "echo, lines and signals of keys are as they were"
    modes = {}
    for mode, way in re.findall(rb"\x1b\[\?(\d+)([hl])", written):
        modes[mode] = way
    assert modes.keys() >= BEGUN, "Textual held the terminal"
    assert {mode for mode, way in modes.items() if way == b"h"} <= {b"7", b"25"}
    assert modes[b"7"] == modes[b"25"] == b"h", "lines wrap and the cursor is seen"
    assert written.rfind(b"\x1b[<u") > written.rfind(b"\x1b[>"), "keys are those of a terminal again"
