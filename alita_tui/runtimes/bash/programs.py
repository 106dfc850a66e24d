"""What utilities are told by their arguments, programs in the languages of sed, awk and jq among them.

Pure. What is not written out, or not understood, counts as able to do anything.
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
    """None where it is not written out."""
    of: str = ""
    """The option whose value it is."""


def arguments(command: Command) -> list[Argument]:
    """Return the arguments of a command, each with the option whose value it is."""
    valued = _VALUED.get(command.name or "", "").split()
    found: list[Argument] = []
    option, left, ended = "", 0, False
    for node in command.arguments:
        word = literal(node)
        if left:
            found.append(Argument(node, word, option))
            left -= 1
            continue
        found.append(Argument(node, word, "--" if ended else ""))
        ended = ended or word == "--"
        option = word or ""
        left = 0 if ended else 2 if command.name == "jq" and word in _PAIRED else int(word in valued)
    return found


def operands(command: Command) -> list[Argument]:
    """Return the arguments that are neither options nor values of options."""
    return [
        argument
        for argument in arguments(command)
        if argument.of in ("", "--")
        and not (argument.of == "" and (argument.word or "").startswith("-") and argument.word != "-")
    ]


def programs(command: Command) -> Iterator[Argument]:
    """Yield what `awk`, `sed` or `jq` is told to do."""
    given = arguments(command)
    expressions = [one for one in given if one.of in ("-e", "--expression") and command.name == "sed"]
    for one in given:
        if command.name == "sed" and (
            hit := re.match(r"--expression=|-[nErsuz]*e", one.word or one.node.text)
        ):
            bundled = (one.word or "")[hit.end() :]
            if bundled or one.word is None:
                expressions.append(one._replace(word=bundled or None))
            elif one.word not in ("-e", "--expression"):
                expressions.append(one._replace(word=None))  # -ne SCRIPT: its value is not told apart here
    plain = operands(command)
    yield from expressions or plain[:1]


def safe_sed(text: str) -> bool:
    """Return whether a script for sed only edits: it starts nothing, and opens no file."""
    return sed_parts(text) is not None


def sed_parts(text: str) -> list[tuple[int, int]] | None:
    """Return first and last place of each address and command of a script for sed that only edits; None for another."""
    at = 0
    parts: list[tuple[int, int]] = []
    address = re.compile(r"(\d+(~\d+)?|\$|/(\\.|[^/\\\n])+/[IM]*)")
    while at < len(text):
        if hit := re.compile(r"[\s;}]+|#[^\n]*").match(text, at):
            at = hit.end()
            continue
        if hit := address.match(text, at):
            parts.append(hit.span())
            at = hit.end()
            if hit := re.compile(r"\s*,\s*(\+\d+|~\d+)?").match(text, at):
                at = hit.end()
                if not hit[1]:
                    if not (hit := address.match(text, at)):
                        return None
                    parts.append(hit.span())
                    at = hit.end()
        if hit := re.compile(r"\s*!?\s*").match(text, at):
            at = hit.end()
        rest = _COMMAND.match(text, at) or _substitution(text, at)
        if rest is None:
            return None
        parts.append(rest.span())
        at = rest.end()
    return parts


_COMMAND = re.compile(
    r"[=dDgGhHlnNpPqQxzF]\s*\d*(?=[\s;}]|$)|\{|[btT][ \t]*\w*(?=[\s;}]|$)|:\s*\w+(?=[\s;]|$)"
    r"|[aic][ \t]*\\?\n?(\\.|[^\n\\])*(\\\n[^\n]*)*",
    re.DOTALL,
)


def _substitution(text: str, at: int) -> re.Match[str] | None:
    if text[at : at + 1] not in ("s", "y") or at + 1 >= len(text) or text[at + 1] in "\\\n":
        return None
    mark = re.escape(text[at + 1])
    part = rf"(?:\\.|(?!{mark})[^\\])*"
    return re.compile(rf"[sy]{mark}{part}{mark}{part}{mark}[gpiImM0-9]*(?=[\s;}}]|$)", re.DOTALL).match(
        text, at
    )
