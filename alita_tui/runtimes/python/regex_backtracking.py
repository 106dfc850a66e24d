"""Finds regular expressions whose time can grow without bound, by analysis. They are never run.

A repeat is dangerous if its iterations can match the same text in more than one way: a backtracking engine tries all of
them before it fails. The positions of the pattern are the states of an automaton (Glushkov); two different paths for
the same text are found in the product of the automaton with itself.
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
    """A piece of a pattern: its first and last positions with the number of ways, and whether it can be empty."""

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
        self.has_empty_rounds = False
        """True for a counted repeat of something that can be empty: every choice of empty rounds is tried."""
        self._depth = 0
        self._after = after
        """True if the rest of the pattern can fail, so that the engine backtracks."""

    def position(self, bits: int) -> _Part:
        if len(self.reads) >= _MOST_POSITIONS:
            raise _TooLarge
        self.reads.append(bits)
        number = len(self.reads) - 1
        return _Part({number: 1}, {number: 1}, empty=False)

    def link(self, last: dict[int, int], first: dict[int, int]) -> None:
        for a, ways in last.items():
            for b, other_ways in first.items():
                self.follow[a][b] = min(2, self.follow[a][b] + ways * other_ways)

    def chain(self, parts: list[_Part]) -> _Part:
        sequence = _Part({}, {}, empty=True)
        for part in parts:
            self.link(sequence.last, part.first)
            first = _merged(sequence.first, part.first) if sequence.empty else sequence.first
            last = _merged(part.last, sequence.last) if part.empty else part.last
            sequence = _Part(first, last, sequence.empty and part.empty)
        return sequence

    def sequence(self, nodes: Any) -> _Part:
        """Return a sequence of pieces."""
        nodes, after_sequence, parts = list(nodes), self._after, []
        for number, (kind, value) in enumerate(nodes):
            self._after = after_sequence or any(_can_fail(str(k), v) for k, v in nodes[number + 1 :])
            parts.append(self.piece(str(kind), value))
        self._after = after_sequence
        return self.chain(parts)

    def piece(self, kind: str, value: Any) -> _Part:
        match kind:
            case "BRANCH":
                parts = [self.sequence(branch) for branch in value[1]]
                first: dict[int, int] = {}
                last: dict[int, int] = {}
                for part in parts:
                    first, last = _merged(first, part.first), _merged(last, part.last)
                return _Part(first, last, any(part.empty for part in parts))
            case "SUBPATTERN":
                flags, self.flags = self.flags, (self.flags | value[1]) & ~value[2]
                part = self.sequence(value[-1])
                self.flags = flags
                return part
            case "ATOMIC_GROUP":
                return self.position(self.all_bits)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self.repeat(*value)
            case "POSSESSIVE_REPEAT":  # never backtracks
                part = self.position(self.all_bits)
                return part if value[0] else _Part(part.first, part.last, empty=True)
            case "GROUPREF_EXISTS":
                return self.chain([self.sequence(piece) for piece in value[1:] if piece is not None])
            case "AT" | "ASSERT" | "ASSERT_NOT" | "GROUPREF" | "FAILURE":
                return _Part({}, {}, empty=True)
            case _:
                return self.position(self.bits(kind, value))

    def repeat(self, minimum: int, maximum: int, inner: Any) -> _Part:
        minimum, maximum = int(minimum), int(maximum)
        if maximum <= _COPIES:
            sequence = _Part({}, {}, empty=True)
            for number in reversed(range(maximum)):  # a later round only follows the one before it
                sequence = self.chain([self.sequence(inner), sequence])
                sequence = sequence if number < minimum else _Part(sequence.first, sequence.last, empty=True)
            return sequence
        self._depth += 1
        required = [self.sequence(inner) for _ in range(min(minimum, _COPIES) - 1)]
        start = len(self.reads)
        part = self.sequence(inner)
        self.link(part.last, part.first)
        self._depth -= 1
        if not self._depth and self._after:
            self.groups.append(set(range(start, len(self.reads))))
            self.has_empty_rounds = self.has_empty_rounds or (part.empty and minimum > _COPIES)
        if required:
            return self.chain([*required, part])
        return part if minimum else _Part(part.first, part.last, empty=True)

    @property
    def all_bits(self) -> int:
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


def _merged(first: dict[int, int], second: dict[int, int]) -> dict[int, int]:
    merged = dict(first)
    for position, ways in second.items():
        merged[position] = min(2, merged.get(position, 0) + ways)
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


def _collect_letters(nodes: Any, letters: set[str]) -> None:
    """Add the characters at which the pieces of a pattern begin to differ."""
    pending = [nodes]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple) and len(node) == 2 and str(node[0]) in ("LITERAL", "NOT_LITERAL", "RANGE"):
            bounds = node[1] if isinstance(node[1], tuple) else (node[1],)
            letters.update(
                chr(end + offset) for end in bounds for offset in (-1, 0, 1) if 0 <= end + offset < 0x110000
            )
        elif isinstance(node, list | tuple | _parser.SubPattern):
            pending += list(node)


def runs_away(pattern: str, *, whole: bool = False) -> bool:
    """Return True if some text makes a search take time that doubles with every character or two.

    With `whole` it has to match to the end of the text. False also for an invalid pattern, and for one that is too
    large to analyse.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(pattern)
        letters: set[str] = set(_SAMPLES)
        _collect_letters(parsed, letters)
        if len(letters) > 400:
            return False
        automaton = _Automaton("".join(sorted(letters)), parsed.state.flags, after=whole)
        automaton.sequence(parsed)
    except (re.error, _TooLarge, RecursionError, OverflowError, ValueError):
        return False
    return automaton.has_empty_rounds or any(_ambiguous(automaton, group) for group in automaton.groups)


