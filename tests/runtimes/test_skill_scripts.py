"""Scripts of Agent Skills in other languages than Python, as drafts of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.skills import script_draft
from alita_tui.events import ToolDraft
from alita_tui.mcp_box.skills.format import SkillRefused
from alita_tui.mcp_box.skills.reading import read_from
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.review import review
from tests.cli.audited import Shell
from tests.mcp_box.exporting import export, register
from tests.mcp_box.skill_folders import front, laid
from tests.runtimes.drafts import bash, javascript, typescript
from tests.runtimes.running import ran

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


def test_a_shell_script_becomes_a_draft_with_its_description(tmp_path: Path) -> None:
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
async def test_a_shell_script_runs_as_it_would_alone(podman: PodmanSandbox, tmp_path: Path) -> None:
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


PROGRAM = """#!/usr/bin/env node
// Counts its arguments.
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  args: process.argv.slice(2), allowPositionals: true,
  options: { fail: { type: "boolean" }, help: { type: "boolean" }, break: { type: "boolean" } },
});
if (values.help) {
  console.log("usage: count [--fail] WORD...");
  process.exit();
}

export async function main() {
  let given = "";
  for await (const piece of process.stdin.setEncoding("utf-8")) given += piece;
  console.log("%d %s", positionals.length, positionals[0]);
  process.stdout.write(given);
  console.error("told");
  if (values.break) throw new RangeError("broken");
  if (values.fail) process.exit(3);
  process.exitCode = 2;
}

if (import.meta.main) {
  main().catch((error) => {
    console.error(`caught ${error.message}`);
    process.exit(1);
  });
}
"""


@pytest.mark.parametrize("ending", ["js", "mjs", "ts", "mts"])
def test_a_node_program_becomes_a_draft_with_its_description(tmp_path: Path, ending: str) -> None:
    path = f"scripts/count.{ending}"
    folder = laid(tmp_path, {"SKILL.md": front(), path: PROGRAM})
    draft = script_draft(AppContext.open(tmp_path / "home"), read_from(folder), path)
    assert draft.language == ("javascript" if "j" in ending else "typescript")
    assert draft.description.endswith("Counts its arguments.")
    findings = review(draft).findings
    assert not [one.text for one in findings if one.blocking or one.severity == "high"], findings
    assert "process." not in draft.code.replace("ofProcess.", "").partition("if (import.meta.main)")[0]


@pytest.mark.podman
@pytest.mark.slow
@pytest.mark.parametrize("ending", ["mjs", pytest.param("ts", marks=pytest.mark.walk)])
async def test_a_node_program_runs_as_it_would_alone(
    podman: PodmanSandbox, tmp_path: Path, ending: str
) -> None:
    path = f"scripts/count.{ending}"
    folder = laid(tmp_path, {"SKILL.md": front(), path: PROGRAM})
    draft = script_draft(AppContext.open(tmp_path / "home"), read_from(folder), path)
    for words, stdin, code, out, err in (
        (["a b", "c\n d", ""], "given\n", 2, "3 a b\ngiven\n", "told\n"),
        (["--fail", "x"], "", 3, "1 x\n", "told\n"),
        (["--break", "x"], "é", 1, "1 x\né", "told\ncaught broken\n"),
        (["--help"], "", 0, "usage: count [--fail] WORD...\n", ""),
    ):
        report = await ran(podman, draft, {"arguments": words, "stdin": stdin})
        assert report.result == {"exit_code": code, "stdout": out, "stderr": err}, report
    report = await ran(podman, draft, {"arguments": ["--unknown"], "stdin": ""})
    assert isinstance(report.result, dict) and report.result["exit_code"] == 1
    said = str(report.result["stderr"])
    assert said.startswith("TypeError: Unknown option '--unknown'") and "    at " not in said, (
        "as often as it is called"
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('const fs = require("fs");', "loads by require"),
        ('import { a } from "./beside.mjs";', "needs ./beside.mjs beside it"),
        ('import chalk from "chalk";', "needs chalk beside it"),
        ("await import(process.argv[2]);", "what it names while it runs"),
        ('import process from "node:process";', "imports something as process"),
        ("setTimeout(() => console.log(1), 5);", "goes on by setTimeout"),
        ('process.stdin.on("data", (piece) => piece);', "goes on by on"),
        ("process.kill(1);", "process.kill"),
        ("console.table([]);", "console.table"),
        ("const { argv } = process;", "other than by its members"),
        ("const held = { process };", "other than by its members"),
        ('process["exit"](1);', "other than by its members"),
        ("console.log(import.meta.url);", "import.meta"),
        ("globalThis.process.exit();", "globalThis"),
        ("const ofProcess = 1;", "calls something ofProcess"),
        ('import { parseArgs } from "node:util";\nparseArgs({ options: {} });', "give it `args`"),
        ('import { readFileSync } from "node:fs";\nreadFileSync(0);', "standard input as a file"),
        ("export default 1;", "exports what is no declaration"),
        ("}", "no module of javascript"),
        ("return 1;", "returns outside"),
    ],
)
def test_a_program_that_cannot_become_a_function_is_refused(tmp_path: Path, line: str, why: str) -> None:
    folder = laid(tmp_path, {"SKILL.md": front(), "scripts/page.mjs": f"{line}\nconsole.log(1);\n"})
    with pytest.raises(SkillRefused) as refused:
        script_draft(AppContext.open(tmp_path / "home"), read_from(folder), "scripts/page.mjs")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "draft", [bash(), javascript(), typescript()], ids=["bash", "javascript", "typescript"]
)
def test_an_exported_script_comes_back_as_the_same_draft(tmp_path: Path, draft: ToolDraft) -> None:
    shell = Shell(tmp_path / "one")
    register(shell, draft)
    done = export(shell, "words_often", "--as", "skill", "--to", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    script = f"scripts/words_often{runtime_of(draft.language).suffix}"
    again = script_draft(
        AppContext.open(tmp_path / "two"), read_from(tmp_path / "out" / "words-often"), script
    )
    assert again == draft
