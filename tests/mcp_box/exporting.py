"""Tools that are exported, and the commands that export them."""

from __future__ import annotations

import msgspec
from typer.testing import CliRunner, Result

from alita_tui.cli.main import cli
from alita_tui.events import (
    Lock,
    ToolDraft,
    build_digest,
)
from alita_tui.store.entry import AuditEntry
from alita_tui.toolsmith.contract import normalise
from tests.cli.audited import Shell
from tests.support import streams

WORDS = normalise(
    msgspec.structs.replace(
        streams.DRAFT,
        name="count_words",
        description="Count the words of a text, by word.",
        code='"""Count words."""\n\n\ndef run(text: str) -> dict:\n    words = text.split()\n'
        '    return {"words": {word: words.count(word) for word in words}}\n',
        tests='from count_words import run\n\n\ndef test_it():\n    assert run("it\'s a a") == {"words": {"it\'s": 1, "a": 2}}\n',
        requirements=(),
        input_schema={
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What is counted."}},
            "required": ["text"],
        },
        output_schema={"type": "object", "properties": {"words": {"type": "object"}}},
    )
)


NO_LOCK = Lock()


def register(shell: Shell, draft: ToolDraft, lock: Lock = NO_LOCK) -> None:
    """Have a tool in the library, approved."""
    digest = build_digest(draft, lock)
    shell.app.audit.append(AuditEntry(
        who="ada", verdict="approved", digest=digest, name=draft.name, version=1, session_id="",
        approval_id=f"p-{draft.name}", via="cli",
    ))  # fmt: skip
    shell.app.library.register(draft, lock, approval_id=f"p-{draft.name}", digest=digest, sources=())


def export(shell: Shell, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(shell.home), "tools", "export", *words])
