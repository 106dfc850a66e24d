"""Turns the bytes of a terminal into Textual's messages, each with what is known about when it was made.

Textual's parser gets only complete sequences, one at a time. One that it does not know, or fails on, is recorded and
dropped, and never becomes keys. The release of a key is no key press.
"""

from __future__ import annotations

import codecs
import logging
import re
from dataclasses import dataclass

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message

from alita_tui.console.input.arming import TimedInput
from alita_tui.console.input.sequences import SequenceSplitter, Token
from alita_tui.console.input.timing import InputTiming
from alita_tui.spine.text import one_line

_log = logging.getLogger(__name__)
ANSWER = "\x1b[0n"
_OTHER_ANSWER = re.compile(r"\x1b\[\?[\d;]+c")
_KITTY = re.compile(
    r"\x1b\[(?P<code>\d*)(?::[\d:]*)?(?:;(?P<mods>\d*)(?::(?P<event>\d*))?(?:;(?P<text>[\d:]*))?)?(?P<end>[u~ABCDEFHPQRS])"
)
_REPORT = re.compile(r"\x1b\[(?:\?[\d;]+[cn]|\?[\d;]+\$y|\d+;\d+R|48(?:;[\d:]+){4}t)")
_ENDS_LIKE_A_KEY = re.compile(r"\x1b[\[O][\d;:]*[a-t]")
"""Sequences of a few old keys, such as `ESC [ a`; those of the kitty protocol end in `u`."""
_NUMBER = re.compile(r"\d+")
_OLD_SHIFTED = {f"\x1b[{code}~": f"shift+f{n}" for n, code in enumerate((25, 26, 28, 29, 31, 32, 33, 34), 1)}
"""Shift and F1 to F8 as the Linux console and urxvt send them, which Textual takes for characters."""
_RESIZED = re.compile(
    r"\x1b\[48;(\d{1,4})(?::\d*)*;(\d{1,4})(?::\d*)*;(\d{1,5})(?::\d*)*;(\d{1,5})(?::\d*)*t"
)
_LARGEST = 0x10FFFF
_LARGEST_SIZE = 20_000
"""Largest plausible columns, rows or pixels of a window."""


@dataclass
class Settled(Message):
    """No input followed another for as long as a verdict requires."""

    number: int


def timed_input(event: events.Event) -> TimedInput | None:
    """Return an event's timing."""
    return getattr(event, "_timed", None)


def stamp(event: Message, timed: TimedInput) -> None:
    """Attach its timing to an event."""
    event.time = timed.at
    event._timed = timed  # type: ignore[attr-defined]  # the one place that it is written


