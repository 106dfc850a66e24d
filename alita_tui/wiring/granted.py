"""Secrets that models and tools are given: known to whoever keeps secrets out of the records before any use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, get_args

from alita_tui.config.load import SHORTEST_KEY
from alita_tui.spine.errors import AlitaError, ConfigError
from alita_tui.spine.events import ModelRole
from alita_tui.spine.grants import secret_names
from alita_tui.spine.redaction import Redactor

if TYPE_CHECKING:
    from alita_tui.registry.shelf import Shelf
    from alita_tui.wiring.house import House

Secret = Callable[[str], str | None]
"""A secret's value by its name, wherever it is kept."""


def model_keys(house: House) -> tuple[tuple[str, str], ...]:
    """The keys of the configured models, named for their providers."""
    keys: list[tuple[str, str]] = []
    for role in get_args(ModelRole):
        with suppress(ConfigError):
            specs = map(house.model_spec, house.candidates(role))
            keys += ((f"{spec.provider} key", spec.api_key) for spec in specs)
    return tuple((name, key) for name, key in keys if len(key) >= SHORTEST_KEY)


def granted(shelf: Shelf, secret: Secret) -> tuple[tuple[str, str], ...]:
    """Names and values of the secrets that any tool of the library is granted; the keyring may block."""
    names: set[str] = set()
    with suppress(AlitaError):  # who opens the library says what is wrong with it
        for card in shelf.cards():
            for record in shelf.versions(card.name):
                names |= {*secret_names(record.draft.capabilities)}
    return tuple((name, value.strip()) for name in sorted(names) if (value := secret(name)))


def told_first(redactor: Redactor, secret: Secret) -> Secret:
    """The same secrets, each told to the redactor before it is given out."""

    def give(name: str) -> str | None:
        value = secret(name)
        if value:
            redactor.learn(name, value)
        return value

    return give
