"""Suites that are broken or hostile, through the command line: a sentence with the file and what is wrong, and no run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.evaluation.suites import MIND, alita, command, settle, sums, until
from tests.support.servers.openai_server import OpenAIServer

CASE: dict[str, Any] = {"id": "a", "task": "Add.", "check": {"kind": "number", "value": 42}}
OTHERS = "secret of another folder"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(MIND) as served:
        yield served


def line(**fields: Any) -> bytes:
    return json.dumps({**CASE, **fields}).encode() + b"\n"


def number(text: str, field: str = "value") -> bytes:
    return line(check={"kind": "number", "value": 1, field: "HERE"}).replace(b'"HERE"', text.encode())


BROKEN = {
    "garbage after a byte order mark": (b"\xef\xbb\xbf{bad", "line 1: it is no JSON"),
    "a line of 10 MB": (line() + b'{"id": "' + b"x" * 10_000_000, "line 2: it is no JSON"),
    "nested 10 million deep": (b"[" * 10_000_000, "line 1: it is no JSON"),
    "half a character": (line(id="\ud800"), "line 1: it is no JSON"),
    "UTF-16": (line().decode().encode("utf-16"), "cannot be read"),
    "no bytes": (b"", "has no case"),
    "empty lines": (b"\n \n", "has no case"),
    "one id twice": (line(id="a\u202eb\x1b[31m") * 2, "two cases are called"),
    "two ids of 10 MB": (line(id="x" * 10_000_000) * 2, "two cases are called"),
    "a field with control characters": (line(**{"\u202ex\x1b[31m": 1}), "line 1: "),
    "a kind with control characters": (line(check={"kind": "\x1b[31m\u202e"}), "line 1: "),
    "NaN": (number("NaN"), "line 1: "),
    "infinity": (number("1e999"), "line 1: "),
    "a tolerance below 0": (number("-1", "tolerance"), "line 1: A tolerance cannot be below 0"),
    "an infinite budget": (line(budget_usd=float("inf")), "line 1: "),
    "a budget below 0": (line(budget_usd=-1), "line 1: a budget cannot be below 0"),
    "a path upwards": (line(files=["../other.txt"]), "'../other.txt', which is outside"),
    "an absolute path": (line(files=["/etc/passwd"]), "'/etc/passwd', which is outside"),
    "a link outwards": (line(files=["link"]), "'link', which is outside"),
    "a link to itself": (line(files=["circle"]), "'circle', which cannot be read"),
    "a program upwards": (line(check={"kind": "program", "program": "../other.txt"}), "which is outside"),
}


def lay_out(folder: Path, cases: bytes) -> Path:
    folder.mkdir()
    (folder.parent / "other.txt").write_text(OTHERS)
    (folder / "link").symlink_to("../other.txt")
    (folder / "circle").symlink_to("circle")
    (folder / "cases.jsonl").write_bytes(cases)
    return folder


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_suite_is_refused_with_its_file_and_the_reason(tmp_path: Path, what: str) -> None:
    cases, reason = BROKEN[what]
    folder = lay_out(tmp_path / "s", cases)
    refused = alita(tmp_path / "home", "run", str(folder))
    assert refused.returncode == 2, refused.stderr
    assert str(folder / "cases.jsonl") in refused.stderr and reason in refused.stderr
    assert len(refused.stderr) < 2_000 and is_clean(refused.stderr) and OTHERS not in refused.stderr
    assert (folder / "cases.jsonl").read_bytes() == cases
    assert "No run yet" in alita(tmp_path / "home", "list").stdout, "what was refused leaves no run behind"


@pytest.mark.parametrize("path", ["circle", "circle/cases.jsonl", "folder"])
def test_a_path_that_holds_no_suite_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder" / "cases.jsonl").mkdir(parents=True)
    refused = alita(tmp_path / "home", "run", str(tmp_path / path))
    assert refused.returncode == 2 and str(tmp_path / path) in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--budget-usd", "inf"),
        ("--budget-usd", "nan"),
        ("--budget-usd", "-1"),
        ("--fail-under", "2"),
        ("--fail-under", "nan"),
        ("--repeat", "0"),
        ("--jobs", "0"),
        ("--cases", "-1"),
        ("--without", "\x1b[31mx"),
    ],
)
def test_an_option_out_of_its_range_is_refused(tmp_path: Path, words: tuple[str, str]) -> None:
    folder = sums(tmp_path / "s", 1)
    refused = alita(tmp_path / "home", "run", str(folder), *words)
    assert refused.returncode == 2 and is_clean(refused.stderr), refused.stderr
    assert "No run yet" in alita(tmp_path / "home", "list").stdout


def test_an_infinite_budget_is_refused_and_the_run_can_still_be_resumed(
    tmp_path: Path, server: OpenAIServer
) -> None:
    home, folder = tmp_path / "home", sums(tmp_path / "s", 2)
    settle(home, server)
    assert alita(home, "run", str(folder), "--budget-usd", "0.000001").returncode == 3
    before = alita(home, "list", "--json").stdout
    refused = alita(home, "run", "--resume", "last", "--budget-usd", "inf")
    assert refused.returncode == 2 and "budget" in refused.stderr
    assert alita(home, "list", "--json").stdout == before
    assert alita(home, "run", "--resume", "last", "--budget-usd", "1").returncode == 0


def test_hostile_text_in_a_suite_is_stored_and_never_reaches_the_terminal(
    tmp_path: Path, server: OpenAIServer
) -> None:
    """A byte order mark is no part of the first case; control characters are data, and are shown as text at most."""
    home, name = tmp_path / "home", "a\u202eb\x1b[31m\x07\r\nc"
    settle(home, server)
    cases = (
        b"\xef\xbb\xbf" + line(id=name) + line(id="../../x") + line(id="off", task="Add, wrong.\x1b[2J\u202e")
    )
    folder = lay_out(tmp_path / "s", cases)
    ran = alita(home, "run", str(folder), "--json")
    assert ran.returncode == 0, ran.stderr
    solved = {case["case"]: case["solved"] for case in json.loads(ran.stdout)["cases"]}
    assert solved == {name: True, "../../x": True, "off": False}
    shown = alita(home, "show")
    for text in (ran.stderr, shown.stderr, shown.stdout):
        assert is_clean(text), ascii(text)
    assert not [path for path in tmp_path.rglob("x") if home not in path.parents], "an id is no path"


def is_clean(text: str) -> bool:
    """Whether a terminal takes a text as text: no escape, bell, carriage return or change of direction in it."""
    return not {*text} & {"\x1b", "\x07", "\r", "\u202e"}


ENDLESS = "def run(answer: str, files: dict) -> bool:\n    while True:\n        pass\n"
FORKING = (
    "import os\n\n\ndef run(answer: str, files: dict) -> bool:\n"
    "    while True:\n        if os.fork() == 0:\n            while True:\n                os.fork()\n"
)


@pytest.mark.walk
@pytest.mark.podman
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (ENDLESS, r"ran longer than \d+ s|limit of cpu|its limit: .*cpu"),
        (FORKING, r"limit of processes|its limit: .*processes"),
    ],
    ids=["endless", "forking"],
)
def test_a_checker_without_an_end_costs_its_own_case_alone(
    tmp_path: Path, server: OpenAIServer, program: str, reason: str
) -> None:
    """It is left to its limit; the record says what happened in one sentence, and the other cases go on."""
    home = tmp_path / "home"
    settle(home, server)
    folder = lay_out(
        tmp_path / "s", line(check={"kind": "program", "program": "p.py"}) + line(id="b", task="Add 2.")
    )
    (folder / "p.py").write_text(program)
    ran = alita(home, "run", str(folder), "--json")
    assert ran.returncode == 0, ran.stderr
    cases = {case["case"]: case for case in json.loads(ran.stdout)["cases"]}
    assert cases["b"]["solved"] and not cases["a"]["solved"]
    assert cases["a"]["failure"] == "harness"
    why = cases["a"]["why"]
    assert re.search(reason, why) and ".." not in why, why
    assert ".." not in alita(home, "show").stdout.replace("...", ""), "no sentence has two full stops"


def test_a_share_that_no_case_ran_for_counts_as_missed(tmp_path: Path, server: OpenAIServer) -> None:
    """Where the budget ends before the first case, CI must not take `--fail-under` for met."""
    home = tmp_path / "home"
    settle(home, server)
    words = ("--budget-usd", "0.0000001", "--fail-under", "0.5", "--json")
    ran = alita(home, "run", str(sums(tmp_path / "s", 2)), *words)
    assert ran.returncode == 3 and json.loads(ran.stdout)["ended"] == 0, ran.stderr
    assert "budget" in ran.stderr
    empty = alita(home, "run", str(sums(tmp_path / "t", 2)), "--tag", "none-has-this", "--fail-under", "0.5")
    assert empty.returncode == 2 and "Traceback" not in empty.stderr, (empty.returncode, empty.stderr)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
@pytest.mark.parametrize("name", ["cases.jsonl", "data.txt"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    folder = lay_out(tmp_path / "s", line(files=["data.txt"]))
    (folder / "data.txt").write_text("1")
    (folder / name).chmod(0)
    refused = alita(tmp_path / "home", "run", str(folder))
    (folder / name).chmod(0o600)
    assert refused.returncode == 2 and name in refused.stderr and "Permission denied" in refused.stderr
    assert "No run yet" in alita(tmp_path / "home", "list").stdout


@pytest.mark.walk
@pytest.mark.parametrize("changed", ["cases.jsonl", "data.txt"])
def test_a_suite_changed_before_a_resume_is_refused_until_it_is_restored(
    tmp_path: Path, server: OpenAIServer, changed: str
) -> None:
    """Results of other bytes are never mixed; with the old bytes back, the run ends and nothing is done twice."""
    home = tmp_path / "home"
    settle(home, server)
    cases = b"".join(line(id=f"c{n}", task=f"Add {n}.", files=["data.txt"]) for n in range(8))
    folder = lay_out(tmp_path / "s", cases)
    (folder / "data.txt").write_text("1")
    process = subprocess.Popen(
        command(home, "run", str(folder)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def ended() -> list[bytes]:
        return [
            raw
            for path in home.glob("**/evaluations/*/results.jsonl")
            for raw in path.read_bytes().splitlines()
        ]

    until(lambda: len(ended()) >= 2, process)
    process.kill()
    process.wait(60)
    before, old = ended(), (folder / changed).read_bytes()
    assert 2 <= len(before) < 8
    (folder / changed).write_bytes(
        old.replace(b"Add 7", b"Add 70") if changed == "cases.jsonl" else old + b"\n"
    )
    refused = alita(home, "run", "--resume", "last")
    assert refused.returncode == 2 and "has changed since the run" in refused.stderr, refused.stderr
    assert ended() == before
    (folder / changed).write_bytes(old)
    assert alita(home, "run", "--resume", "last").returncode == 0
    names = [json.loads(raw)["case"] for raw in ended()]
    assert sorted(names) == [f"c{n}" for n in range(8)] and ended()[: len(before)] == before
