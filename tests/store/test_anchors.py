"""Heads of the audit log that are written elsewhere."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from alita_tui.spine.errors import StoreError
from alita_tui.store.anchors import put
from alita_tui.store.heads import Head


def test_an_anchor_on_a_full_disk_is_an_error(tmp_path: Path) -> None:
    """The limit on file size fails a write in its middle, as a full disk does."""
    head = Head(sequence=1, hash="a" * 64, size=10, digest="b" * 64, at="2026-11-28", key="c" * 64)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))
    try:
        with pytest.raises(StoreError, match="could not be written"):
            put(str(tmp_path / "anchors"), head)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
