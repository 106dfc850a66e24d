"""What the first-run wizard asks of the rest of the house, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol


class Preset(Protocol):
    """A provider as data. Met by `llm`."""

    @property
    def name(self) -> str:
        """What the settings call it."""

    @property
    def label(self) -> str:
        """What people call it."""

    @property
    def base_url(self) -> str:
        """Its address; empty where the person has to say."""

    @property
    def key_name(self) -> str:
        """Environment variable of its key."""

    @property
    def needs_key(self) -> bool:
        """False for servers of one's own."""

    @property
    def model(self) -> str:
        """A model to begin with; empty where the person has to say."""


class Probe(Protocol):
    """What one small real call showed. Met by `llm`."""

    @property
    def ok(self) -> bool:
        """True when it can be used."""

    @property
    def streams(self) -> bool:
        """The reply came in pieces."""

    @property
    def calls_tools(self) -> bool:
        """It called a tool natively."""

    @property
    def reports_usage(self) -> bool:
        """It told its token counts."""

    @property
    def has_price(self) -> bool:
        """A price is known, so money can be budgeted."""

    @property
    def total_ms(self) -> float:
        """How long the call took."""

    @property
    def text(self) -> str:
        """What went wrong, or what the model lacks."""

    @property
    def hint(self) -> str:
        """What to do about it."""


@dataclass(frozen=True, slots=True)
class SetupChoice:
    """What the person filled in."""

    provider: str
    model: str
    base_url: str
    """Empty for the provider's own address."""
    api_key: str = field(default="", repr=False)
    """Empty to keep the one that is there, or where none is needed."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was found on this machine."""

    servers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Provider → the models that its server offers, for every local server that answers."""
    sandbox: str = ""
    """The sandbox's state in one line."""
    sandbox_ready: bool = True


@dataclass(frozen=True, slots=True)
class SetupResult:
    """How the wizard ended."""

    kind: Literal["model", "demo", "skipped"]
    choice: SetupChoice | None = None
    saved: str = ""
    """Where the key or the settings were saved, for people."""
