"""The review of a build, beside the trace. What is approved is what was on screen, by its digest.

Nothing that was typed, pasted, clicked or scrolled before the person could see the build decides on it:
input is judged by when it was made (see `Review`), and early verdict keys never reach the bindings.
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
from textual.message import Message
from textual.widget import Widget

from alita_tui.console.actions import bindings
from alita_tui.console.live_keys import shown_keys
from alita_tui.console.review import Review, Verdict, presented, settled
from alita_tui.console.screens.guarded import GuardedScreen
from alita_tui.console.widgets.build_head import BuildHead
from alita_tui.console.widgets.build_panes import BuildPanes, bases_of
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.console.widgets.verdict import VERDICTS, Button, Choice, VerdictBar
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.values import ToolDraft
from alita_tui.view.model import BuildView, SessionView
from alita_tui.view.queries import pending

NARROW = 100
"""Columns below which the review takes the whole screen, one part at a time."""


class ApprovalScreen(GuardedScreen):
    """One waiting build at a time, with its evidence, its code and the verdict."""

    AUTO_FOCUS = "#code"
    GUARDED = frozenset(VERDICTS)
    BINDINGS: ClassVar[list[BindingType]] = bindings("approval")
    DEFAULT_CSS = """
    ApprovalScreen {
        align: right top;
        background: transparent;
        #review { width: 60%; height: 100%; background: $background; border-left: solid $alita-approval; }
        &.-full #review, &.-narrow #review { width: 100%; border-left: none; }
    }
    """

    class Decided(Message):
        """A person decided. Posted to the app, which hands the command to the engine."""

        def __init__(self, command: ResolveApproval) -> None:
            super().__init__()
            self.command = command

    class EditRequested(Message):
        """The person wants the code in an editor; the app answers with `ApprovalScreen.edited`."""

        def __init__(self, approval_id: str, draft: ToolDraft) -> None:
            super().__init__()
            self.approval_id = approval_id
            self.draft = draft

    def __init__(
        self,
        view: SessionView,
        approval_id: str = "",
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with one approval, or with the one that waits longest.

        `now` is the time that waiting is counted by; `clock` the one that `Message.time` is taken from.
        """
        super().__init__(clock)
        self._view = view
        self._wanted = approval_id
        self._now = now
        self._decided: set[str] = set()

    def compose(self) -> ComposeResult:
        """Head, evidence and code, verdict."""
        with Vertical(id="review"):
            yield BuildHead(id="head")
            yield BuildPanes(id="build")
            yield VerdictBar(id="verdict")

    def on_mount(self) -> None:
        """Show the build; from here on a person can see it."""
        self.on_resize()
        first = next(iter(self.queue), None)
        self._present(next((one for one in self.queue if one.approval_id == self._wanted), first))
        self.set_interval(0.1, self.tick)

    # --- what is shown ------------------------------------------------------------------

    @property
    def queue(self) -> tuple[BuildView, ...]:
        """The builds that wait, without those decided here already."""
        return tuple(one for one in pending(self._view) if one.approval_id not in self._decided)

    @property
    def build(self) -> BuildView | None:
        """The build on screen."""
        return self._review.build if self._review else None

    @property
    def armed(self) -> bool:
        """Whether a verdict key pressed now would count."""
        return bool(self._review and self._place and self._review.armed(self._clock()))

    @property
    def _place(self) -> int:
        """Where the build on screen stands in the queue, from 1; 0 when it waits no more."""
        build = self.build
        waiting = enumerate(self.queue, 1)
        return next((n for n, one in waiting if build and one.approval_id == build.approval_id), 0)

    @property
    def _panes(self) -> BuildPanes:
        return self.query_one(BuildPanes)

    @property
    def _bar(self) -> VerdictBar:
        return self.query_one(VerdictBar)

    def advance(self, view: SessionView) -> None:
        """The session moved on; the build on screen stays, even when it was decided elsewhere."""
        self._view = view
        if self._review is None and self.queue:
            self._present(self.queue[0])
        self.tick()

    def tick(self) -> None:
        """Bring the time, the queue and the verdict line up to date."""
        if build := self.build:
            self.query_one(BuildHead).present(build, self._place, len(self.queue), self._now())
        self._bar.arm(self.armed)
        keys = shown_keys(self)
        useless: set[Choice] = set() if self._panes.code.bases else {"diff"}
        useless |= {"next"} if len(self.queue) < 2 else set()
        useless |= set() if self._place else {"approve", "reject", "edit"}
        useless |= {"full"} if self.has_class("-narrow") else set()
        self._bar.draw_keys(keys, useless)
        if self._review is None:
            self._bar.say("No build waits.", "muted")
        elif self._place:
            unread = self._panes.code.unread
            self._bar.say_about(self._review, unread, keys.get("approve", ""), self._clock())
        else:
            self._bar.say(*settled(self._view, self._review.build))

    def _present(self, build: BuildView | None) -> None:
        attempt = presented(build) if build else None
        self._review = Review(build, attempt, self._clock()) if build and attempt else None
        self._bar.idle()
        if build and attempt:
            self._panes.present(build, attempt, self._view.sandbox, bases_of(build, attempt))
            self._panes.focus_sheet()
        self.tick()

    @on(Sheet.Seen)
    def _read_on(self) -> None:
        self.tick()

    def on_resize(self) -> None:
        """Choose the layout for the width there is."""
        width = self.app.size.width
        self.set_class(width < NARROW, "-narrow")
        whole = width < NARROW or self.has_class("-full")
        self._panes.fit(width if whole else width * 6 // 10, single=width < NARROW)

    # --- verdicts -----------------------------------------------------------------------

    async def pressed(self, widget: Widget, at: float) -> None:
        """See `GuardedScreen.pressed`."""
        counts = self._review is not None and self._review.armed(at)
        if isinstance(widget, Button) and (counts or widget.choice not in VERDICTS):
            await self.run_action(widget.choice)

    def _may(self) -> Review | None:
        """The build that the newest input may decide on."""
        review = self._review
        return review if review and self._place and review.counts and self._bar.mode == "idle" else None

    def action_approve(self) -> None:
        """Approve, after as many steps as the risk asks for."""
        if not (review := self._may()):
            return
        match review.approve(self._panes.code.unread, self._clock()):
            case "mismatch":
                said = "These are not the bytes that approval is asked for; they cannot be approved."
                self.notify(said, severity="error", markup=False)
            case "name":
                self._bar.ask_name(review.build.name)
            case "unread":
                pass
            case "approved":
                self._decide("approved")
        self.tick()

    def action_reject(self) -> None:
        """Ask for the reason."""
        if self._may():
            self._bar.ask_reason(self._clock())
            self.tick()

    def action_edit(self) -> None:
        """Ask the app for an editor."""
        if review := self._may():
            self.app.post_message(self.EditRequested(review.build.approval_id, review.attempt.draft))

    def edited(self, approval_id: str, code: str, tests: str = "") -> None:
        """Take what the editor gave back; bytes that did not change are no verdict."""
        review = self._review
        if review is None or review.build.approval_id != approval_id or not self._place:
            return
        review.disarm(self._clock())
        changed = "" if tests == review.attempt.draft.tests else tests
        if code == review.attempt.draft.code and not changed:
            self.notify("Nothing was changed; the build keeps waiting.", markup=False)
        else:
            self._decide("edited", code=code, tests=changed)

    @on(VerdictBar.Named)
    def _name_typed(self) -> None:
        if self._review:
            self._review.name_typed(self._clock())
        self._bar.idle()
        self._panes.focus_sheet()
        self.tick()

    @on(VerdictBar.Rejected)
    def _reason_given(self, message: VerdictBar.Rejected) -> None:
        if self._place:
            self._decide("rejected", reason=message.reason)

    def _decide(self, verdict: Verdict, *, reason: str = "", code: str = "", tests: str = "") -> None:
        """Send the verdict once, then go on to the next waiting build or leave."""
        review = self._review
        if review is None or review.build.approval_id in self._decided:
            return
        self._decided.add(review.build.approval_id)
        read = self._panes.code.read
        command = review.command(verdict, self._clock(), read=read, reason=reason, code=code, tests=tests)
        self.app.post_message(self.Decided(command))
        if self.queue:
            self._present(self.queue[0])
        else:
            self.dismiss(None)

    # --- getting about ------------------------------------------------------------------

    def action_defer(self) -> None:
        """Close a field, or else the review; the build keeps waiting."""
        began = self._review.back() if self._review else False
        if self._bar.mode == "idle" and not began:
            self.dismiss(None)
            return
        self._bar.idle()
        self._panes.focus_sheet()
        self.tick()

    def action_next(self) -> None:
        """The next waiting build."""
        self._turn(1)

    def action_previous(self) -> None:
        """The waiting build before."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        queue = self.queue
        here = self._place - 1 if self._place else -by
        if queue and self._bar.mode == "idle" and (here + by) % len(queue) != here:
            self._present(queue[(here + by) % len(queue)])

    def action_diff(self) -> None:
        """The code, or what differs from the version or the attempt before."""
        if not self._panes.cycle_diff():
            self.notify("There is no earlier version to compare with.", markup=False)

    def action_log(self) -> None:
        """Everything that the self-tests printed, and the tests themselves."""
        self._panes.toggle_log()

    def action_full(self) -> None:
        """The review over the whole screen, or beside the trace."""
        self.toggle_class("-full")
        self.on_resize()

    def action_tab(self, by: int) -> None:
        """The part before or after."""
        self._panes.turn_tab(by)
