"""PID 1 of every container. Standard library only.

It reports what it sees of its own confinement, forks the child that will run the tool, takes one
job over its channel and reports what happened. It alone holds the channel, so a print can never
look like a result. When the channel closes, it kills everything and ends.

The child is forked before there is a job: a container that waits answers without the fork. It has a user
id of its own: the warden may change ids and kill, the child gives that up before anything foreign is
imported. Modules are imported ahead in the child, never here, so that what a package does when it is
imported happens under the limits and away from the channel.

In a session container there is a child after a child, each with another user id (the first, and how many
there are, are the arguments). Between two children every process is killed and /tmp emptied.

From the host: `L` limits and imports, once, then, where anything is granted, `G` what the child is
told of its door to the broker, then `J` a job, which goes to the child as it is. Where a draft is judged, `T`
comes first, and the job goes to the judge (`judge.py`) in place of the child; the host sends nothing more until
it hears that the judge is there, as what the warden knows by then lies in the judge's memory.
To the host: `A` attestation, `R` ready (a problem, or nothing), `T` the judge is there, `O` stdout, `E` stderr,
`D` done.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from functools import partial
from typing import Any

from alita_tui.sandbox.warden.attest import attest
from alita_tui.sandbox.warden.child import child
from alita_tui.sandbox.warden.doors import Doors
from alita_tui.sandbox.warden.line import Line
from alita_tui.sandbox.warden.tool import Tool, end_all, leave, oversee, prepare, sweep

IDLE = 2.0
JUDGE_BYTES = 32 << 20
JUDGE_PROCESSES = 4
"""Beside the party that is at work: judge, nursery, the other party, and one that is about to end."""
LATE = (b"N", b"K", b"X", b"W")
"""What the host may have said to the run before this one when that had just ended."""


def serve(line: Line, tool: Tool, asked: dict[str, Any], uid: int, *, single: bool) -> Tool:
    """Make the child ready, give it one job, report; the child that had the job."""
    problem = prepare(tool, asked, line, wait=not single)
    line.send(b"R", problem.encode())
    if problem:
        leave()
    while asked["imports"] and not line.waits(IDLE):
        if not tool.alone():
            leave()
    kind, payload = line.receive()
    while kind in LATE:
        kind, payload = line.receive()
    if kind == b"T" and single:
        tool = judged(tool, uid)
        tool.tell(json.dumps(asked).encode())
        asked = {**asked, "limits": roomier(asked["limits"])}
        line.send(b"T", b"")
        kind, payload = line.receive()
    doors = Doors(line)
    tool.tell(doors.open(payload if kind == b"G" else b""))
    tool.tell(expect(line, b"J") if kind == b"G" else payload)
    line.send(b"D", json.dumps(oversee(tool, asked["limits"], line, doors)).encode())
    return tool


def judged(tool: Tool, uid: int) -> Tool:
    """The judge, in place of the child."""
    from alita_tui.sandbox.warden.judge import judge

    end_all()
    os.waitpid(tool.pid, 0)
    tool.close()
    return Tool(lambda pipes: judge(pipes, (uid, uid + 1)))


def roomier(limits: dict[str, Any]) -> dict[str, Any]:
    """Limits of all processes together, with room for the judge, which each party's own do not have."""
    memory, processes = limits["memory_bytes"] + JUDGE_BYTES, limits["processes"] + JUDGE_PROCESSES
    return {**limits, "memory_bytes": memory, "processes": processes}


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
    first, count = int(sys.argv[1]), int(sys.argv[2])
    asked: dict[str, Any] = {}
    for uid in range(first, first + count):
        tool = Tool(partial(child, uid=uid))
        asked = asked or json.loads(expect(line, b"L"))
        serve(line, tool, asked, uid, single=count == 1).close()
        if count == 1 or not sweep(uid):
            break
    line.stay()


if __name__ == "__main__":
    if sys.argv[1:2] == ["party"]:  # of a trial, with a hash seed of its own
        from alita_tui.sandbox.warden.party import live

        live(sys.argv[2])
    main()
