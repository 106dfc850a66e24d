"""Each accident that was found from outside, through a real pseudo-terminal, by name."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.attack.inputs.oracle import accidents
from tests.attack.inputs.people import NAMED, garbage
from tests.attack.inputs.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.sampled(1)]
F8 = NAMED["f8"]


@pytest.fixture(params=[0.002, None], ids=["answering", "mute"])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A console in which two calm builds wait; its terminal answers queries, or none."""
    made = Terminal(tmp_path / "log", answers=request.param)
    try:
        made.start()
        yield made
    finally:
        made.close()


def held(terminal: Terminal, what: str, seconds: float, delay: float = 0.5) -> None:
    terminal.press(what)
    terminal.rest(delay)
    for _ in range(int((seconds - delay) / 0.033)):
        terminal.press(what, held=True)
        terminal.rest(0.033)


def deliberately(terminal: Terminal, key: str, data: bytes, heard: Callable[[], bool]) -> None:
    """Press a key as somebody does who means it, until it is heard.

    A busy machine may refuse the key, and the same key again is then a repeated one: another goes before it each time.
    """
    until = time.monotonic() + 60
    while not heard() and time.monotonic() < until:
        terminal.press("down", NAMED["down"])
        terminal.rest(0.9)
        terminal.press(key, data)
        end = time.monotonic() + 2
        while not heard() and time.monotonic() < end:
            terminal.rest(0.05)


def approve(terminal: Terminal, key: bytes = b"a") -> None:
    """Approve the build on screen."""
    before = len(terminal.decided)
    deliberately(terminal, "a", key, lambda: len(terminal.decided) > before)


def ends(terminal: Terminal) -> list[str]:
    terminal.rest(0.6)
    assert terminal.alive
    return accidents(terminal.made, terminal.shown, terminal.decided)


@pytest.mark.parametrize("delay", [0.25, 0.66])
def test_a_held_key_does_not_approve_a_review_that_opens_under_it(terminal: Terminal, delay: float) -> None:
    terminal.press("f8", F8)
    held(terminal, "a", 2.6, delay)
    assert ends(terminal) == []
    assert len(terminal.decided) <= 1


@pytest.mark.parametrize("delay", [0.3, 0.9])
def test_a_key_held_after_one_verdict_does_not_decide_the_next_build(
    terminal: Terminal, delay: float
) -> None:
    terminal.open()
    terminal.rest(0.7)
    held(terminal, "a", 2.6, delay)
    assert ends(terminal) == []
    assert len(terminal.decided) <= 1


def test_typing_into_an_opening_review_approves_nothing(terminal: Terminal) -> None:
    terminal.press("f8", F8)
    for char in "what a day that was, and what a fantastic banana at last ":
        terminal.rest(0.09)
        terminal.press("space" if char == " " else char, char.encode())
    assert ends(terminal) == []
    assert terminal.decided == []


def test_typing_on_after_a_rejection_approves_nothing(terminal: Terminal) -> None:
    terminal.open()
    deliberately(terminal, "r", b"r", lambda: "Enter rejects" in terminal.screen.text)
    for char in "no":
        terminal.press(char)
        terminal.rest(0.1)
    terminal.rest(0.9)
    terminal.press("enter", b"\r")
    for char in "and that again was a fault of yours, as always, so what ":
        terminal.rest(0.09)
        terminal.press("space" if char == " " else char, char.encode())
    assert ends(terminal) == []
    # Where the Enter came too soon after the letters for this machine, the field is still open.
    deliberately(terminal, "enter", b"\r", lambda: bool(terminal.decided))
    assert [one.verdict for one in terminal.decided] == ["rejected"]


@pytest.mark.parametrize("stalled", [0.2, 1.5])
def test_keys_queued_behind_a_stall_approve_nothing(terminal: Terminal, stalled: float) -> None:
    terminal.open()
    terminal.rest(0.2)
    terminal.press("j")
    terminal.stall(stalled)
    terminal.rest(0.1)
    terminal.press("a")
    assert ends(terminal) == []
    terminal.rest(stalled)
    assert terminal.decided == []


