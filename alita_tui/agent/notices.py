"""Notices about errors that the code did not foresee."""

from __future__ import annotations

import traceback
from pathlib import Path

from alita_tui import events as e
from alita_tui.spine.text import one_line


def unexpected(error: Exception) -> e.NoticeRaised:
    """Return a notice of an error, with the place in the code that it came from."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f"{Path(last[0].filename).name}:{last[0].lineno}" if last else "unknown"
    text = (
        f"Something went wrong that alita did not expect: {type(error).__name__}: {one_line(str(error), 300)}"
    )
    return e.NoticeRaised(level="error", text=text, hint=f"Please report it, with the place: {place}.")
