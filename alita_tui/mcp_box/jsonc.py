"""Sets one key in a JSON file with comments, leaving every other byte unchanged."""

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
    """The text is not JSON, even if comments are allowed."""


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
    """True if a comma follows the last member."""
    items: list[_Node] = field(default_factory=list)


def parsed(text: str) -> Any:
    """Return the value of JSON with comments and trailing commas. Raises Unreadable."""
    tokens = _tokens(text)
    texts = [
        token.text
        for token, following in zip(tokens, [*tokens[1:], None], strict=True)
        if not (token.text == "," and following is not None and following.text in "}]")
    ]
    try:
        return json.loads(" ".join(texts))
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def with_entry(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with only the value at a path changed. Raises Unreadable."""
    text = text if text.strip() else "{}\n"
    original = parsed(text)
    node = _Reader(_tokens(text)).whole()
    missing = list(path)
    while node.members is not None and missing:
        member = next(
            (candidate for candidate in reversed(node.members) if candidate.key == missing[0]), None
        )
        if member is None:
            break
        node = member.value
        missing.pop(0)
    if missing and node.members is None:
        raise Unreadable(f"{'.'.join(path[: len(path) - len(missing)]) or 'the document'} is no object")
    edited = _inserted(text, node, missing, value) if missing else _replaced(text, node, value)
    if parsed(edited) != _expected(original, path, value):
        raise Unreadable("it is written in a way that cannot be edited safely")
    return edited


def _expected(original: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**original, path[0]: _expected(original.get(path[0], {}), path[1:], value)}


def _replaced(text: str, node: _Node, value: Any) -> str:
    return (
        text[: node.start] + _rendered(value, _indent(text, node.start), _line_end(text)) + text[node.end :]
    )


def _inserted(text: str, node: _Node, keys: list[str], value: Any) -> str:
    assert node.members is not None
    for key in reversed(keys[1:]):
        value = {key: value}
    outer = _indent(text, node.start)
    inner = _indent(text, node.members[0].start) if node.members else ""
    if not inner.startswith(outer) or inner == outer:
        inner = outer + ("\t" if outer.startswith("\t") else "  ")
    newline = _line_end(text)
    member = f"{newline}{inner}{json.dumps(keys[0])}: {_rendered(value, inner, newline)}"
    closing = node.end - 1
    head = text[:closing].rstrip()
    tail = text[len(head) : closing]
    if not node.members:
        return f"{head}{member}{newline}{outer}{text[closing:]}"
    if not node.comma:
        last_end = node.members[-1].value.end
        head = f"{text[:last_end]},{head[last_end:]}"
    ending = tail if "\n" in tail else f"{newline}{outer}"
    return f"{head}{member}{ending}{text[closing:]}"


def _indent(text: str, position: int) -> str:
    """Return the indentation of the line at a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _rendered(value: Any, indent: str, newline: str) -> str:
    step = "\t" if indent.startswith("\t") else 2
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"{newline}{indent}")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 1 if text.startswith("\ufeff") else 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Unreadable(f"character {position} is unexpected")
        if match.lastgroup != "blank":
            tokens.append(_Token(str(match.lastgroup), match[0], position, match.end()))
        position = match.end()
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
        opening = self._next()
        if opening.text not in ("{", "["):
            return _Node(opening.start, opening.end)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        node = _Node(opening.start, opening.end, [] if opening.text == "{" else None)
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
