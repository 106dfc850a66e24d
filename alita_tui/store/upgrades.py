"""Upgrades files from each schema version to the next. Events have versions of their own and are not changed here.

A step changes the tables of any file in place. It may meet what it has changed before: an older process can add to
the journal of a file that this one has upgraded already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from alita_tui.events import Json

Tables = dict[str, dict[str, Json]]

OLDEST = 1
"""The version of files that name none: TinyDB itself wrote them."""


def _add_last_call(tables: Tables) -> None:
    """A day's spend names the call that was settled last, so that it cannot be counted twice."""
    for row in tables.get("days", {}).values():
        if isinstance(row, dict):
            row.setdefault("last", ["", 0.0, 0])


def _add_checksums(_tables: Tables) -> None:
    """The file gets checksums (`checksums.SINCE`), which are not part of the tables in memory."""


STEPS: Mapping[int, Callable[[Tables], None]] = {1: _add_last_call, 2: _add_checksums}

SCHEMA_VERSION = max(STEPS) + 1
"""The version of files written now, recorded in their `store` table."""


def upgrade(tables: Tables, version: int) -> None:
    """Upgrade the tables of an older version in place."""
    for step in range(max(version, OLDEST), SCHEMA_VERSION):
        STEPS[step](tables)
