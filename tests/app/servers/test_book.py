"""What is kept of servers, while several processes change it, and a server that is another one than was typed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from alita_tui.app.context import AppContext, close_all
from alita_tui.app.servers.book import KnownServer, LazyServers, ServerBook
from alita_tui.cli.main import cli
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.servers import ServerSpec
from tests.mcp_box.web_lab import Remote, running

Alita = Callable[..., str]


@pytest.fixture
def alita(tmp_path: Path) -> Alita:
    def command(*words: str) -> str:
        done = CliRunner().invoke(cli, ["--home", str(tmp_path / "home"), *words])
        close_all()
        assert isinstance(done.exception, SystemExit | AlitaError | None), done.exception
        return f"{done.output}{done.exception}"

    return command


@contextmanager
def book(tmp_path: Path) -> Iterator[ServerBook]:
    try:
        yield ServerBook(AppContext.open(tmp_path / "home"))
    finally:
        close_all()


@contextmanager
def while_looked_at(remote: Remote, tmp_path: Path) -> Iterator[None]:
    """Another shell looks at the server `far`, which answers only once this is left."""
    remote.hold()
    home = str(tmp_path / "home")
    words = [sys.executable, "-m", "alita_tui", "--home", home, "mcp", "test", "far"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as shell:
        assert remote.held.wait(180)
        yield
        remote.release.set()
        shell.wait(180)


def test_listing_a_server_keeps_verdicts_given_meanwhile(alita: Alita, tmp_path: Path) -> None:
    remote = Remote()
    with running(remote) as port:
        assert "far_hi" in alita("mcp", "add", "far", f"http://127.0.0.1:{port}/mcp")
        with while_looked_at(remote, tmp_path):
            alita("mcp", "disable", "far")
        (kept,) = json.loads(alita("mcp", "list", "--json").removesuffix("None"))
        assert not kept["enabled"], "it was switched off while it was looked at"
        with while_looked_at(remote, tmp_path):
            alita("mcp", "remove", "far")
        assert "far" not in alita("mcp", "list")


@pytest.mark.parametrize("lists", ["say=Says another thing.|", "talk=Says it.|", ""])
def test_an_approved_tool_that_changed_is_suspended(alita: Alita, tmp_path: Path, lists: str) -> None:
    told = tmp_path / "told"
    told.write_text("say=Says it.|")
    program = Path(__file__).parents[2] / "mcp_box" / "hostile_server.py"
    alita("mcp", "add", "rug", "--on-host", "--env", f"TOLD={told}", "--", sys.executable, str(program), "changes")  # fmt: skip
    (offer,) = json.loads(alita("mcp", "show", "rug", "--json").removesuffix("None"))["tools"]
    alita("mcp", "approve", "rug", "--digest", offer["digest"], "--accept", "on-host")
    alita("mcp", "test", "rug")
    assert "provisional" in alita("tools", "list"), "what is as it was stays"
    told.write_text(lists)
    assert "rug_say v1 is suspended" in alita("mcp", "test", "rug")
    assert "provisional" not in alita("tools", "list")


def test_a_list_of_the_former_server_does_not_affect_its_replacement(tmp_path: Path) -> None:
    with book(tmp_path) as kept:
        before = kept.typed(
            KnownServer(spec=ServerSpec(name="far", place="url", url="https://a.example/mcp"))
        )
        after = kept.typed(KnownServer(spec=ServerSpec(name="far", place="url", url="https://b.example/mcp")))
        kept.put_in_place(before, replace=False)
        kept.put_in_place(after, replace=True)
        with pytest.raises(UsageError, match="meanwhile"):
            kept.relisted(msgspec.structs.replace(before, protocol="2025-11-25"))
        assert kept.get("far") == after


def test_two_processes_adding_the_same_server_do_not_replace_each_other(tmp_path: Path) -> None:
    with book(tmp_path) as kept:
        first = kept.typed(KnownServer(spec=ServerSpec(name="far", place="url", url="https://a.example/mcp")))
        other = kept.typed(KnownServer(spec=ServerSpec(name="far", place="url", url="https://b.example/mcp")))
        kept.put_in_place(first, replace=False)
        with pytest.raises(UsageError, match="already"):
            kept.put_in_place(other, replace=False)
        assert kept.get("far") == first


def test_a_tool_runs_only_at_the_server_that_the_person_typed(alita: Alita, tmp_path: Path) -> None:
    remote = Remote()
    with running(remote) as port:
        alita("mcp", "add", "far", f"http://127.0.0.1:{port}/mcp")
        (offer,) = json.loads(alita("mcp", "show", "far", "--json").removesuffix("None"))["tools"]
        accepted = [word for name in ("remote-code", "network") for word in ("--accept", name)]
        alita("mcp", "approve", "far", "--digest", offer["digest"], *accepted)
        assert "hello" in alita("tools", "run", "far_hi")
        with book(tmp_path) as kept:
            typed = kept.get("far")
        other = msgspec.structs.replace(typed.spec, url="https://b.example/mcp")
        for bad in (
            msgspec.structs.replace(typed, signature=""),
            msgspec.structs.replace(typed, spec=other),
            "signed",
            None,
        ):
            with book(tmp_path) as kept:
                if isinstance(bad, KnownServer):
                    kept.keep(bad)
                elif bad is None:
                    kept._documents.remove("far")
                else:
                    kept.keep(kept.typed(msgspec.structs.replace(typed, spec=other)))
            remote.seen.clear()
            said = alita("tools", "run", "far_hi")
            assert "hello" not in said and not remote.seen, said
        with book(tmp_path) as kept:
            kept.keep(typed)
        assert "hello" in alita("tools", "run", "far_hi")


async def test_concurrent_first_calls_share_one_set_of_servers(tmp_path: Path) -> None:
    app = AppContext.open(tmp_path / "home")

    async def untold(_: object) -> None:
        return

    lazy = LazyServers(app, app.sandbox("both"), untold, Redactor())
    one, other = await asyncio.gather(lazy.made(), lazy.made())
    assert one is other
    await lazy.close()
    close_all()


def test_removing_a_server_removes_its_packages_and_nothing_else(tmp_path: Path) -> None:
    with book(tmp_path) as kept:
        data = tmp_path / "home" / "data"
        folders = {name: data / "servers" / name for name in ("old", "new", "fetched-now", "crashed")}
        mine = tmp_path / "mine"
        for folder in (*folders.values(), mine, data / "precious"):
            folder.mkdir(parents=True)
            (folder / "file").touch()
        os.utime(folders["crashed"], (0, 0))
        for name, folder in (
            ("old", folders["old"]),
            ("mine", mine),
            ("sly", data / "servers" / ".." / "precious"),
        ):
            kept.put_in_place(KnownServer(spec=ServerSpec(name=name, folder=str(folder))), replace=False)
        assert {one.name for one in (data / "servers").iterdir()} == {"old", "new", "fetched-now"}
        kept.put_in_place(KnownServer(spec=ServerSpec(name="old", folder=str(folders["new"]))), replace=True)
        assert {one.name for one in (data / "servers").iterdir()} == {"new", "fetched-now"}
        for name in ("old", "mine", "sly"):
            kept.remove(name)
        assert {one.name for one in (data / "servers").iterdir()} == {"fetched-now"}
        assert (mine / "file").exists() and (data / "precious" / "file").exists()


@pytest.mark.parametrize(
    "where",
    ["/mcp?api_key=abc123", "/mcp?x=1&access_token=q", "/mcp?k=sk-abcdefghij0123456789abcd", "/mcp#token=q"],
)
def test_a_key_in_an_address_is_refused_and_not_stored(alita: Alita, tmp_path: Path, where: str) -> None:
    remote = Remote()
    with running(remote) as port:
        said = alita("mcp", "add", "far", f"http://127.0.0.1:{port}{where}")
        alita("mcp", "add", "far", f"http://someone:abc123@127.0.0.1:{port}/mcp")
    assert "far" not in json.loads(alita("mcp", "list", "--json").removesuffix("None"))
    assert "--header" in said or "address" in said
    assert not remote.seen, "it was sent there"
    value = where.rpartition("=")[2].encode()
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert len(value) < 4 or not any(value in path.read_bytes() for path in files)


def test_a_tool_shown_as_json_has_everything_that_its_approval_covers(alita: Alita) -> None:
    remote = Remote()
    with running(remote) as port:
        alita("mcp", "add", "far", f"http://127.0.0.1:{port}/mcp")
    (offer,) = json.loads(alita("mcp", "show", "far", "--json").removesuffix("None"))["tools"]
    one = json.loads(alita("mcp", "show", "far", "hi", "--json").removesuffix("None"))
    assert one["digest"] == offer["digest"] and len(one["digest"]) == 64
    assert one["pinned"]["tool"]["description"] == "Greets."
    assert {risk["name"] for risk in one["risks"]} == {"remote-code", "network"}
    accepted = [word for risk in one["risks"] for word in ("--accept", risk["name"])]
    assert "approved: far_hi v1" in alita("mcp", "approve", "far", "--digest", one["digest"], *accepted)
    after = json.loads(alita("mcp", "show", "far", "hi", "--json").removesuffix("None"))
    assert after["state"] == "approved" and after["approved"] == {"version": 1, "digest": one["digest"]}


def test_the_command_that_is_printed_below_a_tool_approves_it(alita: Alita) -> None:
    remote = Remote()
    with running(remote) as port:
        alita("mcp", "add", "far", f"http://127.0.0.1:{port}/mcp")
    shown = alita("mcp", "show", "far", "hi")
    (line,) = [line for line in shown.splitlines() if line.startswith("Approve it: alita ")]
    assert "approved: far_hi v1" in alita(*line.removeprefix("Approve it: alita ").split())


@pytest.mark.parametrize(
    "words",
    [
        ["--env", "HEADERS=sk-abcdefghij0123456789abcd", "--", "uvx", "a-server"],
        ["--", "uvx", "a-server", "--with", "sk-abcdefghij0123456789abcd"],
        ["--", "uvx", "a-server", "https://ann:hunter2hunter2@example.org/"],
    ],
)
def test_a_key_in_a_command_or_variable_is_refused_and_not_stored(
    alita: Alita, tmp_path: Path, words: list[str]
) -> None:
    said = alita("mcp", "add", "keyed", *words)
    assert "looks like a secret" in said
    kept = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and b"abcdefghij0123456789" in path.read_bytes()
    ]
    assert kept == []
