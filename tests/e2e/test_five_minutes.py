"""README's first five steps in a real terminal, from the first screen to the reuse: each shows what README says."""

from __future__ import annotations

import re

import pytest

from tests.e2e.test_terminal import Terminal

pytestmark = [pytest.mark.podman, pytest.mark.pty, pytest.mark.walk]

ESC, ENTER, TAB = b"\x1b", b"\r", b"\t"
F8 = b"\x1b[19~"
DOWN = b"\x1b[B"


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


def test_from_the_first_screen_to_the_reuse_each_step_shows_what_readme_says(shell) -> None:
    terminal = Terminal(shell.environ, "--model", "demo:recorded")
    try:
        # 1: the first screen says what alita is, what answers and what to try
        for seen in (
            rb"builds the tools it is missing",
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
        decide(terminal, b"a", rb"again approves them unread|1 tool|is in the library")
        if b"again approves" in terminal.said:
            terminal.type(DOWN)
            decide(terminal, b"a", rb"1 tool|is in the library")
        terminal.wait(rb"The tool validate_email_addresses is in the library", 120)
        # 5: the second task uses the tool and builds nothing
        terminal.type(ESC)  # to the composer, wherever the keys of the review left the focus
        terminal.quiet(1.0)  # or it would be Alt+Tab
        terminal.type(TAB, until=rb"start")
        terminal.type(ENTER, until=rb"Are these addresses valid")
        terminal.wait(rb"Not valid:", 120)
        terminal.wait(rb"ran 1 tool")
    finally:
        if terminal.process.poll() is None:
            terminal.kill()
