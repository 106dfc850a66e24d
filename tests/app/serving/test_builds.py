"""A client asks for a tool; only the person can approve it; then the client has it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from typer.testing import CliRunner, Result

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import recording
from alita_tui.app.serving import builds as serving_builds
from alita_tui.app.serving.builds import RequestedBuild, RequestedBuilds, as_recorded
from alita_tui.app.serving.library import Serving
from alita_tui.cli.main import cli
from alita_tui.llm.scripted import Rule, Script
from alita_tui.mcp_box.serve.server import ToolServer
from alita_tui.spine.errors import UsageError
from alita_tui.spine.laws import check
from alita_tui.spine.ports.serving import BuildRequest, BuildStatus
from alita_tui.spine.ports.serving import Client as Caller
from alita_tui.store.sessions import SessionFile
from tests.e2e.conftest import index, keep, sandbox_ready, shell  # noqa: F401
from tests.e2e.test_improving import FIRST, TESTS, submitted
from tests.e2e.walks import accepting
from tests.support import mcp_lab as lab
from tests.support import streams
from tests.support.servers.openai_server import OpenAIServer

NEED = {"name": "last_word", "need": "Gives the last word of a text."}
MODEL = {"ALITA_MODEL": "openai:test-model", "OPENAI_API_KEY": "sk-not-a-real-key"}
SCRIPT = Script(
    format="alita-script/1",
    name="asked over MCP",
    rules=(
        Rule(role="toolsmith", match="Tool name: last_word", replies=(submitted(FIRST, TESTS),) * 2),
        Rule(role="toolsmith", match="Tool name: second_try", replies=(submitted(FIRST, TESTS),) * 2),
    ),
)


def alita(home: Path, *words: str) -> Result:
    done = CliRunner().invoke(cli, ["--home", str(home), *words])
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done


def decide(home: Path, *words: str) -> None:
    """Approve the one build that waits, as a person does from a shell."""
    (waiting,) = json.loads(alita(home, "builds", "list", "--json").stdout)
    shown = json.loads(alita(home, "builds", "show", waiting["approval_id"], "--json").stdout)
    kind = {**shown["build"], "accept": shown["accept"]}
    alita(home, "builds", "approve", kind["approval_id"], "--digest", kind["digest"], *accepting(kind))


@pytest.mark.podman
@pytest.mark.slow
async def test_a_build_that_a_client_requests_is_used_once_a_person_approves_it(
    shell: Any, keep: Any
) -> None:
    home: Path = shell.home
    lab.furnished(home, lab.ADD, settings="")
    heard: list[str] = []
    asked_of_client: list[str] = []

    async def on(message: Any) -> None:
        heard.append(type(getattr(message, "root", message)).__name__)

    async def elicited(*_: Any) -> Any:
        asked_of_client.append("elicitation")
        raise AssertionError("no client is ever asked to approve")

    with OpenAIServer(SCRIPT) as server:
        model = {**MODEL, "ALITA_MODEL_BASE_URL": server.base_url, "ALITA_WEB_PYPI_URL": shell.environ["ALITA_WEB_PYPI_URL"]}  # fmt: skip
        async with lab.client(home, name="an editor", on=on, asked=elicited, **model) as one:
            names = [tool.name for tool in (await one.list_tools()).tools]
            assert names == ["build_tool", "build_status"], "nothing is trusted yet"
            begun = (await one.call_tool("build_tool", NEED)).structured_content
            assert begun["state"] == "building" and begun["poll_after_seconds"] > 0
            again = (await one.call_tool("build_tool", NEED)).structured_content
            assert again["build_id"] == begun["build_id"], "asking twice builds once"
            busy = await one.call_tool("build_tool", {**NEED, "name": "second_try"})
            assert busy.is_error and "Another tool is being built" in busy.content[0].text  # type: ignore[union-attr]

            async def state() -> str:
                found = await one.call_tool("build_status", {"build_id": begun["build_id"]})
                return str(found.structured_content["state"])

            async with asyncio.timeout(240):
                while await state() == "building":
                    await asyncio.sleep(0.5)
            assert await state() == "waiting"
            early = await one.call_tool("call_tool", {"name": "last_word", "arguments": {"text": "a b"}})
            assert early.is_error, "it does not run before the person approved it"
            with pytest.raises(MCPError, match="Unknown tool"):
                await one.call_tool("last_word", {"text": "a b"})
            assert "ToolListChangedNotification" not in heard

            await asyncio.to_thread(decide, home)
            async with asyncio.timeout(180):
                while "ToolListChangedNotification" not in heard:
                    await asyncio.sleep(0.1)
            async with asyncio.timeout(180):  # the library has it a moment before the record says so
                while await state() != "approved":
                    await asyncio.sleep(0.1)
            names = [tool.name for tool in (await one.list_tools(cache_mode="refresh")).tools]
            assert names == ["build_tool", "build_status", "last_word"], (
                "what was asked for is served, provisional"
            )
            used = await one.call_tool("last_word", {"text": "one two three"})
            assert used.structured_content == {"word": "three"}
        assert asked_of_client == []
    app = AppContext.open(home)
    records = {path.stem: recording(app, path.stem) for path in lab.sessions(home)}
    for record in records.values():
        assert check(record, complete=True) == []
    built = records[begun["build_id"]]
    (submitted_task,) = [one.event for one in built if isinstance(one.event, e.TaskSubmitted)]
    assert "an editor asks over MCP" in submitted_task.text
    assert submitted_task.improves == "mcp:last_word", "no rule of a policy decides on what is proposed"
    assert [one.verdict for one in app.audit.entries()][-1] == "approved"
    app.close()
    (home / "data" / "sessions" / f"{begun['build_id']}.json").touch()
    keep(home, "golden-asked")


def test_a_build_status_follows_the_record() -> None:
    asked = RequestedBuild(
        session_id="s", name="validate_email_addresses", client="x", at="2026-11-22T10:00:00+00:00"
    )
    walk = [one for one in streams.walkthrough() if one.durable]
    waits = next(n for n, one in enumerate(walk) if isinstance(one.event, e.ApprovalRequested))
    assert as_recorded(asked, walk[:waits]).state == "building"
    waiting = as_recorded(asked, walk[: waits + 1])
    assert (waiting.state, waiting.approval_id) == ("waiting", walk[waits].event.approval_id)  # type: ignore[union-attr]
    approved = as_recorded(asked, walk)
    assert approved.state == "approved" and approved.digest == streams.DIGEST
    failed = e.TaskFinished(task_id=e.TaskId("t"), outcome="budget", reason="too dear")
    ended = [*walk[:waits], walk[-1].__class__(seq=1, session_id="s", at=walk[0].at, event=failed)]
    assert as_recorded(asked, ended).state == "failed" and as_recorded(asked, ended).text == "too dear"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "Bad Name", "need": "x"}, "not a name"),
        ({"name": "../../etc", "need": "x"}, "not a name"),
        ({"name": "fine", "need": " "}, "A need"),
        ({"name": "fine", "need": "x" * 2001}, "A need"),
        ({"name": "fine", "need": "x", "hosts": ["not a host"]}, "hosts"),
        ({"name": "fine", "need": "x", "examples": [{"input": "y" * 30_000}]}, "examples"),
        ({"name": "fine"}, "input schema"),
        ({"name": 3, "need": "x"}, "input schema"),
        ({"name": "fine", "need": "x", "hosts": "a"}, "input schema"),
    ],
)
async def test_an_invalid_request_for_a_tool_builds_nothing(
    tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    home = lab.furnished(tmp_path / "home", lab.ADD, settings='[model]\nprovider = "ollama"\nname = "m"\n')
    serving = Serving(AppContext.open(home))
    async with Client(ToolServer(serving, "1", listed=30).server) as one:
        refused = await one.call_tool("build_tool", wrong)
        assert refused.is_error and said in refused.content[0].text  # type: ignore[union-attr]
        unknown = await one.call_tool("build_status", {"build_id": "../x"})
        assert unknown.is_error and "No build" in unknown.content[0].text  # type: ignore[union-attr]
    await serving.close()
    assert not lab.sessions(home)


async def test_builds_have_a_daily_cap_and_are_not_offered_without_a_model(tmp_path: Path) -> None:
    home = lab.furnished(tmp_path / "home", lab.ADD, settings="")
    assert not Serving(AppContext.open(home)).builds
    (home / "config.toml").write_text('[model]\nprovider = "ollama"\nname = "m"\n[mcp]\nbuilds_per_day = 1\n')
    app = AppContext.open(home)
    assert Serving(app).builds
    builds = RequestedBuilds(app)
    builds._store(
        RequestedBuild(session_id="s", name="other", client="x", at=now().isoformat(), state="rejected")
    )
    with pytest.raises(UsageError, match="As many tools were asked for today as may be: 1"):
        await builds.begin(Caller(name="x"), BuildRequest(name="fine", need="x"))
    app.close()


@pytest.mark.parametrize(("names", "kept"), [(("fine", "other"), 1), (("fine", "fine"), 2)])
async def test_of_two_servers_that_are_asked_at_once_the_cap_lets_one_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str], kept: int
) -> None:
    """`mcp.builds_per_day` caps the home, not each of the servers that its clients have started."""
    home = lab.furnished(
        tmp_path / "home", lab.ADD,
        settings='[model]\nprovider = "ollama"\nname = "m"\n[mcp]\nbuilds_per_day = 1\n',
    )  # fmt: skip
    apps = [AppContext.open(home), AppContext.open(home)]
    servers = [RequestedBuilds(app) for app in apps]
    monkeypatch.setattr(RequestedBuilds, "_run", lambda *_: None)
    monkeypatch.setattr(RequestedBuilds, "watch", lambda _: None)
    begun = await asyncio.gather(
        *(
            server.begin(Caller(name="x"), BuildRequest(name=name, need="x"))
            for server, name in zip(servers, names, strict=True)
        ),
        return_exceptions=True,
    )
    handles = [one.build_id for one in begun if isinstance(one, BuildStatus)]
    assert (len(handles), len(set(handles))) == (kept, 1), begun
    assert all(
        "As many tools were asked for" in str(one) for one in begun if not isinstance(one, BuildStatus)
    )
    assert len(lab.sessions(home)) == 1
    for app in apps:
        app.close()


async def test_an_interrupted_build_is_resumed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = lab.furnished(tmp_path / "home", lab.ADD, settings='[model]\nprovider = "ollama"\nname = "m"\n')
    app = AppContext.open(home)
    session_id = "20261120-093000-aaaa"
    walk = [one for one in streams.walkthrough() if one.durable]
    waits = next(n for n, one in enumerate(walk) if isinstance(one.event, e.ApprovalRequested))
    file = SessionFile.create(app.sessions.path(session_id), session_id)
    for one in walk[:waits]:
        await file.record(msgspec.structs.replace(one, session_id=session_id), barrier=False)
    file.close()
    opened: list[str] = []

    class Cut:
        async def run(self, *, until_idle: bool) -> None:
            return

    async def taken_up(_: AppContext, which: str, *, parks: bool) -> Cut:
        assert parks, "nobody decides here"
        opened.append(which)
        return Cut()

    monkeypatch.setattr(serving_builds, "open_session", taken_up)
    builds = RequestedBuilds(app)
    builds._store(RequestedBuild(session_id=session_id, name="x_tool", client="x", at=now().isoformat()))
    builds._store(
        RequestedBuild(session_id="20200101-000000-bbbb", name="gone", client="x", at=now().isoformat())
    )
    builds.watch()
    await lab.until(lambda: builds.status("20200101-000000-bbbb").state == "failed")
    await lab.until(lambda: opened)
    await asyncio.sleep(2 * serving_builds._LOOK_SECONDS)
    await builds.close()
    assert opened == [session_id], "what gets no further is not begun again and again"
    assert builds.status(session_id).state == "building"
    app.close()


@pytest.mark.podman
@pytest.mark.walk
def test_an_exported_server_has_its_missing_tool_built_first(shell: Any, tmp_path: Path) -> None:
    home: Path = shell.home
    lab.furnished(home, lab.ADD, settings="")
    words = [
        sys.executable,
        "-m",
        "alita_tui",
        "mcp",
        "new",
        "words",
        "--tool",
        "last_word",
        "--to",
        str(tmp_path),
    ]

    def new(model: dict[str, str], answers: str) -> tuple[int, str]:
        person, terminal = os.openpty()
        os.write(person, answers.encode())
        done = subprocess.run(
            words, env=lab.environ(home, **model), stdin=terminal, capture_output=True, text=True, check=False
        )
        os.close(person)
        os.close(terminal)
        return done.returncode, done.stdout + done.stderr

    with OpenAIServer(SCRIPT) as server:
        model = {**MODEL, "ALITA_MODEL_BASE_URL": server.base_url, "ALITA_WEB_PYPI_URL": shell.environ["ALITA_WEB_PYPI_URL"]}  # fmt: skip
        code, said = new(model, "Gives the last word of a text.\n")
    assert code == 4 and "last_word waits for your decision" in said, said
    assert "alita mcp new words --tool last_word" in said
    assert not (tmp_path / "words").exists()
    decide(home)
    (waiting,) = lab.sessions(home)
    alita(home, "resume", waiting.stem)
    code, said = new({}, "")
    assert code == 0 and (tmp_path / "words" / "pyproject.toml").exists(), said


def test_without_a_model_the_missing_tools_are_named_and_nothing_is_exported(tmp_path: Path) -> None:
    home = lab.furnished(tmp_path / "home", lab.ADD)
    words = ["--home", str(home), "mcp", "new", "words", "--tool", "last_word", "--to", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "alita_tui", *words], env=lab.environ(home), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "Nobody is there to ask" in done.stderr
    assert not (tmp_path / "words").exists()
