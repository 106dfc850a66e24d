"""PID 1 of every container. Standard library only.

The warden reports its confinement, forks the child that will run the tool, receives one job over its channel and
reports what happened. No other process has the channel, so nothing that a tool prints can look like a result. When the
channel closes, the warden kills everything and ends.

The child is forked before there is a job, so that a waiting container answers without the cost of a fork. It has its
own user id: the warden may change ids and kill, the child gives up both before it imports anything foreign. Modules
are imported ahead in the child, never here, so that whatever a package does at import happens under the limits and
away from the channel.

A session container has one child after another, each with the next user id (the arguments are the first id and their
number). After each child every process is killed and /tmp is emptied. If anything stays, the container ends; when no
user id is left, the warden reports that first.

From the host:
`L` limits, imports and the program to start ahead, once; `G` (where anything is granted) how the child reaches the
broker; `J` a job, passed on unread. Where a draft is judged, `T` comes first and the job goes to the judge (`judge.py`)
instead of the child; the host sends nothing more until the judge is ready, because the judge inherits all of the
warden's memory. `S` starts a program in the container instead of the child (`program.py`).
To the host:
`A` attestation; `R` ready (a problem, or empty); `T` the judge is ready; `O` stdout; `E` stderr; `P` what a run left
in its current folder (`left_files.py`); `D` the report.
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
from alita_tui.sandbox.warden.channel import Channel
from alita_tui.sandbox.warden.child import child
from alita_tui.sandbox.warden.child_process import ChildProcess, prepare
from alita_tui.sandbox.warden.confine import hide_warden
from alita_tui.sandbox.warden.left_files import send_left_files
from alita_tui.sandbox.warden.oversight import Oversight
from alita_tui.sandbox.warden.processes import end_all, end_rest, leave, sweep
from alita_tui.sandbox.warden.program import serve_program
from alita_tui.sandbox.warden.relay import Relay

IDLE = 2.0
USED_UP = 5.0
"""Seconds until a session container without user ids ends by itself."""
JUDGE_BYTES = 32 << 20
JUDGE_PROCESSES = 4
"""Besides the working party: the judge, the fork server, the other party, and one that is ending."""
LATE = (b"N", b"K", b"X", b"W")
"""Frames that the host may have sent to the previous run while that ended."""


def serve(
    channel: Channel, tool: ChildProcess, settings: dict[str, Any], uid: int, *, single: bool
) -> ChildProcess:
    """Prepare the child, pass it one job, report; return the process that did the job, which may be the judge."""
    problem = prepare(tool, settings, channel, wait=not single)
    channel.send(b"R", problem.encode())
    if problem:
        leave()
    while (settings["imports"] or settings["start"]) and not channel.waits(IDLE):
        if not tool.alone():
            leave()
    kind, payload = channel.receive()
    while kind in LATE:
        kind, payload = channel.receive()
    if kind == b"S" and single:
        dismiss(tool)
        serve_program(channel, settings, uid, json.loads(payload))
        return tool
    if trial := kind == b"T" and single:
        tool = judged(tool, uid)
        tool.queue(json.dumps(settings).encode())
        settings = {**settings, "limits": roomier(settings["limits"])}
        channel.send(b"T", b"")
        kind, payload = channel.receive()
    relay = Relay(channel)
    tool.queue(relay.open(payload if kind == b"G" else b""))
    tool.queue(expect(channel, b"J") if kind == b"G" else payload)
    report = Oversight(tool, settings["limits"], channel, relay).run()
    if not trial and report["exit_code"] == 0 and not report["limits_hit"]:
        send_left_files(channel, uid, settings["limits"]["scratch_bytes"])
    channel.send(b"D", json.dumps(report).encode())
    return tool


def judged(tool: ChildProcess, uid: int) -> ChildProcess:
    """End the child and return the judge in its place."""
    from alita_tui.sandbox.warden.judge import judge

    dismiss(tool)
    tool.close()
    return ChildProcess(lambda pipes: judge(pipes, (uid, uid + 1)))


def dismiss(tool: ChildProcess) -> None:
    """End a child that has no job."""
    end_all()
    os.waitpid(tool.pid, 0)


def roomier(limits: dict[str, Any]) -> dict[str, Any]:
    """Return the limits of all processes together: those of one party, with room for the judge."""
    memory, processes = limits["memory_bytes"] + JUDGE_BYTES, limits["processes"] + JUDGE_PROCESSES
    return {**limits, "memory_bytes": memory, "processes": processes}


def expect(channel: Channel, expected_kind: bytes) -> bytes:
    """Return the payload of the next frame; end the container if it is of another type."""
    kind, payload = channel.receive()
    if kind != expected_kind:
        leave()
    return payload


def main() -> None:
    """Serve one job and end the container; in a session, job after job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the only signal that Python gives PID 1 a handler for
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody inside reads this process
    channel = Channel()
    channel.send(b"A", json.dumps(attest()).encode())
    first, count = int(sys.argv[1]), int(sys.argv[2])
    if count > 1:  # once for all children; elsewhere the judge may still have to be imported
        hide_warden()
    tool = ChildProcess(partial(child, uid=first))
    settings = json.loads(expect(channel, b"L"))
    for uid in range(first, first + count):
        serve(channel, tool, settings, uid, single=count == 1).close()
        if count == 1:
            channel.stay()
        end_rest()
        if uid + 1 < first + count:  # it gets ready meanwhile, and waits before it touches /tmp
            tool = ChildProcess(partial(child, uid=uid + 1))
        sweep(uid)
    channel.send(b"R", b"it has no user id left")
    channel.stay(USED_UP)


if __name__ == "__main__":
    if sys.argv[1:2] == ["party"]:  # of a trial with a hash seed
        from alita_tui.sandbox.warden.party import live

        live(sys.argv[2])
    main()
