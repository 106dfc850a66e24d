"""Parquet on a machine without pyarrow: what to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui.mapping.rows import opened
from alita_tui.spine.errors import UsageError


def test_without_pyarrow_the_install_command_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alita_tui.confined.parquet.find_spec", lambda name: None)
    (tmp_path / "in.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="need pyarrow") as refused:
        opened(tmp_path / "in.parquet", {})
    assert refused.value.hint == "Install it: pip install 'alita-tui[parquet]'"
