"""Interprets the arguments of utilities, including programs in the languages of sed, awk and jq.

Pure. An argument that is not a literal, or not understood, counts as able to do anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from alita_tui.confined.syntax import Node
from alita_tui.runtimes.bash.words import Command, literal

_VALUED: dict[str, str] = {
    "awk": "-v -F -f", "sed": "-e -f -l -E --expression --file", "jq": "--indent -L -f --from-file",
    "sort": "-k -t -S -T -o --key", "head": "-n -c", "tail": "-n -c", "cut": "-d -f -c -b", "grep": "-e -f -m -A -B -C",
    "find": "-name -iname -path -ipath -regex -iregex -maxdepth -mindepth -newer -size -type -mtime -printf",
    "split": "-l -b -n -a -C", "paste": "-d", "join": "-t -1 -2 -o -j -e -a -v", "uniq": "-f -s -w", "fold": "-w",
    "date": "-d -r", "seq": "-f -s", "shuf": "-n -i", "fmt": "-w", "expand": "-t", "tar": "-f -C", "touch": "-d -r -t",
    "truncate": "-s -r", "stat": "-c -f", "base64": "-w", "base32": "-w", "od": "-A -t -N -j -w", "nl": "-b -s -w",
    "csplit": "-f -n", "numfmt": "--field", "mktemp": "-p", "tr": "", "curl": "-X -H -d -o --data --data-binary",
}  # fmt: skip
_PAIRED = ("--arg", "--argjson", "--slurpfile", "--rawfile")
STARTING = frozenset("find sort split tar awk sed".split())
"""Utilities with an option that starts a program."""


class Argument(NamedTuple):
    """One argument of a command."""

    node: Node
    word: str | None
    """None where it is not a literal."""
    of: str = ""
    """The option of which it is the value."""


def arguments(command: Command) -> list[Argument]:
    """Return the arguments of a command, each with the option of which it is the value."""
    valued = _VALUED.get(command.name or "", "").split()
    arguments: list[Argument] = []
    option, values_left, options_ended = "", 0, False
    for node in command.arguments:
        word = literal(node)
        if values_left:
            arguments.append(Argument(node, word, option))
            values_left -= 1
            continue
        arguments.append(Argument(node, word, "--" if options_ended else ""))
        options_ended = options_ended or word == "--"
        option = word or ""
        values_left = (
            0 if options_ended else 2 if command.name == "jq" and word in _PAIRED else int(word in valued)
        )
    return arguments


def operands(command: Command) -> list[Argument]:
    """Return the arguments that are neither options nor values of options."""
    return [
        argument
        for argument in arguments(command)
        if argument.of in ("", "--")
        and not (argument.of == "" and (argument.word or "").startswith("-") and argument.word != "-")
    ]


def programs(command: Command) -> Iterator[Argument]:
    """Yield the programs that are passed to `awk`, `sed` or `jq`."""
    all_arguments = arguments(command)
    expressions = [
        argument
        for argument in all_arguments
        if argument.of in ("-e", "--expression") and command.name == "sed"
    ]
    for argument in all_arguments:
        if command.name == "sed" and (
            option_match := re.match(r"--expression=|-[nErsuz]*e", argument.word or argument.node.text)
        ):
            bundled = (argument.word or "")[option_match.end() :]
            if bundled or argument.word is None:
                expressions.append(argument._replace(word=bundled or None))
            elif argument.word not in ("-e", "--expression"):
                expressions.append(
                    argument._replace(word=None)
                )  # -ne SCRIPT: its value is not told apart here
    plain_operands = operands(command)
    yield from expressions or plain_operands[:1]


def safe_sed(text: str) -> bool:
    """Return whether a sed script only edits: it starts no program, and opens no file."""
    return sed_parts(text) is not None


def sed_parts(text: str) -> list[tuple[int, int]] | None:
    """Return start and end of each address and command of a sed script that only edits; None for any other."""
    position = 0
    parts: list[tuple[int, int]] = []
    address = re.compile(r"(\d+(~\d+)?|\$|/(\\.|[^/\\\n])+/[IM]*)")
    while position < len(text):
        if match := re.compile(r"[\s;}]+|#[^\n]*").match(text, position):
            position = match.end()
            continue
        if match := address.match(text, position):
            parts.append(match.span())
            position = match.end()
            if match := re.compile(r"\s*,\s*(\+\d+|~\d+)?").match(text, position):
                position = match.end()
                if not match[1]:
                    if not (match := address.match(text, position)):
                        return None
                    parts.append(match.span())
                    position = match.end()
        if match := re.compile(r"\s*!?\s*").match(text, position):
            position = match.end()
        command = _COMMAND.match(text, position) or _substitution(text, position)
        if command is None:
            return None
        parts.append(command.span())
        position = command.end()
    return parts


_COMMAND = re.compile(
    r"[=dDgGhHlnNpPqQxzF]\s*\d*(?=[\s;}]|$)|\{|[btT][ \t]*\w*(?=[\s;}]|$)|:\s*\w+(?=[\s;]|$)"
    r"|[aic][ \t]*\\?\n?(\\.|[^\n\\])*(\\\n[^\n]*)*",
    re.DOTALL,
)


def _substitution(text: str, position: int) -> re.Match[str] | None:
    if (
        text[position : position + 1] not in ("s", "y")
        or position + 1 >= len(text)
        or text[position + 1] in "\\\n"
    ):
        return None
    delimiter = re.escape(text[position + 1])
    part = rf"(?:\\.|(?!{delimiter})[^\\])*"
    return re.compile(
        rf"[sy]{delimiter}{part}{delimiter}{part}{delimiter}[gpiImM0-9]*(?=[\s;}}]|$)", re.DOTALL
    ).match(text, position)
