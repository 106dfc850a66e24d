"""The statistics of this home: the rows of its sessions, read again only where a session changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.ports.statistics import By, Estimate, Report
from alita_tui.store import disk
from alita_tui.system.files import read_plain

if TYPE_CHECKING:
    from alita_tui.statistics.records import Records, Stamp
    from alita_tui.statistics.rows import SessionRows

Progress = Callable[[int, int], object]
"""Called with the number of changed sessions read so far, and of all changed sessions."""

_WORTH_WRITING = 5
"""Sessions read for an estimate from which the cache is written, since the open one changes with every task."""
_JOURNAL = ".journal"
_ENDING = ".json"


def read_report(
    app: AppContext, days: int | None, progress: Progress = lambda done, of: None, at: datetime | None = None
) -> Report:
    """Return the statistics of the newest days up to today, of everything for None. Blocks on the disk.

    Sessions that cannot be read whole are named in it. Raises StoreError if the folder of sessions cannot be read.
    """
    from alita_tui.statistics.report import period, report

    records, unreadable = gather(app, progress)
    return report(records, period(at or now(), days), unreadable=unreadable)


def write_csv(report: Report, by: By) -> str:
    """Write a table to an unused name in the working folder; return the path. Raises UsageError."""
    from alita_tui.app.exports import unused_path, write_text
    from alita_tui.view.statistics import as_csv, lines_of

    path = unused_path(f"statistics-{by}", "csv")
    write_text(path, as_csv(lines_of(report, by), by))
    return str(path.resolve())


_one_by_one = threading.Lock()


def estimate(
    app: AppContext, text: str, progress: Progress = lambda done, of: None, *, most: int | None = None
) -> Estimate:
    """Return what a task will cost and take, estimated from similar tasks. Raises StoreError; blocks on the disk.

    With `most`, only so many of the changed sessions are read, the newest; the others count as last read.
    """
    from alita_tui.statistics.estimates import Estimator

    with _one_by_one:  # tasks that begin together would read the same sessions
        records = gather(app, progress, most=most)[0]
    return Estimator(records).estimate(text)


def gather(
    app: AppContext, progress: Progress = lambda number, of: None, *, most: int | None = None
) -> tuple[Records, tuple[str, ...]]:
    """Return the rows of all sessions, and the names of those that cannot be read whole. Raises StoreError.

    With `most`, only so many of the changed sessions are read, the newest; the cache is not written for a few.
    """
    from alita_tui.statistics.records import Records

    folder = app.sessions.folder
    try:
        stamps = dict(_stamps(folder))
    except OSError as error:
        raise disk.store_error("read", folder, error) from error
    try:
        records = Records.unpacked(read_plain(app.paths.statistics))
    except OSError:
        records = Records()
    stale, unreadable = records.stale(stamps), []
    if most is not None:
        stale = sorted(stale, key=lambda name: stamps[name][1], reverse=True)[:most]
    read = []
    for number, name in enumerate(stale):
        progress(number, len(stale))
        try:
            read.append((name, *_read(app, name, stamps[name])))
        except (StoreError, UsageError):
            unreadable.append(name)
    if records.update(set(stamps) - set(unreadable), read) and (most is None or len(read) >= _WORTH_WRITING):
        try:
            disk.replace(app.paths.statistics, [records.packed()])
        except OSError:
            pass  # it is only a cache
    damaged = [session.name for session in records.sessions if session.damaged]
    return records, tuple(sorted([*unreadable, *damaged]))


def _stamps(folder: os.PathLike[str]) -> Iterator[tuple[str, Stamp]]:
    """Yield each session's name and the state of its files."""
    stamps: dict[str, list[int]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.removesuffix(_JOURNAL)
            if name.startswith(".") or not name.endswith(_ENDING) or not entry.is_file(follow_symlinks=False):
                continue
            status = entry.stat(follow_symlinks=False)
            state = stamps.setdefault(name.removesuffix(_ENDING), [0] * 6)
            at = 3 if name != entry.name else 0
            state[at : at + 3] = status.st_ino, status.st_mtime_ns, status.st_size
    yield from ((name, tuple(stamp)) for name, stamp in sorted(stamps.items()))


def _read(app: AppContext, name: str, stamp: Stamp) -> tuple[str, Stamp, SessionRows]:
    from alita_tui.spine.history import of
    from alita_tui.statistics.rows import KINDS, rows_of
    from alita_tui.store.journal_reader import TORN
    from alita_tui.store.sessions import SessionFile

    file = SessionFile.open(app.sessions.path(name), readonly=True)
    try:
        rows = rows_of(of(file.history(), *KINDS))
        rows.damaged = file.restored.note not in ("", TORN)
        return file.session_id, stamp, rows
    finally:
        file.close()
