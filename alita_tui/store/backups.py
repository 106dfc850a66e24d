"""Backups of the library with its tools' files, the memory, the labels and the audit log.

A backup is one archive (tar, gzip) with its files and a list of their digests; it gets its name only when it is
complete. Of the automatic ones only the newest are kept. Restoring makes a backup first.
"""

from __future__ import annotations

import io
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from alita_tui.events import Value, ready
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.text import one_line
from alita_tui.store import disk, journal_reader
from alita_tui.store.storage import JournalStorage, whole
from alita_tui.store.upgrades import SCHEMA_VERSION, Tables, upgrade

Reason = Literal["manual", "upgrade", "clean-up", "restore"]
"""`clean-up`: made before a record was removed; `restore`: made before another backup was restored."""

_ENDING = ".tar.gz"
_LIST = "backup.json"
_DRAFT_SECONDS = 600.0
"""Age from which a half-written backup must be from a process that ended."""
_KEPT = 10
"""How many automatic backups are kept."""


class Backup(Value, frozen=True, omit_defaults=False):
    """One backup."""

    backup_id: str
    reason: Reason
    made_at: str
    """ISO 8601, UTC."""
    schema_version: int
    files: dict[str, str]
    """Name and SHA-256 (hex) of each file."""
    path: str = ""
    size: int = 0
    """Size of the archive in bytes."""


class Backups:
    """The folder of backups. All calls block and may raise StoreError."""

    def __init__(
        self,
        folder: Path,
        databases: Mapping[str, Path],
        folders: Mapping[str, Path],
        clock: Clock = lambda: datetime.now(UTC),
        *,
        logs: Mapping[str, Path] | None = None,
    ) -> None:
        """`databases` and `folders` are backed up, each under its name here.

        `logs` are included but never restored: a log is not replaced by an older one.
        """
        self._logs = logs or {}
        self.folder = folder
        self._databases = databases
        self._folders = folders
        self._clock = clock

    def create(self, reason: Reason = "manual") -> Backup:
        """Back up everything as it is now, and return the backup."""
        at = self._clock()
        files = dict(self._current_files())
        backup = Backup(
            backup_id=f"{at:%Y%m%d-%H%M%S}-{reason}-{secrets.token_hex(2)}",
            reason=reason,
            made_at=at.isoformat(),
            schema_version=SCHEMA_VERSION,
            files={name: sha256(raw).hexdigest() for name, raw in files.items()},
        )
        disk.make_folder(self.folder)
        path = self.folder / (backup.backup_id + _ENDING)
        try:
            disk.replace(path, [_packed({_LIST: msgspec.json.encode(backup), **files})])
        except OSError as error:
            raise disk.store_error("saved", path, error) from error
        self._forget_old()
        return self._read(path)[0]

    def list(self) -> tuple[Backup, ...]:
        """Return all readable backups, newest first."""
        self._sweep()
        backups = []
        for path in sorted(self.folder.glob(f"*{_ENDING}"), reverse=True):
            try:
                backups.append(self._read(path)[0])
            except StoreError:
                continue
        return tuple(backups)

    def restore(self, wanted: str) -> tuple[Backup, Backup]:
        """Restore a backup; return it and the backup made of the state before.

        Tool files that it does not contain stay: nothing is deleted. Raises UsageError for an unknown id,
        StoreError if it is damaged; then nothing was changed.
        """
        chosen, files = self._read(self._find(wanted))
        databases = {name: _tables(chosen, files[name]) for name in self._databases if name in files}
        safety_copy = self.create("restore")
        # Tool files come first: an index never names files that are not there yet.
        for name, raw in files.items():
            folder, _, relative = name.partition("/")
            if folder in self._folders and relative:
                _put(self._folders[folder] / PurePosixPath(relative), raw)
        for name, tables in databases.items():
            disk.make_folder(self._databases[name].parent)
            JournalStorage(self._databases[name], mode="shared").write(tables)
        return chosen, safety_copy

    def logs(self) -> Iterator[bytes]:
        """Yield the copies of the logs in all backups, newest first."""
        for backup in self.list():
            _, files = self._read(Path(backup.path))
            yield from (files[name] for name in self._logs if name in files)

    def before_upgrade(self, path: Path) -> Backup | None:
        """Return a new backup if opening this file for writing would upgrade it, else None."""
        older = 0 < _version(path) < SCHEMA_VERSION
        return self.create("upgrade") if older else None

    def _current_files(self) -> Mapping[str, bytes]:
        # A missing database is packed as an empty one, so that restoring can empty it, too.
        files = {
            key: b"".join(whole(journal_reader.read(path).tables)) for key, path in self._databases.items()
        }
        files |= {key: disk.read_bytes(path) or b"" for key, path in self._logs.items()}
        for name, folder in self._folders.items():
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    files[f"{name}/{path.relative_to(folder).as_posix()}"] = disk.read_bytes(path) or b""
        return files

    def _find(self, wanted: str) -> Path:
        ids = sorted(path.name.removesuffix(_ENDING) for path in self.folder.glob(f"*{_ENDING}"))
        matches = [backup_id for backup_id in ids if backup_id == wanted] or [
            backup_id for backup_id in ids if wanted and backup_id.startswith(wanted)
        ]
        if len(matches) != 1:
            problem = "More than one backup begins with" if matches else "There is no backup"
            raise UsageError(f"{problem} {one_line(wanted, 60)!r}.", hint="`alita backup list` shows them.")
        return self.folder / (matches[0] + _ENDING)

    def _read(self, path: Path) -> tuple[Backup, dict[str, bytes]]:
        """Return a backup and its files, checked against their digests. Raises StoreError."""
        raw = disk.read_bytes(path) or b""
        files = _unpacked(path, raw)
        try:
            listed = msgspec.json.decode(files.pop(_LIST, b""), type=ready(Backup))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StoreError(f"{path} is not a backup, or it is damaged.") from error
        if {name: sha256(data).hexdigest() for name, data in files.items()} != listed.files:
            raise StoreError(f"{path} is damaged: its files are not those that were packed.")
        return msgspec.structs.replace(listed, path=str(path), size=len(raw)), files

    def _sweep(self) -> None:
        """Remove backups that killed processes left half written; one in progress is younger."""
        with suppress(OSError):
            for draft in self.folder.glob(f"*{_ENDING}.tmp"):
                if time.time() - draft.stat().st_mtime > _DRAFT_SECONDS:
                    draft.unlink(missing_ok=True)

    def _forget_old(self) -> None:
        automatic = [backup for backup in self.list() if backup.reason != "manual"]
        for expired in automatic[_KEPT:]:
            Path(expired.path).unlink(missing_ok=True)


