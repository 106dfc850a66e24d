"""Hostile programs. Each answers `"escaped"` where it got what it tried, and anything else, or nothing, where it did not."""

from __future__ import annotations


def _tries(command: str) -> str:
    """A script that answers whether a command succeeded."""
    return f"if ( {command} ) >/dev/null 2>&1; then echo '\"escaped\"'; else echo '\"held\"'; fi"


BASH = {
    "fork bomb": "bomb() { bomb | bomb & }; bomb; sleep 30",
    "many sleepers": "for i in {1..500}; do sleep 30 & done; (( $(jobs -p | wc -l) < 200 )) || echo '\"escaped\"'",
    "endless loop": "while :; do :; done",
    "sleeps for ever": "sleep 1000",
    "ignores every signal": "trap '' TERM INT HUP QUIT; while :; do sleep 1; done",
    "a daemon in a session of its own": "( setsid sleep 1000 & ) 2>/dev/null; sleep 1000",
    "string of gigabytes": 'x=aaaaaaaa; while :; do x="$x$x"; done; echo \'"escaped"\'',
    "array without end": 'a=(); while :; do a+=("$RANDOM$RANDOM$RANDOM"); done',
    "eight children that take memory": 'for i in {1..8}; do ( x=aaaaaaaa; while :; do x="$x$x"; done ) & done; wait; sleep 30',
    "fills /tmp": "head -c 200M /dev/zero >/tmp/full && echo '\"escaped\"'",
    "a hundred thousand files": 'for i in {1..100000}; do : >"/tmp/$i"; done; echo \'"escaped"\'',
    "deep folders": "for i in {1..5000}; do mkdir d && cd d || break; done; echo '\"held\"'",
    "floods stdout": "yes",
    "floods stderr": "yes >&2",
    "result of 100 MB": "head -c 100M /dev/zero | tr '\\0' 1",
    "json without end": "while :; do printf '['; done",
    "reads the warden's memory": _tries("cat /proc/1/mem"),
    "reads the warden's environment": _tries("cat /proc/1/environ"),
    "kills the warden": "kill -9 1; kill -STOP 1; sleep 0.2; echo '\"held\"'",
    "kills everything": "kill -9 -1; echo '\"escaped\"'",
    "writes to /usr": _tries("echo x >/usr/bin/own"),
    "writes to /etc": _tries("echo x >>/etc/passwd"),
    "writes to the environment": _tries("echo x >/env/own"),
    "changes jq": _tries("cp /bin/true /env/bin/jaq"),
    "runs from /tmp": _tries("cp /bin/true /tmp/own && chmod +x /tmp/own && /tmp/own"),
    "connects": _tries("exec 3<>/dev/tcp/1.1.1.1/53"),
    "connects to the machine": _tries(
        "for p in 22 80 111 631 3128 8080; do exec 3<>/dev/tcp/127.0.0.1/$p && exit 0; done; exit 1"
    ),
    "mounts": _tries("mount -t tmpfs none /tmp"),
    "namespace of its own": _tries("unshare -Ur true"),
    "raises its limits": _tries("ulimit -u unlimited || ulimit -v unlimited || ulimit -Hn 1000000"),
    "lowers the score of the killer": _tries("echo -1000 >/proc/self/oom_score_adj"),
    "writes to the channel": 'for n in {3..60}; do printf \'\\0\\0\\0\\002D{}\' >&"$n"; done 2>/dev/null; for f in /proc/1/fd/*; do echo x >"$f" && echo \'"escaped"\'; done 2>/dev/null',
    "becomes root": _tries("chroot / true || su -c true || sudo -n true"),
    "devices": _tries("cat /dev/mem || cat /dev/sda || mknod /tmp/d b 8 0"),
}
