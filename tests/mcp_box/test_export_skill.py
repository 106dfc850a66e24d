"""A tool as an Agent Skill: the reference validator takes it, and its script runs where there is no alita."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate

from alita_tui.app.context import AppContext
from alita_tui.app.skills import script_draft
from alita_tui.events import (
    Capabilities,
    MemoryItem,
    RecipeStep,
    RunOutcome,
    ToolName,
)
from alita_tui.mcp_box.skills.reading import read_from
from alita_tui.spine.errors import RegistryError, UsageError
from tests.cli.audited import TOOL, Shell
from tests.mcp_box.exporting import WORDS, export, register
from tests.support import streams


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "one")


def outside(script: Path, arguments: Any) -> Any:
    """What a script answers in a process that knows nothing of alita."""
    done = subprocess.run(
        (sys.executable, "-I", str(script)), input=json.dumps(arguments), capture_output=True, text=True,
        env={"PATH": os.environ["PATH"]}, cwd="/", timeout=400, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_an_exported_skill_is_valid_and_its_script_runs_without_alita(shell: Shell, tmp_path: Path) -> None:
    register(shell, WORDS)
    met = RunOutcome(
        run="s1/e9", at="2026-11-20T10:00:00Z", grade="accepted", asked="how often is each: word said"
    )
    shell.app.library.note("count_words", 1, (met,))
    done = export(shell, "count_words", "--as", "skill", "--to", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    folder = tmp_path / "out" / "count-words"
    assert "1 need of your own tasks" in done.stdout and str(folder) in done.stdout
    assert validate(folder) == []
    head, body = parse_frontmatter((folder / "SKILL.md").read_text())
    assert head["description"] == (
        "Count the words of a text, by word. Use it for: how often is each: word said."
    )
    assert "- how often is each: word said" in body and "`text`: What is counted." in body
    assert WORDS.digest in body and "approved by a person" in body
    assert "`count_words` was granted nothing but its arguments" in body
    script = folder / "scripts" / "count_words.py"
    assert script.read_text() == WORDS.code and os.access(script, os.X_OK)
    assert outside(script, {"text": "a b a"}) == {"words": {"a": 2, "b": 1}}
    (command,) = [line for line in body.splitlines() if "uv run" in line]
    shown = command.replace("uv run", f"{shlex.quote(sys.executable)} -I")
    said = subprocess.run(shown, shell=True, cwd=folder, capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == {"words": {"it's": 1, "a": 2}}, "the example is its own test's"
    assert read_from(folder).scripts == ("scripts/count_words.py",)


def test_an_exported_skill_pins_the_approved_packages(shell: Shell, tmp_path: Path) -> None:
    assert export(shell, TOOL, "--as", "skill", "--to", str(tmp_path)).exit_code == 0
    folder = tmp_path / TOOL.replace("_", "-")
    assert validate(folder) == []
    assert "dnspython 2.8.0" in (folder / "SKILL.md").read_text()
    lock = (folder / "references" / f"{TOOL}.lock.txt").read_text()
    assert "email-validator==2.3.0 --hash=sha256:" + "cd" * 32 in lock
    assert json.loads((folder / "references" / f"{TOOL}.mcp.json").read_text())["name"] == TOOL
    again = export(shell, TOOL, "--as", "skill", "--to", str(tmp_path))
    assert isinstance(again.exception, UsageError), "nothing is overwritten"


def test_words_of_a_tool_cannot_end_the_frontmatter(shell: Shell, tmp_path: Path) -> None:
    nasty = msgspec.structs.replace(
        WORDS,
        name="nasty",
        description='Say "x": it\'s\n---\nname: other # no \u202e\\ {a: [b',
        tests="# none\n",
    )
    register(shell, nasty)
    assert export(shell, "nasty", "--as", "skill", "--to", str(tmp_path)).exit_code == 0
    assert validate(tmp_path / "nasty") == []
    head, _ = parse_frontmatter((tmp_path / "nasty" / "SKILL.md").read_text())
    assert head["name"] == "nasty" and head["description"].startswith('Say "x": it\'s --- name: other')
    long = msgspec.structs.replace(WORDS, name="long", description="é" * 499)
    register(shell, long)
    shell.app.library.note(
        "long", 1, tuple(RunOutcome(run=f"s{n}", at="2026-11-20T10:00:00Z", grade="up", asked=f"need {n} " + "z" * 150)
                         for n in range(9)),
    )  # fmt: skip
    assert export(shell, "long", "--as", "skill", "--to", str(tmp_path)).exit_code == 0
    assert validate(tmp_path / "long") == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"capabilities": Capabilities(tools=(f"{TOOL}@1:{streams.DIGEST}",))}, "only alita carries such calls"),
        ({"capabilities": Capabilities(model_calls=2)}, "only alita carries such calls"),
        ({"capabilities": Capabilities(workspace="read")}, "through alita alone"),
        ({"description": "With sk-ant-api03-" + "A1b2C3d4" * 11}, "looks like a secret"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["skill", "script"])
def test_a_tool_that_needs_alita_or_holds_a_secret_is_not_exported(
    shell: Shell, tmp_path: Path, fields: dict[str, Any], why: str, form: str
) -> None:
    register(shell, msgspec.structs.replace(WORDS, **fields))
    done = export(shell, "count_words", TOOL, "--as", form, "--to", str(tmp_path / "out"))
    assert isinstance(done.exception, UsageError) and why in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_recipe_becomes_a_skill_whose_steps_are_its_tools(shell: Shell, tmp_path: Path) -> None:
    register(shell, WORDS)
    item = MemoryItem(
        item_id="r1", memory="procedural", text=f"which words do the addresses have: {TOOL} → count_words",
        source_session="s", source_seq=3, tools=(TOOL, "count_words"),
        steps=(RecipeStep(tool=ToolName(TOOL), arguments={"addresses": {"$param": "addresses"}}),
               RecipeStep(tool=ToolName("count_words"), arguments={"text": {"$ref": "s1#/results"}})),
    )  # fmt: skip
    shell.app.memory.write(item)
    kept = shell.app.memory.remembered()[0].item
    done = export(shell, kept.item_id, "--as", "skill", "--to", str(tmp_path))
    assert done.exit_code == 0, done.output
    (folder,) = [one for one in tmp_path.iterdir() if one.name.startswith("validate")]
    assert validate(folder) == []
    text = (folder / "SKILL.md").read_text()
    assert f"1. `{TOOL}(addresses=ADDRESSES)`: run `scripts/{TOOL}.py`" in text
    assert "2. `count_words(text=s1/results)`: run `scripts/count_words.py`" in text
    assert outside(folder / "scripts" / "count_words.py", {"text": "x"}) == {"words": {"x": 1}}


def test_an_exported_script_has_the_approved_bytes_and_an_unknown_tool_is_refused(
    shell: Shell, tmp_path: Path
) -> None:
    register(shell, WORDS)
    assert export(shell, "count_words", "--as", "script", "--to", str(tmp_path / "s")).exit_code == 0
    assert (tmp_path / "s" / "count_words.py").read_text() == WORDS.code
    assert isinstance(export(shell, "nobody", "--as", "skill").exception, RegistryError)
    assert isinstance(export(shell, "count_words").exception, UsageError), "a pack needs a file"


def test_an_exported_script_comes_back_as_the_same_draft(shell: Shell, tmp_path: Path) -> None:
    register(shell, WORDS)
    export(shell, "count_words", "--as", "skill", "--to", str(tmp_path / "out"))
    two = AppContext.open(tmp_path / "two")
    again = script_draft(two, read_from(tmp_path / "out" / "count-words"), "scripts/count_words.py")
    assert again == WORDS
