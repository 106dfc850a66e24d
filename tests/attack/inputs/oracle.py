"""The promise about verdicts, and nothing of how the product keeps it.

An approval needs a key made (at the keyboard, not read) after at least 425 ms without any input made, while the
review of exactly that build was fully painted on the person's terminal, with no other key within 30 ms before or
after; no key counts for a second verdict unless it was released, a quiet time passed and something else happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

QUIET = 0.425
ALONE = 0.030
KEYS = {
    "approved": {"a", "o", "click approve", "click lend"},
    "rejected": {"enter", "u"},
    "banned": {"enter"},
    "retested": {"t", "click retest"},
    "stopped": {"x", "click stop"},
    "aliased": {"l"},
    "withdrawn": {"w"},
    "edited": {"e"},
}
"""The inputs that may end in each verdict."""


@dataclass(frozen=True)
class Made:
    """One input as the person's hands, mouse or clipboard made it."""

    at: float
    """Seconds at which it was made."""
    data: bytes
    """What the terminal sends for it."""
    what: str
    """The key's name, or `paste`, `click …`, `wheel`, `move`, `focus`, `release`, `noise`, `other` (perhaps a key)."""
    press: int = 0
    """The same number for a key and its repetitions while it is held."""

    @property
    def key(self) -> bool:
        """Whether it is a key or click that could be meant as a verdict."""
        return self.what not in ("paste", "move", "wheel", "focus", "release", "noise")


@dataclass(frozen=True)
class Decided:
    """A verdict that reached the engine."""

    at: float
    verdict: str
    approval_id: str


@dataclass(frozen=True)
class Shown:
    """What the person's terminal showed from a time on; empty for anything but a whole review."""

    at: float
    approval_id: str


def accidents(made: Sequence[Made], shown: Sequence[Shown], decided: Sequence[Decided]) -> list[str]:
    """The verdicts that no key accounts for, one line each. All three in the order of time."""
    found: list[str] = []
    used: list[int] = []
    for verdict in decided:
        why: dict[int, str] = {}
        for n, one in enumerate(made):
            if one.at <= verdict.at and one.what in KEYS.get(verdict.verdict, ()):
                why[n] = _against(n, made, shown, verdict, used)
        good = [n for n, said in why.items() if not said]
        if good:
            used.append(good[-1])
        else:
            newest = next(reversed(why.items()), (-1, "no such key was made"))[1]
            found.append(f"{verdict.verdict} {verdict.approval_id} at {verdict.at:.3f}: {newest}")
    return found


def _against(
    n: int, made: Sequence[Made], shown: Sequence[Shown], verdict: Decided, used: Sequence[int]
) -> str:
    """Why an input cannot have been meant as this verdict; empty when it can."""
    key = made[n]
    here = next((one.approval_id for one in reversed(shown) if one.at <= key.at), "")
    before = [one for one in made[:n] if one.what != "release"]
    after = [one for one in made[n + 1 :] if one.what != "release"]
    if here != verdict.approval_id:
        return f"{key.what} was made while {here or 'no review'} was on screen"
    if before and key.at - before[-1].at < QUIET:
        return f"{key.what} was made {key.at - before[-1].at:.3f} s after {before[-1].what}"
    if after and after[0].at - key.at < ALONE and after[0].press != key.press:
        return f"{after[0].what} was made {after[0].at - key.at:.3f} s after {key.what}"
    if n in used:
        return f"{key.what} had decided already"
    if any(one.press == key.press for one in made[:n]):
        return f"{key.what} was held"
    for last in used[-1:]:
        if made[last].what == key.what and not _between(made[last + 1 : n], key.what):
            return f"nothing else was made since {key.what} decided"
    return ""


def _between(made: Sequence[Made], what: str) -> bool:
    """Whether something else happened."""
    return any(one.what not in (what, "move", "focus", "release", "noise") for one in made)
