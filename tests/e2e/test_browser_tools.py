"""A tool with a browser, from a gap to its second use: find, build, tests, approval, run, reuse; and nobody told of it else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import call, run, tool
from tests.e2e.walks import accepting, parked
from tests.sandbox.loopback import Quiet

pytestmark = [pytest.mark.podman, pytest.mark.walk]

CODE = '''"""The text of an element that a page's scripts make."""

import os
from urllib.parse import urlsplit

from playwright.sync_api import Error, sync_playwright


def run(url: str, selector: str) -> str:
    """Return the text of the first element of a page that a CSS selector finds."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("url has to be an http:// or https:// address")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["ALITA_BROWSER"])
        page = browser.new_page()
        page.goto(url)
        try:
            return page.locator(selector).first.inner_text(timeout=3000)
        except Error:
            raise ValueError(f"the page has no {selector}") from None
'''
TESTS = """import http.server
import threading

from shown_text import run

PAGE = b"<p id=late></p><script>setTimeout(() => { late.textContent = 'made late' }, 30)</script><p class=b>second</p>"


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


def shown(selector):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        return run(f"http://127.0.0.1:{server.server_port}/", selector)
    except ValueError as error:
        return str(error)
    finally:
        server.shutdown()
        server.server_close()


def test_what_scripts_make_is_there():
    assert shown("#late:not(:empty)") == "made late"


def test_another_element():
    assert shown(".b") == "second"


def test_what_is_not_there_is_named():
    assert shown("#gone") == "the page has no #gone"


def test_only_the_web():
    for url in ("file:///etc/passwd", "x"):
        try:
            run(url, "p")
        except ValueError as error:
            assert "http" in str(error)
        else:
            raise AssertionError(url)
"""
PAGE = b"<title>Prices</title><b id=price></b><script>price.textContent = (5 / 2).toFixed(2);"
PAGE += b"console.warn('the [b]price[/b] is old')</script>"


@pytest.fixture
def site() -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_: object) -> None:
            return

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def told(port: int) -> Script:
    url = {"url": f"http://127.0.0.1:{port}/", "selector": "#price"}
    search = call("find_tool", query="text that a page's scripts make")
    answer = call("answer", text="It costs 2.50.")
    asked = {"browser": True, "network": [f"127.0.0.1:{port}"]}
    wanted = call("build_tool", name="shown_text", goal="Read the text of an element of a page.", needs=asked)
    takes = {"url": {"type": "string"}, "selector": {"type": "string", "minLength": 1}}
    written = tool(
        "shown_text",
        CODE,
        TESTS,
        takes,
        {"type": "string"},
        requirements=["playwright>=1.60"],
        capabilities=asked,
    )
    return Script(
        format="alita-script/1",
        name="browser",
        rules=(
            Rule(role="orchestrator", match="once more", replies=(search, run("shown_text", **url), answer)),
            Rule(
                role="orchestrator",
                match="TASK: ",
                replies=(search, wanted, run("shown_text", **url), answer),
            ),
            written,
        ),
    )


@pytest.fixture
def speak(shell: Any, provider: str) -> Any:
    def to(server: Any, port: int, *, browser: bool) -> None:
        shell.environ |= {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            SERVERS[provider][1]: "sk-not-a-real-key",
            "ALITA_SANDBOX_ALLOWED_PRIVATE": f"127.0.0.1:{port}",
        }
        Path(shell.home).mkdir(parents=True, exist_ok=True)
        (Path(shell.home) / "config.toml").write_text(f"[sandbox]\nbrowser = {str(browser).lower()}\n")

    return to


def test_a_browser_tool_is_built_approved_run_and_used_again(
    shell: Any, speak: Any, provider: str, site: int
) -> None:
    with SERVERS[provider][0](told(site)) as server:
        speak(server, site, browser=True)
        done = shell("run", f"What does it cost at http://127.0.0.1:{site}/?")
        assert done.returncode == 4, done.stdout + done.stderr
        waiting = parked(shell)
        assert "browser" in waiting["accept"], "a browser is accepted by name"
        done = shell(
            "builds", "approve", waiting["approval_id"], "--digest", waiting["digest"], *accepting(waiting)
        )
        assert done.returncode == 0, done.stderr
        assert (done := shell("resume")).returncode == 0, done.stderr
        first = shell.events()
        assert (done := shell("run", "What does it cost, once more?")).returncode == 0, done.stderr
        second = shell.events()
        said = json.dumps([request.body for request in server.requests])
    assert "ALITA_BROWSER" in said and "browser" in json.dumps(
        [one for one in first if one["kind"] == "build_drafted"]
    )
    for events in (first, second):
        (report,) = [one["report"] for one in events if one["kind"] == "tool_returned"]
        assert (report["status"], report["result"]) == ("ok", "2.50")
        asked = [one for one in events if one["kind"] == "broker_answered"]
        assert any(one["outcome"] == "served" and f"127.0.0.1:{site}" in one["request"] for one in asked)
        (called,) = [one for one in events if one["kind"] == "tool_called"]
        (message,) = [one for one in events if one["kind"] == "page_logged" and one["level"] == "warning"]
        assert (message["call_id"], message["text"]) == (called["call_id"], "the [b]price[/b] is old")
        kinds = [one["kind"] for one in events]
        assert kinds.index("tool_called") < kinds.index("page_logged") < kinds.index("tool_returned")
    assert "build_started" not in {one["kind"] for one in second}, "it is found and used again"
    assert shell("sessions", "verify").returncode == 0
    assert shell("replay", "--headless").returncode == 0
    exported = shell("sessions", "export", "--format", "markdown", "--out", "-").stdout
    assert "Console, warning: the" in exported and "is old" in exported


def test_without_allowed_browsers_no_model_learns_of_them_and_no_draft_gets_one(
    shell: Any, speak: Any, provider: str, site: int
) -> None:
    with SERVERS[provider][0](told(site)) as server:
        speak(server, site, browser=False)
        shell("run", f"What does it cost at http://127.0.0.1:{site}/?")
        said = [json.dumps(request.body) for request in server.requests]
        events = shell.events()
    assert all("Chromium" not in body and '"browser": {' not in body for body in said)
    assert any("the person allows no tool a browser" in body for body in said), "the model that asks is told"
    assert not {"approval_requested", "tool_called"} & {one["kind"] for one in events}
