"""Starters from the shell and in real containers: approved one by one, each with its own grants and no more."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.cli.main import cli
from alita_tui.config.paths import shipped
from alita_tui.events import Ban, BrokerAnswered
from alita_tui.registry.starters import Starters
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.laws import check
from alita_tui.spine.ports.sandbox import Job
from tests.sandbox.grants_lab import Models
from tests.sandbox.loopback import Site, Told, broker, serving

pytestmark = [pytest.mark.podman, pytest.mark.usefixtures("settings")]
STARTERS = Starters(shipped("starters"))


def nothing(*_: object) -> None:
    return


class Shell:
    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(self.home), "tools", *arguments])

    def digest(self, name: str, *more: str) -> str:
        return str(json.loads(self("starters", "show", name, *more, "--json").stdout)["digest"])


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.delenv("ALITA_HOME", raising=False)
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


async def test_every_starter_passes_its_tests_without_grants(settings: EngineSettings) -> None:
    sandbox = PodmanSandbox(settings, "starters")
    try:
        for name in STARTERS.names():
            draft = STARTERS.draft(name)
            if draft.requirements:
                continue  # they are approved with their packages, below
            job = Job(run_id="t", module=name, code=draft.code, tests=draft.tests, kind="test")
            report = await sandbox.run(job, nothing, nothing)
            assert report.status == "ok" and report.cases, report
            assert [case for case in report.cases if not case.passed] == [], report
    finally:
        await sandbox.close()


RUNS: dict[str, tuple[dict[str, Any], Any]] = {
    "calculator": ({"expression": "6 * 7"}, {"value": 42, "text": "42"}),
    "file_read": (
        {"path": "a.txt"},
        {"path": "a.txt", "encoding": "utf-8", "bytes": 5, "text": "hello", "more": False},
    ),
    "file_write": ({"path": "b/c.txt", "text": "made"}, {"path": "b/c.txt", "bytes": 4}),
    "csv_table": (
        {"path": "t.csv", "totals": {"n": "sum"}},
        {
            "columns": ["group", "rows", "sum of n"],
            "rows": [{"group": "all", "rows": 2, "sum of n": 3}],
            "read": 2,
            "matched": 2,
        },
    ),
    "text_summarizer": ({"text": "some text"}, None),
    "api_query": ({"query": {"q": "x"}}, None),
}
ASKING_NOTHING = {"chart", "image_info", "pdf_text", "shell", "sqlite_query", "xlsx_read"}
"""Those that take files of a task and need no grant: the walks below run them."""


def test_refused_input_is_reported_in_one_line_and_does_not_change_trust(shell: Shell) -> None:
    done = shell("starters", "approve", "chart", "--digest", shell.digest("chart"))
    assert done.exit_code == 0, done.output
    points = [{"x": "a\u202eb", "y": "many\x1b[31m"}]
    for _ in range(3):
        done = shell("run", "chart", "--input", json.dumps({"kind": "bar", "points": points}))
        assert done.exit_code == 1 and "chart refused its input: 'many" in done.stderr
        assert "is no number" in done.stderr and "It is called as chart(kind: " in done.stderr
        assert "Traceback" not in done.output and "\x1b" not in done.output
    whole = json.loads(shell("run", "chart", "--input", json.dumps({"kind": "bar"}), "--json").stdout)
    assert "Traceback" in whole["error"] and "raise ValueError" in whole["error"]
    wrong = shell("run", "chart", "--input", '{"kind": "pie"}').exception
    assert isinstance(wrong, UsageError) and "$.kind" in wrong.message
    (record,) = AppContext.open(shell.home).library.versions("chart")
    assert (record.state, record.runs, record.failures) == ("provisional", 0, 0)


async def test_each_starter_works_with_exactly_its_grants(
    settings: EngineSettings, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "t.csv").write_text("name,n\na,1\nb,2\n")
    told = Told()
    made = broker(
        told,
        {"api.example": "127.0.0.1"},
        (f"api.example:{site.port}",),
        workspace=tmp_path,
        models=Models(),
        secret={"KEY": "value-of-the-key"}.get,
    )
    sandbox = PodmanSandbox(settings, "starters", broker=made)
    try:
        for name, (arguments, wanted) in RUNS.items():
            hosts = [f"GET api.example:{site.port}"] if name == "api_query" else []
            draft = STARTERS.draft(name, hosts, ["KEY"] if hosts else [])
            more = {"url": f"http://api.example:{site.port}/v1", "secret": "KEY"} if hosts else {}
            job = Job(
                run_id=name,
                module=name,
                code=draft.code,
                digest=draft.digest,
                arguments={**arguments, **more},
                capabilities=draft.capabilities,
            )
            report = await sandbox.run(job, nothing, nothing)
            assert report.status == "ok", report
            if wanted is not None:
                assert report.result == wanted
            elif name == "api_query":
                assert report.result["json"]["path"] == "/v1?q=x" and "value-of-the-key" not in str(report)
            else:
                assert "SOME TEXT" in report.result["summary"]
            bare = msgspec.structs.replace(job, digest="")
            without = await sandbox.run(bare, nothing, nothing)
            assert without.status == ("ok" if name == "calculator" else "error"), without
    finally:
        await sandbox.close()
    assert (tmp_path / "b/c.txt").read_text() == "made"
    assert site.seen[-1]["headers"]["authorization"] == "Bearer value-of-the-key"
    assert {one.call_id for one in told} == set(RUNS) - {"calculator"}
    assert {one.outcome for one in told} == {"served"}


def test_a_starter_runs_once_it_is_approved_as_shown(shell: Shell) -> None:
    assert "not approved" in shell("starters").stdout
    with pytest.raises(RegistryError):
        AppContext.open(shell.home).library.get("file_read")
    wrong = shell("starters", "approve", "file_read", "--digest", "0" * 12)
    assert isinstance(wrong.exception, UsageError) and AppContext.open(shell.home).library.cards() == ()
    digest = shell.digest("file_read")
    for given in ((), ("--accept", "network"), ("--accept", "workspace", "--accept", "network")):
        unnamed = shell("starters", "approve", "file_read", "--digest", digest, *given)
        assert isinstance(unnamed.exception, UsageError) and AppContext.open(shell.home).library.cards() == ()
    shown = shell("starters", "show", "file_read").stdout
    assert "workspace  asks for" in shown and "--accept workspace" in shown
    approved = shell("starters", "approve", "file_read", "--digest", digest, "--accept", "workspace")
    assert approved.exit_code == 0, approved.output
    assert "read access to the files in the workspace" in approved.stdout and "FAIL" not in approved.stdout
    app = AppContext.open(shell.home)
    record = app.library.get("file_read")
    assert (record.origin, record.digest, record.state) == ("starter", digest, "provisional")
    (entry,) = app.audit.entries()
    assert (entry.verdict, entry.digest, entry.approval_id, entry.via) == (
        "approved",
        digest,
        record.approval_id,
        "cli",
    )
    assert app.audit.verify() == []
    assert "may use read access to the files in the workspace" in shell("show", "file_read").stdout
    assert "already" in shell("starters", "approve", "file_read", "--digest", digest).stdout
    app.workspace.mkdir(parents=True, exist_ok=True)
    (app.workspace / "note.txt").write_text("a note")
    ran = shell("run", "file_read", "--input", '{"path": "note.txt"}')
    assert json.loads(ran.stdout)["text"] == "a note" and "GET /files/note.txt → served" in ran.stderr
    (app.workspace / "note.txt").unlink()
    gone = shell("run", "file_read", "--input", '{"path": "note.txt"}')
    assert gone.exit_code == 1 and "there is no note.txt" in gone.stderr


@pytest.mark.walk
def test_requests_of_a_run_outside_of_a_session_are_recorded(shell: Shell) -> None:
    app = AppContext.open(shell.home)
    assert (
        shell(
            "starters", "approve", "file_read", "--digest", shell.digest("file_read"), "--accept", "workspace"
        ).exit_code
        == 0
    )
    app.workspace.mkdir(parents=True, exist_ok=True)
    (app.workspace / "note.txt").write_text("a note")
    for name, ended in (("note.txt", "ToolReturned"), ("gone.txt", "ToolFailed")):
        ran = shell("run", "file_read", "--input", json.dumps({"path": name}), "--json")
        assert ran.exit_code == (0 if ended == "ToolReturned" else 1)
        path = max((app.paths.runs).glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        envelopes = recording(app, str(path))
        assert check(envelopes, complete=True) == []
        kinds = [type(one.event).__name__ for one in envelopes]
        assert kinds == [
            "SessionOpened",
            "LibraryLoaded",
            "ToolCalled",
            "BrokerAnswered",
            ended,
            "SessionClosed",
        ]
        asked = envelopes[3].event
        assert isinstance(asked, BrokerAnswered) and asked.request == f"GET /files/{name}"
        assert path.stat().st_mode & 0o077 == 0
    assert app.sessions.list() == (), "it is no session of the person's"
    assert shell("starters", "approve", "calculator", "--digest", shell.digest("calculator")).exit_code == 0
    assert shell("run", "calculator", "--input", '{"expression": "1"}').exit_code == 0
    assert len(list(app.paths.runs.glob("*.json"))) == 2, "what is granted nothing can ask for nothing"


def test_a_banned_starter_cannot_be_approved(shell: Shell) -> None:
    app = AppContext.open(shell.home)
    app.library.ban(Ban(ban_id="b1", capabilities=("workspace:read",), reason="no files", by="me"))
    digest = shell.digest("file_read")
    refused = shell("starters", "approve", "file_read", "--digest", digest, "--accept", "workspace")
    assert isinstance(refused.exception, RegistryError)
    assert app.audit.entries() == () and AppContext.open(shell.home).library.cards() == ()


def test_a_digest_for_other_hosts_approves_nothing(shell: Shell, site: Site) -> None:
    digest = shell.digest("api_query", "--host", "a.example:443")
    for more in ((), ("--host", "b.example:443")):
        refused = shell("starters", "approve", "api_query", "--digest", digest, *more)
        assert isinstance(refused.exception, UsageError)
    assert AppContext.open(shell.home).library.cards() == ()
    os.makedirs(shell.home / "config", exist_ok=True)
    host = f"GET 127.0.0.1:{site.port}"
    digest = shell.digest("api_query", "--host", host)
    accept = ("--accept", "environment", "--accept", "network")  # it would read a secret, and was given none
    done = shell("starters", "approve", "api_query", "--digest", digest, "--host", host, *accept)
    assert (
        done.exit_code == 0 and f"network access to 127.0.0.1:{site.port}, GET requests only" in done.stdout
    )
    asked = json.dumps({"url": f"http://127.0.0.1:{site.port}/mine"})
    private = shell("run", "api_query", "--input", asked)
    assert private.exit_code == 1 and "sandbox.allowed_private" in private.stderr
    allowed = CliRunner(env={"ALITA_SANDBOX_ALLOWED_PRIVATE": f"127.0.0.1:{site.port}"}).invoke(
        cli, ["--home", str(shell.home), "tools", "run", "api_query", "--input", asked]
    )
    assert json.loads(allowed.stdout)["json"]["path"] == "/mine", allowed.output


def test_a_tool_of_another_home_runs_once_it_is_approved_again(shell: Shell, tmp_path: Path) -> None:
    """Its files and its place in the library prove nothing here; its tests run in the sandbox before."""
    assert shell("starters", "approve", "calculator", "--digest", shell.digest("calculator")).exit_code == 0
    other = Shell(tmp_path / "other")
    (other.home / "data").mkdir(parents=True, mode=0o700)
    for name in ("registry.json", "registry.json.journal"):
        if (shell.home / "data" / name).exists():
            shutil.copy(shell.home / "data" / name, other.home / "data" / name)
    shutil.copytree(shell.home / "data" / "mcp_box", other.home / "data" / "mcp_box")
    refused = other("run", "calculator", "--input", '{"expression": "6 * 7"}').exception
    assert isinstance(refused, RegistryError) and "has no approval" in refused.message
    assert "not approved" in other("starters").stdout
    approved = other("approve", "calculator", "--digest", shell.digest("calculator"))
    assert approved.exit_code == 0 and "runs in the sandbox" in approved.stdout, approved.output
    ran = other("run", "calculator", "--input", '{"expression": "6 * 7"}')
    assert ran.exit_code == 0 and json.loads(ran.stdout)["value"] == 42
    audit = CliRunner().invoke(cli, ["--home", str(other.home), "audit", "verify"])
    assert audit.exit_code == 0, audit.output


def test_every_starter_is_run_by_a_test() -> None:
    assert set(STARTERS.names()) == set(RUNS) | ASKING_NOTHING | {"download", "browse"}


@pytest.fixture
def approved(shell: Shell) -> Callable[..., Callable[..., Result]]:
    """Approves a starter and returns how to run it."""

    def approve(name: str, *more: str, accept: tuple[str, ...] = ()) -> Callable[..., Result]:
        said = [word for risk in accept for word in ("--accept", risk)]
        done = shell("starters", "approve", name, "--digest", shell.digest(name, *more), *more, *said)
        assert done.exit_code == 0, done.output
        (row,) = [row for row in json.loads(shell("starters", "--json").stdout) if row["name"] == name]
        assert row["state"] == "provisional"
        return lambda *given, **arguments: shell("run", name, "--input", json.dumps(arguments), *given)

    return approve


def test_a_database_is_queried_and_changes_go_into_a_copy(
    approved: Callable[..., Callable[..., Result]], tmp_path: Path
) -> None:
    place = tmp_path / "stock.db"
    with closing(sqlite3.connect(place)) as found:
        found.executescript("CREATE TABLE items (name, n); INSERT INTO items VALUES ('lamp', 3), ('desk', 4)")
    ask = approved("sqlite_query")
    told = ask(database=str(place), sql="SELECT sum(n) AS n FROM items")
    assert json.loads(told.stdout) == {"columns": ["n"], "rows": [[7]], "more": False, "changed": 0}
    before = place.read_bytes()
    changed = ask(
        "--out",
        str(tmp_path / "out"),
        database=str(place),
        sql="DELETE FROM items WHERE n = 3",
        save_as="less.db",
    )
    assert changed.exit_code == 0 and "saved: " in changed.stderr, changed.output
    with closing(sqlite3.connect(tmp_path / "out/less.db")) as found:
        assert found.execute("SELECT name FROM items").fetchall() == [("desk",)]
    assert place.read_bytes() == before
    gone = ask(database=str(tmp_path / "gone.db"))
    assert isinstance(gone.exception, UsageError) and "There is no file" in gone.exception.message


def test_a_shell_command_works_on_copies_and_sees_nothing_else(
    approved: Callable[..., Callable[..., Result]], tmp_path: Path
) -> None:
    (tmp_path / "names.txt").write_text("b\na\nb\n")
    do, out = approved("shell", accept=("processes",)), tmp_path / "out"
    files = [str(tmp_path / "names.txt")]
    done = do("--out", str(out), command="sort -u names.txt > once.txt; echo more >> names.txt", files=files)
    assert done.exit_code == 0, done.output
    assert (out / "once.txt").read_text() == "a\nb\n" and (out / "names.txt").read_text() == "b\na\nb\nmore\n"
    assert (tmp_path / "names.txt").read_text() == "b\na\nb\n", "the original is not changed"
    odd = do("--out", str(out), command="echo x > \"$(printf 'a\\nsaved: b')\"")
    assert odd.stderr.splitlines() == [f"saved: {out}/a saved: b"], "a file's name makes no line of its own"
    looks = json.loads(
        do(command=f"ls {tmp_path}; cat /etc/shadow; (exec 3<>/dev/tcp/10.0.0.1/80) 2>&1; id -u").stdout
    )
    assert str(tmp_path) in looks["stderr"] and "denied" in looks["stderr"]
    assert looks["stdout"].strip().splitlines()[-1] != "0"


def test_a_chart_is_saved_to_the_chosen_folder(
    approved: Callable[..., Callable[..., Result]], tmp_path: Path
) -> None:
    (tmp_path / "sales.csv").write_text("region,amount\nnorth,10\nsouth,30\n")
    draw, out = approved("chart"), tmp_path / "out"
    given = {"kind": "bar", "table": str(tmp_path / "sales.csv"), "x": "region", "y": "amount"}
    dropped = draw(**given)
    assert dropped.exit_code == 0 and "chart.svg, which was not kept; --out DIR saves it" in dropped.stderr
    for _ in range(2):
        assert draw("--out", str(out), **given).exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["chart-2.svg", "chart.svg"]
    assert "north" in (out / "chart.svg").read_text()


def test_a_download_reaches_its_host_and_no_other(
    approved: Callable[..., Callable[..., Result]],
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALITA_SANDBOX_ALLOWED_PRIVATE", f"127.0.0.1:{site.port}")
    fetch = approved("download", "--host", f"GET 127.0.0.1:{site.port}", accept=("network",))
    done = fetch("--out", str(tmp_path), url=f"http://127.0.0.1:{site.port}/v1/list.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "list.json").read_text())["path"] == "/v1/list.json"
    other = fetch(url="http://other.example/x")
    assert other.exit_code == 1 and "other.example" in other.stderr


@pytest.mark.walk
def test_starters_with_packages_read_real_files(
    approved: Callable[..., Callable[..., Result]], tmp_path: Path
) -> None:
    """Their own tests make the files that they are tried on, in the sandbox, with packages of the index."""
    for name in ("pdf_text", "xlsx_read", "image_info"):
        approved(name)
    picture = tmp_path / "dot.png"
    data = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    picture.write_bytes(data)
    read = Shell(tmp_path)("run", "image_info", "--input", json.dumps({"picture": str(picture)}))
    assert (json.loads(read.stdout)["format"], json.loads(read.stdout)["width"]) == ("PNG", 1)
