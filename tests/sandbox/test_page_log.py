"""What pages write to their consoles: read along from Chromium's pipe, and recorded within bounds."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import msgspec
import pytest

from alita_tui.events import PageLogged
from alita_tui.sandbox.broker.grants import Caps
from alita_tui.sandbox.broker.page_log import _message
from alita_tui.sandbox.browser import page_log
from tests.sandbox.grant_desk import desk
from tests.sandbox.loopback import Told


def told(text: str, level: str = "log") -> bytes:
    """A console message as Chromium tells Playwright of it."""
    values = {"type": level, "args": [{"type": "string", "value": text}], "stackTrace": {"callFrames": []}}
    return json.dumps(
        {"method": "Runtime.consoleAPICalled", "params": values}, separators=(",", ":")
    ).encode()


class Messages(page_log.Sender):
    """Keeps what would be sent to the broker."""

    def __init__(self) -> None:
        self._sent = self._unsent = 0
        self.messages: list[dict[str, Any]] = []
        self._waiting = self  # type: ignore[assignment]

    def put(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    @property
    def more(self) -> int:
        return self._unsent


def read(pieces: list[bytes], monkeypatch: pytest.MonkeyPatch) -> tuple[Messages, int]:
    """Return the messages of what comes through a real pipe, and how many bytes were passed on."""
    messages, passed = Messages(), 0

    def pass_on(piece: bytes) -> None:
        nonlocal passed
        passed += len(piece)

    monkeypatch.setattr(page_log, "_write", pass_on)
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    rest = rest[pipe.write(rest) or 0 :]

    writer = threading.Thread(target=write)
    writer.start()
    page_log.read_along(reading, messages)
    writer.join()
    os.close(reading)
    return messages, passed


def test_a_message_in_two_pieces_is_recorded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    message = told("hello")
    for cut in range(1, len(message)):
        messages, begun = Messages(), bytearray()
        page_log._append(begun, message[:cut])
        page_log._append(begun, message[cut:])
        page_log._inspect(begun, messages)
        assert [each["text"] for each in messages.messages] == ["hello"], cut


def test_messages_of_any_length_and_number_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    flood = b"\0".join([told("x" * (100 << 20)), *[told(f"m{n}", "error") for n in range(100_000)], b""])
    messages, passed = read([flood], monkeypatch)
    assert passed == len(flood), "Playwright is told everything"
    assert len(messages.messages) == 50 and messages.more == 100_001 - 50
    assert "too long" in messages.messages[0]["text"]
    assert [each["text"] for each in messages.messages[1:4]] == ["m0", "m1", "m2"]
    assert all(len(json.dumps(each)) < 8000 for each in messages.messages)


async def test_messages_are_recorded_up_to_a_count_whoever_sends_them() -> None:
    recorded = Told()
    at = desk(Caps(), recorded)
    for n in range(100_000):
        await at.record_message(_message(at, {"level": "info", "text": f"m{n}"}))
    await at.record_message(_message(at, {"more": 10**30}))
    await at.record_rest()
    assert len(recorded.pages) == 51 and [page.more for page in recorded.pages[:50]] == [0] * 50
    assert recorded.pages[-1].more == 100_000 - 50 + 1_000_000_000


@pytest.mark.parametrize(
    "text", ["\x1b]0;title\x07\x1b[2J", "safe\u202eevil\u2066", "a\nb\r\nc\0d", "\u200b" * 5000, "x" * 10**7]
)
def test_hostile_text_becomes_one_bounded_line(text: str) -> None:
    page = _message(desk(Caps()), {"level": "\x1b[31m", "text": text, "source": text, "more": True})
    assert isinstance(page, PageLogged) and page.level == "info" and page.more == 0
    for value in (page.text, page.source):
        assert len(value) <= 1001 and not set(value) & set("\x1b\x07\0\r\n\u202e\u2066")
    assert len(msgspec.json.encode(page)) < 12_000
