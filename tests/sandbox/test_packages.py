"""What the standard library and a package with C code need still works; `make attack` tries many more."""

from __future__ import annotations

import pytest

from alita_tui.sandbox.settings import EngineSettings
from tests.attack.syscalls.prove import prove

pytestmark = pytest.mark.podman


async def test_packages_work_within_the_allowed_system_calls(settings: EngineSettings) -> None:
    assert await prove(settings, ("the standard library", "lxml")) == []
