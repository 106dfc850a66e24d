"""`alita run` with real settings and servers: failing over, and a budget that does not do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script
from tests.cli.scripted_runs import SCRIPT, act, settle
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault


@pytest.fixture
def servers() -> Iterator[tuple[OpenAIServer, OpenAIServer]]:
    with OpenAIServer(SCRIPT) as one, OpenAIServer(SCRIPT) as two:
        yield one, two


def alita(home: Path, *words: str) -> tuple[int, list[dict[str, Any]]]:
    command = [sys.executable, "-m", "alita_tui", "--home", str(home), *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)
    return done.returncode, [json.loads(line)["event"] for line in done.stdout.splitlines()]


def kinds(events: list[dict[str, Any]], *wanted: str) -> list[str]:
    return [event["kind"] for event in events if event["kind"] in wanted]


def test_the_second_model_continues_the_same_conversation(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer]
) -> None:
    one, two = servers
    settle(tmp_path / "home", servers)
    one.plan(Fault(), Fault(status=402))
    code, events = alita(tmp_path / "home", "run", "find a thing")
    assert code == 0
    assert [event["model"] for event in events if event["kind"] == "model_replied"] == [
        "custom:one",
        "custom:two",
    ]
    (moved,) = [event for event in events if event["kind"] == "provider_failed_over"]
    assert (moved["previous"], moved["model"]) == ("custom:one", "custom:two") and "402" in moved["reason"]
    assert [message.text for message in two.messages_of(two.requests[0].body)][:1] == ["TASK: find a thing"]
    assert len(two.messages_of(two.requests[0].body)) == 3
    spent = [event for event in events if event["kind"] == "budget_spent"]
    assert [event["cost_usd"] for event in spent] == [None, 0.0, pytest.approx(0.00208)]


def test_an_exceeded_budget_exits_with_3_and_the_task_continues_once_it_is_raised(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer]
) -> None:
    home = tmp_path / "home"
    settle(home, servers, "task_tokens = 14000")
    code, events = alita(home, "run", "find a thing")
    assert code == 3
    assert kinds(events, "model_replied", "task_finished") == ["model_replied", "task_finished"]
    (ended,) = [event for event in events if event["kind"] == "task_finished"]
    assert ended["outcome"] == "budget" and "budget.task_tokens" in ended["hint"]
    code, events = alita(home, "resume")
    assert code == 3 and "model_replied" not in kinds(events, "model_replied")
    settle(home, servers, "task_tokens = 40000")
    code, events = alita(home, "resume")
    assert code == 0
    assert events[-1]["kind"] == "session_closed" and "there is none" in json.dumps(events)


class Page(BaseHTTPRequestHandler):
    """A page that never changes, and says so."""

    def do_GET(self) -> None:
        known = self.headers.get("If-None-Match") == '"v1"'
        body = b"" if known else b"<title>T</title><main>What was to be known.</main>"
        self.send_response(304 if known else 200)
        for name, value in (
            ("ETag", '"v1"'),
            ("Content-Type", "text/html"),
            ("Content-Length", str(len(body))),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def test_an_unchanged_page_is_not_fetched_again_by_a_later_session(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    site = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    serving = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    host = f"127.0.0.1:{site.server_port}"
    replies = (act("read_page", url=f"http://{host}/"), act("answer", text="read"))
    script = Script(
        format="alita-script/1",
        name="read",
        rules=(Rule(role="orchestrator", match="TASK: ", replies=replies),),
    )
    with OpenAIServer(script) as server:
        (home / "config.toml").write_text(
            f'[model]\nprovider = "custom"\nname = "m"\nbase_url = "{server.base_url}"\n'
            f'[web]\nallowed_private = ["{host}"]\n'
        )
        read = []
        for _ in range(2):
            code, events = alita(home, "run", "read it")
            assert code == 0
            read += [event for event in events if event["kind"] == "page_read"]
    site.shutdown()
    site.server_close()
    serving.join()
    assert [(one.get("unchanged", False), one["text"]) for one in read] == [
        (False, "What was to be known."), (True, "What was to be known."),
    ]  # fmt: skip


def test_the_daily_budget_is_shared_by_all_sessions(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer]
) -> None:
    home = tmp_path / "home"
    settle(home, servers, "day_tokens = 15000")
    assert alita(home, "run", "find a thing")[0] == 0
    code, events = alita(home, "run", "find a thing")
    assert code == 3 and "for the day" in json.dumps(events)
