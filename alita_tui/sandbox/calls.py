"""Which system calls the filter of every container has to refuse, by number. Pure.

`seccomp.json` beside this file names what is allowed; it is made of a measurement (`python -m tests.attack.syscalls`).
`syscalls.json` has the numbers of these names: x86-64, arm64.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_HIGHEST = 480
"""Numbers that are tried; what has a higher one is younger than any of what is allowed."""
_UNFILTERED = ({335, 336}, set[int]())
"""uretprobe and uprobe: Linux lets no filter refuse them, and ends who calls them from anywhere but a probe."""


@cache
def refused() -> str:
    """A bit for each number, four to a hexadecimal digit, lowest first; x86-64, a colon, arm64."""
    numbers: dict[str, list[int | None]] = json.loads((Path(__file__).parent / "syscalls.json").read_text())
    words = []
    for architecture in (0, 1):
        allowed = {row[architecture] for row in numbers.values()} | _UNFILTERED[architecture]
        bits = [number not in allowed for number in range(_HIGHEST)]
        fours = (bits[at : at + 4] for at in range(0, _HIGHEST, 4))
        words.append("".join(f"{sum(bit << place for place, bit in enumerate(four)):x}" for four in fours))
    return ":".join(words)
