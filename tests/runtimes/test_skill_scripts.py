"""Scripts of Agent Skills in other languages than Python, as drafts of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.skills import script_draft
from alita_tui.events import ToolDraft
from alita_tui.mcp_box.skills.reading import read_from
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.review import review
from tests.cli.audited import Shell
from tests.mcp_box.test_export_skill import export, register
from tests.mcp_box.test_skills import front, laid
from tests.runtimes.drafts import bash, javascript, typescript
from tests.runtimes.test_bash_sandbox import ran

SHELL = """#!/bin/bash -e
# Counts its arguments.
if [[ "$1" == --help ]]; then
  echo "usage: count [--fail] WORD..."
  exit
fi
echo "$# $2" && cat
echo "told" >&2
[[ "$1" != --fail ]]
echo end
false || exit 3
"""


def test_a_script_of_a_shell_becomes_a_draft_that_says_what_it_does(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", laid(tmp_path, {"SKILL.md": front(), "scripts/count.sh": SHELL})
    draft = script_draft(AppContext.open(home), read_from(folder), "scripts/count.sh")
    assert (draft.language, draft.name, draft.requirements) == ("bash", "pdf_tools_count", ())
    assert (
        draft.description.endswith("Counts its arguments.") and SHELL.partition("\n")[2].strip() in draft.code
    )
    made = review(draft)
    assert not [one.text for one in made.findings if one.blocking]
    marked = {one.text for one in made.findings if one.severity in ("high", "medium")}
    assert "switches strict mode off" in marked and not any(
        one.severity == "high" for one in made.findings
    ), marked


@pytest.mark.podman
@pytest.mark.slow
async def test_a_script_of_a_shell_runs_as_it_would_alone(podman: PodmanSandbox, tmp_path: Path) -> None:
    app = AppContext.open(tmp_path / "home")
    folder = laid(tmp_path, {"SKILL.md": front(), "scripts/count.sh": SHELL})
    draft = script_draft(app, read_from(folder), "scripts/count.sh")
    for words, stdin, code, out in (
        (["a b", "c\n d", ""], "given\n", 3, "3 c\n d\ngiven\nend\n"),
        (["--fail", "x"], "", 1, "2 x\n"),
        (["--help"], "", 0, "usage: count [--fail] WORD...\n"),
    ):
        report = await ran(podman, draft, {"arguments": words, "stdin": stdin})
        told = "" if words == ["--help"] else "told\n"
        assert report.result == {"exit_code": code, "stdout": out, "stderr": told}, report


@pytest.mark.parametrize(
    "draft", [bash(), javascript(), typescript()], ids=["bash", "javascript", "typescript"]
)
def test_what_was_exported_comes_back_as_the_very_draft(tmp_path: Path, draft: ToolDraft) -> None:
    shell = Shell(tmp_path / "one")
    register(shell, draft)
    done = export(shell, "words_often", "--as", "skill", "--to", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    script = f"scripts/words_often{runtime_of(draft.language).suffix}"
    again = script_draft(
        AppContext.open(tmp_path / "two"), read_from(tmp_path / "out" / "words-often"), script
    )
    assert again == draft
