"""Finds regular expressions whose time can grow without bound, by analysis. They are never run.

A repeat is dangerous if its rounds can read the same text in more than one way: a backtracking engine tries all of
them before it gives up. The positions of the pattern are the states of an automaton (Glushkov); two different rounds
over the same text are found in the product of the automaton with itself.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_MOST_POSITIONS = 70
_COPIES = 12
"""Rounds up to which a counted repeat is expanded."""
_SAMPLES = "aZ09_ \t\n-.é界\x00"


class _Part(NamedTuple):
    """A piece of a pattern: where it can begin and end, how often, and whether it can be empty."""

    first: dict[int, int]
    last: dict[int, int]
    empty: bool


class _TooLarge(Exception):
    """The pattern has more positions than are analysed."""


class _Automaton:
    def __init__(self, alphabet: str, flags: int, *, after: bool) -> None:
        self.alphabet = alphabet
        self.flags = flags
        self.reads: list[int] = []
        """Characters of the alphabet that a position reads, as bits."""
        self.follow: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
        """Position → position → number of ways, up to 2."""
        self.groups: list[set[int]] = []
        """Positions of each unbounded repeat that is not inside another one."""
        self.odd = False
        """True for a counted repeat of something that can be empty: every choice of empty rounds is tried."""
        self._depth = 0
        self._after = after
        """True if what follows can fail, so that the engine backtracks."""

    def position(self, bits: int) -> _Part:
        if len(self.reads) >= _MOST_POSITIONS:
            raise _TooLarge
        self.reads.append(bits)
        here = len(self.reads) - 1
        return _Part({here: 1}, {here: 1}, empty=False)

    def link(self, last: dict[int, int], first: dict[int, int]) -> None:
        for a, ways in last.items():
            for b, more in first.items():
                self.follow[a][b] = min(2, self.follow[a][b] + ways * more)

    def chain(self, parts: list[_Part]) -> _Part:
        whole = _Part({}, {}, empty=True)
        for part in parts:
            self.link(whole.last, part.first)
            first = _both(whole.first, part.first) if whole.empty else whole.first
            last = _both(part.last, whole.last) if part.empty else part.last
            whole = _Part(first, last, whole.empty and part.empty)
        return whole

    def several(self, nodes: Any) -> _Part:
        """Return a sequence of pieces."""
        nodes, outer, parts = list(nodes), self._after, []
        for number, (kind, value) in enumerate(nodes):
            self._after = outer or any(_can_fail(str(k), v) for k, v in nodes[number + 1 :])
            parts.append(self.piece(str(kind), value))
        self._after = outer
        return self.chain(parts)

    def piece(self, kind: str, value: Any) -> _Part:
        match kind:
            case "BRANCH":
                parts = [self.several(branch) for branch in value[1]]
                first: dict[int, int] = {}
                last: dict[int, int] = {}
                for part in parts:
                    first, last = _both(first, part.first), _both(last, part.last)
                return _Part(first, last, any(part.empty for part in parts))
            case "SUBPATTERN":
                flags, self.flags = self.flags, (self.flags | value[1]) & ~value[2]
                part = self.several(value[-1])
                self.flags = flags
                return part
            case "ATOMIC_GROUP":
                return self.position(self.every)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self.repeat(*value)
            case "POSSESSIVE_REPEAT":  # never backtracks
                part = self.position(self.every)
                return part if value[0] else _Part(part.first, part.last, empty=True)
            case "GROUPREF_EXISTS":
                return self.chain([self.several(piece) for piece in value[1:] if piece is not None])
            case "AT" | "ASSERT" | "ASSERT_NOT" | "GROUPREF" | "FAILURE":
                return _Part({}, {}, empty=True)
            case _:
                return self.position(self.bits(kind, value))

    def repeat(self, least: int, most: int, inner: Any) -> _Part:
        least, most = int(least), int(most)
        if most <= _COPIES:
            whole = _Part({}, {}, empty=True)
            for number in reversed(range(most)):  # a later round only follows the one before it
                whole = self.chain([self.several(inner), whole])
                whole = whole if number < least else _Part(whole.first, whole.last, empty=True)
            return whole
        self._depth += 1
        fixed = [self.several(inner) for _ in range(min(least, _COPIES) - 1)]
        start = len(self.reads)
        part = self.several(inner)
        self.link(part.last, part.first)
        self._depth -= 1
        if not self._depth and self._after:
            self.groups.append(set(range(start, len(self.reads))))
            self.odd = self.odd or (part.empty and least > _COPIES)
        if fixed:
            return self.chain([*fixed, part])
        return part if least else _Part(part.first, part.last, empty=True)

    @property
    def every(self) -> int:
        return (1 << len(self.alphabet)) - 1

    def bits(self, kind: str, value: Any) -> int:
        mask = 0
        for number, char in enumerate(self.alphabet):
            if _reads(kind, value, char, self.flags):
                mask |= 1 << number
        return mask


def _can_fail(kind: str, value: Any) -> bool:
    """Return True if a piece of a pattern can fail, so that what precedes it is tried again."""
    match kind:
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return bool(value[0]) and any(_can_fail(str(k), v) for k, v in value[2])
        case "SUBPATTERN":
            return any(_can_fail(str(k), v) for k, v in value[-1])
        case "BRANCH":
            return all(any(_can_fail(str(k), v) for k, v in branch) for branch in value[1])
        case _:
            return True


def _both(first: dict[int, int], second: dict[int, int]) -> dict[int, int]:
    merged = dict(first)
    for at, ways in second.items():
        merged[at] = min(2, merged.get(at, 0) + ways)
    return merged


def _reads(kind: str, value: Any, char: str, flags: int) -> bool:
    """Return True if one piece of a pattern reads a character."""
    same = {char, char.lower(), char.upper()} if flags & re.IGNORECASE else {char}
    match kind:
        case "LITERAL":
            return chr(value) in same
        case "NOT_LITERAL":
            return chr(value) not in same
        case "ANY":
            return char != "\n" or bool(flags & re.DOTALL)
        case "RANGE":
            return any(value[0] <= ord(sign) <= value[1] for sign in same if len(sign) == 1)
        case "CATEGORY":
            name = str(value)
            holds = (
                char.isdigit()
                if "DIGIT" in name
                else char.isspace()
                if "SPACE" in name
                else char.isalnum() or char == "_"
            )
            return holds != ("NOT" in name)
        case "IN":
            negated = bool(value) and str(value[0][0]) == "NEGATE"
            return any(_reads(str(k), v, char, flags) for k, v in value[negated:]) != negated
        case _:
            return True


def _letters(nodes: Any, letters: set[str]) -> None:
    """Return the characters at which the pieces of a pattern begin to differ."""
    rest = [nodes]
    while rest:
        node = rest.pop()
        if isinstance(node, tuple) and len(node) == 2 and str(node[0]) in ("LITERAL", "NOT_LITERAL", "RANGE"):
            ends = node[1] if isinstance(node[1], tuple) else (node[1],)
            letters.update(chr(end + by) for end in ends for by in (-1, 0, 1) if 0 <= end + by < 0x110000)
        elif isinstance(node, list | tuple | _parser.SubPattern):
            rest += list(node)


def runs_away(pattern: str, flags: int = 0, *, whole: bool = False) -> bool:
    """Return True if some text makes a search take time that doubles with every character or two.

    With `whole` it has to match to the end of the text. False also for an invalid pattern, and for one that is too
    large to analyse.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(pattern, flags)
        letters: set[str] = set(_SAMPLES)
        _letters(parsed, letters)
        if len(letters) > 400:
            return False
        automaton = _Automaton("".join(sorted(letters)), parsed.state.flags, after=whole)
        automaton.several(parsed)
    except (re.error, _TooLarge, RecursionError, OverflowError, ValueError):
        return False
    return automaton.odd or any(_ambiguous(automaton, group) for group in automaton.groups)


