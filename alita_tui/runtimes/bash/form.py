"""The form of a Bash tool's file: a script that reads a JSON object from stdin and writes JSON to stdout."""

from __future__ import annotations

from alita_tui.events import ToolDraft
from alita_tui.runtimes.port import with_line_feeds

FIRST = "#!/usr/bin/env bash"
STRICT = ("set -euo pipefail", "shopt -s inherit_errexit", "export LC_ALL=C.UTF-8")
"""First lines of every script: a failing command or an unset variable ends it, and the locale is fixed."""


def completed(draft: ToolDraft) -> str:
    """Return the script with its first lines; idempotent."""
    lines = with_line_feeds(draft.code).strip("\n").split("\n")
    if lines[0].startswith("#!"):
        lines.pop(0)
    body: list[str] = []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and stripped not in STRICT:
            body += lines[number:]
            break
        if stripped not in STRICT:
            body.append(line)
    while body and not body[0].strip():
        body.pop(0)
    return "\n".join([FIRST, *STRICT, *body]).rstrip("\n") + "\n"
