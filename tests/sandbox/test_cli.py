"""`alita sandbox`: any file behind the wall, and what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from alita_tui.app.file_runs import module_name
from alita_tui.cli import sandbox
from alita_tui.cli.main import cli
from alita_tui.events import SandboxStatus
from alita_tui.spine.errors import SandboxUnavailable, UsageError

pytestmark = [pytest.mark.podman, pytest.mark.usefixtures("settings")]
FILES = {
    "adder.py": "def run(a: int, b: int = 1) -> int:\n    print('adding')\n    return a + b\n",
    "script.py": "import json, sys\nprint(json.load(sys.stdin)['a'], sys.argv[0].endswith('script.py'), __name__)\n",
    "guarded.py": "if __name__ == '__main__':\n    print('main')\n",
    "leaves.py": "import sys\nprint('out')\nsys.exit(3)\n",
    "words.py": "raise SystemExit('these words')\n",
    "raises.py": "1 / 0\n",
    "loop.py": "while True: pass\n",
    "shell.sh": '#!/bin/sh\nread line; echo "got $line"; exit 4\n',
    "env.sh": "#!/usr/bin/env -S python3 -I\nprint('python by env')\n",
    "broken.py": "def run(:\n",
    "half.py": "def run(a): return '\\ud800'\n",
    "json.py": "print('named like a module')\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


def alita(home: Path, *arguments: str, **environ: str) -> Result:
    return CliRunner(env={"ALITA_SANDBOX_WALL_SECONDS": "2", **environ}).invoke(
        cli, ["--home", str(home), "sandbox", *arguments]
    )


@pytest.fixture(scope="module")
def rows(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    files = [str(folder / name) for name in FILES]
    done = alita(
        tmp_path_factory.mktemp("home"), "run", *files, "--input", '{"a": 41}', "--jobs", "4", "--json"
    )
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    assert [row["file"] for row in found] == files
    return {Path(row["file"]).name: row for row in found}


@pytest.mark.parametrize(
    ("name", "outcome", "reason", "said"),
    [
        ("adder.py", "ok", "", "adding\n"),
        ("script.py", "ok", "", "41 True __main__\n"),
        ("guarded.py", "ok", "", "main\n"),
        ("leaves.py", "exit", "exit 3", "out\n"),
        ("words.py", "exit", "exit 1", ""),
        ("raises.py", "error", "ZeroDivisionError", ""),
        ("loop.py", "timeout", "wall", ""),
        ("shell.sh", "exit", "exit 4", 'got {"a": 41}\n'),
        ("env.sh", "ok", "", "python by env\n"),
        ("broken.py", "error", "SyntaxError", ""),
        ("half.py", "ok", "", ""),
        ("json.py", "ok", "", "named like a module\n"),
    ],
)
def test_each_file_has_a_row(rows: dict[str, Any], name: str, outcome: str, reason: str, said: str) -> None:
    row = rows[name]
    assert (row["outcome"], row["reason"], row["stdout"]) == (outcome, reason, said)
    assert row["wall_ms"] > 0 and row["peak_mb"] > 1
    assert row["truncated"] == []


def test_each_row_has_the_result_of_its_file(rows: dict[str, Any]) -> None:
    assert rows["adder.py"]["result"] == 42
    assert rows["leaves.py"]["exit_code"] == 3
    assert rows["words.py"]["stderr"] == "these words\n"
    assert rows["loop.py"]["limits_hit"] == ["wall"] and rows["loop.py"]["cpu_ms"] > 50
    assert "File" in rows["raises.py"]["error"] and "warden" not in rows["raises.py"]["error"]
    assert rows["half.py"]["result"] == "?"


@pytest.mark.walk
def test_node_is_installed_for_javascript_files(tmp_path: Path) -> None:
    """As is Bash, which is a language's name too."""
    words = ["--home", str(tmp_path), "doctor", "--fix", "--quiet", "--with"]
    assert CliRunner().invoke(cli, [*words, "node,bash"]).exit_code == 0
    refused = CliRunner().invoke(cli, [*words, "deno"])
    assert isinstance(refused.exception, UsageError) and "javascript" in refused.exception.hint


