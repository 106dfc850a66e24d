"""The bytes of a session's artefacts: one immutable file per digest, in a folder beside the session's file.

They are moved to the trash, put back and removed together with their session.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path

from alita_tui.artefacts.media import HEAD_BYTES, media_type, preview
from alita_tui.events.artefact import Artefact
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.text import one_line
from alita_tui.store import disk

SUFFIX = ".artefacts"
_CHUNK = 1 << 20
_DRAFT = ".new-"
"""Prefix of files that are not complete yet."""
_LONGEST_NAME = 120
_IMMUTABLE = 0o444
"""Readable for the account that runs the sandbox; the folder above is closed to others."""


def folder_of(session: Path) -> Path:
    """Return the folder with the artefacts of the session in this file, or with this journal."""
    return session.with_name(session.name.removesuffix(".journal").removesuffix(".json") + SUFFIX)


class SessionArtefacts:
    """The artefacts of one session. Meets `Artefacts`."""

    def __init__(self, folder: Path, most_bytes: int, *, reuse: bool = False) -> None:
        """`most_bytes` is the size of the largest file that is accepted.

        With `reuse` one empty landing folder is kept for the next run, until `close`: making and removing one takes a
        millisecond.
        """
        self.folder = folder
        self._most = most_bytes
        self._reuse = reuse
        self._spare: list[Path] = []
        self._checked: dict[str, tuple[int, ...]] = {}
        """Digest -> the file's signature when its bytes were last verified."""

    def add(self, path: Path, name: str = "", *, take: bool = False) -> Artefact:
        """Copy a file in, or move it with `take`; return its artefact.

        Raise UsageError if it is not a file or too large, StoreError.
        """
        name = file_name(name or path.name)
        try:
            source = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from error
        try:
            if not path.is_file():
                kind = "a folder" if path.is_dir() else "no regular file"
                raise UsageError(
                    f"{path} is {kind}.", hint="Give a file; pack a folder first, for example with zip."
                )
            self._check(os.fstat(source).st_size, str(path))
            artefact = self._written(source, name, str(path))
        finally:
            os.close(source)
        if take:
            with suppress(OSError):
                path.unlink()
        return artefact

    def add_bytes(self, data: bytes, name: str) -> Artefact:
        """Store bytes under a name; return their artefact. Raise UsageError if there are too many, StoreError."""
        self._check(len(data), name)
        return self._stored(data, file_name(name))

    def landing(self) -> Path:
        """Return a new empty folder for the files of a run; the caller gives it back. Raise StoreError."""
        folder = self._draft()
        disk.make_folder(folder)
        return folder

    def spare_landing(self) -> Path | None:
        """Return a landing folder that an earlier run left empty; None if there is none. Never blocks."""
        return self._spare.pop() if self._spare else None

    def give_back(self, landing: Path, *, ended: bool) -> None:
        """Remove a landing folder and its files; if the run `ended`, an empty one is kept for the next run."""
        if ended and self._reuse and not self._spare and not any(os.scandir(landing)):
            self._spare.append(landing)
            return
        try:
            landing.rmdir()  # usually it is empty
        except OSError:
            shutil.rmtree(landing, ignore_errors=True)

    def close(self) -> None:
        """Remove the landing folder kept for the next run."""
        while self._spare:
            shutil.rmtree(self._spare.pop(), ignore_errors=True)

    def sweep(self) -> None:
        """Remove half-written files of a killed process. For the process that has the session open."""
        for path in self.folder.glob(f"{_DRAFT}*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def has(self, artefact: Artefact) -> bool:
        """Return whether there is a file for an artefact; its bytes are not read."""
        return (self.folder / artefact.digest).exists()

    def path(self, artefact: Artefact) -> Path:
        """Return where an artefact's bytes are. Raise StoreError if they are missing or changed."""
        path = self.folder / artefact.digest
        try:
            status = path.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if self._checked.get(artefact.digest) == stamp:
                return path
            with path.open("rb") as content:
                digest = file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise StoreError(
                f"The bytes of {artefact.name} ({artefact.handle}) are missing.",
                hint="The session came without its files; give the file again.",
            ) from error
        if digest != artefact.digest:
            raise StoreError(
                f"{path} does not hold what was added: another program changed it.",
                hint="Give the file again.",
            )
        self._checked[artefact.digest] = stamp
        return path

    def _check(self, size: int, label: str) -> None:
        if size > self._most:
            raise UsageError(
                f"{one_line(label, 200)} has {size / 1e6:,.1f} MB; one file may have {self._most / 1e6:,.0f} MB.",
                hint="Raise it: alita config set artefacts.file_mb N",
            )

    def _stored(self, data: bytes, name: str) -> Artefact:
        draft = self._draft()
        try:
            disk.write_new(draft, (data,))
            return self._settled(draft, sha256(data).hexdigest(), name, data[:HEAD_BYTES], len(data))
        except OSError as error:
            raise disk.store_error("saved", self.folder, error) from error
        finally:
            with suppress(OSError):  # `sweep` removes it
                draft.unlink(missing_ok=True)

    def _written(self, source: int, name: str, label: str) -> Artefact:
        """Copy a descriptor's bytes to a file of their digest; return the artefact. On failure nothing is left."""
        draft = self._draft()
        sha, size, head = sha256(), 0, b""
        try:
            target = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, disk.PRIVATE)
            try:
                while chunk := os.read(source, _CHUNK):
                    head = head or chunk[:HEAD_BYTES]
                    sha.update(chunk)
                    disk.write_all(target, chunk, size)
                    size += len(chunk)
                    self._check(size, label)  # it may grow while it is read
                os.fsync(target)
            finally:
                os.close(target)
            return self._settled(draft, sha.hexdigest(), name, head, size)
        except OSError as error:
            raise disk.store_error("saved", self.folder, error) from error
        finally:
            with suppress(OSError):  # `sweep` removes it
                draft.unlink(missing_ok=True)

    def _draft(self) -> Path:
        disk.make_folder(self.folder)
        return self.folder / f"{_DRAFT}{os.urandom(8).hex()}"

    def _settled(self, draft: Path, digest: str, name: str, head: bytes, size: int) -> Artefact:
        """Rename a complete file to its digest, unless there is one already; return its artefact. Raise OSError."""
        kind = media_type(name, head)
        artefact = Artefact(
            handle=f"art_{digest[:10]}",
            digest=digest,
            name=name,
            media_type=kind,
            size=size,
            preview=preview(kind, head),
        )
        try:
            self.path(artefact)
        except StoreError:
            draft.chmod(_IMMUTABLE)
            draft.replace(self.folder / digest)
            disk.sync_folder(self.folder)
        return artefact


def file_name(name: str) -> str:
    """Return a name without folders and invisible characters, short enough for any file system."""
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    clean = "".join(character if character.isprintable() else "_" for character in base).strip(" .") or "file"
    stem, dot, suffix = clean.rpartition(".")
    if len(clean.encode()) <= _LONGEST_NAME:
        return clean
    short = (stem if dot else clean).encode()[: _LONGEST_NAME - 20].decode("utf-8", "ignore")
    return f"{short}.{suffix[:16]}" if dot else short


def copied(parent: Path, child: Path) -> None:
    """Give a forked session its parent's artefacts: as second links to the same files. Raise StoreError."""
    source, target = folder_of(parent), folder_of(child)
    if not source.is_dir():
        return
    disk.make_folder(target)
    try:
        for path in source.iterdir():
            if not path.name.startswith("."):
                try:
                    os.link(path, target / path.name)
                except OSError:  # a file system without links
                    shutil.copyfile(path, target / path.name)
                    (target / path.name).chmod(_IMMUTABLE)
    except OSError as error:
        raise disk.store_error("copied", source, error) from error
