"""The seccomp profile, made of what was measured and of what is kept or refused for a reason said here.

python -m tests.attack.syscalls.profile; writes `alita_tui/sandbox/seccomp.json`. A test compares the two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOM = Path(__file__).parents[3] / "alita_tui" / "sandbox"
PROFILE, MEASURED = ROOM / "seccomp.json", ROOM / "seccomp.measured.json"
KEPT = {
    "the warden, which refuses them to its children where they matter (warden/lockdown.py)": (
        "setgroups setresuid setresgid setfsuid setfsgid capset pidfd_open landlock_create_ruleset "
        "landlock_add_rule landlock_restrict_self"
    ),
    "the runtime, between putting the filter on and starting the warden": "fstatfs nanosleep dup3 epoll_pwait capget tkill setuid setgid",
    "other names of what was measured, in other C libraries, other Pythons and on arm64": (
        "accept clock_getres creat epoll_create epoll_pwait2 eventfd faccessat faccessat2 fchmodat fchownat fork "
        "futimesat getdents getpgrp getrlimit gettimeofday linkat lstat open openat2 pipe ppoll preadv preadv2 pwritev "
        "pwritev2 readlinkat renameat renameat2 restart_syscall select setrlimit stat symlinkat time utime utimes "
        "waitid getresgid getresuid mkdirat newfstatat statx unlinkat utimensat"
    ),
    "functions of Python's own modules that nothing measured happened to use": (
        "chown fchdir fchown fgetxattr flistxattr fremovexattr fsetxattr lchown lgetxattr llistxattr lremovexattr "
        "lsetxattr pause rt_sigsuspend sched_get_priority_max sched_get_priority_min splice timerfd_create "
        "timerfd_gettime timerfd_settime getcpu"
    ),
    "the C library's resolver, allocators and locks of other runtimes; bounded by rlimits": (
        "recvmmsg sendmmsg mincore membarrier mlock mlock2 munlock"
    ),
}
"""System calls that are allowed although nothing measured made them, and for whom."""
REFUSED = {
    "clone3": "its flags cannot be looked at: answered with ENOSYS, so that the C library takes `clone`",
    "clone": "without a namespace only",
    "ioctl": "by number only",
    "socket": "by family and protocol only",
    "prlimit64": "of the own process only",
    "setpriority": "of the own process only",
    "io_uring_setup": "works on files past this filter; who tries does without", "io_uring_enter": "the same", "io_uring_register": "the same",
    "mbind": "moves memory between processors' banks; who tries does without",
    "set_mempolicy": "the same", "get_mempolicy": "the same",
    "mknodat": "for pipes with a name only", "mknod": "the same",
    "sched_setscheduler": "for what every process has only, as libzmq asks for", "sched_setaffinity": "takes processors from others",
    "inotify_init1": "each counts for the whole account", "inotify_init": "the same", "inotify_add_watch": "the same", "inotify_rm_watch": "the same",
    "memfd_create": "memory outside every limit", "setsid": "each session has a share of the processor of its own",
    "cachestat": "tells what others read", "syscall_0x1c3": "cachestat",
}  # fmt: skip
"""What something measured made and is refused all the same, or allowed in part."""
SOCKETS = (
    ((0, 1),),
    *(((0, family), (2, protocol)) for family in (2, 10) for protocol in (0, 6, 17)),
    ((0, 16), (2, 0)),
    ((0, 16), (2, 4)),
)
"""AF_UNIX; TCP and UDP; routes, and for the warden alone what is in sockets' buffers."""
IOCTLS = (
    0x5450, 0x5451, 0x5421, 0x5452, 0x541B,  # FIONCLEX, FIOCLEX, FIONBIO, FIOASYNC, FIONREAD
    0x5401, 0x5402, 0x5403, 0x5404, 0x802C542A, 0x5413, 0x5414, 0x540F, 0x5410,  # of a terminal: TCGETS ... TIOCSPGRP
    0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891B, 0x8921, 0x8927, 0x8933,  # SIOCGIF...: what interfaces there are
    0x40049409,  # FICLONE, tried before a copy
)  # fmt: skip


def measured() -> set[str]:
    """What the packages called."""
    return set(json.loads(MEASURED.read_text("utf-8"))["calls"])


def plain() -> set[str]:
    """What is allowed whatever its arguments are."""
    kept = {name for names in KEPT.values() for name in names.split()}
    return (measured() | kept) - REFUSED.keys()


def partly() -> set[str]:
    """What is allowed with some arguments, or answered in a way of its own."""
    return {rule["names"][0] for rule in profile()["syscalls"][1:]}


def profile() -> dict[str, Any]:
    """The profile as the runtime reads it."""

    def rule(name: str, *arguments: tuple[int, int], **more: Any) -> dict[str, Any]:
        asked = [{"index": i, "value": value, "valueTwo": 0, "op": "SCMP_CMP_EQ"} for i, value in arguments]
        return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": asked, **more}

    namespaces = {"index": 0, "value": 0x7E020080, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    pipe = {"value": 0o170000, "valueTwo": 0o010000, "op": "SCMP_CMP_MASKED_EQ"}
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "archMap": [
            {"architecture": name, "subArchitectures": []}
            for name in ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
        ],
        "syscalls": [
            {"names": sorted(plain()), "action": "SCMP_ACT_ALLOW"},
            {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [namespaces]},
            *(rule("socket", *one) for one in SOCKETS),
            *(rule("ioctl", (1, one)) for one in IOCTLS),
            *({**rule(name), "args": [{**pipe, "index": at}]} for name, at in (("mknod", 1), ("mknodat", 2))),
            rule("sched_setscheduler", (1, 0)),
            rule("prlimit64", (0, 0)),
            rule("setpriority", (0, 0), (1, 0)),
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        ],
    }


if __name__ == "__main__":
    PROFILE.write_text(json.dumps(profile(), indent=1) + "\n", "utf-8")