class InputParser:
    """Parses one terminal's input. Never raises for any input."""

    def __init__(self, timing: InputTiming) -> None:
        self._timing = timing
        self._tokens = SequenceSplitter()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parser = XTermParser()

    @property
    def open(self) -> bool:
        """Whether a timeout may complete something."""
        return self._tokens.open

    def empty(self, at: float) -> list[Message]:
        """Handle a poll without input; return the messages that it completes."""
        messages = [message for token in self._tokens.tick(at) for message in self._recorded(token, at)]
        if number := self._timing.empty(at):
            messages.append(Settled(number))
        return messages

    def read(self, data: bytes, at: float) -> list[Message]:
        """Parse bytes; return the complete messages. Half a sequence counts as input, too."""
        tokens = self._tokens.feed(self._decoder.decode(data), at)
        messages = [message for token in tokens for message in self._recorded(token, at)]
        if not tokens or self._tokens.open or self._decoder.getstate()[0]:
            self._timing.note("junk", at, deed=False)
        return messages

    def _recorded(self, token: Token, at: float) -> list[Message]:
        """Return the messages of one token, recorded as input."""
        if (token.text == ANSWER and self._timing.answered(at)) or (
            _OTHER_ANSWER.fullmatch(token.text) and self._timing.answered_other(at)
        ):
            if token.pieced:
                self._timing.note("junk", at, deed=False)
            return []
        # A report of the terminal about itself is no input, unless a later key may have completed it.
        report = not token.pieced and _REPORT.fullmatch(token.text) is not None
        text, event = _without_event(token) if token.kind == "sequence" else (token.text, "")
        if event == "3":
            self._timing.note("release", at, deed=False)
            return []
        messages = self._messages(Token(token.kind, text), token)
        if not messages:
            if token.pieced:
                # Its last character may have been a key that completed a broken sequence.
                self._timing.note(token.text[-1:], at)
            elif not report:
                self._timing.note("junk", at, deed=False)
                self._timing.swallowed(token.text[-1:], at)
            return []
        for message in messages:
            if not report:
                name, deed = what_of(message)
                repeated = event == "2"
                timed = self._timing.note(name, at, deed=deed, repeated=repeated, pieced=token.pieced)
                stamp(message, timed)
        if token.kind == "alt" or _ENDS_LIKE_A_KEY.fullmatch(token.text):
            self._timing.swallowed(token.text[-1:], at)
        return messages

    def _messages(self, token: Token, sent: Token) -> list[Message]:
        """Return Textual's messages for a token; none if it is unknown."""
        parser = self._parser
        messages: list[Message] = []
        try:
            match token.kind:
                case "paste":
                    return [events.Paste(token.text.replace("\x00", ""))]
                case "escape":
                    return [events.Key("escape", token.text)]
                case "alt":
                    known = token.text in ANSI_SEQUENCES_KEYS
                    return list(
                        parser._sequence_to_key_events(token.text if known else token.text[1:], alt=not known)
                    )
                case "text":
                    return list(parser.feed(token.text))
                case "sequence" if token.text in _OLD_SHIFTED:
                    return [events.Key(_OLD_SHIFTED[token.text], None)]
                case "sequence" if _plausible(token.text):
                    for char in token.text:
                        # A sequence known before its end: the rest would be read as keys.
                        if messages:
                            break
                        messages += parser.feed(char)
                    else:
                        if parser._awaiting.timeout is None:
                            return messages
        except Exception:  # noqa: BLE001  # the console survives any failure of Textual's parser
            _log.warning("Dropped input that Textual's parser failed on: %s", one_line(repr(sent.text), 200))
        else:
            _log.info("Dropped input that no key makes: %s", one_line(repr(sent.text), 200))
        self._reset_parser()
        return []

    def _reset_parser(self) -> None:
        """Replace the parser by a fresh one with the same window."""
        old, self._parser = self._parser, XTermParser()
        self._parser.last_x, self._parser.last_y = old.last_x, old.last_y
        self._parser.mouse_pixels = old.mouse_pixels
        self._parser.terminal_size = old.terminal_size
        self._parser.terminal_pixel_size = old.terminal_pixel_size


def what_of(message: Message) -> tuple[str, bool]:
    """Return an input's name, and whether it is a deed (a key, click, wheel turn or paste)."""
    match message:
        case events.Key():
            return message.key, True
        case events.Paste():
            return "paste", True
        case events.MouseDown():
            return f"button {message.button} at {message.x},{message.y}", True
        case events.MouseScrollUp() | events.MouseScrollDown():
            return "wheel", True
        case events.MouseUp():
            return "release", False
        case events.MouseMove():
            return "move", False
        case events.AppFocus() | events.AppBlur():
            return "focus", False
        case _:
            return "junk", False


def _without_event(token: Token) -> tuple[str, str]:
    """Return a kitty sequence as Textual reads it, and its event: 1 press, 2 repeat, 3 release."""
    match = _KITTY.fullmatch(token.text)
    if match is None or (match["event"] is None and ":" not in token.text):
        return token.text, ""
    modifiers = f";{match['mods'] or 1}" + (f";{match['text']}" if match["text"] else "")
    return f"\x1b[{match['code']}{modifiers}{match['end']}", match["event"] or ""


def _plausible(sequence: str) -> bool:
    """Return whether the numbers in a sequence are plausible."""
    if not sequence.startswith("\x1b["):
        return True
    numbers = [int(digits) for digits in _NUMBER.findall(sequence) if len(digits) <= 8]
    if len(numbers) != len(_NUMBER.findall(sequence)):
        return False
    if sequence[-1] in "mM":
        return all(number <= _LARGEST_SIZE for number in numbers)
    if sequence[-1] == "t" and numbers[:1] == [48]:
        sizes = _RESIZED.fullmatch(sequence)
        return sizes is not None and all(0 < int(group) <= _LARGEST_SIZE for group in sizes.groups())
    return all(number <= _LARGEST and not 0xD800 <= number < 0xE000 for number in numbers)
