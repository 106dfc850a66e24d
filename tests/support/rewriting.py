"""Files as another version of alita would have written them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from alita_tui.store.folding import whole
from alita_tui.store.journal_reader import dump, load, read


def rewrite(path: Path, old: bytes, new: bytes, count: int = -1) -> None:
    """Replace text in a closed file's documents, with the checksums that go with it."""
    change(path, lambda text: text.replace(old, new, count))


def change(path: Path, how: Callable[[bytes], bytes], to: Path | None = None) -> None:
    """Do something with a closed file's JSON, and write it with the checksums that go with it."""
    tables = load(how(dump(read(path).tables)))
    (to or path).write_bytes(b"".join(whole(tables)))
