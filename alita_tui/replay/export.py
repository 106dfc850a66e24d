"""Exports a session as an HTML player, Markdown, a terminal recording, or its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, assert_never

from alita_tui.replay.export_cast import asciicast
from alita_tui.replay.export_facts import Facts, facts_of
from alita_tui.replay.export_html import player
from alita_tui.replay.export_jsonl import jsonl
from alita_tui.replay.export_markdown import markdown
from alita_tui.spine.envelope import Envelope

Format = Literal["html", "markdown", "asciicast", "jsonl"]
ENDINGS: dict[Format, str] = {"html": "html", "markdown": "md", "asciicast": "cast", "jsonl": "jsonl"}
"""File name extension by format."""

Redact = Callable[[Envelope], Envelope]
"""Returns an envelope without secrets; the same one if it has none."""


def export(envelopes: Iterable[Envelope], wanted: Format, redact: Redact) -> str:
    """Return a session as text in a format. Secrets are removed first, and the text says so."""
    durable = [envelope for envelope in envelopes if envelope.durable]
    clean = [redact(envelope) for envelope in durable]
    return _written(clean, facts_of(clean), wanted)


def _written(clean: list[Envelope], facts: Facts, wanted: Format) -> str:
    match wanted:
        case "html":
            return player(clean, facts)
        case "markdown":
            return markdown(clean, facts)
        case "asciicast":
            return asciicast(clean, facts)
        case "jsonl":
            return jsonl(clean, facts)
        case _:
            assert_never(wanted)