def _packed(files: Mapping[str, bytes]) -> bytes:
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, raw in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(raw), disk.PRIVATE
            archive.addfile(entry, io.BytesIO(raw))
    return packed.getvalue()


def _unpacked(path: Path, raw: bytes) -> dict[str, bytes]:
    """Return the plain files in an archive, by harmless relative names. Raises StoreError."""
    import tarfile
    import zlib

    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as archive:
            for entry in archive:
                entry_path = PurePosixPath(entry.name)
                content = archive.extractfile(entry) if entry.isreg() else None
                if content is None or entry_path.is_absolute() or ".." in entry_path.parts:
                    raise StoreError(
                        f"{path} holds something that no backup has: {one_line(entry.name, 80)!r}."
                    )
                files[entry.name] = content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise StoreError(f"{path} is not a backup, or it is damaged.") from error
    return files


def _tables(chosen: Backup, raw: bytes) -> Tables:
    if chosen.schema_version > SCHEMA_VERSION:
        raise StoreError(
            f"{chosen.path} was made by a newer alita (schema {chosen.schema_version}).", hint="Update alita."
        )
    try:
        tables = msgspec.convert(journal_reader.load(raw), ready(Tables))
    except ValueError as error:
        raise StoreError(f"{chosen.path} is damaged: {error}.") from error
    upgrade(tables, chosen.schema_version)
    return tables


def _put(path: Path, raw: bytes) -> None:
    if disk.read_bytes(path) == raw:
        return
    disk.make_folder(path.parent)
    try:
        disk.replace(path, [raw])
    except OSError as error:
        raise disk.store_error("restored", path, error) from error


def _version(path: Path) -> int:
    """Return the schema version that a file names; 0 if it names none or cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(200)
    except OSError:
        return 0
    match = re.match(rb'\{\n"store":\{\n"1":\{[^}]*"schema_version":(\d+)', head)
    return int(match[1]) if match else 0
