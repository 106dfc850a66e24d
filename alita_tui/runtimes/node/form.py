"""The form of a module's file: an exported `run`, and a main part that reads and writes JSON as a program."""

from __future__ import annotations

import re

from alita_tui.events import ToolDraft
from alita_tui.runtimes.port import with_line_feeds

FIRST = "#!/usr/bin/env node"
MAIN = """
if (import.meta.main) {
  let given = "";
  for await (const piece of process.stdin.setEncoding("utf-8")) given += piece;
  console.log(JSON.stringify(await run(JSON.parse(given))));
}
"""
_HAS_MAIN = re.compile(r"^if\s*\(\s*import\.meta\.main\s*\)", re.MULTILINE)


def completed(draft: ToolDraft) -> str:
    """Return the module with its first line and its main part; idempotent."""
    body = with_line_feeds(draft.code).strip("\n") + "\n"
    if body.startswith("#!"):
        body = body.partition("\n")[2].lstrip("\n")
    main = "" if _HAS_MAIN.search(body) else MAIN
    return f"{FIRST}\n{body}{main}"
