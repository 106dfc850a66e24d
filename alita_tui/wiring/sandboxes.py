"""The sandbox's settings from the person's."""

from __future__ import annotations

import msgspec

from alita_tui.config import settings as config
from alita_tui.config.paths import Paths
from alita_tui.sandbox.install_limits import InstallLimits
from alita_tui.sandbox.policy import SandboxSettings, default_settings


def sandbox_settings(paths: Paths, chosen: config.SandboxSettings) -> SandboxSettings:
    """What the sandbox is told, without its pool."""
    return msgspec.structs.replace(
        default_settings(paths.data, paths.cache),
        images=(chosen.image,) if chosen.image else (),
        image_tar=chosen.image_tar,
        pull=chosen.pull,
        profile=chosen.profile,
        account=chosen.account,
        socket=chosen.socket,
        engines=chosen.engines,
        ssh_config=chosen.ssh_config,
        environments_mb=chosen.environments_mb,
        install_limits=InstallLimits(bytes=chosen.environment_mb << 20),
    )
