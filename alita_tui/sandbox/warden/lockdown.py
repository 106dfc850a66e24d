"""Restricts a tool's process more than the container: no system calls that only the warden needs, no writes to /proc.

The container's seccomp profile applies to the warden too and allows what it needs. The filter and the Landlock rules
made here are added in each child before foreign code runs in it; neither can be removed.
seccomp(2), https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
"""Loaded once, by the warden, as loading takes 0.2 ms; its functions are looked up once as well."""
LIBC.prctl, LIBC.capset, LIBC.syscall  # noqa: B018
ARM = os.uname().machine == "aarch64"
ARCH = 0xC00000B7 if ARM else 0xC000003E
REFUSED = (
    # the ids: setuid, setgid, setreuid, setregid, setgroups, setresuid, setresgid, setfsuid, setfsgid, capset
    *((146, 144, 145, 143, 159, 147, 149, 151, 152, 91) if ARM else (105, 106, 113, 114, 116, 117, 119, 122, 123, 126)),
    434,  # pidfd_open
    444, 445, 446,  # landlock: each layer costs the kernel memory
)  # fmt: skip
PRCTL, FCNTL, SETSOCKOPT, SOCKET = (167, 25, 208, 198) if ARM else (157, 72, 54, 41)
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
"""SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with EPERM."""
SOL_SOCKET, SOL_TCP, NETLINK = 1, 6, 16
FILTERS = (26, 50, 51, 52)
"""SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _REUSEPORT_EBPF: programs for the kernel to run."""
TCP_ULP = 31
"""Other protocols on top of TCP, in the kernel."""
PIPE_SIZE, LEASE, NOTIFY = 1031, 1024, 1026
PR_SET_SECCOMP = 22

Line = tuple[int, int, str, str]
"""A BPF instruction: code, value, and the labels to jump to if it is true and if not; empty for the next one."""


def _filter_program() -> bytes:
    lines: list[tuple[str, Line]] = []

    def add(code: int, value: int, if_true: str = "", if_false: str = "", label: str = "") -> None:
        lines.append((label, (code, value, if_true, if_false)))

    def only(number: int, name: str, *checks: tuple[int, tuple[int, ...]]) -> None:
        """Refuse a call whose arguments (index, one of these values) all match."""
        add(EQUAL, number, "", name + " over")
        for index, values in checks:
            add(LOAD, 16 + 8 * index)  # the low half, which the kernel reads of an int
            for value in values[:-1]:
                add(EQUAL, value, f"{name} {index} is")
            add(EQUAL, values[-1], "", name + " over")
            add(LOAD, 0, label=f"{name} {index} is")
        add(RETURN, REFUSE)
        add(LOAD, 0, label=name + " over")

    add(LOAD, 4)
    add(EQUAL, ARCH, "", "refuse")
    add(LOAD, 0)
    add(AT_LEAST, 0x40000000, "refuse")  # the x32 way of calling
    for number in REFUSED:
        add(EQUAL, number, "refuse")
    only(PRCTL, "prctl", (0, (PR_SET_SECCOMP,)))
    only(FCNTL, "fcntl", (1, (PIPE_SIZE, LEASE, NOTIFY)))
    only(SETSOCKOPT, "filters", (1, (SOL_SOCKET,)), (2, FILTERS))
    only(SETSOCKOPT, "protocols", (1, (SOL_TCP,)), (2, (TCP_ULP,)))
    only(SOCKET, "diagnosis", (0, (NETLINK,)), (2, (4,)))
    add(RETURN, ALLOW)
    add(RETURN, REFUSE, label="refuse")
    places = {label: place for place, (label, _) in enumerate(lines) if label}
    packed = b""
    for place, (_, (code, value, yes, no)) in enumerate(lines):
        jumps = [places[label] - place - 1 if label else 0 for label in (yes, no)]
        packed += struct.pack("HBBI", code, *jumps, value)
    return packed


PROGRAM = _filter_program()


def install_filter() -> bool:
    """Make the kernel refuse these calls to this process and its children; return whether it does."""
    buffer = ctypes.create_string_buffer(PROGRAM, len(PROGRAM))
    filter_program = struct.pack("HxxxxxxP", len(PROGRAM) // 8, ctypes.addressof(buffer))
    return bool(LIBC.prctl(PR_SET_SECCOMP, 2, filter_program, 0, 0) == 0)  # SECCOMP_MODE_FILTER


WRITE, TRUNCATE = 1 << 1, 1 << 14
CHANGES = WRITE | sum(1 << bit for bit in range(4, 14))
"""Writing files, making and removing every kind of entry, and moving them between folders."""


def restrict_writes() -> bool:
    """Let this process write only below /tmp and to devices, not to its own files in /proc.

    Return False where the kernel has no Landlock that can do it, or has it switched off.
    """
    version = LIBC.syscall(444, None, 0, 1)
    if version < 2:  # the first one refuses every move between folders
        return False
    changes = CHANGES | (TRUNCATE if version > 2 else 0)
    rules = LIBC.syscall(444, struct.pack("Q", changes), 8, 0)
    if rules < 0:
        return False
    for folder, allowed in (("/tmp", changes), ("/dev", changes & (WRITE | TRUNCATE))):
        folder_fd = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        LIBC.syscall(445, rules, 1, struct.pack("=Qi", allowed, folder_fd), 0)
        os.close(folder_fd)
    applied = bool(LIBC.syscall(446, rules, 0) == 0)
    os.close(rules)
    return applied
