"""Finds a secret value in bytes in any common form: plain, escaped, in base64, in hex, in UTF-16.

The text is searched as it is and with its escapes resolved (URL, JSON, HTML, those of programming languages,
quoted-printable, nested ones), each with and without the characters that may separate the letters of an encoding.
Matches are reported as places in the text itself. A cipher or another deliberate encoding is not found.
"""

from __future__ import annotations

import base64
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from html.entities import html5

LEAST = 4
"""Bytes of the shortest value that is looked for in other forms than its own."""
_LINE = 12
"""Letters from which on a line of a value that has several is looked for by itself."""
_ROUNDS = 3
"""How often one escape may be written inside of another."""
_BETWEEN = b" \t\r\n"
_URL = rb"%(?P<url>[0-9A-Fa-f]{2})"
_BACKSLASH = (
    rb"\\u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    rb"|\\u(?P<unit>[0-9A-Fa-f]{4})"
    rb"|\\(?:U|u\{)(?P<code>[0-9A-Fa-f]{1,8})\}?"
    rb"|\\x(?P<byte>[0-9A-Fa-f]{2})"
    rb"|\\(?P<octal>[0-3][0-7]{2})"
    rb"|\\(?P<itself>[^A-Za-z0-9\s])"
    rb"|\\(?P<control>[bfnrt])"
)
_HTML = rb"&#[xX](?P<hex>[0-9A-Fa-f]{1,8});?|&#(?P<number>[0-9]{1,8});?|&(?P<name>[A-Za-z][A-Za-z0-9]{1,31};)"
_ESCAPES = (
    ((b"%", b"\\", b"&"), re.compile(b"|".join((_URL, _BACKSLASH, _HTML)))),
    ((b"%",), re.compile(_URL)),
    ((b"\\",), re.compile(_BACKSLASH)),
    ((b"&",), re.compile(_HTML)),
)
"""Of all escapes, and of each kind: what they begin with, and their shape."""
_QUOTED = re.compile(rb"=\r?\n|=([0-9A-Fa-f]{2})")
_BEGUN = re.compile(
    rb"(?:%[0-9A-Fa-f]?|\\+(?:[uU]\{?[0-9A-Fa-f]{0,8}(?:\\u?[0-9A-Fa-f]{0,3})?|x[0-9A-Fa-f]?|[0-3][0-7]?)?"
    rb"|&#?[A-Za-z0-9]{0,32}|=(?:\r|[0-9A-Fa-f])?)\Z"
)
_CONTROLS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_LOWER = bytes.maketrans(b"ABCDEF", b"abcdef")

Span = tuple[int, int, int]
"""Where it begins, where it ends, and which of the values it is."""


_Means = Callable[[re.Match[bytes]], bytes | None]
_Back = Callable[[int, int], tuple[int, int]]
"""From a part of a view to the same part of the text."""


class _View:
    """A text with something of it resolved, and where each part of that comes from."""

    def __init__(self, source: bytes, shape: re.Pattern[bytes], means: _Means) -> None:
        pieces: list[bytes] = []
        self._starts: list[int] = []
        self._parts: list[tuple[int, int, bool]] = []
        at = here = 0
        for match in shape.finditer(source):
            meaning = means(match)
            if meaning is None:
                continue
            for part, begin, end, plain in (
                (source[at : match.start()], at, match.start(), True),
                (meaning, match.start(), match.end(), False),
            ):
                if part:
                    self._starts.append(here)
                    self._parts.append((begin, end, plain))
                    pieces.append(part)
                    here += len(part)
            at = match.end()
        self.changed = at > 0
        if at < len(source):
            self._starts.append(here)
            self._parts.append((at, len(source), True))
            pieces.append(source[at:])
        self.data = b"".join(pieces)

    def back(self, begin: int, end: int) -> tuple[int, int]:
        """Return the place in the source of a part of the view."""
        return self._edge(begin, 0), self._edge(end - 1, 1)

    def _edge(self, place: int, after: int) -> int:
        number = bisect_right(self._starts, place) - 1
        begin, end, plain = self._parts[number]
        if plain:
            return begin + place - self._starts[number] + after
        return end if after else begin


