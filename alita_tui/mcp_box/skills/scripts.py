"""Turns a skill's script into a tool's draft. The script is neither run nor approved."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath
from typing import Any

import msgspec

from alita_tui.events import Json
from alita_tui.mcp_box.skills.format import SkillRefused
from alita_tui.mcp_box.skills.node_scripts import node_tool
from alita_tui.mcp_box.skills.reading import Skill
from alita_tui.spine.syntax import UNPARSABLE, parse
from alita_tui.spine.text import one_line

_RUN = '''

def run(arguments: list, stdin: str = "") -> dict:
    """Run the script's command line; return what it wrote, and its exit code."""
    import contextlib
    import io
    import sys
{names}
    out, err, code = io.StringIO(), io.StringIO(), 0
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = [{script!r}, *arguments], io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
{body}
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            err.write(end.code)
    finally:
        sys.argv, sys.stdin = before
    return {{"exit_code": code, "stdout": out.getvalue(), "stderr": err.getvalue()}}
'''
_RUN_BASH = """# Runs {path} of the skill {skill}.
input=$(cat)
arguments=()
while IFS= read -r -d '' word; do
  arguments+=("$word")
done < <(jq -j '.arguments[] | . + "\\u0000"' <<<"$input")
jq -j '.stdin // ""' <<<"$input" >/tmp/stdin
command_line() {{
{body}
}}
set +e
(
  set +uo pipefail
  command_line "${{arguments[@]}}"
) </tmp/stdin >/tmp/stdout 2>/tmp/stderr
status=$?
set -e
{{ jq -Rs . </tmp/stdout; jq -Rs . </tmp/stderr; }} |
  jq -s --argjson exit_code "$status" '{{exit_code: $exit_code, stdout: .[0], stderr: .[1]}}'
"""
_LANGUAGES = {
    "py": "python", "sh": "bash", "bash": "bash", "js": "javascript", "mjs": "javascript", "ts": "typescript",
    "mts": "typescript",
}  # fmt: skip
_SHELLS = re.compile(r"#!\s*(/usr/bin/env\s+|/usr/bin/|/bin/)(bash|sh)\s*(-[euxo]+|)\s*")
_TESTS = """from {name} import run


def test_its_command_line_answers():
    assert set(run(["--help"])) == {{"exit_code", "stdout", "stderr"}}
"""
_INPUT: Json = {
    "type": "object",
    "properties": {
        "arguments": {"type": "array", "items": {"type": "string"}, "description": "Its command line."},
        "stdin": {"type": "string", "default": "", "description": "Its standard input."},
    },
    "required": ["arguments"],
    "additionalProperties": False,
}
_OUTPUT: Json = {
    "type": "object",
    "properties": {
        "exit_code": {"type": "integer"},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
    },
    "required": ["exit_code", "stdout", "stderr"],
    "additionalProperties": False,
}


def script_form(skill: Skill, path: str) -> dict[str, Any]:
    """Return a script in the form in which a model submits a tool, without requirements.

    A script that alita exported keeps its schemas and tests. Any other becomes a tool that runs its command line.
    Raises SkillRefused with the reason if it cannot become a tool.
    """
    if path not in skill.files or not path.startswith("scripts/"):
        available = ", ".join(skill.scripts) or "none"
        raise SkillRefused(f"it has no script {one_line(path, 80)!r}; it has: {one_line(available, 400)}")
    stem, suffix = PurePosixPath(path).stem, PurePosixPath(path).suffix[1:]
    if (language := _LANGUAGES.get(suffix)) is None:
        raise SkillRefused(f"{one_line(path, 80)} is in no language that tools are written in, by its ending")
    try:
        code = skill.files[path].decode()
    except UnicodeDecodeError as error:
        raise SkillRefused(f"{one_line(path, 80)} is no text in UTF-8") from error
    if (exported := _exported(skill, stem, code, language)) is not None:
        return exported
    if language == "python":
        run, summary = _of_python(skill, path, code)
    elif language == "bash":
        run, summary = _of_bash(skill, path, code)
    else:
        run, summary = node_tool(path, code, language)
    name = re.sub(r"[^a-z0-9]+", "_", f"{skill.text.name}_{stem}".lower()).strip("_")[:64].rstrip("_")
    name = name if name[:1].isalpha() else f"skill_{name}"[:64]
    return {
        "name": name,
        "description": str(one_line(f"Runs {path} of the skill {skill.text.name}. {summary}", 400)),
        "code": run,
        "tests": _TESTS.format(name=name),
        "input_schema": _INPUT,
        "output_schema": _OUTPUT,
        "language": language,
    }


def _of_python(skill: Skill, path: str, code: str) -> tuple[str, str]:
    """Return a tool's code for a Python script, and the first line of the script's docstring."""
    try:
        tree = parse(code)
    except UNPARSABLE as error:
        raise SkillRefused(
            f"{one_line(path, 80)} is no Python that can be read: {one_line(str(error), 120)}"
        ) from error
    _check_alone(skill, path, tree)
    return _wrapped(code, tree, path), (ast.get_docstring(tree) or "").partition("\n")[0]


def _of_bash(skill: Skill, path: str, code: str) -> tuple[str, str]:
    """Return a tool's code that runs a shell script in a subshell, and the script's first comment."""
    first_line, _, remaining = code.replace("\r\n", "\n").partition("\n")
    shell = _SHELLS.fullmatch(first_line)
    if first_line.startswith("#!") and shell is None:
        raise SkillRefused(f"{one_line(path, 80)} is for another program: {one_line(first_line, 80)}")
    body = remaining if shell is not None else code
    if shell is not None and shell[3]:
        body = f"set {shell[3]}\n{body}"
    summary = next((line.lstrip("# ") for line in body.split("\n") if re.match(r"#\s*\w", line)), "")
    run = _RUN_BASH.format(path=one_line(path, 120), skill=skill.text.name, body=body.strip("\n"))
    return run, summary


def _exported(skill: Skill, stem: str, code: str, language: str) -> dict[str, Any] | None:
    """Return the form of a script that alita exported, known by the files beside it; None for any other."""
    facts, tests = (skill.files.get(f"references/{name}") for name in (f"{stem}.mcp.json", f"test_{stem}.py"))
    if facts is None or tests is None:
        return None
    try:
        manifest = msgspec.json.decode(facts)
        capabilities = {name: value for name, value in manifest["capabilities"].items() if value}
        return {
            "name": manifest["name"], "description": manifest["description"], "code": code, "tests": tests.decode(),
            "input_schema": manifest["inputSchema"], "output_schema": manifest["outputSchema"],
            "capabilities": capabilities, "language": language,
        }  # fmt: skip
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError):
        return None


def _check_alone(skill: Skill, path: str, tree: ast.Module) -> None:
    """Raise SkillRefused for a script that defines `run` or needs other files."""
    if any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == "run"
        for node in tree.body
    ):
        raise SkillRefused(
            f"{one_line(path, 80)} defines `run` itself, which is what a tool's entry is called"
        )
    folder = PurePosixPath(path).parent
    neighbours = {
        PurePosixPath(file).relative_to(folder).parts[0].removesuffix(".py")
        for file in skill.files
        if file != path and file.endswith(".py") and PurePosixPath(file).is_relative_to(folder)
    }
    for node in ast.walk(tree):
        modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or "."] if not node.level else ["."]
        for module in modules:
            if module == "." or module.partition(".")[0] in neighbours:
                raise SkillRefused(
                    f"{one_line(path, 80)} needs {one_line(module, 60)} beside it, and a tool is one file"
                )


def _wrapped(code: str, tree: ast.Module, path: str) -> str:
    """Return a script whose `__main__` block becomes its `run`."""
    from itertools import chain

    guards = [node for node in tree.body if isinstance(node, ast.If) and _is_guard(node)]
    if len(guards) != 1 or guards[0].orelse:
        raise SkillRefused(
            f'{one_line(path, 80)} has no single `if __name__ == "__main__":`, so loading it would run it'
        )
    guard = guards[0]
    lines = code.replace("\r\n", "\n").split("\n")
    remaining = lines[: guard.lineno - 1] + lines[guard.end_lineno :]
    nodes = list(chain.from_iterable(ast.walk(node) for node in guard.body))
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    body = "\n".join(" " * 12 + line for node in guard.body for line in ast.unparse(node).split("\n"))
    names = f"\n    global {', '.join(sorted(assigned))}\n" if assigned else ""
    run = _RUN.format(names=names, script=PurePosixPath(path).name, body=body)
    wrapped = "\n".join(remaining).rstrip() + "\n" + run
    expected = [ast.dump(node) for node in guard.body]
    if not any(
        [ast.dump(inner) for inner in node.body] == expected
        for node in ast.walk(parse(wrapped))
        if isinstance(node, ast.With)
    ):  # e.g. a multi-line string that the new indentation changes
        raise SkillRefused(f"the command line of {one_line(path, 80)} cannot be written as a function")
    return wrapped


def _is_guard(node: ast.If) -> bool:
    return (
        isinstance(node.test, ast.Compare)
        and "__name__" in (condition := ast.unparse(node.test))
        and "__main__" in condition
    )
