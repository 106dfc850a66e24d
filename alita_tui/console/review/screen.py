"""The review of a build, beside the trace. An approval is for exactly the bytes on screen, by their digest.

Nothing that was typed, pasted, clicked or scrolled before the person could see the build decides on it:
input is judged by when it was made (see `arming`), and verdict keys reach no binding before they count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from alita_tui.console.actions import actions_of, bindings, shown_keys
from alita_tui.console.input.arming import Objection
from alita_tui.console.review.deciding import DecidingScreen
from alita_tui.console.review.head import BuildHead
from alita_tui.console.review.panes import BuildPanes, bases_of
from alita_tui.console.review.steps import BuildReview, settled
from alita_tui.console.review.verdict_bar import DECIDING, LIKE, PUTTING_AWAY, Choice, VerdictBar
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.state.build import BuildState
from alita_tui.view.habits import Habits
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending

NARROW = 100
"""Width below which the review fills the screen, one part at a time."""

_TRACE_BESIDE, _THREE_COLUMNS = 44, 180
"""Columns of the trace beside evidence and code, and the width from which all three are shown (`-wide`)."""
_ALL_KEYS, _VERDICTS = 86, 69
"""Widths of the verdict bar that have room for every choice, and for all that are about the build."""


class ApprovalScreen(DecidingScreen):
    """Shows one waiting build at a time: evidence, code and verdict."""

    AUTO_FOCUS = "#code"
    BINDINGS: ClassVar[list[BindingType]] = bindings("approval")
    CSS_PATH = "screen.tcss"

    def __init__(
        self,
        view: SessionView,
        approval_id: str = "",
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with one approval, or with the one that waits longest.

        `now` is used for waiting times; `clock` is the clock of `Message.time`.
        """
        super().__init__(clock)
        self._view = view
        self._first_approval = approval_id
        self._now = now
        self._habits = Habits()

    def compose(self) -> ComposeResult:
        """Head, evidence and code, verdict bar."""
        with Vertical(id="review"):
            yield BuildHead(id="head")
            yield BuildPanes(id="build")
            yield VerdictBar(id="verdict")

    def on_mount(self) -> None:
        """Show the first build."""
        self.panes.remind(self._habits)
        self.on_resize()
        first = next(iter(self.queue), None)
        self._present(
            next((build for build in self.queue if build.approval_id == self._first_approval), first)
        )
        self.set_interval(0.1, self.tick)

    # --- what is shown ------------------------------------------------------------------

    @property
    def queue(self) -> tuple[BuildState, ...]:
        """The waiting builds, without those already decided here."""
        return tuple(build for build in pending(self._view) if build.approval_id not in self._decided)

    @property
    def armed(self) -> bool:
        """Whether a verdict key pressed now would count, unless it repeats the last key."""
        return bool(self._review and self._position and not self._objection)

    @property
    def _objection(self) -> Objection:
        """Why a key pressed now would not count."""
        return self.timing.objection_to_key(self._review.paint if self._review else None, self._clock())

    @property
    def objection_to_repeat(self) -> Objection:
        """Why the last key would not count if pressed now."""
        held = bool(actions_of(self, self.timing.deed) & self.GUARDED)
        return self._objection or ("held" if held else "")

    @property
    def _position(self) -> int:
        """Position of the build in the queue, from 1; 0 once it no longer waits."""
        build = self.build
        waiting = enumerate(self.queue, 1)
        return next(
            (
                position
                for position, candidate in waiting
                if build and candidate.approval_id == build.approval_id
            ),
            0,
        )

    @property
    def undecided(self) -> bool:
        """Whether the build on screen has no verdict yet."""
        return bool(self._position)

    def advance(self, view: SessionView) -> None:
        """Take a newer view; the build on screen stays, even if decided elsewhere."""
        self._view = view
        if self._review is None and self.queue:
            self._present(self.queue[0])
        self.tick()

    def tick(self) -> None:
        """Update the waiting time, the queue and the verdict bar."""
        if build := self.build:
            several = len({waiting.task_id for waiting in self.queue}) > 1
            head = self.query_one(BuildHead)
            head.present(build, self._position, len(self.queue), self._now(), several=several)
        self.bar.arm(self.armed)
        keys = shown_keys(self)
        hidden: set[Choice] = set() if self.panes.code.bases else {"diff"}
        hidden |= set() if self.panes.code.base else {"side_by_side"}
        hidden |= set() if self.panes.code.marks else {"finding"}
        requests = self._review and not self._review.attempt.draft.capabilities.none
        hidden |= set() if requests and self._position else {"grants"}
        has_twin = self._review and self._review.twin and self._position
        hidden |= set() if has_twin else set(LIKE)
        hidden |= {"next"} if len(self.queue) < 2 else set()
        hidden |= set() if self._position else {*DECIDING, *PUTTING_AWAY}
        hidden |= {"full"} if self.has_class("-narrow") else set()
        if self.bar.size.width < _ALL_KEYS and not self.has_class("-narrow"):
            hidden |= {"full", "side_by_side", "finding"}  # their keys still work, and F1 lists them
            hidden |= {"edit", "retest"} if self.bar.size.width < _VERDICTS else set()
        self.bar.draw_keys(keys, hidden)
        if self._review is None:
            self.bar.say("No build waits.", "muted")
        elif self._position:
            unread = self.panes.code.unread
            self.bar.say_about(self._review, unread, keys, self.objection_to_repeat)
        else:
            self.bar.say(*settled(self._view, self._review.build))

    def remind(self, habits: Habits) -> None:
        """Show how the person has been deciding."""
        self._habits = habits
        if self.is_mounted:
            self.panes.remind(habits)

    def _present(self, build: BuildState | None) -> None:
        attempt = build.presented if build else None
        self._review = BuildReview(build, attempt, self._clock()) if build and attempt else None
        self.repaint()
        self.bar.idle()
        if build and attempt:
            self.panes.present(build, attempt, self._view.sandbox, bases_of(build, attempt))
            self.panes.focus_sheet()
        self.tick()

    @on(Sheet.Seen)
    def _read_on(self) -> None:
        self.tick()

    def on_resize(self) -> None:
        """Choose the layout for the width."""
        width = self.app.size.width
        self.set_class(width < NARROW, "-narrow")
        full = width < NARROW or self.has_class("-full")
        self.set_class(width >= _THREE_COLUMNS, "-three-columns")
        beside = width - _TRACE_BESIDE if width >= _THREE_COLUMNS else width * 6 // 10
        self.panes.fit(width if full else beside, single=width < NARROW)
        self.repaint()

    def go_on(self) -> None:
        """Show the next build, or close."""
        if self.queue:
            self._present(self.queue[0])
        else:
            self.dismiss(None)

    # --- getting about ------------------------------------------------------------------

    def action_back(self) -> None:
        """Close a field or step, else the log, else the review, without deciding or deferring anything."""
        had_steps = self._review.back() if self._review else False
        if self.bar.mode != "idle" or had_steps:
            self._close_fields()
        elif not self.panes.close_log():
            self.dismiss(None)

    def action_next(self) -> None:
        """Show the next waiting build."""
        self._turn(1)

    def action_previous(self) -> None:
        """Show the previous waiting build."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        queue = self.queue
        index = self._position - 1 if self._position else -by
        if queue and self.bar.mode == "idle" and (index + by) % len(queue) != index:
            self._present(queue[(index + by) % len(queue)])

    def action_diff(self) -> None:
        """Switch between the code and its diffs."""
        if not self.panes.cycle_diff():
            self.notify("There is no earlier version to compare with.")
        self.tick()

    def action_finding(self) -> None:
        """Go to the next line that a finding is about."""
        if not self.panes.next_finding():
            self.notify("No finding is about a line of the code.", timeout=3)
        self.tick()

    def action_side_by_side(self) -> None:
        """Switch between unified and side-by-side diff."""
        self.panes.toggle_split()
        self.tick()

    def action_log(self) -> None:
        """Show or hide the whole test log and the tests."""
        self.panes.toggle_log()

    def action_full(self) -> None:
        """Switch between full screen and beside the trace."""
        self.toggle_class("-full")
        self.on_resize()

    def action_tab(self, by: int) -> None:
        """Turn to the previous or next part."""
        self.panes.turn_tab(by)
