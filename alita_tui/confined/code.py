"""Code with its colours: Pygments as a filter, and what calls it.

Some of its expressions take quadratic time on what was made for that, and a thread cannot be stopped.
"""

from __future__ import annotations

import sys

import msgspec

from alita_tui.confined.limits import confine
from alita_tui.confined.run import filtered

Token = tuple[str, str]
"""Some text, and Pygments' name for its kind."""
CodeLine = tuple[Token, ...]


async def code_lines(text: str, name: str) -> tuple[CodeLine, ...]:
    """Return the lines of some code with the kinds of their parts, by the file's name; plain if that fails."""
    output, ended = await filtered("alita_tui.confined.code", (name,), text.encode("utf-8", "replace"))
    plain = tuple(((line, ""),) for line in text.split("\n"))
    try:
        lines = tuple(msgspec.json.decode(line, type=CodeLine) for line in output.split(b"\n")[:-1])
    except msgspec.DecodeError:
        return plain
    same = text == "\n".join("".join(part for part, _kind in line) for line in lines)
    return lines if ended and same else plain


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
    for _at, kind, part in tokens:
        first, *rest = part.split("\n")
        if first:
            line.append((first, str(kind)))
        for text_after in rest:
            sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
            line = [(text_after, str(kind))] if text_after else []
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
