"""The secrets that models and tools are given, so that the redactor knows each before it is used."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, get_args

from alita_tui.app.encoding import encoder_spec
from alita_tui.app.roles import own_models
from alita_tui.config.load import SHORTEST_KEY
from alita_tui.events import ModelRole
from alita_tui.spine.errors import AlitaError, ConfigError
from alita_tui.spine.grants import secret_names
from alita_tui.spine.redaction import Redactor

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.registry.library import ToolLibrary

Secret = Callable[[str], str | None]
"""Returns a secret's value by its name."""


def model_keys(app: AppContext) -> tuple[tuple[str, str], ...]:
    """Return the keys of the configured models, named for their providers."""
    keys: list[tuple[str, str]] = []
    for role in get_args(ModelRole):
        with suppress(ConfigError):
            specs = map(app.model_spec, app.candidates(role))
            keys += ((f"{spec.provider} key", spec.api_key) for spec in specs)
    for entries in own_models(app).values():
        with suppress(ConfigError):
            keys += ((f"{spec.provider} key", spec.api_key) for spec in map(app.model_spec, entries))
    with suppress(ConfigError):
        if encoder := encoder_spec(app):
            keys.append((f"{encoder.provider} key", encoder.api_key))
    return tuple((name, key) for name, key in keys if len(key) >= SHORTEST_KEY)


def tool_secrets(library: ToolLibrary, secret: Secret) -> tuple[tuple[str, str], ...]:
    """Return names and values of the secrets that any tool may be granted; the keyring may block."""
    names: set[str] = set()
    with suppress(AlitaError):  # opening the library elsewhere reports its problem
        for card in library.cards():
            for record in library.versions(card.name):
                names |= {*secret_names(record.draft.capabilities)}
    return tuple((name, value.strip()) for name in sorted(names) if (value := secret(name)))


def learned_first(redactor: Redactor, secret: Secret) -> Secret:
    """Return the same look-up, which makes each secret known to the redactor before returning it."""

    def look_up(name: str) -> str | None:
        value = secret(name)
        if value:
            redactor.learn(name, value)
        return value

    return look_up
