"""What several tests of the sandbox are given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.package_index import Index


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
