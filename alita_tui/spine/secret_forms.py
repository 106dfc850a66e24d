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
"""Bytes of the shortest value that is searched for in encoded forms, too."""
_LINE = 12
"""Characters from which a line of a value of several lines is searched for by itself."""
_ROUNDS = 3
"""How deep escapes may be nested."""
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
"""For all escapes together and for each kind: the bytes that they begin with, and their pattern."""
_QUOTED = re.compile(rb"=\r?\n|=([0-9A-Fa-f]{2})")
_UNFINISHED = re.compile(
    rb"(?:%[0-9A-Fa-f]?|\\+(?:[uU]\{?[0-9A-Fa-f]{0,8}(?:\\u?[0-9A-Fa-f]{0,3})?|x[0-9A-Fa-f]?|[0-3][0-7]?)?"
    rb"|&#?[A-Za-z0-9]{0,32}|=(?:\r|[0-9A-Fa-f])?)\Z"
)
_CONTROLS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_LOWER = bytes.maketrans(b"ABCDEF", b"abcdef")

Span = tuple[int, int, int]
"""Begin, end, and the index of the value."""


_Means = Callable[[re.Match[bytes]], bytes | None]
_ToSource = Callable[[int, int], tuple[int, int]]
"""Maps a range of a view to the range of the text that it comes from."""


class _View:
    """A text with its escapes resolved, and the range of the source that each part comes from."""

    def __init__(self, source: bytes, shape: re.Pattern[bytes], means: _Means) -> None:
        pieces: list[bytes] = []
        self._starts: list[int] = []
        self._parts: list[tuple[int, int, bool]] = []
        at = offset = 0
        for match in shape.finditer(source):
            meaning = means(match)
            if meaning is None:
                continue
            for piece, begin, end, plain in (
                (source[at : match.start()], at, match.start(), True),
                (meaning, match.start(), match.end(), False),
            ):
                if piece:
                    self._starts.append(offset)
                    self._parts.append((begin, end, plain))
                    pieces.append(piece)
                    offset += len(piece)
            at = match.end()
        self.changed = at > 0
        if at < len(source):
            self._starts.append(offset)
            self._parts.append((at, len(source), True))
            pieces.append(source[at:])
        self.data = b"".join(pieces)

    def back(self, begin: int, end: int) -> tuple[int, int]:
        """Return the range of the source that a range of the view comes from."""
        return self._edge(begin, 0), self._edge(end - 1, 1)

    def _edge(self, position: int, at_end: int) -> int:
        index = bisect_right(self._starts, position) - 1
        begin, end, plain = self._parts[index]
        if plain:
            return begin + position - self._starts[index] + at_end
        return end if at_end else begin


class SecretForms:
    """Secret values, in every form that is searched for."""

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
        """Return whether the data contains any of the values."""
        return self.any and next(self._spans(data), None) is not None

    def within_name(self, name: bytes) -> bool:
        """Return whether a name contains any of the values, in any case of its letters."""
        lowered = name.lower()
        return self.within(name) or any(
            part.lower() in lowered for part, _ in self._plain if len(part) >= LEAST
        )

    def spans(self, data: bytes) -> list[Span]:
        """Return the ranges of all matches, in order; overlapping ones are merged."""
        merged: list[Span] = []
        for begin, end, value_index in sorted(self._spans(data)) if self.any else ():
            if merged and begin < merged[-1][1]:
                last = merged[-1]
                merged[-1] = (last[0], max(last[1], end), last[2])
            else:
                merged.append((begin, end, value_index))
        return merged

    def begun(self, data: bytes) -> int:
        """Return where a secret may begin that continues after the text's end; else the text's length."""
        if not self.any:
            return len(data)
        ends = [len(data)]
        for view, to_source in _views(data, ends):
            for searched, dropped, literals in self._kinds(view):
                longest = max((_overlap(searched, literal) for literal, _ in literals), default=0)
                if longest:
                    start = _walk_back(view, dropped, longest)
                    ends.append(to_source(start, start + 1)[0])
        return min(ends)

    def _spans(self, data: bytes) -> Iterator[Span]:
        for view, to_source in _views(data):
            for searched, dropped, literals in self._kinds(view):
                positions: array[int] | None = None
                for literal, value_index in literals:
                    at = searched.find(literal)
                    while at >= 0:
                        end = at + len(literal)
                        if dropped:
                            positions = positions or _places_left(view, dropped)
                            yield (*to_source(positions[at], positions[end - 1] + 1), value_index)
                        else:
                            yield (*to_source(at, end), value_index)
                        at = searched.find(literal, end)

    def _kinds(self, view: bytes) -> Iterator[tuple[bytes, bytes, list[tuple[bytes, int]]]]:
        """Yield for each encoding the view to search, the bytes dropped from it, and the (literal, value index)."""
        yield view, b"", self._plain
        if b"\0" in view:
            yield view.translate(None, b"\0"), b"\0", self._plain
        if self._base64:
            yield view.translate(_TO_STANDARD, _BETWEEN), _BETWEEN, self._base64
            between = _BETWEEN + b":,-"
            yield view.translate(_LOWER, between), between, self._hex


