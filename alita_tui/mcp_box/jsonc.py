"""Sets one key in a JSON file with comments; every other byte stays as it is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r'(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<mark>[{}\[\]:,])|(?P<other>[^\s{}\[\]:,"/]+)',
    re.DOTALL,
)
_DEEPEST = 200


class Unreadable(ValueError):
    """The text is not JSON, with or without comments."""


@dataclass
class _Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass
class _Member:
    key: str
    start: int
    value: _Node


@dataclass
class _Node:
    start: int
    end: int
    members: list[_Member] | None = None
    """The members of an object; None for anything else."""
    comma: bool = False
    """Whether a comma follows the last member."""
    items: list[_Node] = field(default_factory=list)


def parsed(text: str) -> Any:
    """Return the value of JSON with comments and commas at the end. Raise Unreadable."""
    tokens = _tokens(text)
    texts = [
        token.text
        for token, after in zip(tokens, [*tokens[1:], None], strict=True)
        if not (token.text == "," and after is not None and after.text in "}]")
    ]
    try:
        return json.loads(" ".join(texts))
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def with_entry(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with one value at a path set, and nothing else changed. Raise Unreadable."""
    text = text if text.strip() else "{}\n"
    before = parsed(text)
    node = _Reader(_tokens(text)).whole()
    place = list(path)
    while node.members is not None and place:
        member = next((candidate for candidate in reversed(node.members) if candidate.key == place[0]), None)
        if member is None:
            break
        node = member.value
        place.pop(0)
    if place and node.members is None:
        raise Unreadable(f"{'.'.join(path[: len(path) - len(place)]) or 'the whole'} is no object")
    edited = _inserted(text, node, place, value) if place else _replaced(text, node, value)
    if parsed(edited) != _expected(before, path, value):
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _expected(before: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**before, path[0]: _expected(before.get(path[0], {}), path[1:], value)}


def _replaced(text: str, node: _Node, value: Any) -> str:
    return (
        text[: node.start] + _rendered(value, _indent(text, node.start), _line_end(text)) + text[node.end :]
    )


def _inserted(text: str, node: _Node, place: list[str], value: Any) -> str:
    assert node.members is not None
    for key in reversed(place[1:]):
        value = {key: value}
    outer = _indent(text, node.start)
    inner = _indent(text, node.members[0].start) if node.members else ""
    if not inner.startswith(outer) or inner == outer:
        inner = outer + ("\t" if outer.startswith("\t") else "  ")
    ends = _line_end(text)
    member = f"{ends}{inner}{json.dumps(place[0])}: {_rendered(value, inner, ends)}"
    close = node.end - 1
    head = text[:close].rstrip()
    tail = text[len(head) : close]
    if not node.members:
        return f"{head}{member}{ends}{outer}{text[close:]}"
    if not node.comma:
        last = node.members[-1].value.end
        head = f"{text[:last]},{head[last:]}"
    end = tail if "\n" in tail else f"{ends}{outer}"
    return f"{head}{member}{end}{text[close:]}"


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line at a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _rendered(value: Any, indent: str, ends: str) -> str:
    step = "\t" if indent.startswith("\t") else 2
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"{ends}{indent}")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unreadable(f"character {at} is unexpected")
        if match.lastgroup != "blank":
            tokens.append(_Token(str(match.lastgroup), match[0], at, match.end()))
        at = match.end()
    return tokens


class _Reader:
    """Finds the positions of values in text that was already checked to be well formed."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> _Node:
        """Return the root value."""
        return self._value()

    def _next(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _value(self) -> _Node:
        first = self._next()
        if first.text not in ("{", "["):
            return _Node(first.start, first.end)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        node = _Node(first.start, first.end, [] if first.text == "{" else None)
        while self._tokens[self._at].text not in ("}", "]"):
            node.comma = False
            if node.members is not None:
                key = self._next()
                self._next()
                node.members.append(_Member(json.loads(key.text), key.start, self._value()))
            else:
                node.items.append(self._value())
            if self._tokens[self._at].text == ",":
                self._next()
                node.comma = True
        node.end = self._next().end
        self._depth -= 1
        return node
