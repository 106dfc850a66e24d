"""Reads files that others wrote, up to a size."""

from __future__ import annotations

from pathlib import Path

from alita_tui.spine.errors import UsageError


def read_bounded(path: Path, most: int) -> bytes:
    """Return a file's bytes. Raise UsageError if it cannot be read or has more than `most` bytes."""
    try:
        with path.open("rb") as file:
            body = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if len(body) > most:
        raise UsageError(f"{path} is larger than {most // 1_000_000} MB.")
    return body
