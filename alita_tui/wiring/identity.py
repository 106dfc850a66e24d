"""When it is, who is here, and what has no name yet."""

from __future__ import annotations

import os
from datetime import UTC, datetime


def now() -> datetime:
    """The clock of every session."""
    return datetime.now(UTC)


def me() -> str:
    """Who runs this process, by its user id: what the environment says of it can be anything."""
    import pwd  # the first paint has no use for it

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def new_id() -> str:
    """A short id that is unique within a session."""
    return os.urandom(5).hex()
