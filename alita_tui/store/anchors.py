"""Heads of the audit log that were written elsewhere: to a file on another disk, a Git repository, a log service.

Whoever controls the whole account, key and data, can write another valid log; it contradicts earlier anchors.
A target is a file, or `|` and a command with arguments, run without a shell.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec

from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.text import one_line
from alita_tui.store import disk
from alita_tui.store.heads import Head, read_head

_SECONDS = 120.0


def put(target: str, head: Head) -> None:
    """Append a head to a file, or write it to a command's standard input. Raises StoreError, UsageError."""
    line = msgspec.json.encode(head) + b"\n"
    if target.startswith("|"):
        _run(target, line)
        return
    path = Path(target)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, disk.PRIVATE)
        with os.fdopen(fd, "wb") as file:
            file.write(line)
            file.flush()
            os.fsync(fd)
    except OSError as error:
        raise disk.store_error("written", path, error) from error


def take(target: str) -> tuple[bytes, ...]:
    """Return the heads in a file or in a command's output, one per line. Raises StoreError, UsageError."""
    raw = _run(target, b"") if target.startswith("|") else disk.read_bytes(Path(target), any_kind=True)
    if raw is None:
        raise StoreError(
            f"There is no anchor {target}.", hint=f"Write one first: alita audit anchor {target}"
        )
    return tuple(line for line in raw.split(b"\n") if line.strip())


def differences(raw: bytes, public: str, lines: Iterable[bytes]) -> list[str]:
    """Return how anchored heads contradict a log (its bytes, its key in hex), one line each."""
    problems = []
    for number, line in enumerate(lines, 1):
        head = read_head(line)
        if head is None or not head.genuine:
            problems.append(f"anchor, line {number}: it is not a head of an audit log")
        elif head.key != public:
            problems.append(
                f"anchor, line {number}: entry {head.sequence} was anchored on {one_line(head.at, 19)} with another "
                "key: the log was begun anew since, or is another home's"
            )
        elif not head.fits(raw):
            problems.append(
                f"anchor, line {number}: the log is not the one that was anchored on {one_line(head.at, 19)} "
                f"at entry {head.sequence}"
            )
    return problems


def _run(target: str, stdin: bytes) -> bytes:
    try:
        arguments = shlex.split(target[1:])
    except ValueError as error:
        raise UsageError(f"{target!r} is not a command: {error}.") from error
    if not arguments:
        raise UsageError("There is no command behind the `|`.")
    try:
        process = subprocess.run(arguments, input=stdin, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise StoreError(f"{arguments[0]} could not be run: {one_line(str(error), 200)}.") from error
    if process.returncode:
        message = one_line(process.stderr.decode("utf-8", "replace"), 300)
        raise StoreError(f"{arguments[0]} ended with {process.returncode}: {message}")
    return process.stdout
