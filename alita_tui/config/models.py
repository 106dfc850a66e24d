"""Models as the settings write them: `provider:name; option=value; …`."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from alita_tui.config.settings import Settings
from alita_tui.events import Value, ready
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.text import one_line

Price = Annotated[float, Meta(ge=0, le=100_000)]


class ModelEntry(Value, frozen=True):
    """One model and its limits. Every field after `name` is an option of the text form."""

    provider: str
    name: str
    base_url: str = ""
    """Address of the server; empty: the provider's own."""
    key: str = ""
    """Name under which its key is stored; empty for the provider's."""
    tools: Literal["", "native", "text"] = ""
    """How it calls tools: `native`, by the text protocol, or (empty) as its first use shows."""
    context: Annotated[int, Meta(ge=0, le=100_000_000)] = 0
    """Context window in tokens; 0: as the price table says."""
    max_usd: Price | None = None
    """A call that could cost more goes to the next candidate."""
    vision: bool = False
    """True if it reads images."""
    needs: Literal["", "tools", "vision", "tools+vision"] = ""
    """What the role needs of it (its own tool calls, reading images); a model without it is skipped."""
    input_usd: Price | None = None
    """Own price in US dollars for a million tokens read."""
    output_usd: Price | None = None
    """Own price in US dollars for a million tokens written."""

    @property
    def full_name(self) -> str:
        """`provider:name`."""
        return f"{self.provider}:{self.name}"

    @property
    def abilities(self) -> tuple[Literal["tools", "vision"], ...]:
        """The abilities that `needs` lists."""
        return tuple(ability for ability in ("tools", "vision") if ability in self.needs.split("+"))

    @property
    def text(self) -> str:
        """The entry as the settings write it."""
        fields = msgspec.to_builtins(self)  # defaults are left out
        options = (
            f"{name}={str(value).lower() if value is True else value}"
            for name, value in fields.items()
            if name not in ("provider", "name")
        )
        return "; ".join((self.full_name, *options))


OPTIONS: dict[str, Any] = {
    field.name: field.type
    for field in msgspec.structs.fields(ModelEntry)
    if field.name not in ("provider", "name")
}


@lru_cache(1024)  # a session asks for the models of every role several times
def read_entry(text: str, where: str, known: tuple[ModelEntry, ...] = ()) -> ModelEntry:
    """Return an entry from its text; options that it leaves out are those of the known model of that name.

    Raises ConfigError that names the place and the nearest option.
    """
    head, *option_texts = (option_text.strip() for option_text in text.split(";"))
    provider, colon, name = head.partition(":")
    if not colon or not provider or not name:
        raise ConfigError(
            f"{where}: a model is written provider:name, not {one_line(head, 80)!r}.",
            hint='For example "ollama:qwen3:8b; context=32768".',
        )
    options: dict[str, object] = {}
    for option_text in filter(None, option_texts):
        option, _, value = (half.strip() for half in option_text.partition("="))
        options[option] = _value(option, value, where)
    matching = (model for model in known if model.full_name == head)
    base = next(matching, ModelEntry(provider=provider, name=name))
    entry: ModelEntry = msgspec.structs.replace(base, **options)
    if (entry.input_usd is None) != (entry.output_usd is None):
        raise ConfigError(
            f"{where}: {head} has half a price.", hint="Set both input_usd and output_usd, or none."
        )
    return entry


def _value(option: str, value: str, where: str) -> object:
    if option not in OPTIONS:
        raise ConfigError(
            f"{where} has an unknown option {one_line(option, 40)!r} for a model.",
            hint=did_you_mean(option, OPTIONS, f"The options are {', '.join(OPTIONS)}."),
        )
    try:
        return msgspec.convert(value, ready(OPTIONS[option]), strict=False)
    except msgspec.ValidationError as error:
        detail = one_line(str(error), 80)
        raise ConfigError(
            f"{where}: the option {option} cannot be {one_line(value, 40)!r}. {detail}."
        ) from None


def known_models(settings: Settings) -> tuple[ModelEntry, ...]:
    """Return the models of `models.known`. Raises ConfigError."""
    return tuple(read_entry(text, "models.known") for text in settings.models.known)


def candidates(settings: Settings, role: str, *, chosen: bool = False) -> tuple[ModelEntry, ...]:
    """Return a role's models in order; with `chosen` only the one of `model.*`, ignoring the roles.

    Raises ConfigError.
    """
    known = known_models(settings)
    listed = () if chosen else getattr(settings.roles, role) or settings.roles.orchestrator
    if listed:
        return tuple(read_entry(text, f"roles.{role}", known) for text in listed)
    chosen_model = settings.model
    entry = ModelEntry(provider=chosen_model.provider, name=chosen_model.name, base_url=chosen_model.base_url)
    match = next((model for model in known if model.full_name == entry.full_name), entry)
    return (msgspec.structs.replace(match, base_url=chosen_model.base_url or match.base_url),)
