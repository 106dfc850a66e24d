"""Part of the session's screen: continuing a task, and stopping it, also by pressing Esc twice on purpose."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual.screen import Screen

from alita_tui.console.actions import key_of
from alita_tui.console.messages import CommandAsked
from alita_tui.spine.commands import Continue, Interrupt, Retry
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending

if TYPE_CHECKING:
    from alita_tui.console.replay.bar import ReplayBar

_REPEAT_SECONDS = 0.4
"""Seconds within which every terminal repeats a key that is held down."""
_SECOND_PRESS_SECONDS = 5.0
"""Seconds within which a second Esc counts with the first."""


class EscTwice:
    """Recognises a deliberate second Esc, as opposed to a first one or a key held down."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_press = float("-inf")
        self._armed = False
        self.repeats = 0
        """Presses so soon after the one before that the key may be held down, in a row."""

    def press(self) -> bool:
        """Record a press; return whether it is the second."""
        now = self._clock()
        elapsed, self._last_press = now - self._last_press, now
        self.repeats = self.repeats + 1 if elapsed <= _REPEAT_SECONDS else 0
        if self.repeats:
            return False
        second = self._armed and elapsed <= _SECOND_PRESS_SECONDS
        self._armed = not second
        return second


class Stopping(Screen[None]):
    """Base of the session's screen."""

    view: SessionView
    bar: ReplayBar | None
    _keys: Mapping[str, str]

    def __init__(self) -> None:
        super().__init__()
        self.esc = EscTwice()

    def stop_by_escape(self) -> None:
        """Say what Esc does, and stop the task at the second press. It never drops a build that waits for review."""
        if not self.view.busy:
            return
        stop = key_of("session.interrupt", self._keys)
        if pending(self.view):
            review = key_of("app.review", self._keys)
            message = (
                f"A build waits for you: {review} shows it. {stop} stops the task and withdraws the build."
            )
        elif self.view.live.held:
            go_on = key_of("session.retry", self._keys)
            message = f"Nothing runs yet: {go_on} continues the unfinished task, {stop} ends it."
        elif build := next((build for build in self.view.builds if not build.settled), None):
            message = f"{build.name} is being built: {stop} stops the task and gives the build up."
        elif self.esc.press():
            self.post_message(CommandAsked(Interrupt()))
            return
        elif self.esc.repeats > 1:
            return  # it was said at the first repetition
        elif self.esc.repeats:
            message = (
                f"That was too quick: it may be a key held down. Esc once more stops; {stop} stops at once."
            )
        else:
            message = f"Esc once more stops the task; {stop} stops it at once."
        self.notify(message, timeout=4)

    def action_interrupt(self) -> None:
        """Interrupt the running task."""
        if (self.view.busy or self.view.live.held) and self.bar is None:
            self.post_message(CommandAsked(Interrupt()))

    def action_retry(self) -> None:
        """Continue what was not finished, or try the last task again; the engine reports if there is none."""
        if self.view.live.holds and self.bar is None:
            self.post_message(CommandAsked(Continue()))
        elif not self.view.busy and self.bar is None:
            self.post_message(CommandAsked(Retry()))