def _views(data: bytes, ends: list[int] | None = None) -> Iterator[tuple[bytes, _ToSource]]:
    """Yield the text, and the text with its escapes resolved, each with a function back to places in the text.

    With `ends` more may follow the text: an unfinished escape is left out, and its place is added there.
    """
    view: bytes = _without_unfinished(data, _identity, ends)
    to_source: _ToSource = _identity
    yield view, to_source
    if b"=" in view:
        quoted = _View(view, _QUOTED, lambda match: bytes.fromhex(match[1].decode()) if match[1] else b"")
        if quoted.changed:
            yield quoted.data, quoted.back
    yield from _resolved(view, to_source, ends, _ROUNDS, {view})


def _resolved(
    view: bytes, to_source: _ToSource, ends: list[int] | None, rounds: int, seen: set[bytes]
) -> Iterator[tuple[bytes, _ToSource]]:
    """Yield the view with its escapes resolved, all kinds together and each alone, and what they contain in turn.

    Each alone: a value may itself contain what looks like an escape of another kind (`%41` beside `&quot;`).
    """
    for signs, shape in _ESCAPES:
        if not rounds or not any(sign in view for sign in signs):
            continue
        resolved = _View(view, shape, _meaning)
        if resolved.data in seen:
            continue
        seen.add(resolved.data)
        combined = _composed(resolved.back, to_source)
        inner = _without_unfinished(resolved.data, combined, ends)
        yield inner, combined
        yield from _resolved(inner, combined, ends, rounds - 1, seen)


def _without_unfinished(view: bytes, to_source: _ToSource, ends: list[int] | None) -> bytes:
    """Return a view without the unfinished escapes at its end."""
    while ends is not None and (unfinished := _UNFINISHED.search(view, max(len(view) - 48, 0))):
        ends.append(to_source(unfinished.start(), unfinished.start() + 1)[0])
        view = view[: unfinished.start()]
    return view


def _identity(begin: int, end: int) -> tuple[int, int]:
    return begin, end


def _composed(inner: _ToSource, outer: _ToSource) -> _ToSource:
    return lambda begin, end: outer(*inner(begin, end))


def _meaning(match: re.Match[bytes]) -> bytes | None:
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
            character = html5.get(text.decode())
            return character.encode("utf-8", "replace") if character else None
        case _:
            return _letter(int(text, 10 if kind == "number" else 16))


def _letter(code: int) -> bytes | None:
    return chr(code).encode() if code < 0xD800 or 0xDFFF < code < 0x110000 else None


def _parts(value: str) -> list[bytes]:
    """Return the byte strings to search for: the stripped value, each longer line, both in other encodings."""
    stripped = value.strip()
    lines = [line for line in map(str.strip, stripped.splitlines()) if len(line) >= _LINE]
    texts = dict.fromkeys((stripped, *lines) if len(lines) > 1 or stripped not in lines else (stripped,))
    parts = [text.encode("utf-8", "surrogatepass") for text in texts if text]
    # Of plain letters UTF-16 and UTF-32 are the same with zeros between them; of others they are other bytes.
    encodings = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1")
    wide = [text.encode(code, "replace") for text in texts if not text.isascii() for code in encodings]
    # A server that takes a header's bytes for Latin-1 writes each of them as a letter.
    mistaken = [part.decode("latin-1").encode() for part in parts if not part.isascii()]
    return [*parts, *dict.fromkeys((*mistaken, *wide))]


def _cores(part: bytes) -> list[bytes]:
    """Return the base64 letters that depend on the value alone, for each offset at which it can begin."""
    cores = []
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + part)
        core = coded[-(-offset * 8 // 6) : (offset + len(part)) * 8 // 6]
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
    return array("Q", (position for position, byte in enumerate(view) if byte not in dropped))


def _walk_back(view: bytes, dropped: bytes, count: int) -> int:
    """Return where the last `count` bytes begin, not counting dropped ones."""
    position = len(view)
    while count:
        position -= 1
        count -= view[position] not in dropped
    return position
