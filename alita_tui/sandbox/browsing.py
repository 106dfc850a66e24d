"""Runs with a browser: where they are allowed, the image that they need, and their limits."""

from __future__ import annotations

import msgspec

from alita_tui.sandbox import image
from alita_tui.sandbox.host import Host
from alita_tui.spine.errors import NotAllowedHere, SandboxUnavailable
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.spine.ports.stream import Progress

_MB = 1 << 20
_MINIMUM = Limits(
    wall_seconds=120, cpu_seconds=120, memory_bytes=1024 * _MB, processes=512, file_bytes=128 * _MB,
    scratch_bytes=256 * _MB, reserved_bytes=1 << 46,
)  # fmt: skip
"""Threads count as processes, and a browser has about a hundred. It reserves terabytes of address space for the heaps
of scripts; the memory that it uses is limited by the watch over memory."""


async def ensure(host: Host, progress: Progress) -> image.Base:
    """Return the image with a browser, building it if it is missing. Raise SandboxUnavailable."""
    _require_possible(host)
    return await image.ensure(host, progress, image.with_browser(host.settings))


async def present(host: Host) -> bool:
    """Return whether the image exists, without building it. Raise SandboxUnavailable."""
    require(host)
    _require_possible(host)
    return await image.present(host, image.with_browser(host.settings)) is not None


def _require_possible(host: Host) -> None:
    """Raise SandboxUnavailable on another machine and on gVisor."""
    if host.elsewhere:
        raise SandboxUnavailable(
            "A browser runs on this machine alone, not on the engine of another one.",
            hint="Add `local` to sandbox.engines.",
        )
    if host.settings.profile == "gvisor":
        raise SandboxUnavailable(
            "A browser does not run on gVisor's kernel here.",
            hint="`alita config set sandbox.profile draft` runs it on this machine's.",
        )


def require(host: Host) -> None:
    """Raise SandboxUnavailable where tools may not be granted a browser."""
    if not host.settings.browser:
        raise NotAllowedHere(
            "Tools with a browser are not allowed here.",
            hint="`alita config set sandbox.browser true` allows them.",
        )


def with_room(limits: Limits) -> Limits:
    """Return these limits, raised where a browser needs more."""
    widened = {
        name: max(getattr(limits, name), getattr(_MINIMUM, name)) for name in _MINIMUM.__struct_fields__
    }
    return msgspec.structs.replace(limits, **widened)
