"""How a build is decided on screen: from a verdict key to the command that is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from textual import on
from textual.message import Message
from textual.widget import Widget

from alita_tui.console.input.arming import Objection
from alita_tui.console.messages import CommandAsked
from alita_tui.console.review.guarded import GuardedScreen
from alita_tui.console.review.panes import BuildPanes
from alita_tui.console.review.steps import BuildReview, Twice
from alita_tui.console.review.verdict_bar import DIGEST, LIKE, NAME, VERDICTS, Button, VerdictBar
from alita_tui.events import Decision, Lasting, ToolDraft
from alita_tui.spine.commands import PutOff
from alita_tui.state.build import BuildState
from alita_tui.view.habits import too_fast
from alita_tui.view.queries import merge_of, reuse_of

_BANNED = {NAME: "name", DIGEST: "digest"}


class DecidingScreen(GuardedScreen):
    """Turns keys into verdicts; subclasses draw."""

    GUARDED = frozenset(VERDICTS)

    @dataclass
    class EditRequested(Message):
        """The person wants an editor; the app calls `DecidingScreen.edited` with the result."""

        approval_id: str
        draft: ToolDraft

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is the one that `Message.time` is taken from."""
        super().__init__(clock)
        self._decided: set[str] = set()

    @property
    def undecided(self) -> bool:
        """Whether the build on screen has no verdict yet."""
        raise NotImplementedError

    def tick(self) -> None:
        """Update the screen."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Show the next build, or close."""
        raise NotImplementedError

    @property
    def build(self) -> BuildState | None:
        """The build on screen."""
        return self._review.build if self._review else None

    @property
    def panes(self) -> BuildPanes:
        """Evidence and code."""
        return self.query_one(BuildPanes)

    @property
    def bar(self) -> VerdictBar:
        """The verdict bar."""
        return self.query_one(VerdictBar)

    async def pressed(self, widget: Widget) -> None:
        """Run the button's action."""
        if isinstance(widget, Button):
            await self.run_action(widget.choice)

    def is_verdict(self, widget: Widget) -> bool:
        """Whether a click on this widget is a verdict."""
        return isinstance(widget, Button) and widget.choice in VERDICTS

    def refused(self, why: Objection) -> None:
        """Tell the person why their input did not count."""
        if why == "stalled":
            self.notify("The console had stopped for a moment, so that key was not taken.")
        elif self.bar.mode in ("reject", "ban"):
            message = "Enter counts after a moment of quiet. Press another key first, wait, then Enter."
            self.notify(message, timeout=3)
        self.tick()

    def _decidable(self) -> BuildReview | None:
        """Return the review that the current input may decide."""
        review = self._review
        return review if review and self.undecided and self._acting and self.bar.mode == "idle" else None

    def action_defer(self) -> None:
        """Let the agent continue without the build, and close."""
        if not (review := self._decidable()):
            return
        if not review.build.put_off:
            self.app.post_message(CommandAsked(PutOff(approval_id=review.build.approval_id)))
        self.dismiss(None)

    def action_withdraw(self) -> None:
        """Drop the build without a verdict; needs a second press."""
        if self._pressed_twice("withdrawn"):
            self._decide("withdrawn")
        self.tick()

    def action_approve(self) -> None:
        """Approve, after as many steps as the risks require."""
        self._approve("library")

    def action_lend(self) -> None:
        """Approve for the task that asked."""
        self._approve("task")

    def _approve(self, lasting: Lasting) -> None:
        if not (review := self._decidable()):
            return
        match review.approve(self.panes.code.unread, lasting):
            case "mismatch":
                message = "These are not the bytes that approval is asked for; they cannot be approved."
                self.notify(message, severity="error")
            case "name":
                self.bar.ask_name(review.build.approval_id, review.names, lasting)
            case "unread":
                self.repaint()  # the person has to read first what the next press does
            case "approved":
                self._decide("approved", lasting=lasting)
        self.tick()

    def action_reject(self) -> None:
        """Ask for the reason."""
        if review := self._decidable():
            self.bar.ask_reason(review.build.approval_id)
            self.tick()

    def action_ban(self) -> None:
        """Ask for the reason and what to ban."""
        if review := self._decidable():
            self.bar.ask_ban(review.build.approval_id, review.attempt.draft.capabilities.items)
            self.tick()

    def action_grants(self) -> None:
        """Choose which requested capabilities are granted."""
        if not (review := self._decidable()):
            return
        if items := review.attempt.draft.capabilities.items:
            self.bar.ask_grants(review.build.approval_id, items, review.withheld)
            self.tick()
        else:
            self.notify("This tool needs no permissions, so there is nothing to limit.")

    def action_retest(self) -> None:
        """Run the tests again with the grants; needs a second press."""
        if self._pressed_twice("retested"):
            self._decide("retested")
        self.tick()

    def action_stop(self) -> None:
        """Reject the build and stop the run; needs a second press."""
        if self._pressed_twice("stopped"):
            self._decide("stopped")
        self.tick()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Take the keys that name a twin only where the build has one."""
        if action in LIKE and not (self._review and self._review.twin):
            return False
        return super().check_action(action, parameters)

    def action_reuse(self) -> None:
        """Reject the build in favour of its twin; needs a second press."""
        if (review := self._review) and (twin := review.twin) and self._pressed_twice("reused"):
            reason, tags = reuse_of(twin)
            self._decide("rejected", reason=reason, tags=tags)
        self.tick()

    def action_merge(self) -> None:
        """Reject the build and have one tool built for its work and its twin's; needs a second press."""
        if (review := self._review) and (twin := review.twin) and self._pressed_twice("merged"):
            reason, tags = merge_of(twin)
            self._decide("rejected", reason=reason, tags=tags)
        self.tick()

    def action_alias(self) -> None:
        """Make the build's name an alias of its twin; needs a second press."""
        if (review := self._review) and (twin := review.twin) and self._pressed_twice("aliased"):
            self._decide("aliased", alias_of=twin)
        self.tick()

    def _pressed_twice(self, verdict: Twice) -> bool:
        """Return whether this is the announced second press."""
        review = self._decidable()
        if review is None:
            return False
        if not (confirmed := review.confirm(verdict)):
            self.repaint()
        return confirmed

    def action_edit(self) -> None:
        """Ask the app to open an editor."""
        if review := self._decidable():
            self.app.post_message(self.EditRequested(review.build.approval_id, review.attempt.draft))

    def edited(self, approval_id: str, code: str, tests: str = "") -> None:
        """Submit edited code; unchanged code is no verdict."""
        review = self._review
        if review is None or review.build.approval_id != approval_id or not self.undecided:
            return
        self.repaint()
        changed = "" if tests == review.attempt.draft.tests else tests
        if code == review.attempt.draft.code and not changed:
            self.notify("No changes. The build is still waiting.")
        else:
            self._decide("edited", code=code, tests=changed)

    @on(VerdictBar.Named)
    def _name_typed(self, message: VerdictBar.Named) -> None:
        if review := self._review_of(message.about):
            review.name_typed(self.panes.code.unread)
            self.repaint()
            self._close_fields()

    @on(VerdictBar.Worded)
    def _reason_given(self, message: VerdictBar.Worded) -> None:
        if not self.undecided or not self._review_of(message.about):
            return
        if message.mode == "reject":
            self._decide("rejected", reason=message.reason, tags=message.ticked)
        else:
            banned = tuple(_BANNED.get(word, word) for word in message.ticked)
            self._decide("banned", reason=message.reason, banned=banned)

    @on(VerdictBar.Granting)
    def _granting(self, message: VerdictBar.Granting) -> None:
        if review := self._review_of(message.about):
            review.withhold(frozenset(review.attempt.draft.capabilities.items) - set(message.ticked))
            self.panes.withhold(review.withheld)
            self.repaint()
            self.tick()

    def _review_of(self, approval_id: str) -> BuildReview | None:
        """Return the review on screen, if a field was opened for that build."""
        review = self._review
        return review if review and review.build.approval_id == approval_id else None

    def _close_fields(self) -> None:
        self.bar.idle()
        self.panes.focus_sheet()
        self.tick()

    def _decide(self, decision: Decision, **fields: Any) -> None:
        """Send the verdict once, then go on."""
        review = self._review
        if review is None or review.build.approval_id in self._decided:
            return
        self._decided.add(review.build.approval_id)
        command = review.command(decision, self._clock(), read=self.panes.code.read, **fields)
        self.app.post_message(CommandAsked(command))
        lines = self.panes.code.lines
        seen_ms = command.verdict.seen_ms
        if decision == "approved" and too_fast(lines, seen_ms):
            seconds = seen_ms / 1000
            self.notify(
                f"{lines} lines in {seconds:.1f} s: that is faster than one can read. What you need not read, "
                "a rule of the policy can decide.",
                severity="warning",
            )
        self.go_on()
