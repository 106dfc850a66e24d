"""What of the sandbox is on this machine: containers, those that wait, installed requirements."""

from __future__ import annotations

from alita_tui.events import Value


class ContainerRow(Value, frozen=True):
    """One container."""

    container: str
    """Beginning of its id."""
    session: str
    environment: str
    """Beginning of the environment's digest; `base` for the bare image."""
    state: str
    """As Podman says it: `running`, `created` …; `waiting` for one of this session's pool."""
    since: str
    """ISO 8601."""
    orphan: bool = False
    """True when the alita of this machine that made it is gone."""
    engine: str = "local"
    """Where it is, as the settings name it."""


class EnvironmentRow(Value, frozen=True):
    """Installed requirements."""

    environment: str
    """Beginning of its digest."""
    packages: tuple[str, ...] = ()
    size: int = 0
    """Bytes on disk."""
    used_at: float = 0.0
    """Seconds since the epoch."""


class PoolRow(Value, frozen=True):
    """What waits for one environment."""

    environment: str
    """Beginning of the environment's digest; `base` for the bare image."""
    hot: int = 0
    warm: int = 0
    making: int = 0
    imports: tuple[str, ...] = ()
    """What hot ones have imported."""
    engine: str = "local"
    """Where they wait, as the settings name it."""


class Inventory(Value, frozen=True):
    """All of it, as it was at one moment."""

    at: float
    """Seconds since the epoch."""
    containers: tuple[ContainerRow, ...] = ()
    """Of every alita of this account."""
    pool: tuple[PoolRow, ...] = ()
    """Of this session, the environment used last first."""
    environments: tuple[EnvironmentRow, ...] = ()
    """The one used last first."""
    hot: int = 0
    """How many are kept ready with the last tool's imports done, for each environment."""
    warm: int = 0
    """How many are kept with nothing imported, for each environment."""
    room_bytes: int = 0
    """Room for all environments."""
    silent: tuple[str, ...] = ()
    """Engines that do not answer, as the settings name them; what is there is not among the rest."""
