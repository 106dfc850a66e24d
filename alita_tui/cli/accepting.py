"""Risks that a shell command accepts by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.view.risk import Risk


def all_accepted(risks: Sequence[Risk], given: Sequence[str], *, what: str, show: str) -> tuple[str, ...]:
    """The names of the risks. Raises UsageError unless exactly these were given with `--accept`.

    `what` begins the error ("The build"), and `show` is the command that describes each risk.
    """
    from alita_tui.view.risk import by_their_names, names_of

    given = by_their_names(list(given))
    names = names_of(tuple(risks))
    hint = f"`{show}` tells what each of them is."
    if strange := [name for name in given if name not in names]:
        listed = ", ".join(names) or "none"
        raise UsageError(f"{what} has no risk {one_line(strange[0], 60)!r}; it has: {listed}.", hint=hint)
    if missing := [name for name in names if name not in given]:
        words = " ".join(f"--accept {name}" for name in missing)
        raise UsageError(
            f"These risks are not accepted yet: {', '.join(missing)}.", hint=f"{hint} Then add: {words}"
        )
    return names
