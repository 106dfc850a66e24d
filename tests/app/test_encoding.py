"""The encoder of `library.encoder`: what it finds, what it costs and is sent, and what happens without it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.app.context import AppContext
from alita_tui.app.encoding import Encoding, check_encoder, finder, searched, would_recall
from alita_tui.app.memory import forgotten
from alita_tui.app.session import open_session
from alita_tui.cli.main import cli
from alita_tui.events import Lock, ToolName
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.laws import check
from alita_tui.store.documents import DocumentTable
from tests.cli.audited import TOOL, Shell
from tests.crash.scene import open_app
from tests.llm.static_models import static_folder
from tests.support import streams
from tests.support.servers.embedding_server import EmbeddingServer
from tests.support.servers.wire import Fault
from tests.support.simulation import Desk

QUERY = "settle what we owe: pay the invoice"
KEY = "sk-secret-5d0c1b7e"
Open = Callable[..., AppContext]


class SlowServer(EmbeddingServer):
    """Answers when nobody waits any more."""

    async def _plain(self, *given: object) -> bool:
        await asyncio.sleep(30)
        return False


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


async def test_an_embedding_in_a_session_is_paid_like_a_call_and_improves_the_search(
    opened: Open, server: EmbeddingServer
) -> None:
    app, desk = opened(), Desk()
    encoding = Encoding(app, desk.bus, desk.calls)
    found = await TaskLibrary(app.library, encoding.for_search).find(QUERY)
    await encoding.aclose()
    assert nearest(found)[:1] == ["cash_desk"]
    (reserved,), (spent,) = desk.events(e.BudgetReserved), desk.events(e.BudgetSpent)
    assert (reserved.role, spent.role, spent.tokens) == ("encoder", "encoder", 7)
    assert reserved.tokens >= 7 and not list(check(desk.bus.history))


async def test_an_embedding_over_budget_is_not_sent_and_reported_once(
    opened: Open, server: EmbeddingServer
) -> None:
    app, desk = opened(), Desk(budget=Budget(session=Cap(tokens=3)))
    encoding = Encoding(app, desk.bus, desk.calls)
    shelf = TaskLibrary(app.library, encoding.for_search)
    for query in (QUERY, "rain"):
        await shelf.find(query)
    await encoding.aclose()
    assert server.requests == []
    (notice,) = desk.events(e.NoticeRaised)
    assert "without the encoder" in notice.text


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(body=b"<html>"), Fault(status=401)])
async def test_if_the_encoder_fails_the_search_runs_without_it(
    opened: Open, server: EmbeddingServer, fault: Fault
) -> None:
    server.plan(fault)
    found, problem = await searched(opened(), "Books cash", 5)
    assert problem is not None and nearest(found)[:1] == ["cash_desk"]


async def test_a_slow_server_does_not_delay_a_search(opened: Open, server: EmbeddingServer) -> None:
    with SlowServer() as slow:
        app = opened(f"custom:embed-1; base_url={slow.base_url}", 0.5)
        app.library.search("x")
        began = time.monotonic()
        found, problem = await searched(app, "Books cash", 5)
        assert problem is not None and nearest(found)[:1] == ["cash_desk"]
        assert time.monotonic() - began < 15, (
            "the SDK's import takes what it takes; the server's half minute nobody waits"
        )


async def test_doctor_reports_the_state_of_the_encoder(
    opened: Open, tmp_path: Path, server: EmbeddingServer
) -> None:
    (ok,) = await check_encoder(opened())
    assert ok.state == "ok" and "4 numbers" in ok.detail
    (none,) = await check_encoder(opened(str(tmp_path / "nothing")))
    assert none.state == "warning" and "no static model" in none.detail
    (wrong,) = await check_encoder(opened("anthropic:claude"))
    assert wrong.state == "warning"


def test_the_shell_searches_with_a_static_model_and_reports_a_missing_one(tmp_path: Path) -> None:
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


# --- recall


def remember(app: AppContext) -> None:
    """Two recipes, of which neither has a word of the query."""
    for number, (name, task) in enumerate((("pay", f"transfer money {KEY}"), ("sky", "will it rain"))):
        item = e.MemoryItem(
            item_id=name, memory="procedural", text=task, source_session="s", source_seq=number, tools=(name,)
        )
        app.memory.write(item)


def recalled(app: AppContext) -> list[str]:
    return [item.item_id for item in app.memory.recall(QUERY)]


async def test_a_task_in_other_words_is_recalled_without_sending_secrets(
    opened: Open, server: EmbeddingServer
) -> None:
    app = opened()
    remember(app)
    assert recalled(app) == []
    found, problem = await would_recall(app, QUERY)
    assert problem is None and [item.item_id for item in found] == ["pay"]
    assert KEY not in str(server.texts), "what is sent is redacted"
    sent = len(server.texts)
    again = opened()
    await would_recall(again, "a photo")
    assert server.texts[sent:] == ["a photo"], "the vectors of the memory are kept in a file"
    assert again.paths.memory_vectors.stat().st_mode & 0o777 == 0o600


async def test_a_recall_in_a_session_is_paid_like_a_call(opened: Open, server: EmbeddingServer) -> None:
    app, desk = opened(), Desk()
    remember(app)
    app.memory.recall(QUERY)
    encoding = Encoding(app, desk.bus, desk.calls)
    assert await encoding.for_recall(QUERY)
    await encoding.aclose()
    assert recalled(app) == ["pay"]
    spent = desk.events(e.BudgetSpent)
    assert {(one.role, one.tokens) for one in spent} == {("encoder", 7)} and not list(check(desk.bus.history))
    assert len(spent) == len(server.requests)


async def test_a_failing_encoder_is_reported_once_for_search_and_recall(
    opened: Open, server: EmbeddingServer
) -> None:
    server.plan(Fault(status=401))
    app, desk = opened(), Desk()
    remember(app)
    encoding = Encoding(app, desk.bus, desk.calls)
    app.memory.recall(QUERY)
    for _ in range(3):
        assert not await encoding.for_recall(QUERY)
    assert not await encoding.for_search(QUERY)
    await encoding.aclose()
    (notice,) = desk.events(e.NoticeRaised)
    assert "without the encoder" in notice.text
    assert [item.item_id for item in app.memory.recall("transfer money")] == ["pay"], "by its words"


async def test_a_slow_server_does_not_delay_a_task_for_long(opened: Open) -> None:
    with SlowServer() as slow:
        app, desk = opened(f"custom:embed-1; base_url={slow.base_url}", 0.5), Desk()
        remember(app)
        app.memory.recall(QUERY)
        encoding = Encoding(app, desk.bus, desk.calls)
        async with asyncio.timeout(
            15
        ):  # the SDK's import takes what it takes; the server's half minute nobody waits
            for _ in range(3):
                assert not await encoding.for_recall(QUERY)
        await encoding.aclose()
    assert len(desk.events(e.NoticeRaised)) == 1


async def test_forgetting_leaves_no_vectors_after_the_encoder_was_removed(
    opened: Open, server: EmbeddingServer
) -> None:
    app = opened()
    remember(app)
    await would_recall(app, QUERY)
    assert app.paths.memory_vectors.is_file()
    without = opened(" ")
    await forgotten(without, without.memory.find("pay"))
    assert not without.paths.memory_vectors.exists()


def test_without_an_encoder_a_recall_imports_nothing_for_one(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from alita_tui.app.context import AppContext
app = AppContext.open(Path({str(tmp_path)!r}))
app.memory.recall("pay the bill")
print(*{{"model2vec", "alita_tui.llm.embedding", "alita_tui.llm.factory", "openai"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_shell_recalls_with_a_static_model_and_without_one_writes_no_vectors(tmp_path: Path) -> None:
    home = tmp_path / "home"
    app = AppContext.open(home)
    item = e.MemoryItem(
        item_id="pay", memory="procedural", text="cash", source_session="s", source_seq=1, tools=("pay",)
    )
    app.memory.write(item)
    app.close()

    def search(encoder: str) -> tuple[int, str, str]:
        (home / "config.toml").write_text(f'[library]\nencoder = "{encoder}"\nencoder_seconds = 60\n')
        done = CliRunner().invoke(cli, ["--home", str(home), "memory", "search", "money"])
        return done.exit_code, done.stdout, done.stderr

    assert search("")[0] == 1 and not (home / "cache" / "memory.vectors").exists()
    code, told, complaint = search(str(static_folder(tmp_path / "model")))
    assert code == 0 and "pay" in told and not complaint
    assert (home / "cache" / "memory.vectors").is_file()
    code, _, complaint = search(str(tmp_path / "gone"))
    assert code == 1 and complaint.count("Without the encoder") == 1


async def test_a_session_recalls_with_the_configured_encoder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    encoder = static_folder(tmp_path / "model")
    (home / "config.toml").write_text(f'[library]\nencoder = "{encoder}"\nencoder_seconds = 60\n')
    app = open_app(tmp_path)
    item = e.MemoryItem(
        item_id="pay", memory="procedural", text="cash", source_session="s", source_seq=1, tools=("pay",)
    )
    app.memory.write(item)
    session = await open_session(app, None, parks=True)
    session.send(SubmitTask(text="money"))
    async with asyncio.timeout(60):
        await session.run(until_idle=True)
    (recalled,) = [one.event for one in session.bus.history if isinstance(one.event, e.MemoryRecalled)]
    assert [one.item_id for one in recalled.items] == ["pay"]
