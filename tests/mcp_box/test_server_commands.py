"""`alita mcp` about servers: what a file, another folder, an edited document and a replaced server cannot do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from alita_tui.app.context import AppContext, close_all
from alita_tui.app.servers.book import KnownServer, ServerBook
from alita_tui.cli.main import cli
from alita_tui.events import Lock, ToolName, build_digest
from alita_tui.mcp_box.remote.commands import parse_command
from alita_tui.mcp_box.remote.opening import Opener
from alita_tui.mcp_box.remote.pinning import listing
from alita_tui.mcp_box.serve.descriptors import described
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.spine.servers import ServerSpec
from tests.mcp_box.web_lab import Remote, running

Alita = Callable[..., str]
SERVER = Path(__file__).with_name("hostile_server.py")


@pytest.fixture
def alita(tmp_path: Path) -> Alita:
    def command(*words: str) -> str:
        done = CliRunner().invoke(cli, ["--home", str(tmp_path / "home"), *words])
        close_all()
        wrong = done.exception
        assert wrong is None or isinstance(wrong, SystemExit | AlitaError), wrong
        return f"{done.output}{wrong}"

    return command


def test_an_imported_file_sends_no_secret_and_causes_no_request(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "verysecretvalue")
    remote = Remote()
    with running(remote) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        entries = {
            "docs": {"url": url, "headers": {"X-Trace": "${MODEL_KEY}"}}, "plain": {"url": url},
            "off": {"command": "uvx", "args": ["a-server"], "disabled": True}, "out": {"url": url, "enabled": False},
        }  # fmt: skip
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
        said = alita("mcp", "import", str(tmp_path / "mcp.json"))
        assert f"alita mcp add docs {url} --header X-Trace=MODEL_KEY" in said.replace("\n", "")
        assert "--only plain" in said and not remote.seen
        assert all(f"{name} is switched off in the file" in said for name in ("off", "out"))
        assert "plain_hi" in alita("mcp", "import", str(tmp_path / "mcp.json"), "--only", "plain")
        assert remote.seen and not any("x-trace" in seen for seen in remote.seen)


STAMPS = """import pathlib, sys
sys.argv[1:] = ["changes"]
pathlib.Path({mark!r}).write_text({word!r})
exec(pathlib.Path({server!r}).read_text())
"""


def test_a_host_server_runs_in_the_folder_where_it_was_added(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    for word in ("mine", "cloned"):
        (tmp_path / word).mkdir()
        code = STAMPS.format(mark=str(mark), word=word, server=str(SERVER))
        (tmp_path / word / "server.py").write_text(code)
    monkeypatch.chdir(tmp_path / "mine")
    words = tmp_path / "told"
    words.write_text("echo=Says it.")
    env = ("--env", f"TOLD={words}")
    words_typed = ["mcp", "add", "host", "--on-host", *env, "--", "python3", "server.py"]
    home = str(tmp_path / "home")
    added = CliRunner().invoke(cli, ["--home", home, *words_typed], color=True).output
    close_all()
    assert "host_echo" in added and "\x1b[31m" in added.partition("ALL YOUR RIGHTS")[0], "said in red"
    monkeypatch.chdir(tmp_path / "cloned")
    mark.unlink()
    assert "host_echo" in alita("mcp", "test", "host")
    assert mark.read_text() == "mine"
    assert "sandbox" in alita("mcp", "add", "two", "--on-host", "--with", "mcp", "--", "python3", "server.py")


TOOL = {"name": "now", "description": "Says the time.", "inputSchema": {"type": "object"}}
NEW = ServerSpec(name="time", argv=("python3", "-m", "clock"))


def test_an_edited_document_starts_and_approves_nothing(alita: Alita, tmp_path: Path) -> None:
    """Anyone who can write the data folder can write it; what a person typed is signed."""
    app = AppContext.open(tmp_path / "home")
    book = ServerBook(app)
    mark = tmp_path / "ran"
    host = ServerSpec(name="box", place="host", argv=("/bin/touch", str(mark)))
    typed = book.typed(KnownServer(spec=msgspec.structs.replace(host, place="sandbox")))
    book.keep(msgspec.structs.replace(typed, spec=host))
    other = msgspec.structs.replace(NEW, argv=("python3", "-c", "EVIL"))
    (draft,) = listing(other, {}, [TOOL]).drafts
    (good,) = listing(NEW, {}, [{**TOOL, "name": "zone"}]).drafts
    bent = msgspec.structs.replace(good, name=ToolName("time_bent"))
    book.keep(KnownServer(spec=NEW, drafts=(draft, good, bent)))
    problems = {str(one.draft.name): bool(one.problem) for one in book.offered(book.get("time"))}
    assert problems == {"time_now": True, "time_zone": False, "time_bent": True}
    close_all()
    for words in (("test", "box"), ("login", "box"), ("test", "time", "zone")):
        alita("mcp", *words)
    assert "not as it was added" in alita("mcp", "test", "box") and not mark.exists()
    said = alita("mcp", "approve", "time", "--digest", build_digest(draft, Lock()))
    assert "cannot be approved" in said and "not what time listed" in said


def test_a_replaced_server_runs_nothing_any_more(tmp_path: Path) -> None:
    app = AppContext.open(tmp_path / "home")
    book = ServerBook(app)
    old = ServerSpec(name="time", place="host", argv=("/bin/old",))
    for draft in listing(old, {}, [TOOL]).drafts:
        book.approve(draft, Lock(), ("on-host",))
    new = KnownServer(spec=NEW, drafts=listing(NEW, {}, [TOOL]).drafts)
    (record,) = book.tools_of("time")
    told = described(record)
    assert "all rights of its owner" in told["description"], "no grant holds what runs on the host"
    assert told["annotations"]["destructiveHint"] and not told["annotations"]["readOnlyHint"]
    assert book.put_in_place(new, replace=True) == ("time_now",)
    assert [record.state for record in book.tools_of("time")] == ["quarantined"]
    assert [one.state for one in book.offered(book.get("time"))] == ["changed"]
    book.approve(new.drafts[0], Lock(), ())
    assert book.put_in_place(new, replace=True) == (), "the same server, added again"
    close_all()


@pytest.mark.parametrize(
    ("server", "tool"), [("run", "tool"), ("ask", "user"), ("csv", "table"), ("find", "tool")]
)
def test_no_server_tool_takes_the_name_of_a_tool_of_alita(server: str, tool: str) -> None:
    found = listing(ServerSpec(name=server, argv=("x",)), {}, [{**TOOL, "name": tool}])
    assert not found.drafts and "its name here would be" in found.refused[0].reason


def test_a_list_has_no_digest_to_approve_by_and_a_tool_is_shown_whole(alita: Alita, tmp_path: Path) -> None:
    book = ServerBook(AppContext.open(tmp_path / "home"))
    spec = msgspec.structs.replace(NEW, env={"PYTHONSTARTUP": "/x"}, network=("a.example:443",))
    (draft,) = listing(spec, {}, [TOOL]).drafts
    book.keep(KnownServer(spec=spec, drafts=(draft,)))
    digest = build_digest(draft, Lock())
    close_all()
    for words in (("show", "time"), ("approve", "time"), ("approve", "time", "--digest", digest[0])):
        assert digest[:12] not in alita("mcp", *words)
    whole = alita("mcp", "show", "time", "now")
    assert all(one in whole for one in ("PYTHONSTARTUP", "clock", "a.example:443", digest))


def test_tools_with_similar_digests_are_distinguished(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who makes both can search for two descriptors whose digests share 16 digits; here the digest is bent instead."""
    from alita_tui import events

    app = AppContext.open(tmp_path / "home")
    book, real = ServerBook(app), events.build_digest
    tools = [{**TOOL, "name": name} for name in ("a_evil", "b_shown")]
    book.keep(book.typed(KnownServer(spec=NEW, drafts=listing(NEW, {}, tools).drafts)))
    close_all()
    monkeypatch.setattr(events, "build_digest", lambda *parts: "ab" * 16 + real(*parts)[32:])
    whole = alita("mcp", "show", "time", "b_shown")
    (line,) = [line for line in whole.splitlines() if line.startswith("Approve it: alita ")]
    for beginning in ("ab" * 8, "ab" * 16):
        said = alita("mcp", "approve", "time", "--digest", beginning)
        assert "All 64 digits" in said and "approved:" not in said
    assert len(line.split()[-1]) == 64, "what is to be typed is shown whole"


@pytest.mark.parametrize("option", ["--index-url", "--default-index"])
def test_another_package_index_is_not_mistaken_for_the_usual_one(option: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_command(("uvx", option, "https://pypi.corp.example/simple", "corp-tools"))
    assert parse_command(("npx", "-y", "pkg", "--", "exec", "-y", "/data")).argv == (
        "--",
        "exec",
        "-y",
        "/data",
    )
    assert parse_command(("npm", "exec", "--", "pkg", "exec")).argv == ("exec",)


async def test_nothing_is_granted_while_a_server_starts() -> None:
    log: list[str] = []

    class Started:
        def begin(self, call_id: str) -> None:
            log.append("granted")

        async def finish(self) -> None:
            log.append("taken back")

    class Boxes:
        async def open_program(self, program: object, progress: object) -> Started:
            return Started()

    opener: Any = Opener(Boxes(), lambda _: None, lambda _: True, Limits(), lambda *_: None, None, None)  # type: ignore[arg-type]
    await opener(NEW, Lock(), lambda _: None, "start")
    assert "granted" not in log
