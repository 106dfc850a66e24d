"""The console in a headless Chromium, as a person opens it: keys, an approval, and nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.app.served import Served
from tests.e2e.walks import DICE
from tests.replay.browser import Page

pytestmark = [pytest.mark.pty, pytest.mark.walk]
_SECONDS = 120
CODES = {"Enter": 13, "PageDown": 34, "F1": 112, "F8": 119, "a": 65, "d": 68}


class Screen:
    """What the console wrote to the terminal of a page, and its keyboard."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        self.wait("sandbox ready")
        page.value("document.querySelector('.xterm-helper-textarea').focus()")

    @property
    def written(self) -> str:
        frames = [
            event["params"]["response"]
            for event in self._page.events
            if event.get("method") == "Network.webSocketFrameReceived"
        ]
        data = b"".join(base64.b64decode(frame["payloadData"]) for frame in frames if frame["opcode"] == 2)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode("utf-8", "replace"))

    def wait(self, pattern: str, after: int = 0) -> int:
        """Wait for a text that is written from a place on; return where it ends."""
        end = time.monotonic() + _SECONDS
        while not (found := re.search(pattern, self.written[after:])):
            assert time.monotonic() < end, self.written[-3000:]
            self.turn()
        return after + found.end()

    def turn(self) -> None:
        """Read what has come."""
        self._page.value("1")
        time.sleep(0.1)

    def type(self, text: str) -> None:
        self._page.ask("Input.insertText", text=text)

    def press(self, key: str, *, control: bool = False) -> None:
        said = {"text": key} if len(key) == 1 and not control else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._page.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=CODES[key],
                modifiers=2 if control else 0, **(said if kind == "keyDown" else {}),
            )  # fmt: skip


@pytest.fixture
def served(shell: Any) -> Iterator[Served]:
    shell.environ["ALITA_MODEL"] = "demo:recorded"
    made = Served(shell.home, environ=shell.environ)
    yield made
    made.end()


def test_a_build_is_approved_by_one_deliberate_key_and_by_no_burst(served: Served, shell: Any) -> None:
    with closing(Page(served.link)) as page:
        screen = Screen(page)
        at = len(screen.written)
        screen.type(DICE)
        at = screen.wait("roll dice", at)
        screen.press("Enter")
        at = screen.wait("F8", screen.wait("roll_dice", at))
        while not json.loads(shell("builds", "list", "--json").stdout):
            screen.turn()
        screen.press("F8")
        at = screen.wait("[Rr]eject", at)
        screen.type("aaaaaa")
        for _ in range(20):
            screen.turn()
        assert json.loads(shell("tools", "list", "--json").stdout) == [], "a burst approved"
        end = time.monotonic() + _SECONDS
        while not json.loads(shell("tools", "list", "--json").stdout):
            assert time.monotonic() < end, screen.written[-3000:]
            for key in ("PageDown", "PageDown", "a"):  # the code is read; then one key, after a quiet time
                screen.press(key)
                for _ in range(12):
                    screen.turn()
        assert all(address.startswith(("data:", f"http://{served.host}/")) for address in page.requests())
        assert [said for said in page.complaints() if "WebGL" not in said] == []
    end = time.monotonic() + _SECONDS
    while served.consoles():
        assert time.monotonic() < end, "the console outlives its browser"
        time.sleep(0.1)
