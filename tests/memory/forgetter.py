"""`python -m tests.memory.forgetter FILE POINT`: forgets an item, and is killed at one of its changes to the disk."""

from __future__ import annotations

import sys
from pathlib import Path

from alita_tui.memory.recall import Recollection
from alita_tui.store.documents import DocumentTable
from tests.crash.faults import FaultInjector

if __name__ == "__main__":
    path = Path(sys.argv[1])
    kept = Recollection(DocumentTable(path, "items"))
    FaultInjector(int(sys.argv[2])).install()
    kept.forget("fact:1")
    (path.parent / "acknowledged").touch()
