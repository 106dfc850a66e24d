"""A headless Chromium, driven over its pipe (Chrome DevTools Protocol): nothing listens anywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 203); os.dup2(int(sys.argv[2]), 204)
os.dup2(203, 3); os.dup2(204, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_OPTIONS = (
    "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1200,800",
)  # fmt: skip


def find() -> str:
    """The browser's program; its absence is a fault of the set-up, never a pass."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "There is no Chromium: `make browser` installs one, and `make test` does so by itself."
    return found


class Page:
    """One tab on one file. What it says on its console, and what it asks of the network, is kept."""

    def __init__(self, path: Path | str) -> None:
        """`path` is a file, or an address of this machine."""
        program = find()
        read_theirs, self._write = os.pipe()
        self._read, write_theirs = os.pipe()
        self._profile = tempfile.mkdtemp(prefix="alita-browser-")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(read_theirs), str(write_theirs), program, *_OPTIONS,
             f"--user-data-dir={self._profile}"],
            pass_fds=(read_theirs, write_theirs), stderr=subprocess.DEVNULL,
            env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": "", "HOME": self._profile},
        )  # fmt: skip
        os.close(read_theirs)
        os.close(write_theirs)
        self._rest = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=path.as_uri() if isinstance(path, Path) else path)
        self.wait_for("Page.loadEventFired")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result
            self.events.append(said)

    def wait_for(self, method: str) -> None:
        """Read until an event came."""
        while not any(one.get("method") == method for one in self.events):
            self.events.append(self._next())

    def value(self, expression: str) -> Any:
        """What an expression gives on the page; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key, as a person presses it."""
        text = key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                modifiers=8 if shift else 0,
            )  # fmt: skip

    def requests(self) -> list[str]:
        """Addresses the page asked for, itself left out."""
        asked = [one for one in self.events if one.get("method") == "Network.requestWillBeSent"]
        return [one["params"]["request"]["url"] for one in asked if one["params"].get("type") != "Document"]

    def complaints(self) -> list[str]:
        """Errors and refusals on the page's console."""
        return [
            json.dumps(one["params"])
            for one in self.events
            if one.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]

    def close(self) -> None:
        """End the browser and remove what it wrote."""
        self._session = ""
        self.ask("Browser.close")
        self._process.wait(20)
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser ended"
            self._rest += piece
        one, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message
