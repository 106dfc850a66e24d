"""Prices from the maintained table of genai-prices; works offline and reports an unknown price as None."""

from __future__ import annotations

from datetime import date

from alita_tui.events import Usage, Value
from alita_tui.llm.presets import rules_of


class OwnPrice(Value, frozen=True):
    """A price that the person set, in US dollars per million tokens; it takes precedence over the table."""

    input_usd: float
    output_usd: float


def price(provider: str, model: str, usage: Usage, own: OwnPrice | None = None) -> float | None:
    """Return the US dollars for a usage, or None when no price is known.

    The first call imports the table (about half a second); `RemoteModel.warm` has done so before.
    """
    if own is not None:
        return (usage.input_tokens * own.input_usd + usage.output_tokens * own.output_usd) / 1_000_000
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    read = min(usage.cached_tokens, usage.input_tokens)
    tokens = Tokens(
        input_tokens=usage.input_tokens,  # including the cached ones, as the table expects
        cache_read_tokens=read,
        cache_write_tokens=min(usage.cache_write_tokens, usage.input_tokens - read),
        output_tokens=usage.output_tokens,
    )
    try:
        calculated = calc_price(tokens, model, provider_id=rules_of(provider).price_name or provider)
    except (LookupError, ValueError):
        return None
    return float(calculated.total_price)


def window(provider: str, model: str) -> int:
    """Return how many tokens a model reads at most, or 0 when the table does not say."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, entry = get_snapshot().find_provider_model(
            model, None, rules_of(provider).price_name or provider, None
        )
    except (LookupError, ValueError):
        return 0
    return entry.context_window or 0


def table_of(today: date) -> str:
    """Return the table's version and the date of its newest price change, as text for people."""
    from importlib.metadata import version

    from genai_prices.data_snapshot import get_snapshot

    changes = [
        start
        for provider in get_snapshot().providers
        for model in provider.models
        for priced in (model.prices if isinstance(model.prices, list) else ())
        if (start := getattr(priced.constraint, "start_date", None)) is not None and start <= today
    ]
    newest = f", newest change {max(changes)}" if changes else ""
    return f"genai-prices {version('genai-prices')}{newest}"
