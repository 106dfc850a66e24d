"""`alita tools map` as a person runs it: killed, gone on with, its results right, in order and once."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from alita_tui.events import Capabilities
from alita_tui.mapping.journal import FAILED, MANIFEST
from tests.mapping.interrupting import interrupted, wait_for_batches
from tests.support.mcp_lab import ADD, BOOM, furnished, schema, tool

pytestmark = [pytest.mark.podman, pytest.mark.slow]
ASK = tool(
    "ask_it", "def run(a: float) -> float:\n    return a\n", schema("a", a={"type": "number"}),
    capabilities=Capabilities(model_calls=1),
)  # fmt: skip
NOTE = tool(
    "note_it",
    "import os, time, urllib.request\n"
    "def run(n: int) -> int:\n"
    "    time.sleep(0.1)\n"
    "    where = os.environ['ALITA_BROKER'] + f'/files/{n}.txt'\n"
    "    with urllib.request.urlopen(urllib.request.Request(where, b'x', method='PUT')) as reply:\n"
    "        time.sleep(0.1)\n"
    "        return reply.status\n",
    schema("n", n={"type": "integer"}),
    {"type": "integer"},
    capabilities=Capabilities(workspace="write"),
)
"""Returns 201 where it made its file, 200 where the file was there."""
ROWS = 600
PARQUET = pytest.mark.skipif(
    find_spec("pyarrow") is None,
    reason="pyarrow is an extra: pip install 'alita-tui[parquet]'; `make jobs` does",
)


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "alita_tui", "--home", str(home), "tools", *words]


def alita(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(home, *words), capture_output=True, text=True, check=False)


def results(folder: Path) -> list[dict[str, Any]]:
    parts = json.loads((folder / MANIFEST).read_text())["parts"]
    return [json.loads(line) for part in parts for line in (folder / part["file"]).read_text().splitlines()]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, sandbox_ready: None) -> Path:
    return furnished(tmp_path_factory.mktemp("map") / "home", ADD, BOOM, ASK, NOTE)


def test_a_killed_map_continues_with_right_results(home: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": n, "b": 0.5} for n in range(ROWS)]
    rows[99], rows[299] = {"a": "one", "b": 1}, {"a": 1}
    given, out = tmp_path / "in.jsonl", tmp_path / "out"
    given.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ("map", "add_numbers", "--input", str(given), "--output", str(out))
    with subprocess.Popen(command(home, *words), stderr=subprocess.DEVNULL, text=True) as process:
        wait_for_batches(process, out, 2)
        os.kill(process.pid, signal.SIGKILL)
    assert not (out / MANIFEST).exists()
    before = {one.name: one.stat().st_mtime_ns for one in out.glob("part-*.jsonl")}
    done = alita(home, *words, "--json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout) == {"ok": ROWS - 2, "failed": 2, "output": str(out)}
    assert [(one["row"], one["result"]) for one in results(out)] == [
        (n + 1, {"sum": n + 0.5}) for n in range(ROWS) if n not in (99, 299)
    ]
    failed = [json.loads(line) for line in (out / FAILED).read_text().splitlines()]
    assert [one["row"] for one in failed] == [100, 300]
    assert "is not of type 'number'" in failed[0]["reason"] and "b is missing" in failed[1]["reason"]
    assert {name: (out / name).stat().st_mtime_ns for name in before} == before, "what was done stays"
    shown = json.loads(alita(home, "show", "add_numbers", "--json").stdout)
    assert shown["runs"] == 1, "a map counts once"


@PARQUET
def test_a_killed_map_of_a_parquet_file_continues_with_right_results(home: Path, tmp_path: Path) -> None:
    from pyarrow import parquet, table

    given, out = tmp_path / "in.parquet", tmp_path / "out"
    numbers = [float("nan") if n == 99 else n + 0.5 for n in range(ROWS)]
    parquet.write_table(table({"a": numbers, "b": [1] * ROWS, "c": [b"x"] * ROWS}), given, row_group_size=70)
    words = ("map", "add_numbers", "--input", str(given), "--output", str(out))
    with subprocess.Popen(command(home, *words), stderr=subprocess.DEVNULL, text=True) as process:
        wait_for_batches(process, out, 2)
        os.kill(process.pid, signal.SIGKILL)
    assert not (out / MANIFEST).exists()
    done = alita(home, *words)
    assert done.returncode == 1 and "does not take these columns: c" in done.stderr, done.stderr
    assert [(one["row"], one["result"]) for one in results(out)] == [
        (n + 1, {"sum": n + 1.5}) for n in range(ROWS) if n != 99
    ]
    [failed] = [json.loads(line) for line in (out / FAILED).read_text().splitlines()]
    assert failed["row"] == 100 and "column a has no JSON value" in failed["reason"]


@PARQUET
def test_a_map_of_a_parquet_file_is_stopped_by_one_key(home: Path, tmp_path: Path) -> None:
    from pyarrow import parquet, table

    given, out = tmp_path / "in.parquet", tmp_path / "out"
    parquet.write_table(table({"a": [1] * 5_000, "b": [1] * 5_000}), given)
    words = ("map", "add_numbers", "--input", str(given), "--output", str(out), "--lanes", "1")
    code, said = interrupted(command(home, *words), out)
    assert code == 130 and "Traceback" not in said and "Stopped." in said


def test_a_map_is_stopped_by_one_key_and_says_how_to_continue(home: Path, tmp_path: Path) -> None:
    given, out = tmp_path / "in.csv", tmp_path / "out"
    given.write_text("a,b,comment\n" + "".join(f"{n},1,x\n" for n in range(500)))
    words = ("map", "add_numbers", "--input", str(given), "--output", str(out), "--lanes", "1")
    code, said = interrupted(command(home, *words), out)
    assert code == 130 and "Traceback" not in said
    assert "does not take these columns: comment" in said
    assert "Stopped." in said and f"--output {out}" in said
    goes_on = shlex.split(said.rpartition("same command: ")[2])
    done = subprocess.run(goes_on, capture_output=True, text=True, check=False)  # another home is the default
    assert done.returncode == 0 and "500 rows done" in done.stdout, (goes_on, done.stderr)


def test_an_impossible_map_is_refused_before_anything_is_created(home: Path, tmp_path: Path) -> None:
    given = tmp_path / "in.jsonl"
    given.write_text('{"a": 1}\n')
    for name, said in (("ask_it", "may ask models"), ("no_such_tool", "no_such_tool")):
        refused = alita(home, "map", name, "--input", str(given), "--output", str(tmp_path / "out"))
        assert refused.returncode and said in refused.stderr and "Traceback" not in refused.stderr
        assert not (tmp_path / "out").exists()


def test_a_tool_that_fails_leaves_no_control_characters_on_the_terminal(home: Path, tmp_path: Path) -> None:
    given, out = tmp_path / "in.jsonl", tmp_path / "out"
    given.write_text('{"why": "bad"}\n' * 3)
    done = alita(home, "map", "always_fails", "--input", str(given), "--output", str(out))
    assert done.returncode == 1 and "\x1b" not in done.stdout + done.stderr
    assert all(
        "RuntimeError" in json.loads(line)["reason"] for line in (out / FAILED).read_text().splitlines()
    )


@pytest.mark.walk
def test_a_tool_with_side_effects_never_runs_twice_on_a_row_even_after_a_kill(
    home: Path, tmp_path: Path
) -> None:
    given, out = tmp_path / "in.jsonl", tmp_path / "out"
    given.write_text("".join(f'{{"n": {n}}}\n' for n in range(1, 31)))
    words = ("map", "note_it", "--input", str(given), "--output", str(out), "--lanes", "2")
    with subprocess.Popen(command(home, *words), stderr=subprocess.DEVNULL, text=True) as process:
        wait_for_batches(process, out, 1)
        process.kill()
    done = alita(home, *words, "--json")
    said = json.loads(done.stdout)
    assert said["ok"] + said["failed"] == 30 and said["failed"] == said.get("unsure", 0) <= 2
    assert {one["result"] for one in results(out)} == {201}, "each made its file, so none ran before"
    asked = [json.loads(line) for line in (out / "requests.jsonl").read_text().splitlines()]
    rows = [one["row"] for one in asked]
    assert len(rows) == len({*rows}) and {one["row"] for one in results(out)} <= {*rows}
    assert all(one["outcome"] == "served" and one["request"].startswith("PUT") for one in asked)
    again = alita(home, *words, "--again")
    assert again.returncode == 0, again.stderr
    assert [one["row"] for one in results(out)] == [*range(1, 31)]
