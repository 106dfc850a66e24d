"""When a verdict counts. Pure: the times are those at which the input was made, not handled."""

from __future__ import annotations

QUIET = 0.425
"""Seconds without any input after which the next one is meant for what is on screen."""
LONGEST = 1.5
"""Seconds after opening at which it is armed however busy the input was."""


class Arming:
    """Disarmed from the moment a build appears until the person has had a chance to see it.

    Typing, pasting, clicking or scrolling that was under way when the build appeared keeps it disarmed.
    With `longest` None only quiet arms it, so that a held key never does.
    """

    def __init__(self, at: float, *, quiet: float = QUIET, longest: float | None = LONGEST) -> None:
        self._opened = at
        self._last = at
        self._quiet = quiet
        self._longest = longest

    def armed(self, at: float) -> bool:
        """Whether an input made at this time would count."""
        return at >= self.due and at > self._opened

    @property
    def due(self) -> float:
        """The time from which input counts, if none is made before."""
        quiet = self._last + self._quiet
        return quiet if self._longest is None else min(quiet, self._opened + self._longest)

    def touch(self, at: float) -> bool:
        """Note an input made at this time; True when it counts. Once armed it stays so."""
        if self.armed(at):
            return True
        self._last = max(self._last, at)
        return False