class Disguises:
    """Some values, and every way of writing them that is looked for."""

    def __init__(self, values: Iterable[str]) -> None:
        self._plain: list[tuple[bytes, int]] = []
        self._base64: list[tuple[bytes, int]] = []
        self._hex: list[tuple[bytes, int]] = []
        for number, value in enumerate(values):
            for part in _parts(value):
                self._plain.append((part, number))
                if len(part) >= LEAST:
                    self._base64 += ((core, number) for core in _cores(part))
                    self._hex.append((part.hex().encode(), number))
        for kind in (self._plain, self._base64, self._hex):
            kind.sort(key=lambda entry: -len(entry[0]))

    @property
    def any(self) -> bool:
        """Return whether there is anything to look for."""
        return bool(self._plain)

    def within(self, data: bytes) -> bool:
        """Return whether any of the values is in there."""
        return self.any and next(self._spans(data), None) is not None

    def within_name(self, name: bytes) -> bool:
        """Return whether any of them is in a name whose letters may have changed their case."""
        low = name.lower()
        return self.within(name) or any(part.lower() in low for part, _ in self._plain if len(part) >= LEAST)

    def spans(self, data: bytes) -> list[Span]:
        """Return where they are, in order; overlapping matches are one."""
        merged: list[Span] = []
        for begin, end, which in sorted(self._spans(data)) if self.any else ():
            if merged and begin < merged[-1][1]:
                last = merged[-1]
                merged[-1] = (last[0], max(last[1], end), last[2])
            else:
                merged.append((begin, end, which))
        return merged

    def begun(self, data: bytes) -> int:
        """Return where a secret may begin that continues after the text's end; else the text's length."""
        if not self.any:
            return len(data)
        ends = [len(data)]
        for view, back in _views(data, ends):
            for bare, dropped, literals in self._kinds(view):
                longest = max((_overlap(bare, literal) for literal, _ in literals), default=0)
                if longest:
                    place = _walk_back(view, dropped, longest)
                    ends.append(back(place, place + 1)[0])
        return min(ends)

    def _spans(self, data: bytes) -> Iterator[Span]:
        for view, back in _views(data):
            for bare, dropped, literals in self._kinds(view):
                places: array[int] | None = None
                for literal, which in literals:
                    at = bare.find(literal)
                    while at >= 0:
                        end = at + len(literal)
                        if dropped:
                            places = places or _places_left(view, dropped)
                            yield (*back(places[at], places[end - 1] + 1), which)
                        else:
                            yield (*back(at, end), which)
                        at = bare.find(literal, end)

    def _kinds(self, view: bytes) -> Iterator[tuple[bytes, bytes, list[tuple[bytes, int]]]]:
        """Yield the view as each encoding is searched in it, and the bytes that were dropped for that."""
        yield view, b"", self._plain
        if b"\0" in view:
            yield view.translate(None, b"\0"), b"\0", self._plain
        if self._base64:
            yield view.translate(_TO_STANDARD, _BETWEEN), _BETWEEN, self._base64
            between = _BETWEEN + b":,-"
            yield view.translate(_LOWER, between), between, self._hex


def _views(data: bytes, ends: list[int] | None = None) -> Iterator[tuple[bytes, _Back]]:
    """Yield the text, and the text with its escapes resolved, each with a function back to places in the text.

    With `ends` more may follow the text: an unfinished escape is left out, and its place is added there.
    """
    view: bytes = _over(data, _same, ends)
    back: _Back = _same
    yield view, back
    if b"=" in view:
        quoted = _View(view, _QUOTED, lambda match: bytes.fromhex(match[1].decode()) if match[1] else b"")
        if quoted.changed:
            yield quoted.data, quoted.back
    yield from _resolved(view, back, ends, _ROUNDS, {view})


