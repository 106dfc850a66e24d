"""A folder that is read without leaving it: no link is followed, regular files only, none that looks like a secret."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import translate
from itertools import islice
from pathlib import Path, PurePosixPath
from time import monotonic

from alita_tui.spine.errors import UsageError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_FILES = 200_000
_MOST_BYTES = 32 << 20
"""Of what `git ls-files` prints."""
_DULL = frozenset("node_modules __pycache__ venv site-packages build dist target".split())
"""Folders that are skipped outside of Git, where nothing says which files are the person's own."""
_SECRET_NAMES = (
    ".env .env.* *.env .envrc *.pem *.key *.p12 *.pfx *.p8 *.jks *.keystore *.kdbx *.ppk *.asc *.gpg *.age"
    " id_rsa* id_dsa* id_ecdsa* id_ed25519* .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd"
    " .git-credentials authorized_keys known_hosts service-account*.json service_account*.json client_secret*"
    " *.tfstate *.tfstate.* *.tfvars *.ovpn .dockercfg .dockerconfigjson kubeconfig* *.kubeconfig shadow"
).split()
_SECRET_FILES = re.compile("|".join(map(translate, _SECRET_NAMES)))
_SECRET_FOLDERS = frozenset(".ssh .gnupg .aws .azure .kube .docker .password-store .secrets .git".split())
_SECRET_WORDS = frozenset(
    "secret secrets credential credentials token tokens password passwords passwd".split()
)
_SECRET_PARTS = ("apikey", "password", "passwd", "passphrase", "credential", "privatekey", "accesskey")
_CODE = frozenset(
    ".py .pyi .js .jsx .ts .tsx .mjs .go .rs .java .kt .c .h .cc .cpp .hpp .cs .rb .php .swift".split()
)
"""Suffixes of source code, where a word like `token` in the name does not suggest a secret."""


def looks_secret(name: str) -> bool:
    """Return whether a path looks like one of keys, passwords or other secrets."""
    plain = name.casefold()
    *folders, file_name = plain.split("/")
    if not _SECRET_FOLDERS.isdisjoint(folders) or _SECRET_FILES.match(file_name):
        return True
    if file_name[file_name.rfind(".") :] in _CODE:
        return False
    letters = re.sub(r"[^a-z]", "", file_name)
    return not _SECRET_WORDS.isdisjoint(re.split(r"[^a-z]+", plain)) or any(
        secret_part in letters for secret_part in _SECRET_PARTS
    )


class Folder:
    """Reads a folder as the module says. Names are relative to the folder, with slashes."""

    def __init__(self, root: Path) -> None:
        """The folder itself may be reached by a link: the person named it. Raises UsageError."""
        self.root = root.expanduser()
        if not self.root.is_dir() or not os.access(self.root, os.R_OK | os.X_OK):
            raise UsageError(f"{self.root} is not a readable folder.")

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.root.resolve().name or "/"

    @property
    def in_git(self) -> bool:
        """Whether it is in the working tree of a Git repository."""
        root = self.root.resolve()
        return any((parent / ".git").exists() for parent in (root, *root.parents))

    def names(self, until: float) -> list[str]:
        """Return the folder's files, as listed by Git or else all, without those that look secret.

        Files that are not found by the time `until` are left out. Raises UsageError.
        """
        names = self._of_git(until) if self.in_git else islice(self._walk(until), _MOST_FILES)
        return sorted({name for name in names if not looks_secret(name)})

    def _of_git(self, until: float) -> list[str]:
        # A repository's own settings must not start programs: https://git-scm.com/docs/git-config
        command = [
            "git",
            "-c",
            "core.fsmonitor=false",
            "-c",
            f"core.hooksPath={os.devnull}",
            "-C",
            str(self.root),
        ]
        command += ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        environ = {
            name: os.environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in os.environ
        }
        quiet = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        with tempfile.TemporaryFile() as listed:
            try:
                process = subprocess.run(
                    command,
                    env={**environ, **quiet},
                    stdin=subprocess.DEVNULL,
                    stdout=listed,
                    stderr=subprocess.PIPE,
                    timeout=max(until - monotonic(), 0.1),
                )
            except subprocess.TimeoutExpired as error:
                raise UsageError(f"git took too long to list {self.root}.") from error
            except OSError as error:
                raise UsageError(f"git, which says what belongs to {self.root}, cannot be run.") from error
            if process.returncode:
                reason = process.stderr.decode("utf-8", "replace").strip().split("\n")[0][:200]
                raise UsageError(f"git could not list {self.root}: {reason}")
            listed.seek(0)
            raw = listed.read(_MOST_BYTES)
        names = (
            raw_name.decode("utf-8", "replace")
            for raw_name in raw[: raw.rfind(b"\0") + 1].split(b"\0")
            if raw_name
        )
        return [name for name in islice(names, _MOST_FILES) if ".." not in PurePosixPath(name).parts]

    def _walk(self, until: float) -> Iterator[str]:
        pending = deque([""])
        while pending and monotonic() < until:
            folder = pending.popleft()
            with suppress(OSError), os.scandir(self.root / folder) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.name.startswith(".") or entry.is_symlink():
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _DULL:
                            pending.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        yield name.encode("utf-8", "replace").decode()

    def stamp(self, name: str) -> tuple[int, int]:
        """Return a stamp that changes with the file; zeros if it does not exist."""
        try:
            status = (self.root / name).lstat()
        except (OSError, ValueError):
            return 0, 0
        return status.st_mtime_ns, status.st_size

    def read(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file; empty for a link or a path through one, no file, or a secret."""
        if looks_secret(name):
            return b""
        opened: list[int] = []
        try:
            opened.append(os.open(self.root, _FOLDER & ~os.O_NOFOLLOW))
            *folders, file_name = PurePosixPath(name).parts
            if ".." in folders or file_name == ".." or name.startswith("/"):
                return b""
            for folder in folders:
                opened.append(os.open(folder, _FOLDER, dir_fd=opened[-1]))
            opened.append(os.open(file_name, _FILE, dir_fd=opened[-1]))
            if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
                return b""
            chunks = []
            while most > 0 and (chunk := os.read(opened[-1], min(most, 1 << 20))):
                chunks.append(chunk)
                most -= len(chunk)
            return b"".join(chunks)
        except (OSError, ValueError):
            return b""
        finally:
            for descriptor in reversed(opened):
                os.close(descriptor)

    def text(self, name: str, most: int) -> str:
        """Return the beginning of a text file, in whole lines if it is longer; empty if it is not text."""
        raw = self.read(name, most)
        if b"\0" in raw[:8192]:
            return ""
        if len(raw) == most:  # a line cut in the middle could end with half a key
            raw = raw[: raw.rfind(b"\n") + 1]
        return raw.decode("utf-8", "replace")
