"""What a running tool was granted, as the trace says it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from alita_tui.events import BrokerAnswered, CallId, PageLogged
from alita_tui.spine.envelope import Envelope
from alita_tui.view.fold import fold
from alita_tui.view.model import SessionView, Tone
from alita_tui.view.trace import rows_for

SERVED = BrokerAnswered(
    call_id=CallId("c1"), request="GET https://api.example:443/a", outcome="served", status=200, address="203.0.113.9",
    secrets=("KEY",), sent_bytes=1200, received_bytes=45_000, duration_ms=31,
)  # fmt: skip
REFUSED = BrokerAnswered(
    call_id=CallId("c1"),
    request="CONNECT \x1b[31mevil.example:22",
    outcome="refused",
    status=403,
    reason="it is not granted",
)


SAID = PageLogged(
    call_id=CallId("c1"), level="error", text="\x1b]0;x\x07[b]boom\u202e", source="http://a.example/\x1b[31m"
)


def envelope(event: BrokerAnswered | PageLogged) -> Envelope:
    return Envelope(
        seq=1, session_id="s", at=datetime(2026, 1, 1, tzinfo=UTC), step=2, span="c1", event=event
    )


@pytest.mark.parametrize(
    ("event", "title", "tone"),
    [
        (SERVED, "GET https://api.example:443/a → 200", "muted"),
        (REFUSED, "CONNECT evil.example:22 → refused: it is not granted", "bad"),
    ],
    ids=["served", "refused"],
)
def test_each_request_is_a_row(event: BrokerAnswered, title: str, tone: Tone) -> None:
    (row,) = rows_for(envelope(event))
    assert (row.kind, row.title, row.tone, row.span) == ("run", title, tone, "c1")
    assert len(fold(SessionView(), envelope(event)).trace) == 1


def test_the_detail_of_a_request_shows_target_and_secrets() -> None:
    (row,) = rows_for(envelope(SERVED))
    assert row.meta == "31 ms"
    assert row.detail == "connected to 203.0.113.9\n1,200 bytes sent, 45,000 received\nwith the secret KEY"


@pytest.mark.parametrize(
    ("event", "title", "tone"),
    [
        (SAID, "Console, error: [b]boom", "bad"),
        (replace(SAID, level="info", text="hello"), "Console, info: hello", "muted"),
        (replace(SAID, text="", more=3), "Console: 3 more messages of the page", "bad"),
    ],
    ids=["error", "info", "more"],
)
def test_a_page_message_is_a_row_of_its_call(event: PageLogged, title: str, tone: Tone) -> None:
    (row,) = rows_for(envelope(event))
    assert (row.kind, row.title, row.tone, row.span) == ("run", title, tone, "c1")
    assert "\x1b" not in row.detail and "\u202e" not in row.detail