def _ambiguous(automaton: _Automaton, group: set[int]) -> bool:
    """Return True if one text can pass a repeat in two ways."""
    follow = {a: {b: ways for b, ways in automaton.follow[a].items() if b in group} for a in group}
    for start in group:
        reached, pairs = _positions_and_pairs(start, follow, automaton.reads)
        if any(ways > 1 and _is_reachable(b, a, follow) for a in reached for b, ways in follow[a].items()):
            return True
        for pair in {pair for pair in pairs if pair[0] != pair[1]}:
            if _pair_is_reachable(pair, (start, start), pairs):
                return True
    return False


def _is_reachable(start: int, goal: int, follow: dict[int, dict[int, int]]) -> bool:
    visited, pending = {start}, [start]
    while pending:
        position = pending.pop()
        if position == goal:
            return True
        pending += [following for following in follow[position] if following not in visited]
        visited.update(follow[position])
    return False


_Pair = tuple[int, int]


def _positions_and_pairs(
    start: int, follow: dict[int, dict[int, int]], reads: list[int]
) -> tuple[set[int], dict[_Pair, set[_Pair]]]:
    """Return the positions reachable from one, and each pair that the same text reaches, with what follows it."""
    pairs: dict[_Pair, set[_Pair]] = {}
    pending: list[_Pair] = [(start, start)]
    while pending:
        pair = pending.pop()
        if pair in pairs:
            continue
        pairs[pair] = {(a, b) for a in follow[pair[0]] for b in follow[pair[1]] if reads[a] & reads[b]}
        pending += list(pairs[pair])
    return {a for a, b in pairs if a == b}, pairs


def _pair_is_reachable(start: _Pair, goal: _Pair, pairs: dict[_Pair, set[_Pair]]) -> bool:
    visited, pending = {start}, [start]
    while pending:
        pair = pending.pop()
        if pair == goal:
            return True
        pending += [following for following in pairs[pair] if following not in visited]
        visited |= pairs[pair]
    return False
