"""The terminal around the console, in a process of its own."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.screens import console
from tests.support import goldens

GUARD = """
import os, sys
from pathlib import Path
from alita_tui.console.terminal import guarded_screen
with guarded_screen(Path(sys.argv[1])):
    os.write(2, b"native noise\\n")
    print("drawn", file=sys.__stderr__)
os.write(2, b"after\\n")
print("and after", file=sys.stderr)
"""


def test_native_writes_stay_off_the_screen(tmp_path: Path) -> None:
    log = tmp_path / "noise.log"
    ended = subprocess.run(
        [sys.executable, "-c", GUARD, str(log)], capture_output=True, text=True, check=True
    )
    assert ended.stderr == "drawn\nafter\nand after\n"
    assert log.read_text() == "native noise\n"


ECHOED = """
import sys
from pathlib import Path
from alita_tui.console.terminal import guarded_screen
print("typed", end="", file=sys.stderr, flush=True)
with guarded_screen(Path(sys.argv[1])):
    pass
print("said at the end", file=sys.stderr)
"""


def test_text_echoed_before_the_start_is_cleared_from_the_last_line(
    tmp_path: Path,
) -> None:
    main, side = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", ECHOED, str(tmp_path / "noise.log")], stderr=side, check=True, timeout=60
    )
    os.close(side)
    assert os.read(main, 1024) == b"typed\r\x1b[Ksaid at the end\r\n"
    os.close(main)


ASK = """
import os, sys
os.environ["COLORFGBG"] = sys.argv[1]
from alita_tui.console import terminal
if "answers" in sys.argv:  # the terminal answers, if not in time on a busy machine
    terminal._SECONDS = 20
found = terminal.ask_terminal()
if typed := terminal.typed_meanwhile():
    print("typed", typed, terminal.typed_meanwhile())
print(found.graphics)
print("dark" if found.dark else "light")
"""


def ask(answer: bytes, colours: str = "") -> str:
    """What the questions make of a terminal that answers so, as it is printed."""
    main, side = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", ASK, colours, "answers" if answer else ""],
        stdin=side,
        stdout=side,
        stderr=subprocess.PIPE,
    )
    os.close(side)
    said = b""
    try:
        while select.select([main], [], [], 20)[0]:
            try:
                data = os.read(main, 1024)
            except OSError:
                break
            said += data
            if b"\x1b]11;?" in said and answer:
                os.write(main, answer)
                answer = b""
            if b"dark" in said or b"light" in said:
                break
    finally:
        child.wait(20)
        os.close(main)
    assert child.stderr is not None
    assert child.stderr.read() == b""
    child.stderr.close()
    return said.decode(errors="replace")


def test_keys_typed_between_terminal_answers_are_read_once() -> None:
    said = ask(b"a\x1b]11;rgb:1010/1010/1010\x07\x1b[F\x1b[6;20;10tb\x1b_Gi=31;OK\x1b\\\x1b[?62;4cc")
    assert "typed b'a\\x1b[Fbc' b''" in said
    assert "sixel" in said and "dark" in said


@pytest.mark.parametrize(
    ("answer", "colours", "found"),
    [
        (b"\x1b]11;rgb:fbfb/fafa/f7f7\x07\x1b[?62c", "", "light"),
        (b"\x1b]11;rgb:1111/1515/1c1c\x1b\\\x1b[?62c", "0;15", "dark"),
        (b"\x1b]11;rgb:ff/ff/ff\x07\x1b[?62c", "", "light"),
        (b"\x1b[?62c", "0;15", "light"),
        (b"\x1b[?62c", "15;0", "dark"),
        (b"", "0;default;15", "light"),
        (b"", "", "dark"),
    ],
)
def test_the_background_is_asked_for_and_a_dumb_terminal_is_not_waited_for(
    answer: bytes, colours: str, found: str
) -> None:
    assert ask(answer, colours).splitlines()[-1] == found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (b"\x1b[6;18;9t\x1b[?62;4;22c", "Graphics(kind='sixel', cell=(9, 18))"),
        (b"\x1b_Gi=31;OK\x1b\\\x1b[?62;22c", "Graphics(kind='kitty', cell=(0, 0))"),
        (b"\x1b_Gi=31;OK\x1b\\\x1b[?62;4c", "Graphics(kind='sixel', cell=(0, 0))"),
        (b"\x1b_Gi=31;ENOTSUPPORTED:no\x1b\\\x1b[?62;22c", "None"),
        (b"\x1b[?4;22c", "None"),  # 4 is the kind of terminal here
        (b"\x1b[6;99999;9t\x1b[?62;4c", "Graphics(kind='sixel', cell=(0, 0))"),
        (b"", "None"),
    ],
)
def test_the_terminal_says_how_it_shows_pictures(answer: bytes, found: str) -> None:
    assert ask(answer).splitlines()[-2].endswith(found)


def test_no_terminal_is_not_asked(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ASK, "0;15"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "None\nlight\n"


async def test_the_mouse_is_handed_to_the_terminal_and_taken_back() -> None:
    app = console(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        written: list[str] = []
        setattr(app, "write_terminal", written.append)  # noqa: B010  # what the terminal is sent
        takes = [app.takes_mouse]
        for _ in range(2):
            await pilot.press("shift+f6")
            takes.append(app.takes_mouse)
    assert takes == [True, False, True]
    assert written[0] == "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    assert written[1] == written[0].replace("l", "h")
