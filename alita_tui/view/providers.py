"""What the fold knows of the models: their state, and how fast they write."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from alita_tui.spine import events as e
from alita_tui.spine.text import one_line
from alita_tui.view.model import ProviderView


def replied(providers: tuple[ProviderView, ...], event: e.ModelReplied) -> tuple[ProviderView, ...]:
    """After a reply: its model answers, at this speed."""
    name = one_line(event.model)
    seconds = (event.duration_ms - event.first_ms) / 1000
    speed = event.usage.output_tokens / seconds if event.first_ms and seconds > 0 else 0.0
    before = _of(providers, name)
    orchestrates = event.role == "orchestrator"
    others = tuple(replace(one, serves=False) for one in providers) if orchestrates else providers
    now = replace(
        before, tokens_per_second=speed or before.tokens_per_second, serves=orchestrates or before.serves
    )
    return _with(others, now)


def changed(
    providers: tuple[ProviderView, ...], at: datetime, event: e.ProviderChanged
) -> tuple[ProviderView, ...]:
    """After a breaker moved."""
    until = at + timedelta(seconds=event.retry_in) if event.retry_in is not None else None
    before = _of(providers, one_line(event.model))
    reason = one_line(event.reason.removeprefix(f"{event.model}: "), 300)
    return _with(providers, replace(before, state=event.state, reason=reason, until=until))


def _of(providers: tuple[ProviderView, ...], name: str) -> ProviderView:
    return next((one for one in providers if one.model == name), ProviderView(one_line(name)))


def _with(providers: tuple[ProviderView, ...], new: ProviderView) -> tuple[ProviderView, ...]:
    if any(one.model == new.model for one in providers):
        return tuple(new if one.model == new.model else one for one in providers)
    return (*providers, new)
