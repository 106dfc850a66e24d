"""PID 1 of every container. Standard library only.

It reports what it sees of its own confinement, forks the child that will run the tool, takes one
job over its channel and reports what happened. It alone holds the channel, so a print can never
look like a result. When the channel closes, it kills everything and ends.

The child is forked before there is a job: a container that waits answers without the fork. Modules
are imported ahead in the child, never here, so that what a package does when it is imported happens
under the limits and away from the channel. The warden sets the child's limits from outside.

In a session container (`session` and a range of user ids as arguments) there is a child after a
child, each with a user id of its own: the warden may change ids and kill, the child gives that up
before anything foreign is imported. Between two children every process is killed and /tmp emptied.

From the host: `L` limits and imports, once, then, where anything is granted, `G` what the child is
told of its door to the broker, then `J` a job, which goes to the child as it is.
To the host: `A` attestation, `R` ready (a problem, or nothing), `O` stdout, `E` stderr, `D` done.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from typing import Any

from alita_tui.sandbox.warden.attest import attest
from alita_tui.sandbox.warden.doors import Doors
from alita_tui.sandbox.warden.line import Line
from alita_tui.sandbox.warden.tool import Tool, leave, oversee, prepare, sweep

IDLE = 2.0
LATE = (b"N", b"K", b"X", b"W")
"""What the host may have said to the run before this one when that had just ended."""


def serve(line: Line, tool: Tool, asked: dict[str, Any]) -> None:
    """Make the child ready, give it one job, report."""
    problem = prepare(tool, asked, line)
    line.send(b"R", problem.encode())
    if problem:
        leave()
    while asked["imports"] and not line.waits(IDLE):
        if not tool.alone():
            leave()
    kind, payload = line.receive()
    while kind in LATE:
        kind, payload = line.receive()
    doors = Doors(line)
    tool.tell(doors.open(payload if kind == b"G" else b""))
    tool.tell(expect(line, b"J") if kind == b"G" else payload)
    line.send(b"D", json.dumps(oversee(tool, asked["limits"], line, doors)).encode())


def expect(line: Line, wanted: bytes) -> bytes:
    """The next frame, which has to be of this type."""
    kind, payload = line.receive()
    if kind != wanted:
        leave()
    return payload


def main() -> None:
    """One job, then the end of the container; in a session job after job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the only signal that Python gives PID 1 a handler for
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody inside reads this process
    line = Line()
    line.send(b"A", json.dumps(attest()).encode())
    if sys.argv[1:2] != ["session"]:
        tool = Tool()
        serve(line, tool, json.loads(expect(line, b"L")))
        return line.stay()
    asked: dict[str, Any] = json.loads(expect(line, b"L"))
    for uid in range(int(sys.argv[2]), int(sys.argv[3])):
        tool = Tool(uid, asked["limits"])
        serve(line, tool, asked)
        tool.close()
        if not sweep(uid):
            break
    line.stay()


if __name__ == "__main__":
    main()
