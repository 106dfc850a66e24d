"""The sandbox's inventory as values: containers, the pool, installed requirements."""

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
    """Podman's word, such as `running`; `waiting` for a container in this session's pool."""
    since: str
    """ISO 8601."""
    orphan: bool = False
    """True when the alita of this machine that made it is gone."""
    engine: str = "local"
    """The engine's name in the settings."""


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
    """Waiting containers of one environment."""

    environment: str
    """Beginning of the environment's digest; `base` for the bare image."""
    hot: int = 0
    warm: int = 0
    making: int = 0
    imports: tuple[str, ...] = ()
    """Modules that hot ones have imported, or `start:LANGUAGE` where they have started its program."""
    engine: str = "local"
    """The engine's name in the settings."""


class Inventory(Value, frozen=True):
    """The whole inventory at one moment."""

    at: float
    """Seconds since the epoch."""
    containers: tuple[ContainerRow, ...] = ()
    """Those of every alita of this account."""
    pool: tuple[PoolRow, ...] = ()
    """This session's pool, the most recently used environment first."""
    environments: tuple[EnvironmentRow, ...] = ()
    """The most recently used first."""
    hot: int = 0
    """How many containers per environment are kept ready with the last tool's imports done."""
    warm: int = 0
    """How many containers per environment are kept ready without imports."""
    room_bytes: int = 0
    """Disk space for all environments."""
    silent: tuple[str, ...] = ()
    """Engines that do not answer, by their names in the settings; their containers are missing here."""
