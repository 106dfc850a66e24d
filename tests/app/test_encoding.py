"""The encoder of `library.encoder`: what it finds, what it costs and is sent, and what happens without it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.app.context import AppContext
from alita_tui.app.encoding import Encoding, check_encoder, finder, searched
from alita_tui.cli.main import cli
from alita_tui.events import Lock, ToolName
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.laws import check
from alita_tui.store.documents import DocumentTable
from tests.cli.audited import TOOL, Shell
from tests.llm.test_embedding import static_folder
from tests.support import streams
from tests.support.servers.embedding_server import EmbeddingServer
from tests.support.servers.wire import Fault
from tests.support.simulation import Desk

QUERY = "settle what we owe: pay the invoice"
KEY = "sk-secret-5d0c1b7e"
Open = Callable[..., AppContext]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(api_key=KEY) as opened:
        yield opened


@pytest.fixture
def opened(tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> Open:
    """A home with two tools, of which neither has a word of the query."""
    monkeypatch.setenv("LLM_API_KEY", KEY)

    def open_app(encoder: str = "", seconds: float = 20.0) -> AppContext:
        chosen = encoder or f"custom:embed-1; base_url={server.base_url}"
        (tmp_path / "config.toml").write_text(
            f'[library]\nencoder = "{chosen}"\nencoder_seconds = {seconds}\n'
        )
        app = AppContext.open(tmp_path)
        library = ToolLibrary(
            DocumentTable(tmp_path / "tools.json", "tools"), tmp_path / "box", finder=finder(app)
        )
        for name, text in (("cash_desk", "Books cash and money."), ("sky", f"Rain forecast. {KEY}")):
            draft = msgspec.structs.replace(
                streams.DRAFT, name=ToolName(name), description=text, input_schema={}
            )
            library.register(draft, Lock(), approval_id=name, digest=e.BuildDigest(draft.digest), sources=())
        app.__dict__["library"] = library
        return app

    return open_app


def nearest(result: object) -> list[str]:
    assert isinstance(result, msgspec.Struct)
    found = [*result.hits, *result.near_misses]  # type: ignore[attr-defined]
    return [str(getattr(one, "card", one).name) for one in found]


async def test_a_need_in_other_words_is_found_and_each_text_is_sent_once(
    opened: Open, server: EmbeddingServer
) -> None:
    app = opened()
    assert "cash_desk" not in nearest(app.library.search(QUERY)), "no word of it is shared"
    found, problem = await searched(app, QUERY, 5)
    assert problem is None and nearest(found)[:1] == ["cash_desk"]
    assert len(server.texts) == 3 and KEY not in str(server.texts), "what is sent is redacted"
    assert app.spend_book("other").today().tokens == 7, "it counts toward the day"

    again = opened()
    await searched(again, "a photo", 5)
    assert server.texts[3:] == ["a photo"], "the vectors of the library are kept in a file"
    await searched(opened(f"custom:embed-2; base_url={server.base_url}"), "a photo", 5)
    assert len(server.texts) == 7, "another model makes its own"
    (app.paths.tool_vectors).write_bytes(b"damaged")
    await searched(opened(), "a photo", 5)
    assert len(server.texts) == 10


async def test_in_a_session_it_is_paid_as_a_call_and_the_agent_finds_by_it(
    opened: Open, server: EmbeddingServer
) -> None:
    app, desk = opened(), Desk()
    encoding = Encoding(app, desk.bus, desk.calls)
    found = await TaskLibrary(app.library, encoding.bring).find(QUERY)
    await encoding.aclose()
    assert nearest(found)[:1] == ["cash_desk"]
    (reserved,), (spent,) = desk.events(e.BudgetReserved), desk.events(e.BudgetSpent)
    assert (reserved.role, spent.role, spent.tokens) == ("encoder", "encoder", 7)
    assert reserved.tokens >= 7 and not list(check(desk.bus.history))


async def test_what_the_budget_does_not_allow_is_not_sent_and_told_once(
    opened: Open, server: EmbeddingServer
) -> None:
    app, desk = opened(), Desk(budget=Budget(session=Cap(tokens=3)))
    encoding = Encoding(app, desk.bus, desk.calls)
    shelf = TaskLibrary(app.library, encoding.bring)
    for query in (QUERY, "rain"):
        await shelf.find(query)
    await encoding.aclose()
    assert server.requests == []
    (notice,) = desk.events(e.NoticeRaised)
    assert "without the encoder" in notice.text


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(body=b"<html>"), Fault(status=401)])
async def test_where_it_fails_the_search_goes_without(
    opened: Open, server: EmbeddingServer, fault: Fault
) -> None:
    server.plan(fault)
    found, problem = await searched(opened(), "Books cash", 5)
    assert problem is not None and nearest(found)[:1] == ["cash_desk"]


async def test_a_slow_server_is_not_waited_for(opened: Open, server: EmbeddingServer) -> None:
    class Slow(EmbeddingServer):
        async def _plain(self, *given: object) -> bool:
            await asyncio.sleep(30)
            return False

    with Slow() as slow:
        app = opened(f"custom:embed-1; base_url={slow.base_url}", 0.5)
        app.library.search("x")
        began = time.monotonic()
        found, problem = await searched(app, "Books cash", 5)
        assert problem is not None and nearest(found)[:1] == ["cash_desk"]
        assert time.monotonic() - began < 15, (
            "the SDK's import takes what it takes; the server's half minute nobody waits"
        )


async def test_doctor_says_how_it_is(opened: Open, tmp_path: Path, server: EmbeddingServer) -> None:
    (ok,) = await check_encoder(opened())
    assert ok.state == "ok" and "4 numbers" in ok.detail
    (none,) = await check_encoder(opened(str(tmp_path / "nothing")))
    assert none.state == "warning" and "no static model" in none.detail
    (wrong,) = await check_encoder(opened("anthropic:claude"))
    assert wrong.state == "warning"


def test_the_shell_searches_with_a_static_model_and_says_when_it_is_missing(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home")

    def search(folder: Path) -> tuple[str, str]:
        (shell.home / "config.toml").write_text(f'[library]\nencoder = "{folder}"\nencoder_seconds = 60\n')
        done = CliRunner().invoke(cli, ["--home", str(shell.home), "tools", "search", "e-mail addresses"])
        assert done.exit_code == 0, done.output
        return done.stdout, done.stderr

    told, complaint = search(static_folder(tmp_path / "model"))
    assert TOOL in told and not complaint
    assert (shell.home / "cache" / "tools.vectors").stat().st_mode & 0o777 == 0o600
    told, complaint = search(tmp_path / "gone")
    assert TOOL in told and complaint.count("Without the encoder") == 1
