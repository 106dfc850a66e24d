"""Records what a tool accesses, as Python's audit hooks report it in the tool's own process.

Code can evade the hooks on purpose: they show honest mistakes and protect against nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

MOST = 200
PACKAGES = "/env/"
"""Folder of the locked packages."""
OWN = (
    sys.prefix,
    sys.base_prefix,
    "/env",
    "/usr/lib",
    "/usr/share",
    "/tmp/tool",
    "/proc/self",
    "/dev/null",
    "/etc/localtime",
)
"""Paths that Python and the standard library open by themselves."""
PROCESSES = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
)
CHANGES = (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.truncate",
    "os.chmod",
    "os.link",
    "os.symlink",
)


SETS = ("os.putenv", "os.unsetenv")
AUDITED = frozenset(
    (
        "open",
        "socket.connect",
        "socket.sendto",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        *PROCESSES,
        *CHANGES,
        *SETS,
    )
)


class AccessLog:
    """The kinds and places of accesses, in the order of the first access."""

    def __init__(self, tool: str) -> None:
        """`tool` is the path of the tool's own file."""
        self.accesses: dict[tuple[str, str], None] = {}
        self._tool = tool
        self._paused = False
        os.environ = WatchedEnvironment(os.environ, tool, self.record)  # type: ignore[assignment]  # noqa: B003  # a view, nothing is cleared
        sys.addaudithook(self._on_event)

    def record(self, kind: str, place: object) -> None:
        """Record an access, up to a maximum."""
        if len(self.accesses) < MOST and not self._paused:
            self.accesses[kind, os.fsdecode(place) if isinstance(place, bytes) else str(place)] = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing in the meantime."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def listed(self) -> list[list[str]]:
        """Return the recorded accesses, as JSON."""
        return [list(access) for access in self.accesses]

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._paused or event not in AUDITED or by_a_package(self._tool, setting=event in SETS):
            return
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            if not path.startswith(OWN):
                self.record("writes" if flags & (os.O_WRONLY | os.O_RDWR) else "reads", path)
        elif event in ("socket.connect", "socket.sendto"):
            self.record("network", _address_text(arguments[1]))
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            self.record("network", _address_text(arguments))
        elif event in PROCESSES:
            self.record("processes", arguments[0] if arguments else event)
        elif event in CHANGES:
            self.record("writes", arguments[0])
        elif event in SETS:
            self.record("environment", arguments[0])


def by_a_package(tool: str, *, setting: bool) -> bool:
    """Return True for what a locked package does when it is imported, and for variables that it sets for itself.

    What its functions do when the tool calls them counts as the tool's.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_filename != tool:
        if frame.f_code.co_filename.startswith(PACKAGES) and (setting or frame.f_code.co_name == "<module>"):
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def _address_text(address: Any) -> str:
    return ":".join(str(part) for part in address[:2]) if isinstance(address, tuple) else str(address)


class WatchedEnvironment(MutableMapping[str, str]):
    """The environment variables; reads by the tool's own code are recorded."""

    def __init__(
        self, real: MutableMapping[str, str], tool: str, record: Callable[[str, object], None]
    ) -> None:
        self._real = real
        self._tool = tool
        self._record = record

    def _note_access(self, name: str) -> None:
        frame = sys._getframe(2)
        while frame.f_back and frame.f_code.co_filename.endswith(
            ("/os.py", "<frozen os>", "_collections_abc>")
        ):
            frame = frame.f_back
        if frame.f_code.co_filename == self._tool:
            self._record("environment", name)

    def __getitem__(self, name: str) -> str:
        self._note_access(name)
        return self._real[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._real[name] = value

    def __delitem__(self, name: str) -> None:
        del self._real[name]

    def __iter__(self) -> Iterator[str]:
        self._note_access("all of it")
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)

    def copy(self) -> dict[str, str]:
        """Return a plain copy, like `os.environ.copy`."""
        return dict(self)
