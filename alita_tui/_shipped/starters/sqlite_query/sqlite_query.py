# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Ask a SQLite database in SQL, or list its tables; a change goes into a copy and never into the database itself."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

_STEPS = 50_000_000
"""Steps of SQLite's virtual machine that a statement may take."""
_LONGEST = 10_000
"""Characters of a cell."""


def run(
    database: str,
    sql: str = "",
    values: list[str | float | int | None] | None = None,
    limit: int = 1000,
    save_as: str = "",
) -> dict[str, object]:
    """Returns columns and rows of one statement, at most `limit`, and whether there are more.

    Without `sql` the rows are the tables. `values` fill the statement's question marks. With `save_as` the
    statement may change a copy of the database, which is left under that name. Raises ValueError for what is
    no database, a statement that fails, and a change without `save_as`. Changes that stand only in a `-wal`
    file beside the database are not seen.
    """
    if limit < 0:
        raise ValueError("limit has to be 0 or more")
    if save_as and (Path(save_as).name != save_as or save_as.startswith(".")):
        raise ValueError("save_as is a plain file name")
    source = Path(database).resolve()
    if not source.is_file():
        raise ValueError(f"there is no file {database}")
    _check_whole(source)
    if save_as:
        shutil.copyfile(source, save_as)
    place = Path(save_as).resolve().as_uri() if save_as else f"{source.as_uri()}?mode=ro&immutable=1"
    found = sqlite3.connect(place, uri=True, isolation_level=None)
    try:
        found.execute("PRAGMA schema_version")  # what is no database is told at once
        found.set_progress_handler(_Steps().more, 10_000)
        found.execute("PRAGMA query_only = " + ("off" if save_as else "on"))
        found.set_authorizer(_allowed)
        answer = _ask(found, sql, values or [], limit) if sql else _tables(found)
    except sqlite3.Error as error:
        raise ValueError(f"SQLite says: {error}") from error
    finally:
        found.close()
    return {**answer, "file": save_as} if save_as else answer


def _check_whole(source: Path) -> None:
    """Raises ValueError for a file that ends before its last page: SQLite would read that as empty cells."""
    with source.open("rb") as file:
        head = file.read(100)
    page = int.from_bytes(head[16:18], "big")
    page = 65_536 if page == 1 else page
    pages = int.from_bytes(head[28:32], "big") if head[24:28] == head[92:96] else 0
    size = source.stat().st_size
    if head.startswith(b"SQLite format 3\0") and page and (size % page or size < pages * page):
        raise ValueError(f"the database is cut off: {size:,} bytes of it are there")


class _Steps:
    """Ends a statement that takes too long."""

    def __init__(self) -> None:
        self._left = _STEPS // 10_000

    def more(self) -> int:
        self._left -= 1
        return int(self._left < 0)


def _allowed(action: int, *_: object) -> int:
    """Other databases are not attached: what a statement reads and changes is one file."""
    return (
        sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK
    )


def _ask(
    found: sqlite3.Connection, sql: str, values: Sequence[str | float | int | None], limit: int
) -> dict[str, object]:
    cursor = found.execute(sql, values)
    rows = cursor.fetchmany(limit + 1)
    return {
        "columns": [column[0] for column in cursor.description or ()],
        "rows": [[_cell(cell) for cell in row] for row in rows[:limit]],
        "more": len(rows) > limit,
        "changed": max(cursor.rowcount, 0),
    }


def _tables(found: sqlite3.Connection) -> dict[str, object]:
    rows = found.execute(
        "SELECT name, (SELECT group_concat(columns.name, ', ') FROM pragma_table_info(tables.name) AS columns)"
        " FROM sqlite_schema AS tables WHERE type IN ('table', 'view') ORDER BY name"
    ).fetchall()
    return {"columns": ["table", "columns"], "rows": [list(row) for row in rows], "more": False, "changed": 0}


def _cell(value: object) -> object:
    """What JSON can say: bytes as a word about them, long texts cut."""
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    if isinstance(value, str) and len(value) > _LONGEST:
        return value[:_LONGEST] + "…"
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return value


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
