"""Makes the wrong versions of a program from changes of its text. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui.runtimes.port import Mutant

Change = tuple[int, int, str, str]
"""First byte of a piece and the byte after it, what stands there instead, and how it is told; empty: by both texts."""


def planted(code: str, changes: Iterable[Change], most: int) -> list[Mutant]:
    """Return at most `most` mutants spread over the program, the same for the same changes."""
    source = code.encode("utf-8", "surrogatepass")
    ordered = sorted(set(changes))
    step = max(1.0, len(ordered) / most)
    made = []
    for start, end, new, told in (ordered[int(n * step)] for n in range(min(most, len(ordered)))):
        old = source[start:end].decode("utf-8", "replace")
        change = told or (f"{old} became {new}" if new else f"{old} is gone")
        text = (source[:start] + new.encode() + source[end:]).decode("utf-8", "surrogatepass")
        made.append(Mutant(source.count(b"\n", 0, start) + 1, change, text))
    return made
