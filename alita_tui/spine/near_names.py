"""Guesses the name that was meant when a name is mistyped. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_LESS_ALIKE = 0.1
"""How much less alike than the nearest name a further suggestion may be, of 1."""


def nearest(word: str, valid: Iterable[str], *, alike: float = 0.6) -> str:
    """Return the valid name most like a word, or an empty string. `alike`: how much of both is the same, 0 to 1."""
    return next(iter(nearest_names(word, valid, 1, alike=alike)), "")


def nearest_names(word: str, valid: Iterable[str], most: int = 3, *, alike: float = 0.6) -> tuple[str, ...]:
    """Return up to `most` valid names that are like a word, the most alike first.

    Names much less alike than the first are left out, except those that begin with it (`dark`, `dark-contrast`).
    """
    import difflib  # only a mistyped name needs it

    names = difflib.get_close_matches(word, list(valid), n=most, cutoff=alike)
    ratios = [difflib.SequenceMatcher(None, name, word).ratio() for name in names]
    return tuple(
        name
        for name, ratio in zip(names, ratios, strict=True)
        if ratio > ratios[0] - _LESS_ALIKE or name.startswith(names[0])
    )


def did_you_mean(word: str, valid: Iterable[str], otherwise: str = "") -> str:
    """Return a question with the names that are like a word, or `otherwise` if none is."""
    names = nearest_names(word, valid)
    if not names:
        return otherwise
    *others, last = names
    return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"
