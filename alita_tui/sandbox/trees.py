"""A folder of this machine as the files of a program: copied under the digest of its content, mounted read-only."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from alita_tui.sandbox import seals
from alita_tui.sandbox.overview import size_of
from alita_tui.sandbox.owner import me
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.sandbox import Tree

MOST_FILES = 20_000
MOST_BYTES = 256 << 20
_NEVER = frozenset((".git", "__pycache__", ".venv"))
"""Folders that are not copied."""


def tree_of(folder: Path) -> Tree:
    """Return a folder with the digest of its content. Raise UsageError for what cannot be a program's files."""
    return Tree(path=str(folder), digest=_digest_and_copy(folder, None))


def with_tree(tree: Tree, wheels: str, root: Path) -> Path:
    """Return the folder with these wheels and, in `app`, these files; create it if it is missing.

    Raise UsageError where the files are no longer those of the digest.
    """
    name = sha256(f"{Path(wheels).name}\n{tree.digest}".encode()).hexdigest()
    combined = root / name[:32]
    if seals.complete(combined):
        try:
            seals.check(combined)
        except seals.EnvironmentChanged:
            seals.set_aside(combined)
        else:
            os.utime(combined / ".complete")
            return combined
    root.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"building-{me()}-", dir=root))
    try:
        draft.chmod(0o755)
        if wheels:
            shutil.copytree(wheels, draft, dirs_exist_ok=True, ignore=lambda *_: [".complete"], symlinks=True)
        if _digest_and_copy(Path(tree.path), draft / "app") != tree.digest:
            raise UsageError(
                f"The files in {tree.path} are no longer those that were approved.",
                hint="Look at what changed, then approve the server's tools again: alita mcp list",
            )
        (draft / ".complete").write_text(f'{{"digest": "{name}", "bytes": {size_of(draft)}}}')
        seals.publish(draft, combined)
        return combined
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _digest_and_copy(folder: Path, copy: Path | None) -> str:
    """Return the digest of paths, modes and bytes; with `copy`, write exactly the digested bytes there."""
    digest, count, size = sha256(), 0, 0
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder.")
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path} is no regular file, so the folder cannot be a server's.")
            data = file.read(MOST_BYTES + 1)
        count, size = count + 1, size + len(data)
        if count > MOST_FILES or size > MOST_BYTES:
            raise UsageError(
                f"{folder} holds more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MB.",
                hint="Name the folder of the server itself.",
            )
        executable = bool(status.st_mode & 0o100)
        digest.update(
            f"{name}\0{executable:d}\0{sha256(data).hexdigest()}\n".encode("utf-8", "surrogateescape")
        )
        if copy is not None:
            place = copy / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            place.chmod(0o755 if executable else 0o644)
    if copy is not None:
        copy.mkdir(exist_ok=True)
        for directory in (copy, *copy.rglob("*")):
            if directory.is_dir():
                directory.chmod(0o755)
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, sorted. Raise UsageError at a link: it may point anywhere."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_symlink():
            raise UsageError(f"{entry.path} is a link, so the folder cannot be a server's.")
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _NEVER:
                yield from _files(Path(entry.path))
        else:
            yield Path(entry.path)
