"""Syntax highlighting: Pygments as a filter, and the function that calls it.

Some expressions of Pygments take quadratic time on crafted input, and a thread cannot be stopped.
"""

from __future__ import annotations

import sys

import msgspec

from alita_tui.confined.limits import confine
from alita_tui.confined.run import filtered

Token = tuple[str, str]
"""A text and Pygments' name of its token type."""
CodeLine = tuple[Token, ...]


async def code_lines(text: str, name: str) -> tuple[CodeLine, ...]:
    """Return the lines of code as tokens; the file's name decides the language. If that fails, all tokens are plain."""
    output, ended = await filtered("alita_tui.confined.code", (name,), text.encode("utf-8", "replace"))
    unstyled = tuple(((line, ""),) for line in text.split("\n"))
    try:
        lines = tuple(msgspec.json.decode(line, type=CodeLine) for line in output.split(b"\n")[:-1])
    except msgspec.DecodeError:
        return unstyled
    complete = text == "\n".join("".join(text_part for text_part, _kind in line) for line in lines)
    return lines if ended and complete else unstyled


def main() -> None:
    """Filter for `code_lines`: arguments are CPU seconds, bytes of memory and the file's name."""
    seconds, memory, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    text = sys.stdin.buffer.read().decode()
    confine(seconds, memory)
    from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        tokens = get_lexer_for_filename(name).get_tokens_unprocessed(text)
    except ClassNotFound:
        return
    line: list[Token] = []
    for _at, token_type, part in tokens:
        beginning, *further = part.split("\n")
        if beginning:
            line.append((beginning, str(token_type)))
        for text_after in further:
            sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
            line = [(text_after, str(token_type))] if text_after else []
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
