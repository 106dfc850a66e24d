"""The setup screen with providers that answer at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Provider:
    name: str
    label: str
    base_url: str
    key_name: str
    needs_key: bool = True
    model: str = ""


@dataclass(frozen=True)
class Seen:
    ok: bool = True
    streams: bool = True
    calls_tools: bool = True
    reports_usage: bool = True
    has_price: bool = False
    total_ms: float = 840.0
    text: str = ""
    hint: str = ""


PROVIDERS = (
    Provider("acme", "Acme", "https://api.acme.example/v1", "ACME_API_KEY", model="acme-large"),
    Provider("local", "Local server [x]", "http://127.0.0.1:11434/v1", "LOCAL_API_KEY", needs_key=False),
    Provider("custom", "Any server", "", "LLM_API_KEY", needs_key=False),
)
