"""The numbers of the system calls that the filter of every container has to refuse. Pure.

`seccomp.json` beside this file names what is allowed; it is made of a measurement (`python -m tests.attack.syscalls`).
`syscalls.json` has the numbers of these names: x86-64, arm64.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_HIGHEST = 480
"""Numbers below this one are tried; all higher ones are newer than any allowed call."""
_UNFILTERED = ({335, 336}, set[int]())
"""uretprobe and uprobe: Linux lets no filter refuse them, and ends who calls them from anywhere but a probe."""


@cache
def refused() -> str:
    """Return a bit for each number, four to a hexadecimal digit, lowest first: x86-64, a colon, arm64."""
    numbers: dict[str, list[int | None]] = json.loads((Path(__file__).parent / "syscalls.json").read_text())
    words = []
    for architecture in (0, 1):
        allowed = {row[architecture] for row in numbers.values()} | _UNFILTERED[architecture]
        bits = sum(1 << number for number in range(_HIGHEST) if number not in allowed)
        words.append(f"{bits:0{_HIGHEST // 4}x}"[::-1])
    return ":".join(words)
