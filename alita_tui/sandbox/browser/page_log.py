"""Starts Chromium and reads along what it tells Playwright: messages of consoles go to the broker.

Standard library only; runs in the container. Called with the command line of Chromium, which keeps the process id.
Playwright talks over descriptors 3 and 4; without them nothing is read along. What Chromium writes is passed on as it
is, byte by byte: only messages that begin as those of a console do are looked into.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import sys
import threading
import urllib.parse
from typing import Any

_OUT = 4
_PIECE = 1 << 16
_MOST_BYTES = 64 << 10
"""Of a message that is looked into; a longer one is counted alone."""
_MOST_SENT = 50
_SECONDS = 5.0
_KINDS = (
    b'{"method":"Runtime.consoleAPICalled"',
    b'{"method":"Runtime.exceptionThrown"',
    b'{"method":"Log.entryAdded"',
)
_HEAD = max(map(len, _KINDS))
_LEVELS = {"warning": "warning", "error": "error", "assert": "error", "debug": "debug", "verbose": "debug"}


def main() -> None:
    """Become Chromium, with a child that reads along."""
    broker = urllib.parse.urlsplit(os.environ.get("http_proxy", ""))
    try:
        os.fstat(_OUT)
    except OSError:
        os.execv(sys.argv[1], sys.argv[1:])
    if not broker.port or os.environ.get("no_proxy"):  # tests, whose pages concern nobody
        os.execv(sys.argv[1], sys.argv[1:])
    reading, writing = os.pipe()
    if os.fork():
        os.close(reading)
        os.dup2(writing, _OUT)  # which is inheritable
        os.close(writing)
        os.execv(sys.argv[1], sys.argv[1:])
    os.close(writing)
    os.close(3)
    sender = Sender(broker.hostname or "", broker.port)
    try:
        read_along(reading, sender)
    finally:
        sender.finish()
        os._exit(0)


def read_along(reading: int, sender: Sender) -> None:
    """Pass on what comes, up to its end."""
    begun = bytearray()
    """The message under way, as far as it matters."""
    while piece := os.read(reading, _PIECE):
        _write(piece)
        *ended, last = piece.split(b"\0")
        for part in ended:
            _add(begun, part)
            _look(begun, sender)
            begun.clear()
        _add(begun, last)


def _write(piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(_OUT, rest) :]


def _add(begun: bytearray, part: bytes) -> None:
    if len(begun) < _HEAD:
        missing = _HEAD - len(begun)
        begun += part[:missing]
        part = part[missing:]
    if begun.startswith(_KINDS):
        begun += part[: _MOST_BYTES + 1 - len(begun)]


def _look(begun: bytearray, sender: Sender) -> None:
    if not begun.startswith(_KINDS):
        return
    try:
        message = described(json.loads(begun))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        message = {"level": "info", "text": "a message that is too long to be read here"}
    if message:
        sender.send(message)


def described(told: dict[str, Any]) -> dict[str, str]:
    """Return level, text and source of what was told. Raise KeyError, TypeError, AttributeError for another shape."""
    values = told["params"]
    if told["method"] == "Log.entryAdded":
        entry = values["entry"]
        return _message(entry["level"], entry["text"], entry.get("url", ""))
    if told["method"] == "Runtime.exceptionThrown":
        thrown = values["exceptionDetails"]
        text = thrown.get("exception", {}).get("description") or thrown["text"]
        return _message("error", text, thrown.get("url", ""))
    if values["type"] in ("clear", "endGroup", "profile", "profileEnd"):
        return {}
    frames = values.get("stackTrace", {}).get("callFrames", [])
    source = frames[0]["url"] if frames else ""
    return _message(values["type"], " ".join(map(_shown, values["args"])), source)


def _message(level: str, text: str, source: str) -> dict[str, str]:
    return {"level": _LEVELS.get(level, "info"), "text": text[:1000], "source": source[:300]}


def _shown(value: dict[str, Any]) -> str:
    """Return a value as a console shows it."""
    if "value" in value:
        return value["value"] if isinstance(value["value"], str) else json.dumps(value["value"])
    return str(value.get("unserializableValue") or value.get("description") or value.get("type"))


class Sender:
    """Sends messages to the broker from a thread, so that no page waits for it."""

    def __init__(self, host: str, port: int) -> None:
        self._where = (host, port)
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._sent = self._more = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def send(self, message: dict[str, str]) -> None:
        """Send a message, or count it when there were many."""
        if self._sent < _MOST_SENT:
            self._sent += 1
            self._waiting.put(message)
        else:
            self._more += 1

    def finish(self) -> None:
        """Send how many there were besides; return when all is sent, or takes too long."""
        if self._more:
            self._waiting.put({"more": self._more})
        self._waiting.put(None)
        self._thread.join(_SECONDS)

    def _work(self) -> None:
        last = False
        while not last:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            last = batch[-1] is None
            if messages := [message for message in batch if message is not None]:
                self._post(messages)

    def _post(self, messages: list[dict[str, Any]]) -> None:
        connection = http.client.HTTPConnection(*self._where, timeout=_SECONDS)
        try:
            connection.request("POST", "/page", json.dumps(messages), {"Content-Type": "application/json"})
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # the run ends; its browser goes on as long as it does
        finally:
            connection.close()


if __name__ == "__main__":
    main()
