"""The rights that a parsing process gives up before it reads hostile bytes: files except Python's, network, processes.

Parsers are large, and the one for HTML is written in C. The resource limits always apply; Landlock and an empty network
namespace apply if the kernel supports them (https://docs.kernel.org/userspace-api/landlock.html).
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_DIE_WITH_PARENT, _NO_NEW_PRIVILEGES = 1, 38
_NEW_USER_AND_NETWORK = 0x10000000 | 0x40000000
_READ = 0b1100
"""Rights to read files and to list folders."""
_FILES = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}
"""All file rights that each version of Landlock can refuse; for later versions `_ALL_FILES`."""
_ALL_FILES, _ALL_TCP, _ALL_SCOPES = 0xFFFF, 0b11, 0b11
_PARENT = os.getppid()
"""The parent when the process began; a different one later means that the parent has ended."""
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")


def confine(seconds: int, memory: int) -> None:
    """Give up every right that no parser needs, irrevocably. `seconds` is CPU time, `memory` bytes of address space."""
    import resource

    _own_network()
    _end_with_parent()
    _only_python_files()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for resource_limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        resource.setrlimit(resource_limit, (0, 0))


def _own_network() -> None:
    ctypes.CDLL(None).unshare(_NEW_USER_AND_NETWORK)  # an empty network; no change if the kernel forbids it


def _end_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends, because parsing may never end."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != _PARENT:
        sys.exit("the process that asks has gone")


def _only_python_files() -> None:
    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return
    handled = struct.pack("QQQ", _FILES.get(version, _ALL_FILES), _ALL_TCP, _ALL_SCOPES)
    handled = handled[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = libc.syscall(_CREATE, handled, ctypes.c_size_t(len(handled)), 0)
    if rules < 0:
        return
    package = str(Path(__file__).parents[1])
    for folder in {package, *sys.path[1:], str(Path(sys.base_prefix, "lib")), *_LIBRARIES}:
        if Path(folder).is_dir():
            descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            libc.syscall(_ADD, rules, 1, struct.pack("=Qi", _READ, descriptor), 0)
            os.close(descriptor)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.syscall(_RESTRICT, rules, 0)
    os.close(rules)