def test_a_key_pressed_during_a_stall_does_not_decide_what_is_shown_after_it(terminal: Terminal) -> None:
    terminal.open()
    terminal.rest(0.9)
    terminal.stall(0.6)
    terminal.rest(0.2)
    terminal.press("a")
    terminal.rest(1.2)
    assert terminal.decided == []
    assert ends(terminal) == []


def test_keys_queued_before_the_review_opened_approve_nothing(terminal: Terminal) -> None:
    terminal.stall(0.8)
    terminal.press("f8", F8)
    terminal.rest(0.6)
    terminal.press("a")
    assert ends(terminal) == []
    assert terminal.decided == []


@pytest.mark.parametrize("text", ["approve nothing yet…", "ay"])
def test_an_unbracketed_paste_decides_nothing(terminal: Terminal, text: str) -> None:
    terminal.open()
    terminal.rest(0.9)
    terminal.press("paste", text.encode())
    assert ends(terminal) == []
    assert terminal.decided == []


def test_a_letter_typed_right_after_another_decides_nothing(terminal: Terminal) -> None:
    terminal.open()
    terminal.rest(0.9)
    terminal.press("a")
    terminal.rest(0.015)
    terminal.press("s")
    assert ends(terminal) == []
    assert terminal.decided == []


@pytest.mark.parametrize("pause", [0.43, 0.6])
def test_the_same_key_a_moment_later_approves_no_second_build(terminal: Terminal, pause: float) -> None:
    terminal.open()
    terminal.rest(0.8)
    terminal.press("a")
    terminal.rest(pause)
    terminal.press("a")
    assert ends(terminal) == []
    assert len(terminal.decided) <= 1


def test_releasing_a_key_ends_nothing(terminal: Terminal) -> None:
    terminal.open()
    terminal.rest(0.9)
    terminal.press("release", b"\x1b[97;1:3u")
    terminal.rest(3.0)
    assert terminal.alive
    assert terminal.decided == []
    approve(terminal, b"\x1b[97;1:1u")
    assert ends(terminal) == []
    assert [one.verdict for one in terminal.decided] == ["approved"]


@pytest.mark.parametrize("terminal", [0.002], indirect=True, ids=["answering"])
def test_a_lost_terminal_answer_does_not_prevent_approving(terminal: Terminal) -> None:
    terminal.loses = {terminal.questions + 1}
    terminal.open()
    approve(terminal)
    assert [one.verdict for one in terminal.decided] == ["approved"]
    assert ends(terminal) == []


def test_sequences_that_no_key_makes_end_nothing_and_decide_nothing(terminal: Terminal) -> None:
    rng = random.Random(1)
    terminal.open()
    for _ in range(400):
        made = garbage(rng)
        cut = rng.randrange(len(made) + 1)
        for part in (made[:cut], made[cut:]):
            if part:
                terminal.press("noise", part)
        terminal.rest(rng.choice([0.0, 0.0, 0.01, 0.12]))
        assert terminal.alive
    terminal.rest(0.5)
    assert terminal.decided == []
    # The console still hears: a review can be had, and a build approved.
    terminal.rest(2.5)
    terminal.press("noise", b"\x1b[201~")
    for _ in range(3):  # what the noise left open or half pressed may take a key
        for _ in range(8):
            terminal.press("escape", NAMED["escape"])
            terminal.rest(0.4)
        terminal.open()
        approve(terminal)
        if terminal.decided:
            break
    assert ends(terminal) == []
    assert [one.verdict for one in terminal.decided] == ["approved"]


def test_a_deliberate_key_decides(terminal: Terminal) -> None:
    terminal.open()
    approve(terminal)
    assert [one.verdict for one in terminal.decided] == ["approved"]
    assert ends(terminal) == []
