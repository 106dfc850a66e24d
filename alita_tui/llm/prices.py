"""Prices from the maintained table of genai-prices; works offline, and says when it does not know."""

from __future__ import annotations

from alita_tui.spine.values import Usage

_NAMES = {"gemini": "google"}
"""Providers that the table calls otherwise."""


def price(provider: str, model: str, usage: Usage) -> float | None:
    """US dollars for a usage, or None when the table does not know the model.

    The first call imports the table (about half a second); `RemoteModel.warm` has done so before.
    Tokens written to a cache count as plain input, which they exceed by a quarter at Anthropic.
    """
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.input_tokens,  # with the cached ones, as the table wants it
        cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        output_tokens=usage.output_tokens,
    )
    try:
        found = calc_price(tokens, model, provider_id=_NAMES.get(provider, provider))
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
