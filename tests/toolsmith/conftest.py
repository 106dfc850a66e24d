"""One set-up of the machine for every test of the room that runs code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from alita_tui.registry.library import ToolLibrary
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from alita_tui.store.documents import DocumentTable


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> EngineSettings:
    folder = tmp_path_factory.mktemp("sandbox")
    found = EngineSettings(cache_dir=str(folder / "cache"))
    asyncio.run(repair(found, lambda *_: None))
    return found


@pytest.fixture
async def podman(ready: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(ready, "gates")
    yield made
    await made.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[ToolLibrary]:
    table = DocumentTable(tmp_path / "registry.json", "tools")
    yield ToolLibrary(table, tmp_path / "box")
    table.close()
