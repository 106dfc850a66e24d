"""`alita run` that searches and reads: real settings and keys, real servers, what goes over the wire to the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script, ScriptReply
from tests.cli.scripted_runs import act
from tests.support.servers.openai_server import OpenAIServer
from tests.web.conftest import Site
from tests.web.pdfs import pdf

KEY = "tvly-0123456789abcdef"
KEYRING = """
from keyring.backend import KeyringBackend
class Drawer(KeyringBackend):
    priority = 1
    def get_password(self, service, name):
        return {key!r} if (service, name) == ("alita", "TAVILY_API_KEY") else None
    def set_password(self, service, name, value): ...
"""


@pytest.fixture
def site() -> Iterator[Site]:
    one = Site().start()
    yield one
    one.stop()


def run(
    home: Path, site: Site, *replies: ScriptReply, **environ: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the events, and what the model was sent last, message by message."""
    rules = (Rule(role="orchestrator", match="TASK: ", replies=(*replies, act("answer", text="done"))),)
    with OpenAIServer(Script(format="alita-script/1", name="research", rules=rules)) as server:
        (home / "config.toml").write_text(
            f'[model]\nprovider = "custom"\nname = "m"\nbase_url = "{server.base_url}"\n'
            f'[web]\nallowed_private = ["{site.host}"]\nsearxng_url = "{site.url}"\n'
            f'tavily_url = "{site.url}/tavily"\nduckduckgo_url = "{site.url}/html/"\n'
        )
        done = subprocess.run(
            [sys.executable, "-m", "alita_tui", "--home", str(home), "run", "look it up", "--json"],
            capture_output=True,
            text=True,
            timeout=400,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environ},
        )
        assert done.returncode == 0, done.stderr
        events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
        sent = [message.text for message in server.messages_of(server.requests[-1].body)]
    return events, sent


def only(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


@pytest.mark.parametrize("place", ["keyring", ".env", "environment"])
def test_a_search_goes_to_the_next_provider_with_its_stored_key(
    tmp_path: Path, site: Site, place: str
) -> None:
    """The provider that has the key sends it back in its results: it is on no record, and the model never sees it."""
    home = tmp_path / "home"
    home.mkdir()
    environ = {}
    if place == "keyring":
        (tmp_path / "drawer.py").write_text(KEYRING.format(key=KEY))
        path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))
        environ = {"PYTHON_KEYRING_BACKEND": "drawer.Drawer", "PYTHONPATH": path}
    elif place == ".env":
        (home / ".env").write_text(f"TAVILY_API_KEY={KEY}\n")
    else:
        environ = {"TAVILY_API_KEY": KEY}
    found = {"title": "T", "url": "https://t.example/", "content": f"you sent {KEY}"}
    site.routes["/search"] = (200, {"Content-Type": "application/json"}, b"<html>")
    body = json.dumps({"results": [found]}).encode()
    site.routes["/tavily"] = (200, {"Content-Type": "application/json"}, body)
    events, sent = run(home, site, act("search_web", query="parquet to csv"), **environ)
    (searched,) = only(events, "web_searched")
    assert searched["provider"] == "tavily"
    assert [one["provider"] for one in searched["failed"]] == ["searxng"]
    assert site.requests[-1][1]["authorization"] == f"Bearer {KEY}"
    assert any('source="search:tavily"' in text and "searxng did not answer" in text for text in sent)
    written = [path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != ".env"]
    assert KEY not in json.dumps([events, sent]) and not any(KEY.encode() in data for data in written)


def test_a_pdf_and_a_long_page_are_read_in_parts(tmp_path: Path, site: Site) -> None:
    home = tmp_path / "home"
    home.mkdir()
    manual = site.html("/m.pdf", pdf("Chapter one", "The torque is 42 Nm."), "application/pdf")
    rows = "".join(f"<tr><td>part {n}</td><td>{n * 3}</td></tr>" for n in range(900))
    table = site.html("/t", f"<h1>Parts</h1><table><tr><th>part</th><th>price</th></tr>{rows}</table>")
    events, sent = run(
        home,
        site,
        act("read_page", url=manual),
        act("read_page", url=table),
        act("read_page", url=table, find="part 777"),
    )
    read = only(events, "page_read")
    assert "[page 2 of 2]\nThe torque is 42 Nm." in read[0]["text"]
    assert len(read[1]["whole"]) == read[1]["total"] > 10_000 and len(read[1]["text"]) <= 5_000
    assert read[2]["copied"] and "whole" not in read[2]
    assert [path for path, _ in site.requests] == ["/robots.txt", "/m.pdf", "/t"]
    whole = "\n".join(sent)
    assert "The torque is 42 Nm." in whole and "| part | price |\n|---|---|\n| part 0 | 0 |" in whole
    assert "| part 777 | 2331 |" in sent[-1] and len(sent[-1]) < 2_000
