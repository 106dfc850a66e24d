"""The clock, the person, and new ids."""

from __future__ import annotations

import os
from datetime import UTC, datetime


def now() -> datetime:
    """Return the time; the clock of every session."""
    return datetime.now(UTC)


def me() -> str:
    """Return the name of the user who runs this process, by user id; environment variables could be forged."""
    import pwd  # not needed for the first paint

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def new_id() -> str:
    """Return a short id that is unique within a session."""
    return os.urandom(5).hex()
