"""Reads files of others, up to a size limit."""

from __future__ import annotations

from pathlib import Path

from alita_tui.spine.errors import UsageError


def read_bounded(path: Path, limit: int) -> bytes:
    """Return a file's bytes. Raises UsageError if it cannot be read or has more than `limit` bytes."""
    try:
        with path.open("rb") as file:
            body = file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if len(body) > limit:
        raise UsageError(f"{path} is larger than {limit // 1_000_000} MB.")
    return body
