"""`python -m tests.memory.forgetter FILE PLACE`: forgets an item, and is killed at a change of the disk on the way."""

from __future__ import annotations

import sys
from pathlib import Path

from alita_tui.memory.recall import Recollection
from alita_tui.store.documents import DocumentTable
from tests.crash.knife import Knife

if __name__ == "__main__":
    path = Path(sys.argv[1])
    kept = Recollection(DocumentTable(path, "items"))
    Knife(int(sys.argv[2])).sharpen()
    kept.forget("fact:1")
    (path.parent / "acknowledged").touch()
