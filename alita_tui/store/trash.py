"""Deleted sessions, kept for a while so that deleting can be undone."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from alita_tui.spine.errors import UsageError
from alita_tui.store import disk, lock
from alita_tui.store.artefacts import folder_of
from alita_tui.store.journal_reader import journal_of

KEPT_DAYS = 30
"""Days after which a deleted session is removed for good, the next time one is deleted."""


class Trash:
    """A folder below the sessions', with their files as they were."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ids(self) -> tuple[str, ...]:
        """Return the ids of the sessions in it, the one deleted last first."""
        ids = {path.name.removesuffix(".journal").removesuffix(".json") for path in self._files()}
        return tuple(sorted(ids, key=self._deleted_at, reverse=True))

    def put(self, path: Path) -> None:
        """Move a session here. Raises StoreLocked while a process has it open, StoreError."""
        self._forget_old()
        disk.make_folder(self.folder)
        try:
            lock_fd = lock.take(path, 0.25)
            try:
                journal = journal_of(path)
                if journal.stat().st_size:
                    self._move(journal, self.folder)
                else:
                    journal.unlink()
                if folder_of(path).is_dir():
                    self._move(folder_of(path), self.folder)
                if os.path.lexists(path):
                    self._move(path, self.folder)
                disk.sync_folder(path.parent)
            finally:
                os.close(lock_fd)
        except OSError as error:
            raise disk.store_error("deleted", path, error) from error

    @staticmethod
    def erase(path: Path) -> None:
        """Remove a session's file for good. Raises StoreLocked while a process has it open, StoreError."""
        try:
            lock_fd = lock.take(path, 0.25)
            try:
                path.unlink(missing_ok=True)
                journal_of(path).unlink(missing_ok=True)
                disk.sync_folder(path.parent)
            finally:
                os.close(lock_fd)
        except OSError as error:
            raise disk.store_error("removed", path, error) from error

    def restore(self, session_id: str, folder: Path) -> Path:
        """Move a session back into its folder; return its file. Raises UsageError if it is not here, StoreError."""
        path = self.folder / f"{session_id}.json"
        sources = [source for source in (folder_of(path), path, journal_of(path)) if os.path.lexists(source)]
        if not sources:
            raise UsageError(f"There is no deleted session {session_id!r}.")
        if any(os.path.lexists(folder / source.name) for source in sources):
            raise UsageError(f"There is a session {session_id} again; nothing was put back.")
        try:
            for source in sources:
                self._move(source, folder)
            disk.sync_folder(folder)
        except OSError as error:
            raise disk.store_error("put back", path, error) from error
        return folder / path.name

    def _move(self, path: Path, folder: Path) -> None:
        os.utime(path, follow_symlinks=False)  # the days count from here
        path.replace(folder / path.name)

    def _files(self) -> list[Path]:
        return [*self.folder.glob("*.json"), *self.folder.glob("*.json.journal")]

    def _deleted_at(self, session_id: str) -> float:
        path = self.folder / f"{session_id}.json"
        times = [file.stat().st_mtime for file in (path, journal_of(path)) if file.exists()]
        return max(times, default=0.0)

    def _forget_old(self) -> None:
        oldest = time.time() - KEPT_DAYS * 86400
        for path in self._files():
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    shutil.rmtree(folder_of(path), ignore_errors=True)
                    path.unlink()
