"""README's seven steps in a real terminal, from the first screen to coming back: each shows what README says."""

from __future__ import annotations

import re

import pytest

from tests.e2e.test_terminal import Terminal

pytestmark = [pytest.mark.podman, pytest.mark.pty, pytest.mark.walk]

ESC, ENTER, TAB = b"\x1b", b"\r", b"\t"
F2, F8 = b"\x1bOQ", b"\x1b[19~"
DOWN, END = b"\x1b[B", b"\x1b[F"
CTRL_Q, CTRL_Y = b"\x11", b"\x19"


def decide(terminal: Terminal, key: bytes, until: bytes) -> None:
    """Press a key that counts after quiet only, as a person does: look, press it, and if nothing came of it go on looking."""
    for _ in range(30):
        terminal.quiet(1.0)
        terminal.said = b""
        terminal.type(key)
        for _ in range(20):
            terminal.quiet(0.1)
            if re.search(until, terminal.said):
                return
        terminal.type(DOWN)
    terminal.kill()
    raise AssertionError((until, terminal.said[-2000:]))


def join(terminal: Terminal, until: bytes) -> None:
    """Approve the build whose review is open: what is unread takes a second key."""
    decide(terminal, b"a", rb"again to approve anyway|" + until)
    if b"again to approve" in terminal.said:
        terminal.type(DOWN)
        decide(terminal, b"a", until)


def test_from_the_first_screen_to_coming_back_each_step_shows_what_readme_says(shell, tmp_path) -> None:
    terminal = Terminal(shell.environ, "--model", "demo:recorded")
    try:
        # 1: the first screen says what alita is, what answers and what to try
        for seen in (
            rb"builds the tools it lacks",
            rb"demo:recorded",
            rb"Recorded tasks",
            rb"sandbox ready",
        ):
            terminal.wait(seen)
        # 2: the typed task is on screen, then the build as a card that is a question
        terminal.type(TAB, until=rb"start")
        terminal.type(ENTER, until=rb"Create a tool to validate")
        terminal.wait(rb"Searched", 120)
        terminal.wait(rb"is ready. May it join", 240)
        terminal.wait(rb"checks passed")
        # 3: the review answers its questions; a risk takes its name, what is unread a second key
        terminal.type(F8, until=rb"may touch")
        for seen in (rb"does ", rb"how sure", rb"unusual", rb"named-elsewhere", rb"Approve"):
            terminal.wait(seen)
        decide(terminal, b"a", rb"type their names")
        for letter in b"named-elsewhere":
            terminal.type(bytes((letter,)))
        terminal.wait(rb"Risks accepted by name")
        join(terminal, rb"1 tool|is in the library")
        terminal.wait(rb"The tool validate_email_addresses is in the library", 120)
        # 4: a table of the person's, a tool that draws bars, a file, and what the answer rests on
        terminal.type(ESC)  # to the composer, wherever the keys of the review left the focus
        terminal.quiet(1.0)  # or it would be Alt and the next key
        terminal.type(b"Chart the sales in demo-sales.csv by region.", until=rb"by region")
        terminal.type(ENTER, until=rb"is ready. May it join")
        terminal.type(F8, until=rb"may touch")
        join(terminal, rb"2 tools|chart\.svg")
        terminal.wait(rb"from \d+ tool run", 120)
        terminal.type(ESC)
        terminal.quiet(1.0)
        terminal.type(F2)
        terminal.type(END)
        terminal.quiet(1.0)
        terminal.type(b"w", until=rb"WHY")
        terminal.wait(rb"It rests on")
        terminal.type(ESC)
        terminal.quiet(1.0)
        saved = shell("artefacts", "save", "chart.svg", "--out", str(tmp_path / "saved"))
        assert saved.returncode == 0, saved.stderr
        assert (tmp_path / "saved" / "chart.svg").exists()
        # 5: the second task uses the tool and builds nothing
        terminal.type(ESC)  # to the composer, wherever the keys of the review left the focus
        terminal.quiet(1.0)
        terminal.type(TAB, until=rb"start")
        terminal.type(ENTER, until=rb"Are these addresses valid")
        terminal.wait(
            rb"from 1 tool run", 120
        )  # the answer itself comes in pieces; the replay below shows it whole
        terminal.wait(rb"ran 1 tool")
        # 6: back in time, why a row is there, and to the present again
        terminal.type(CTRL_Y, until=rb"LOOKING BACK")
        terminal.type(b"?", until=rb"WHY")
        terminal.type(ESC)
        terminal.quiet(1.0)
        terminal.type(END, until=rb"hat should alita do")
        # 7: quitting says how to come back, and the session is played back on the same screen
        terminal.type(CTRL_Q)
        assert terminal.end() == 0
        left = terminal.said.decode("utf-8", "replace").rpartition("\x1b[?1049l")[2]
        named = re.search(r"To come back to this session: .*alita\S* --home \S+ --session (\S+)", left)
        assert named, left
        terminal = Terminal(shell.environ, "replay", named[1])
        terminal.wait(rb"REPLAY")
        terminal.type(END)
        terminal.wait(rb"cannot have two periods")
    finally:
        if terminal.process.poll() is None:
            terminal.kill()
