"""What the setup wizard needs from the rest of alita, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol


class Preset(Protocol):
    """A provider as data; implemented in `llm`."""

    @property
    def name(self) -> str:
        """Name in the settings."""

    @property
    def label(self) -> str:
        """Name for people."""

    @property
    def base_url(self) -> str:
        """Its address; empty if the person has to enter one."""

    @property
    def key_name(self) -> str:
        """Environment variable of its key."""

    @property
    def needs_key(self) -> bool:
        """False for local servers."""

    @property
    def model(self) -> str:
        """Its default model; empty if the person has to enter one."""


class Probe(Protocol):
    """The result of a small real call; implemented in `llm`."""

    @property
    def ok(self) -> bool:
        """Whether it can be used."""

    @property
    def streams(self) -> bool:
        """Whether it streams."""

    @property
    def calls_tools(self) -> bool:
        """Whether it calls tools natively."""

    @property
    def reports_usage(self) -> bool:
        """Whether it reports token counts."""

    @property
    def has_price(self) -> bool:
        """Whether its price is known."""

    @property
    def total_ms(self) -> float:
        """Duration of the call."""

    @property
    def text(self) -> str:
        """What went wrong, or what the model lacks."""

    @property
    def hint(self) -> str:
        """What to do about it."""


@dataclass(frozen=True, slots=True)
class SetupChoice:
    """What the person entered."""

    provider: str
    model: str
    base_url: str
    """Empty for the provider's own address."""
    api_key: str = field(default="", repr=False)
    """Empty to keep an existing key, or if none is needed."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was found on this machine."""

    servers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Provider → models, for every local server that answers."""
    sandbox: str = ""
    """The sandbox's state in one line."""
    sandbox_ready: bool = True


@dataclass(frozen=True, slots=True)
class SetupResult:
    """The wizard's result."""

    kind: Literal["model", "demo", "skipped"]
    choice: SetupChoice | None = None
    saved: str = ""
    """Where the choice was saved, for people."""
