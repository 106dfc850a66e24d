"""The models of a session: whether each is asked, and how fast it writes."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from alita_tui import events as e

_SHORTEST_WRITING = 0.25
"""Seconds below which the speed of a reply is not shown: one from a cache or a recording comes at once, at 50,000
tokens a second."""


class Provider(msgspec.Struct, frozen=True, gc=False):
    """A model that was asked, or that is not asked at present."""

    model: str
    """`provider:name`."""
    state: e.ProviderState = "closed"
    reason: str = ""
    until: datetime | None = None
    """When it is tried again."""
    tokens_per_second: float = 0.0
    """Speed of its last reply; 0 if unknown."""
    serves: bool = False
    """True for the model that the orchestrator asked last."""


Providers = tuple[Provider, ...]


def after_reply(providers: Providers, event: e.ModelReplied) -> Providers:
    """Return the models after a reply of one of them."""
    seconds = (event.duration_ms - event.first_ms) / 1000
    long_enough = event.first_ms and seconds >= _SHORTEST_WRITING
    speed = event.usage.output_tokens / seconds if long_enough else 0.0
    previous = _find(providers, event.model)
    orchestrates = event.role == "orchestrator"
    providers_before = (
        tuple(replace(provider, serves=False) for provider in providers) if orchestrates else providers
    )
    return _put(
        providers_before,
        replace(
            previous,
            tokens_per_second=speed or previous.tokens_per_second,
            serves=orchestrates or previous.serves,
        ),
    )


def after_change(providers: Providers, at: datetime, event: e.ProviderChanged) -> Providers:
    """Return the models after one of them was turned off, or on again."""
    until = at + timedelta(seconds=event.retry_in) if event.retry_in is not None else None
    reason = event.reason.removeprefix(f"{event.model}: ")
    previous = _find(providers, event.model)
    return _put(providers, replace(previous, state=event.state, reason=reason, until=until))


def reopened(providers: Providers) -> Providers:
    """Return the models as a new process begins: all of them are asked."""
    return tuple(replace(provider, state="closed", reason="", until=None) for provider in providers)


def _find(providers: Providers, model: str) -> Provider:
    return next((provider for provider in providers if provider.model == model), Provider(model))


def _put(providers: Providers, changed: Provider) -> Providers:
    if any(provider.model == changed.model for provider in providers):
        return tuple(changed if provider.model == changed.model else provider for provider in providers)
    return (*providers, changed)
