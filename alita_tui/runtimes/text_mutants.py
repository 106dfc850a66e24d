"""Makes mutants of a program from changes of its text. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui.runtimes.port import Mutant

Change = tuple[int, int, str, str]
"""First byte of a piece and the byte after it, its replacement, and a description; an empty one is made of both."""


def mutants_of(code: str, changes: Iterable[Change], most: int) -> list[Mutant]:
    """Return at most `most` mutants spread over the program, the same for the same changes."""
    source = code.encode("utf-8", "surrogatepass")
    ordered = sorted(set(changes))
    step = max(1.0, len(ordered) / most)
    mutants = []
    for start, end, replacement, description in (
        ordered[int(n * step)] for n in range(min(most, len(ordered)))
    ):
        original = source[start:end].decode("utf-8", "replace")
        change = description or (f"{original} became {replacement}" if replacement else f"{original} is gone")
        text = (source[:start] + replacement.encode() + source[end:]).decode("utf-8", "surrogatepass")
        mutants.append(Mutant(source.count(b"\n", 0, start) + 1, change, text))
    return mutants
