"""One set-up of the machine for every test of the room."""

from __future__ import annotations

import asyncio

import pytest

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> EngineSettings:
    folder = tmp_path_factory.mktemp("sandbox")
    found = EngineSettings(cache_dir=str(folder / "cache"))
    asyncio.run(repair(found, lambda *_: None))
    return found
