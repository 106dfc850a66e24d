"""Types that are read from several threads: none may meet one that msgspec has half learned."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "alita_tui"
APART = ("confined", "sandbox/warden", "_shipped", "mcp_box/export/template")
"""Programs of their own, which import nothing of alita's."""
THREADS = """
import sys, threading
from alita_tui.events import RunReport, ToolDraft, ToolRecord, ready
from alita_tui.spine import envelope
import msgspec

line = b'{"seq":1,"session_id":"s","at":"2026-01-01T00:00:00Z","event":{"kind":"tool_returned","call_id":"c",' \\
    b'"report":{"status":"ok","exit_code":0,"result":4,"duration_ms":1}}}'
sys.setswitchinterval(1e-6)
together = threading.Barrier(4)

def read(number):
    together.wait()
    if number % 2:
        try:
            msgspec.convert({"a": 1}, ready((ToolRecord, ToolDraft)[number // 2]))
        except msgspec.ValidationError:
            pass
    assert envelope.decode(line).seq == 1

threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
[one.start() for one in threads]
[one.join() for one in threads]
"""


def test_threads_that_read_the_first_events_at_once_do_not_end_the_process() -> None:
    """Without `ready` more than nine of ten such processes end by a segmentation fault."""
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr


def read_types(tree: ast.AST) -> Iterator[str]:
    """Yield the type of each reading by msgspec."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        named = next((one.value for one in node.keywords if one.arg == "type"), None)
        place = {"convert": 1, "Decoder": 0}.get(called.rpartition(".")[2], None)
        if not re.fullmatch(r"(msgspec\.)?((json|toml)\.)?(convert|decode|Decoder)", called):
            continue
        at = node.args[place] if place is not None and len(node.args) > place else named
        if at is not None:
            yield ast.unparse(at)


def test_every_event_type_is_prepared_by_one_thread() -> None:
    strays = {
        f"{path.relative_to(PACKAGE)}: {kind}"
        for path in PACKAGE.rglob("*.py")
        if not path.relative_to(PACKAGE).as_posix().startswith(APART)
        for kind in read_types(ast.parse(path.read_text()))
        if not kind.startswith("ready(") and kind not in ("int", "str", "datetime")
    }
    assert strays <= {"events/base.py: kind"}
