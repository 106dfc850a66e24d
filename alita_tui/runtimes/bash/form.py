"""The form of a Bash tool's file: a script that reads a JSON object from stdin and writes JSON to stdout."""

from __future__ import annotations

from alita_tui.events import ToolDraft
from alita_tui.runtimes.port import with_line_feeds

FIRST = "#!/usr/bin/env bash"
STRICT = ("set -euo pipefail", "shopt -s inherit_errexit", "export LC_ALL=C.UTF-8")
"""What every script begins with: a command that fails, a variable that is not set, ends it; letters are the same
everywhere."""


def completed(draft: ToolDraft) -> str:
    """Return the script with its first lines; idempotent."""
    lines = with_line_feeds(draft.code).strip("\n").split("\n")
    if lines[0].startswith("#!"):
        lines.pop(0)
    kept: list[str] = []
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare and not bare.startswith("#") and bare not in STRICT:
            kept += lines[number:]
            break
        if bare not in STRICT:
            kept.append(line)
    while kept and not kept[0].strip():
        kept.pop(0)
    return "\n".join([FIRST, *STRICT, *kept]).rstrip("\n") + "\n"
