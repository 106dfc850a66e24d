"""From the bytes of a terminal to Textual's messages, each with what is known of when it was made.

Textual's own parser is given whole sequences only, one at a time: what it does not know, or cannot take, is dropped
and noted, and never becomes keys. A key that is let go is no key press.
"""

from __future__ import annotations

import codecs
import logging
import re

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
_FARTHEST = 20_000
"""Largest plausible columns, rows or pixels of a window."""


class Settled(Message):
    """An input was alone for as long as a verdict must be."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def timed_input(event: events.Event) -> TimedInput | None:
    """Return an event's timing."""
    return getattr(event, "_heard", None)


def stamp(event: Message, heard: TimedInput) -> None:
    """Attach its timing to an event."""
    event.time = heard.at
    event._heard = heard  # type: ignore[attr-defined]  # the one place that it is written


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
        """Handle a poll without input."""
        found = [message for token in self._tokens.tick(at) for message in self._taken(token, at)]
        if number := self._timing.empty(at):
            found.append(Settled(number))
        return found

    def read(self, data: bytes, at: float) -> list[Message]:
        """Parse bytes. Half a sequence counts as input, too."""
        tokens = self._tokens.feed(self._decoder.decode(data), at)
        found = [message for token in tokens for message in self._taken(token, at)]
        if not tokens or self._tokens.open or self._decoder.getstate()[0]:
            self._timing.note("junk", at, deed=False)
        return found

    def _taken(self, token: Token, at: float) -> list[Message]:
        """Return the messages of one token, recorded as input."""
        if (token.text == ANSWER and self._timing.answered(at)) or (
            _OTHER_ANSWER.fullmatch(token.text) and self._timing.answered_other(at)
        ):
            if token.pieced:
                self._timing.note("junk", at, deed=False)
            return []
        # What the terminal says of itself is no input, unless a key made it whole.
        report = not token.pieced and _REPORT.fullmatch(token.text) is not None
        text, event = _plain(token) if token.kind == "sequence" else (token.text, "")
        if event == "3":
            self._timing.note("release", at, deed=False)
            return []
        found = self._messages(Token(token.kind, text), token)
        if not found:
            if token.pieced:
                # Its end may have been a key, which a sequence that was broken off has swallowed.
                self._timing.note(token.text[-1:], at)
            elif not report:
                self._timing.note("junk", at, deed=False)
                self._timing.swallowed(token.text[-1:], at)
            return []
        for message in found:
            if not report:
                what, deed = what_of(message)
                repeated = event == "2"
                heard = self._timing.note(what, at, deed=deed, repeated=repeated, pieced=token.pieced)
                stamp(message, heard)
        if token.kind == "alt" or _ENDS_LIKE_A_KEY.fullmatch(token.text):
            self._timing.swallowed(token.text[-1:], at)
        return found

    def _messages(self, token: Token, sent: Token) -> list[Message]:
        """Return Textual's messages for a token; none if it is unknown."""
        parser = self._parser
        found: list[Message] = []
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
                case "sequence" if _sound(token.text):
                    for char in token.text:
                        # Known before its end, the rest of it would be taken for keys.
                        if found:
                            break
                        found += parser.feed(char)
                    else:
                        if parser._awaiting.timeout is None:
                            return found
        except Exception:  # noqa: BLE001  # whatever a foreign parser does with what was sent, the console goes on
            _log.warning("Dropped input that Textual's parser failed on: %s", one_line(repr(sent.text), 200))
        else:
            _log.info("Dropped input that no key makes: %s", one_line(repr(sent.text), 200))
        self._anew()
        return []

    def _anew(self) -> None:
        """Replace the parser by a fresh one with the same window."""
        before, self._parser = self._parser, XTermParser()
        self._parser.last_x, self._parser.last_y = before.last_x, before.last_y
        self._parser.mouse_pixels = before.mouse_pixels
        self._parser.terminal_size = before.terminal_size
        self._parser.terminal_pixel_size = before.terminal_pixel_size


def what_of(message: Message) -> tuple[str, bool]:
    """Return an input's name, and whether it is a deed: a key, click, wheel turn or paste."""
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


def _plain(token: Token) -> tuple[str, str]:
    """Return a kitty sequence as Textual reads it, and its event: 1 press, 2 repeat, 3 release."""
    found = _KITTY.fullmatch(token.text)
    if found is None or (found["event"] is None and ":" not in token.text):
        return token.text, ""
    mods = f";{found['mods'] or 1}" + (f";{found['text']}" if found["text"] else "")
    return f"\x1b[{found['code']}{mods}{found['end']}", found["event"] or ""


def _sound(sequence: str) -> bool:
    """Return whether the numbers in a sequence are plausible."""
    if not sequence.startswith("\x1b["):
        return True
    numbers = [int(one) for one in _NUMBER.findall(sequence) if len(one) <= 8]
    if len(numbers) != len(_NUMBER.findall(sequence)):
        return False
    if sequence[-1] in "mM":
        return all(number <= _FARTHEST for number in numbers)
    if sequence[-1] == "t" and numbers[:1] == [48]:
        sizes = _RESIZED.fullmatch(sequence)
        return sizes is not None and all(0 < int(group) <= _FARTHEST for group in sizes.groups())
    return all(number <= _LARGEST and not 0xD800 <= number < 0xE000 for number in numbers)
