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
"""Folders that are not looked into where Git does not say what belongs to the person."""
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
    *folders, last = plain.split("/")
    if not _SECRET_FOLDERS.isdisjoint(folders) or _SECRET_FILES.match(last):
        return True
    if last[last.rfind(".") :] in _CODE:
        return False
    letters = re.sub(r"[^a-z]", "", last)
    return not _SECRET_WORDS.isdisjoint(re.split(r"[^a-z]+", plain)) or any(
        part in letters for part in _SECRET_PARTS
    )


class Folder:
    """See the module. Names are relative to the folder, with slashes."""

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
        here = self.root.resolve()
        return any((parent / ".git").exists() for parent in (here, *here.parents))

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
                done = subprocess.run(
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
            if done.returncode:
                reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[0][:200]
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
        rest = deque([""])
        while rest and monotonic() < until:
            folder = rest.popleft()
            with suppress(OSError), os.scandir(self.root / folder) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.name.startswith(".") or entry.is_symlink():
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _DULL:
                            rest.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        yield name.encode("utf-8", "replace").decode()

    def stamp(self, name: str) -> tuple[int, int]:
        """Return a stamp that changes with the file; zeros if it does not exist."""
        try:
            seen = (self.root / name).lstat()
        except (OSError, ValueError):
            return 0, 0
        return seen.st_mtime_ns, seen.st_size

    def read(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file; nothing of what is a link, behind one, no file, or looks secret."""
        if looks_secret(name):
            return b""
        opened: list[int] = []
        try:
            opened.append(os.open(self.root, _FOLDER & ~os.O_NOFOLLOW))
            *folders, last = PurePosixPath(name).parts
            if ".." in folders or last == ".." or name.startswith("/"):
                return b""
            for folder in folders:
                opened.append(os.open(folder, _FOLDER, dir_fd=opened[-1]))
            opened.append(os.open(last, _FILE, dir_fd=opened[-1]))
            if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
                return b""
            pieces = []
            while most > 0 and (piece := os.read(opened[-1], min(most, 1 << 20))):
                pieces.append(piece)
                most -= len(piece)
            return b"".join(pieces)
        except (OSError, ValueError):
            return b""
        finally:
            for number in reversed(opened):
                os.close(number)

    def text(self, name: str, most: int) -> str:
        """Return the beginning of a text file, in whole lines if it is longer; empty if it is not text."""
        raw = self.read(name, most)
        if b"\0" in raw[:8192]:
            return ""
        if len(raw) == most:  # what is cut in the middle could be half a key
            raw = raw[: raw.rfind(b"\n") + 1]
        return raw.decode("utf-8", "replace")
