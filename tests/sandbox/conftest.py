"""One set-up of the machine for every test of the room."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.sandbox.package_index import Index


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> EngineSettings:
    folder = tmp_path_factory.mktemp("sandbox")
    found = EngineSettings(cache_dir=str(folder / "cache"))
    asyncio.run(repair(found, lambda *_: None))
    return found


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    (tmp_path / "index").mkdir()
    made = Index(tmp_path / "index")
    made.offer("greet", "1.0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", made.url)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    yield made
    made.go_away()