def _ambiguous(automaton: _Automaton, group: set[int]) -> bool:
    """Return True if one text leads round a repeat in two ways."""
    follow = {a: {b: ways for b, ways in automaton.follow[a].items() if b in group} for a in group}
    for start in group:
        reached, back = _round(start, follow, automaton.reads)
        if any(ways > 1 and _leads(b, a, follow) for a in reached for b, ways in follow[a].items()):
            return True
        for pair in {pair for pair in back if pair[0] != pair[1]}:
            if _meets(pair, (start, start), back):
                return True
    return False


def _leads(start: int, goal: int, follow: dict[int, dict[int, int]]) -> bool:
    visited, rest = {start}, [start]
    while rest:
        at = rest.pop()
        if at == goal:
            return True
        rest += [after for after in follow[at] if after not in visited]
        visited.update(follow[at])
    return False


_Pair = tuple[int, int]


def _round(
    start: int, follow: dict[int, dict[int, int]], reads: list[int]
) -> tuple[set[int], dict[_Pair, set[_Pair]]]:
    """Return the positions reachable from one, and each pair that the same text reaches, with what follows it."""
    pairs: dict[_Pair, set[_Pair]] = {}
    rest: list[_Pair] = [(start, start)]
    while rest:
        pair = rest.pop()
        if pair in pairs:
            continue
        pairs[pair] = {(a, b) for a in follow[pair[0]] for b in follow[pair[1]] if reads[a] & reads[b]}
        rest += list(pairs[pair])
    return {a for a, b in pairs if a == b}, pairs


def _meets(start: _Pair, goal: _Pair, pairs: dict[_Pair, set[_Pair]]) -> bool:
    visited, rest = {start}, [start]
    while rest:
        at = rest.pop()
        if at == goal:
            return True
        rest += [pair for pair in pairs[at] if pair not in visited]
        visited |= pairs[at]
    return False
