"""Starts Chromium and reads its messages to Playwright: those of consoles are sent to the broker.

Standard library only; runs in the container. Called with the command line of Chromium, which gets this process id.
Playwright uses descriptors 3 and 4; without them nothing is read. All that Chromium writes is passed on unchanged:
only messages that begin like those of a console are parsed.
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

_OUTPUT_FD = 4
_PIECE = 1 << 16
_MOST_BYTES = 64 << 10
"""Of a message that is parsed; a longer one is only reported as too long."""
_MOST_SENT = 50
_TIMEOUT_SECONDS = 5.0
_KINDS = (
    b'{"method":"Runtime.consoleAPICalled"',
    b'{"method":"Runtime.exceptionThrown"',
    b'{"method":"Log.entryAdded"',
)
_LONGEST_KIND = max(map(len, _KINDS))
_LEVELS = {"warning": "warning", "error": "error", "assert": "error", "debug": "debug", "verbose": "debug"}


def main() -> None:
    """Become Chromium, with a child process that reads its messages."""
    broker = urllib.parse.urlsplit(os.environ.get("http_proxy", ""))
    try:
        os.fstat(_OUTPUT_FD)
    except OSError:
        os.execv(sys.argv[1], sys.argv[1:])
    if not broker.port or os.environ.get("no_proxy"):  # tests, whose pages concern nobody
        os.execv(sys.argv[1], sys.argv[1:])
    reading, writing = os.pipe()
    if os.fork():
        os.close(reading)
        os.dup2(writing, _OUTPUT_FD)  # which is inheritable
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
    """Pass on all data up to its end, and send the messages of consoles."""
    buffer = bytearray()
    """The start of the current message, as far as it is needed."""
    while piece := os.read(reading, _PIECE):
        _write(piece)
        *complete, rest = piece.split(b"\0")
        for part in complete:
            _append(buffer, part)
            _inspect(buffer, sender)
            buffer.clear()
        _append(buffer, rest)


def _write(piece: bytes) -> None:
    remaining = memoryview(piece)
    while remaining:
        remaining = remaining[os.write(_OUTPUT_FD, remaining) :]


def _append(buffer: bytearray, part: bytes) -> None:
    if len(buffer) < _LONGEST_KIND:
        header_missing = _LONGEST_KIND - len(buffer)
        buffer += part[:header_missing]
        part = part[header_missing:]
    if buffer.startswith(_KINDS):
        buffer += part[: _MOST_BYTES + 1 - len(buffer)]


def _inspect(buffer: bytearray, sender: Sender) -> None:
    if not buffer.startswith(_KINDS):
        return
    try:
        message = described(json.loads(buffer))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        message = {"level": "info", "text": "a message that is too long to be read here"}
    if message:
        sender.send(message)


def described(message: dict[str, Any]) -> dict[str, str]:
    """Return level, text and source of a message. Raise KeyError, TypeError, AttributeError for another shape."""
    values = message["params"]
    if message["method"] == "Log.entryAdded":
        entry = values["entry"]
        return _message(entry["level"], entry["text"], entry.get("url", ""))
    if message["method"] == "Runtime.exceptionThrown":
        exception = values["exceptionDetails"]
        text = exception.get("exception", {}).get("description") or exception["text"]
        return _message("error", text, exception.get("url", ""))
    if values["type"] in ("clear", "endGroup", "profile", "profileEnd"):
        return {}
    frames = values.get("stackTrace", {}).get("callFrames", [])
    source = frames[0]["url"] if frames else ""
    return _message(values["type"], " ".join(map(_as_text, values["args"])), source)


def _message(level: str, text: str, source: str) -> dict[str, str]:
    return {"level": _LEVELS.get(level, "info"), "text": text[:1000], "source": source[:300]}


def _as_text(value: dict[str, Any]) -> str:
    """Return a value as a console shows it."""
    if "value" in value:
        return value["value"] if isinstance(value["value"], str) else json.dumps(value["value"])
    return str(value.get("unserializableValue") or value.get("description") or value.get("type"))


class Sender:
    """Sends messages to the broker from a thread, so that no page waits for it."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._sent = self._unsent = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def send(self, message: dict[str, str]) -> None:
        """Send a message, or count it when there were many."""
        if self._sent < _MOST_SENT:
            self._sent += 1
            self._waiting.put(message)
        else:
            self._unsent += 1

    def finish(self) -> None:
        """Send the number of unsent messages; return when all is sent, or after 5 s."""
        if self._unsent:
            self._waiting.put({"more": self._unsent})
        self._waiting.put(None)
        self._thread.join(_TIMEOUT_SECONDS)

    def _work(self) -> None:
        finished = False
        while not finished:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            finished = batch[-1] is None
            if messages := [message for message in batch if message is not None]:
                self._post(messages)

    def _post(self, messages: list[dict[str, Any]]) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("POST", "/page", json.dumps(messages), {"Content-Type": "application/json"})
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # the run ends; its browser goes on as long as it does
        finally:
            connection.close()


if __name__ == "__main__":
    main()