def test_requirements_are_read_from_the_file(tmp_path: Path) -> None:
    tool = tmp_path / "tool.py"
    tool.write_text(
        "# /// script\n# dependencies = ['idna']\n# ///\nimport idna\ndef run(): return idna.encode('a').decode()\n"
    )
    script = tmp_path / "script.py"
    script.write_text("import idna\nprint(idna.encode('b').decode())\n")
    done = alita(tmp_path, "run", str(tool), str(script), "--requirement", "idna", "--json")
    assert done.exit_code == 0, done.output
    assert [row["result"] or row["stdout"] for row in json.loads(done.stdout)] == ["a", "b\n"]
    lacking = alita(tmp_path, "run", str(script), "--requirement", "-e /tmp", "--json")
    assert json.loads(lacking.stdout)[0]["reason"] == "requirements"


def test_invalid_arguments_of_sandbox_run_are_refused(tmp_path: Path, folder: Path) -> None:
    one = str(folder / "adder.py")
    for wrong in (
        ["/no/such/file"],
        [one, "--profile", "none"],
        [one, "--input", "[1]"],
        [one, "--input", "{"],
    ):
        assert isinstance(alita(tmp_path, "run", *wrong).exception, UsageError)


def test_a_single_file_prints_like_a_program(tmp_path: Path, folder: Path) -> None:
    done = alita(tmp_path, "run", str(folder / "adder.py"), "--input", '{"a": 1}')
    assert done.stdout.split() == ["adding", "2"]
    assert done.stderr.startswith("ok  ")


def test_status_pool_and_reap_report_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text("import idna\n")
    assert alita(tmp_path, "run", str(tmp_path / "uses.py"), "--requirement", "idna").exit_code == 0
    shown = json.loads(alita(tmp_path, "status", "--json").stdout)
    assert shown["status"]["available"] and shown["status"]["enforcement"]
    assert any("idna" in " ".join(one["packages"]) and one["size"] > 0 for one in shown["environments"])
    kept = json.loads(alita(tmp_path, "pool", "--json").stdout)["kept"]
    assert kept == {"hot": 1, "warm": 1, "environments": 3}
    assert set(json.loads(alita(tmp_path, "reap", "--json").stdout)) == {"containers", "folders"}
    for command in ("status", "pool", "reap"):
        assert alita(tmp_path, command).exit_code == 0


def test_an_unreachable_engine_is_named_and_others_are_shown(tmp_path: Path) -> None:
    gone = "ssh://127.0.0.1:1"
    both = {"ALITA_SANDBOX_ENGINES": f"local,{gone}"}
    shown = json.loads(alita(tmp_path, "status", "--json", **both).stdout)
    assert {name: one["available"] for name, one in shown["engines"].items()} == {"local": True, gone: False}
    assert shown["status"]["available"] and gone in shown["status"]["problem"]
    assert gone in alita(tmp_path, "status", **both).stdout
    pool = json.loads(alita(tmp_path, "pool", "--json", **both).stdout)
    assert pool["silent"] == [gone] and {one["engine"] for one in pool["containers"]} <= {"local"}
    told = alita(tmp_path, "pool", **both)
    assert told.exit_code == 0 and f"{gone} does not answer" in told.stderr
    alone = alita(tmp_path, "pool", ALITA_SANDBOX_ENGINES=gone)
    assert isinstance(alone.exception, SandboxUnavailable) and gone in str(alone.exception)


def test_a_rebuild_reports_the_outcome_of_every_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = "ssh://127.0.0.1:1", "ssh://127.0.0.1:2"
    done = alita(tmp_path, "rebuild", "--json", ALITA_SANDBOX_ENGINES=f"{one},{two}")
    shown = json.loads(done.stdout)
    assert done.exit_code == SandboxUnavailable.exit_code and set(shown["failed"]) == {one, two}
    assert all(name in said for name, said in shown["failed"].items())
    there = SandboxStatus(available=True, image="base:1", image_origin="imported", image_digest="sha256:ab")
    each = {one: SandboxStatus(available=False), "local": there}
    failed = {one: SandboxUnavailable("It is gone.", hint="Start it.")}
    monkeypatch.setattr(sandbox, "_with_sandbox", lambda *_: (failed, each))
    partly = alita(tmp_path, "rebuild")
    assert partly.exit_code == 1
    assert partly.stdout == "local: base:1, imported, sha256:ab\n"
    assert partly.stderr == f"{one}: It is gone. Start it.\n"
    monkeypatch.setattr(sandbox, "_with_sandbox", lambda *_: ({}, {"local": there}))
    assert alita(tmp_path, "rebuild").exit_code == 0


@pytest.mark.parametrize(
    ("file", "module"),
    [("a-b.py", "a_b"), ("json.py", "json_"), ("7.py", "7_"), ("ü.py", "_"), (".py", "_py")],
)
def test_every_file_name_gives_a_module_name(file: str, module: str) -> None:
    assert module_name(Path(file)) == module
