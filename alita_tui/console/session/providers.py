"""The models in the status line: which one serves, their state and speed."""

from __future__ import annotations

from alita_tui.view.model import ProviderView, SessionView

MARKS = {"closed": "●", "half_open": "◐", "open": "○", "disabled": "✖"}
STYLES = {"closed": "$alita-good", "half_open": "$alita-warn", "open": "$alita-bad", "disabled": "$alita-bad"}
WORDS = {"closed": "answers", "half_open": "is tried again", "open": "pauses", "disabled": "is off"}


def model_parts(view: SessionView) -> list[tuple[int, str, str]]:
    """Return every part as (rank, text, style). A single healthy model is just its name."""
    providers = view.providers
    serving = next((provider for provider in providers if provider.serves), None)
    if len(providers) < 2 and all(provider.state == "closed" for provider in providers):
        parts = [(5, str(view.model) or "no model", "$foreground")]
    else:
        ordered = sorted(providers, key=lambda provider: not provider.serves)
        parts = [_part(provider) for provider in ordered]
    if serving is not None and serving.tokens_per_second:
        parts.append((8, f"{serving.tokens_per_second:.0f} tok/s", "$alita-muted"))
    return parts


def _part(provider: ProviderView) -> tuple[int, str, str]:
    name = provider.model.partition(":")[2] or provider.model
    rank = 5 if provider.serves else 6 if provider.state == "closed" else 4
    return rank, f"{MARKS[provider.state]} {name}", STYLES[provider.state]
