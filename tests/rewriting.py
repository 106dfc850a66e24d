"""Files as another version of alita would have written them."""

from __future__ import annotations

from pathlib import Path

from alita_tui.store.folding import whole
from alita_tui.store.reading import dump, load, read


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    """Replace text in a closed file's documents, with the checksums that go with it."""
    tables = load(dump(read(path).tables).replace(old, new))
    path.write_bytes(b"".join(whole(tables)))
