"""Secrets in texts that come in pieces, passwords in addresses, keys of vendors: nothing of them gets out."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import encode
from alita_tui.spine.piece_redactor import PieceRedactor
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.secret_rules import library_rules

KNOWN = (("mine", "correct horse battery"), ("short", "Zq9!x"))
SENDGRID = "SG." + "a1B2c3D4e5F6g7H8i9J0k1" + "." + "L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7\n" * 6 + "-----END RSA PRIVATE KEY-----"
SECRETS = {
    "sendgrid": SENDGRID,
    "azure storage": "AccountKey=" + "Ab1+" * 21 + "Ab==",
    "azure app": "abC8Q~" + "d" * 33,
    "openai": "sk-" + "a1" * 15,
    "bearer": "Bearer " + "tok3n" * 8,
    "known with blanks": KNOWN[0][1],
    "known": KNOWN[1][1],
    "private key": PEM,
}
URL = "postgresql://me:s3cr3t-Pa55@db.example.org/x"
REDACTOR = Redactor(KNOWN, library_rules())


def parts(secret: str) -> list[str]:
    """What must not be seen: the parts of a secret that say something."""
    if secret == PEM:
        return ["MIIEpAIBAAKC"]
    return [secret] if len(secret) < 12 else [secret[n : n + 12] for n in range(12, len(secret) - 12)]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_cut_anywhere_is_removed_from_shown_text(name: str) -> None:
    secret = SECRETS[name]
    text = f"before it \n{secret} and after it, well after"
    for cut in range(len(text)):
        for second in {cut + 1, cut + 5, (cut + len(text)) // 2}:
            pieces = PieceRedactor(REDACTOR)
            shown = "".join(map(pieces.take, (text[:cut], text[cut:second], text[second:], " \n")))
            assert not [part for part in parts(secret) if part in shown], (cut, second)
            assert shown.startswith("before it ") and "and after it" in shown


@settings(max_examples=300)
@given(st.data())
def test_released_pieces_add_up_to_the_text_without_its_secrets(data: st.DataObject) -> None:
    words = st.sampled_from(
        [
            *SECRETS.values(),
            URL,
            "plain",
            "日本語の文",
            "e=mc2",
            "x" * 50,
            "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
        ]
    )
    text = " ".join(data.draw(st.lists(words, max_size=8))) + "\n"
    pieces, shown = PieceRedactor(REDACTOR), ""
    while text:
        size = data.draw(st.integers(1, len(text)))
        shown += pieces.take(text[:size])
        text = text[size:]
    assert REDACTOR.text(shown) == shown
    for secret in SECRETS.values():
        assert not any(part in shown for part in parts(secret))


def test_plain_text_is_released_whole_and_as_early_as_possible() -> None:
    pieces = PieceRedactor(REDACTOR)
    assert pieces.take("Hello wor") == "Hello "
    assert pieces.take("ld, 日本") == "world, 日本"
    assert pieces.take("語\n") == "語\n"


def test_an_endless_text_is_not_buffered_for_ever() -> None:
    pieces = PieceRedactor(REDACTOR)
    for _ in range(20):
        assert pieces.take("x" * 10_000) == ""
    assert len(pieces._held_back) < 100_000 and pieces.take(" more ") == ""


@pytest.mark.parametrize(
    ("text", "clean"),
    [(URL, "postgresql://me:[redacted password]@db.example.org/x"),
     ("redis://:hunter2@cache", "redis://:[redacted password]@cache"),
     ("https://u:p@ss@host/a?b=c@d", "https://u:[redacted password]@host/a?b=c@d"),
     ("see https://example.org:8080/@me and a@b.c", None), ("http://[::1]:80/x@y", None)],
)  # fmt: skip
def test_only_the_passwords_of_addresses_are_removed(text: str, clean: str | None) -> None:
    assert REDACTOR.text(text) == (clean or text)
    assert REDACTOR.text(REDACTOR.text(text)) == REDACTOR.text(text)


@pytest.mark.parametrize("name", SECRETS)
def test_each_secret_is_removed_from_stored_events_too(name: str) -> None:
    event = e.NoticeRaised(level="info", text=f"it is {SECRETS[name]} here")
    assert not [part for part in parts(SECRETS[name]) if part in REDACTOR.value(event).text]


def test_digests_and_ids_are_not_taken_for_keys() -> None:
    from tests.support.goldens import NAMES, golden

    for name in NAMES:
        for envelope in golden(name):
            assert REDACTOR.value(envelope.event) == Redactor().value(envelope.event), envelope.seq


async def test_no_slow_reader_of_the_stream_sees_a_secret_in_pieces() -> None:
    class Nowhere:
        async def record(self, envelope, *, barrier):
            return

    bus = Bus("s", Nowhere(), lambda: datetime.now(UTC), redactor=REDACTOR)
    reader = bus.subscribe()
    for piece in (f"key {SENDGRID[:9]}", SENDGRID[9:30], SENDGRID[30:] + " end "):
        bus.hint(e.ModelDelta(call_id="c", role="orchestrator", channel="text", text=piece))
        bus.hint(e.OutputChunk(run_id="r", title="t", stream="stdout", text=piece))
        await asyncio.sleep(0)
    bus.close()
    told = [encode(one).decode() async for one in reader]
    assert SENDGRID[10:40] not in "".join(json.loads(one)["event"]["text"] for one in told)
    assert "redacted" in "".join(told) and "end" in "".join(told)
