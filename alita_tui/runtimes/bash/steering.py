"""Finds commands that change how the rest of a script is read, and operands that may be options. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alita_tui.events import ToolDraft
from alita_tui.runtimes.bash.programs import STARTING, operands
from alita_tui.runtimes.bash.words import Command
from alita_tui.runtimes.file_parameters import takes_files
from alita_tui.runtimes.notes import Notes

ANYTHING = "so it can do anything that Bash can"
WRITES = frozenset("cp ln mkdir mv rm rmdir split csplit tee touch truncate tar gzip gunzip".split())
READS = frozenset(
    "cat head tail sort grep sed awk cut wc find ls stat tar cp jq od base64 zcat comm join paste uniq".split()
)
STARTING_TEXT = re.compile(
    r"\w\[[^\]\s]{0,9}(\$\(|`)|(?<!\S)(--(compr|to-c|checkpoint-a|use-c|filt|rsh)|-(exec|ok)(dir)?\b)"
)
"""A text that would start a program in arithmetic or as an option."""
_OPENS = (READS - WRITES - {"find"}) | frozenset(
    "tac nl fold md5sum sha256sum sha1sum cmp diff strings rev".split()
)
_OWN_LANGUAGE = ("awk", "sed", "jq", "grep")
_SET = re.compile(r"[-+][euf]+|[-+][eu]*o|pipefail|noglob|errexit|nounset|--")
_SHOPT = frozenset(
    "inherit_errexit nullglob failglob extglob globstar dotglob nocaseglob nocasematch lastpipe".split()
)


def note_steering(notes: Notes, name: str, words: Sequence[str | None], command_text: str, line: int) -> None:
    """Report a command that changes the meaning of later names, paths or descriptors."""
    if name == "set" and not all(word is not None and _SET.fullmatch(word) for word in words):
        notes.introspection(f"{command_text[:60]}: changes how the script is read or told", line)
    if name == "shopt" and not set(words[1:]) <= _SHOPT:
        notes.dynamic(f"{command_text[:60]}: changes how commands are read, {ANYTHING}", line)
    if name in ("read", "mapfile", "readarray") and any(
        re.match(r"-\w*u", "-u" if word is None else word) for word in words[:-1]
    ):
        notes.introspection(f"{name}: reads from a descriptor that is not its own", line)
    if any(re.fullmatch(r"\{\w+\}", word or "") for word in words):
        notes.introspection(f"{command_text[:60]}: opens a descriptor of its own", line)
    if name in ("cd", "pushd") and (
        None in words or any(re.search(r"^/|\.\.|^-|[*?\[~]", w or "") for w in words)
    ):
        notes.introspection(f"{command_text[:60]}: paths mean something else from here on", line)
    if name in ("test", "[") and any((word or "") in ("-v", "-R") for word in words):
        notes.dynamic(f"{name}: looks at a variable that is not written out, {ANYTHING}", line)


def note_operands(notes: Notes, name: str, command: Command, draft: ToolDraft) -> None:
    """Report operands that are not literals and may be options or name files to read."""
    if takes_files(draft) or draft.capabilities.workspace != "none":
        return
    own_operands = operands(command)
    for operand in own_operands[1:] if name in _OWN_LANGUAGE else own_operands:
        if operand.word is not None:
            if name in _OWN_LANGUAGE and re.search(r"^[/~]|\.\.", operand.word):
                text = f"{name} {operand.word[:60]}: a place of the machine"
                notes.add("medium", "ast/reads", text, operand.node.line)
        elif name in STARTING and operand.of != "--":
            text = f"{name}: an operand that is not written out may be an option that starts a program, {ANYTHING}"
            notes.dynamic(text, operand.node.line)
        elif name in _OPENS:
            notes.add(
                "medium", "ast/reads", f"{name}: reads a file that is not written out", operand.node.line
            )
