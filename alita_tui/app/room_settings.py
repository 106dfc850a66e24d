"""Derives the settings of sandbox and budget from the person's settings; fields of the same name mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from alita_tui.config.load import Loaded
from alita_tui.config.paths import Paths
from alita_tui.sandbox.install_limits import InstallLimits
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Limits

if TYPE_CHECKING:
    from alita_tui.agent.budget import Budget
    from alita_tui.config.settings import BudgetSettings, SandboxSettings

_POOL = ("pool_hot", "pool_warm", "pool_environments", "session_calls")


def sandbox_settings(
    paths: Paths, loaded: Loaded, *, pool: bool = False, profile: str = ""
) -> EngineSettings:
    """Return how the sandbox is set up; without `pool` no container is started ahead or shared.

    `profile` replaces the one of the settings.
    """
    chosen = loaded.settings.sandbox
    same = _same_named(chosen, EngineSettings)
    if not pool:
        same = {name: value for name, value in same.items() if name not in _POOL}
    if profile:
        same["profile"] = profile
    return EngineSettings(
        cache_dir=str(paths.cache),
        **same,
        images=(chosen.image,) if chosen.image else (),
        browser_images=(chosen.browser_image,) if chosen.browser_image else (),
        install_limits=InstallLimits(bytes=chosen.environment_mb << 20),
    )


def run_limits(chosen: SandboxSettings) -> Limits:
    """Return the limits of one run."""
    return Limits(
        wall_seconds=chosen.wall_seconds,
        cpu_seconds=2 * chosen.wall_seconds,  # the clock ends an endless loop; this ends busy threads
        memory_bytes=chosen.memory_mb * 1024 * 1024,
    )


def caps(chosen: BudgetSettings) -> Budget:
    """Return what a session may cost."""
    from alita_tui.agent.budget import Budget, Cap

    return Budget(
        task=Cap(usd=chosen.task_usd or None, tokens=chosen.task_tokens or None),
        session=Cap(usd=chosen.session_usd or None, tokens=chosen.session_tokens or None),
        day=Cap(usd=chosen.day_usd or None, tokens=chosen.day_tokens or None),
        build_usd=chosen.build_usd or None,
    )


def _same_named(chosen: msgspec.Struct, target: type[msgspec.Struct]) -> dict[str, Any]:
    names = target.__struct_fields__
    return {name: getattr(chosen, name) for name in names if hasattr(chosen, name)}
