"""From bytes to messages: keys as Textual knows them, and nothing out of what no key makes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS, IGNORE_SEQUENCE
from textual._xterm_parser import XTermParser
from textual.message import Message

from alita_tui.console.action_table import ACTIONS
from alita_tui.console.input.parser import _OLD_SHIFTED, InputParser, timed_input
from alita_tui.console.input.timing import InputTiming
from alita_tui.console.session.slash import instead
from tests.attack.inputs.people import garbage


def read(*parts: bytes, timing: InputTiming | None = None) -> list[Message]:
    """What parts come to, each read 10 ms after the one before, and what time brings after them."""
    timing = timing or InputTiming(lambda _: True, clock=lambda: 1.0)
    reader = InputParser(timing)
    found = [message for n, part in enumerate(parts) for message in reader.read(part, 10 + n / 100)]
    return found + reader.empty(10.2 + len(parts) / 100) + reader.empty(20.0)


def keys(*parts: bytes) -> list[str]:
    return [one.key for one in read(*parts) if isinstance(one, events.Key)]


def test_our_parser_reads_every_sequence_that_textual_knows_as_the_same_keys() -> None:
    for sequence, known in ANSI_SEQUENCES_KEYS.items():
        if known is IGNORE_SEQUENCE or sequence in ("\x1b", "\x9b", "\x1b[200~", "\x1b[201~", *_OLD_SHIFTED):
            continue
        parser = XTermParser()
        wanted = [one.key for one in parser.feed(sequence) if isinstance(one, events.Key)]
        if not wanted or parser._awaiting.timeout is not None or sequence.startswith("\x1b\x1b"):
            continue
        assert keys(sequence.encode()) == wanted, sequence


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (b"a", ["a"]),
        (b"\x1b", ["escape"]),
        (b"\x1b[97;1u", ["a"]),
        (b"\x1b[97;1:1u", ["a"]),
        (b"\x1b[97;1:2u", ["a"]),
        (b"\x1b[97;1:3u", []),
        (b"\x1b[97:65;2:1;65u", ["A"]),
        (b"\x1b[1;1:3A", []),
        (b"\x1b[1;1:2A", ["up"]),
        (b"\x1b[13;1:3u", []),
        (b"\x1b[1114112u", []),
        (b"\x1b[55296u", []),
        (b"\x1b[99999999999999999999u", []),
        (b"\x1b[48;0;0;0;0t", []),
        (b"\x1b[48;99999;99999;1;1t", []),
        (b"\x1b]0;title\x07", []),
        (b"\x1bPq#a\x1b\\", []),
        (b"\x1b_Ga=1\x1b\\", []),
        (b"\x1b[?62;22c", []),
        (b"\xff\xfe\xc3", []),
        (b"\x1b[12", []),
        (b"\x1b[" + b"1;" * 400 + b"u", []),
        (b"\x1b[0n", []),
        ("ü日".encode(), ["ü", "日"]),
        (b"\x1ba", ["alt+a"]),
        (b"\x1b[", ["left_square_bracket"]),
    ],
)
def test_split_input_is_read_as_the_same_keys(sent: bytes, wanted: list[str]) -> None:
    for cut in range(min(len(sent), 40)):
        assert [one for one in keys(*filter(None, (sent[:cut], sent[cut:])))] == wanted, cut


def test_repetitions_and_pieces_are_input_that_never_counts() -> None:
    (held,) = read(b"\x1b[97;1:2u")
    (split,) = read(b"\x1b[97", b";1u")
    (whole,) = read(b"\x1b[97;1u")
    assert (
        isinstance(held, events.Event) and isinstance(split, events.Event) and isinstance(whole, events.Event)
    )
    said: list[Any] = [timed_input(one) for one in (held, split, whole)]
    assert [one.repeated for one in said] == [True, False, False]
    assert said[1].stalled


@pytest.mark.parametrize("begun", [b"\x1b", b"\x1b[", b"\x1b[?", b"\xc3", b"\x1b[200~", b"\x1b]0;"])
def test_an_unfinished_sequence_after_a_key_counts_as_later_input(begun: bytes) -> None:
    timing = InputTiming(lambda _: True, clock=lambda: 1.0)
    (key,) = InputParser(timing).read(b"a" + begun, 10.0)
    assert isinstance(key, events.Key)
    said: Any = timed_input(key)
    assert timing._last is not None and timing._last.number > said.number


def test_a_paste_is_text_whatever_it_contains_and_an_unended_paste_ends() -> None:
    (paste,) = read(b"\x1b[200~a\x1b[97;1u\x1b", b"[20", b"1\x1b[201", b"~")
    assert isinstance(paste, events.Paste) and paste.text == "a\x1b[97;1u\x1b[201"
    (broken,) = read(b"\x1b[200~rm -rf")
    assert isinstance(broken, events.Paste) and broken.text == "rm -rf"


def test_sequences_that_no_key_makes_never_raise_and_are_always_recorded() -> None:
    rng = random.Random(20261121)
    timing = InputTiming(lambda _: True, clock=lambda: 1.0)
    reader = InputParser(timing)
    at = 10.0
    for _ in range(30_000):
        made = garbage(rng)
        while made:
            cut = rng.randrange(1, len(made) + 1)
            before = timing._last.number if timing._last else 0
            for message in reader.read(made[:cut], at):
                assert not isinstance(message, events.Key) or message.key != "enter"
            assert timing._last is not None and timing._last.number > before, made
            made, at = made[cut:], at + rng.choice([0.0, 0.01, 0.15])
            reader.empty(at)
        if rng.random() < 0.2:
            at += 3
            reader.empty(at)
            assert [one.key for one in reader.read(b"j", at) if isinstance(one, events.Key)] == ["j"]


def test_a_failing_parser_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = InputParser(InputTiming(lambda _: True))

    def fail(*_: Any) -> Any:
        raise RuntimeError("a fault in a foreign parser")

    with monkeypatch.context() as patch:
        patch.setattr(XTermParser, "feed", fail)
        assert reader.read(b"a", 1.0) == []
    assert len(reader.read(b"a", 2.0)) == 1


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        # Shift and F1, F2, F4, F5, F7 by terminfo: kf13, kf14, kf16, kf17, kf19 of linux and rxvt-unicode …
        (b"\x1b[25~", "shift+f1"), (b"\x1b[26~", "shift+f2"), (b"\x1b[29~", "shift+f4"), (b"\x1b[31~", "shift+f5"),
        (b"\x1b[33~", "shift+f7"),
        # … and of xterm-256color and tmux-256color.
        (b"\x1b[1;2P", "shift+f1"), (b"\x1b[1;2Q", "shift+f2"), (b"\x1b[1;2S", "shift+f4"),
        (b"\x1b[15;2~", "shift+f5"), (b"\x1b[18;2~", "shift+f7"), (b"\x1b[20;2~", "shift+f9"),
        # Keys of ours that are one byte everywhere.
        (b"\x18", "ctrl+x"), (b"\x19", "ctrl+y"), (b"\x1c", "ctrl+backslash"), (b"\x12", "ctrl+r"), (b"\x07", "ctrl+g"),
        (b"\n", "ctrl+j"),
    ],
)  # fmt: skip
def test_keys_that_alita_reads_are_read_as_terminals_send_them(sent: bytes, key: str) -> None:
    (message,) = InputParser(InputTiming()).read(sent, 10.0)
    assert isinstance(message, events.Key)
    assert message.key == key and not message.is_printable


def test_every_key_with_shift_that_some_terminals_lack_has_a_command_to_type() -> None:
    lacking = [one for one in ACTIONS if one.key.startswith("shift+f")]
    assert len(lacking) >= 5
    assert [one.id for one in lacking if not instead(one, one.key.split(","))] == []
