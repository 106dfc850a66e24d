"""Supervises Podman's service for alita, and cleans up when alita is gone. Standard library only.

    podman_supervisor.py SOCKET OWNER [COMMAND...]

Its standard input is a pipe that only alita holds open: it closes when alita ends, however that happens. The supervisor
then removes every container of that owner through the service, and ends the service and itself; a byte on the pipe
says that there is nothing to remove. It keeps one connection open, so that a service that ends when it is idle
does so only once the supervisor is gone. It reads the service's output itself, as a service that writes to a pipe
without a reader would die too early.

What Podman starts becomes a child of the supervisor when its own parent ends (conmon, and below it the runtime and
the container), so whatever is below the supervisor at the end was left by a service that was killed, and is ended.
`alita_tui.sandbox.leftovers` does the same where the supervisor itself was killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

_API = "/v4.0.0/libpod"
_CLEAR_SECONDS = 10.0
_NOTE_SECONDS = 3.0
"""How long conmon may take to record that what it watches has ended."""


def connect(path: str) -> socket.socket | None:
    """Return a connection to the service, or None while it does not answer."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(5)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    return connection


def ask(path: str, method: str, target: str) -> Any:
    """Send a request; return the parsed answer, or None when there is none that can be read."""
    connection = connect(path)
    if connection is None:
        return None
    with connection:
        connection.sendall(f"{method} {_API}{target} HTTP/1.0\r\nHost: podman\r\n\r\n".encode())
        response = b""
        with suppress(OSError):
            while piece := connection.recv(65536):
                response += piece
    with suppress(ValueError):
        return json.loads(response.partition(b"\r\n\r\n")[2])
    return None


def clear(path: str, owner: str) -> None:
    """Remove the owner's containers until two lists in a row are empty, as one may just be being created."""
    filters = quote(json.dumps({"label": ["alita.service=" + owner]}))
    deadline = time.monotonic() + _CLEAR_SECONDS
    empty_answers = 0
    while empty_answers < 2 and time.monotonic() < deadline:
        containers = ask(path, "GET", f"/containers/json?all=true&filters={filters}")
        if containers is None and connect(path) is None:
            return
        empty_answers = 0 if containers else empty_answers + 1
        targets = [
            f"/containers/{container['Id']}?force=true&timeout=0&ignore=true"
            for container in containers or ()
        ]
        threads = [threading.Thread(target=ask, args=(path, "DELETE", target)) for target in targets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(0.02)


def reap_children(*_: object) -> None:
    """Reap every child that ended; Podman's helpers become our children when their parent ends."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def table() -> dict[int, tuple[int, str]]:
    """Return the parent and the name of every running process, by pid."""
    processes: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                head, _, rest = (entry / "stat").read_text(errors="replace").rpartition(")")
                state, parent = rest.split()[:2]
                if state not in ("Z", "X"):
                    processes[int(entry.name)] = int(parent), head.partition("(")[2]
    return processes


def below(top: int, living: dict[int, tuple[int, str]], *, spared: tuple[str, ...] = ()) -> set[int]:
    """Return all descendants of a process without those with a spared name, and without their descendants."""
    descendants: set[int] = set()
    waiting = [top]
    while waiting:
        parent_pid = waiting.pop()
        children = [
            pid for pid, (parent, name) in living.items() if parent == parent_pid and name not in spared
        ]
        descendants.update(children)
        waiting += children
    return descendants


def sweep() -> None:
    """Kill the processes that the service left: those in containers first, so that conmon can record their end."""
    own_pid, deadline = os.getpid(), time.monotonic() + _NOTE_SECONDS
    while descendants := below(own_pid, living := table()):
        inside = below(own_pid, living, spared=("podman", "conmon"))
        for watcher in (pid for pid in descendants if living[pid][1] == "conmon"):
            inside |= below(watcher, living, spared=("podman",))
        for pid in inside if time.monotonic() < deadline else descendants:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        reap_children()
        time.sleep(0.02)
        if time.monotonic() > deadline + _NOTE_SECONDS:
            return


def forget(command: list[str], owner: str) -> None:
    """Remove the containers that the ended service had just recorded, through a Podman process of our own."""
    if "podman" not in command:  # on another machine, where the next service does it
        return
    podman = command[: command.index("system")]  # with its flags
    listing = [*podman, "ps", "--all", "--quiet", "--filter", "label=alita.service=" + owner]
    containers = subprocess.run(
        listing, stdin=subprocess.DEVNULL, capture_output=True, text=True
    ).stdout.split()
    if containers:
        removing = [*podman, "rm", "--force", "--time", "0", *containers]
        subprocess.run(removing, stdin=subprocess.DEVNULL, capture_output=True)


def main() -> None:
    """Start the service, wait until either side ends, leave nothing behind."""
    path, owner, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: not every machine's init collects
    signal.signal(signal.SIGCHLD, reap_children)
    if not command:
        if not os.read(0, 1):
            clear(path, owner)
        return
    service = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
    )
    assert service.stdout is not None
    output = service.stdout.fileno()
    connection: socket.socket | None = None
    abandoned = False
    try:
        while True:
            connection = connection or connect(path)
            descriptors: list[Any] = [0, output, connection] if connection else [0, output]
            ready, _, _ = select.select(descriptors, [], [], None if connection else 0.02)
            if (
                connection and connection in ready
            ):  # closed, as it never speaks first: a tunnel whose far end is not up yet
                connection.close()
                connection = None
                time.sleep(0.02)
            if output in ready:
                piece = os.read(output, 65536)
                with suppress(OSError):
                    os.write(1, piece)
                if not piece:
                    break
            if 0 in ready:
                abandoned = not os.read(0, 1)
                if abandoned:
                    clear(path, owner)
                break
    finally:
        with suppress(ProcessLookupError):
            os.killpg(service.pid, signal.SIGKILL)
        service.wait()
        sweep()
        if abandoned:
            forget(command, owner)
        with suppress(OSError):
            Path(path).unlink()


if __name__ == "__main__":
    main()
