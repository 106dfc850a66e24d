"""From each version of the files to the next. Events carry versions of their own and are not touched here.

A step takes the tables of any file and changes what it knows in place. It may meet what it has changed
before: an older process can add to the journal of a file that this one has read already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from alita_tui.spine.values import Json

Tables = dict[str, dict[str, Json]]

OLDEST = 1
"""Of files that name no version: TinyDB itself wrote them."""


def _one(tables: Tables) -> None:
    """A day's spend names the call that was settled last, so that settling it again counts once."""
    for row in tables.get("days", {}).values():
        if isinstance(row, dict):
            row.setdefault("last", ["", 0.0, 0])


def _two(_tables: Tables) -> None:
    """The file gets checksums (`checksums.SINCE`), which are no part of the tables in memory."""


STEPS: Mapping[int, Callable[[Tables], None]] = {1: _one, 2: _two}

SCHEMA_VERSION = max(STEPS) + 1
"""Of the files that are written now, recorded in their `store` table."""


def upgrade(tables: Tables, version: int) -> None:
    """Bring tables of an older version up to now, in place."""
    for step in range(max(version, OLDEST), SCHEMA_VERSION):
        STEPS[step](tables)