def _resolved(
    view: bytes, back: _Back, ends: list[int] | None, rounds: int, seen: set[bytes]
) -> Iterator[tuple[bytes, _Back]]:
    """Yield the view with its escapes resolved, all kinds together and each alone, and what they contain in turn.

    Each alone: a value may itself contain what looks like an escape of another kind (`%41` beside `&quot;`).
    """
    for signs, shape in _ESCAPES:
        if not rounds or not any(sign in view for sign in signs):
            continue
        made = _View(view, shape, _meant)
        if made.data in seen:
            continue
        seen.add(made.data)
        through = _through(made.back, back)
        inner = _over(made.data, through, ends)
        yield inner, through
        yield from _resolved(inner, through, ends, rounds - 1, seen)


def _over(view: bytes, back: _Back, ends: list[int] | None) -> bytes:
    """Return a view without the unfinished escapes at its end."""
    while ends is not None and (begun := _BEGUN.search(view, max(len(view) - 48, 0))):
        ends.append(back(begun.start(), begun.start() + 1)[0])
        view = view[: begun.start()]
    return view


def _same(begin: int, end: int) -> tuple[int, int]:
    return begin, end


def _through(inner: _Back, outer: _Back) -> _Back:
    return lambda begin, end: outer(*inner(begin, end))


def _meant(match: re.Match[bytes]) -> bytes | None:
    kind, text = match.lastgroup, match[match.lastgroup or 0]
    match kind:
        case "url" | "byte":
            return bytes.fromhex(text.decode())
        case "low":  # a letter beyond the first plane, as JSON writes it
            return chr(0x10000 + ((int(match["high"], 16) - 0xD800) << 10) + int(text, 16) - 0xDC00).encode()
        case "octal":
            return bytes((int(text, 8),))
        case "itself":
            return text
        case "control":
            return _CONTROLS[text]
        case "name":
            known = html5.get(text.decode())
            return known.encode("utf-8", "replace") if known else None
        case _:
            return _letter(int(text, 10 if kind == "number" else 16))


def _letter(code: int) -> bytes | None:
    return chr(code).encode() if code < 0xD800 or 0xDFFF < code < 0x110000 else None


def _parts(value: str) -> list[bytes]:
    """Return what to look for of a value: all of it without surrounding blanks, and each longer line."""
    whole = value.strip()
    lines = [line for line in map(str.strip, whole.splitlines()) if len(line) >= _LINE]
    texts = dict.fromkeys((whole, *lines) if len(lines) > 1 or whole not in lines else (whole,))
    parts = [text.encode("utf-8", "surrogatepass") for text in texts if text]
    # Of plain letters UTF-16 and UTF-32 are the same with zeros between them; of others they are other bytes.
    others = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1")
    wide = [text.encode(code, "replace") for text in texts if not text.isascii() for code in others]
    # A server that takes a header's bytes for Latin-1 writes each of them as a letter.
    mistaken = [part.decode("latin-1").encode() for part in parts if not part.isascii()]
    return [*parts, *dict.fromkeys((*mistaken, *wide))]


def _cores(part: bytes) -> list[bytes]:
    """Return the base64 letters that depend on the value alone, for each offset at which it can begin."""
    cores = []
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + part)
        core = coded[-(-before * 8 // 6) : (before + len(part)) * 8 // 6]
        if len(core) >= LEAST:
            cores.append(core)
    return cores


def _overlap(text: bytes, literal: bytes) -> int:
    """Return the length of the longest proper beginning of a literal in which the text ends."""
    longest = min(len(literal) - 1, len(text))
    tail = text[len(text) - longest :]
    at = tail.find(literal[:1])
    while at >= 0:
        if literal.startswith(tail[at:]):
            return longest - at
        at = tail.find(literal[:1], at + 1)
    return 0


def _places_left(view: bytes, dropped: bytes) -> array[int]:
    """Return, for each byte that is left after dropping some, its place in the original text."""
    return array("Q", (place for place, byte in enumerate(view) if byte not in dropped))


def _walk_back(view: bytes, dropped: bytes, count: int) -> int:
    """Return where the last `count` bytes begin, not counting dropped ones."""
    place = len(view)
    while count:
        place -= 1
        count -= view[place] not in dropped
    return place
