"""The app's part in reviews: notifying of what waits, and opening them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from textual import work

from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.replay.navigation import ReplayNavigation
from alita_tui.console.review.attention import Attention
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending

if TYPE_CHECKING:
    # Other screens are imported when they open: the first paint needs only the session's screen.
    from alita_tui.console.input.parser import Settled
    from alita_tui.console.review.screen import ApprovalScreen


class ReviewOpener(ReplayNavigation):
    """Base of the app: opens reviews, and notifies of what waits."""

    _options: ConsoleOptions

    @cached_property
    def _attention(self) -> Attention:
        return Attention(self.write_terminal)

    @cached_property
    def _running_tasks(self) -> set[str]:
        """Tasks that were seen running and have not ended."""
        return set()

    @property
    def _review(self) -> ApprovalScreen | None:
        """The review on top of the screen stack, if any."""
        if self.screen is self.main:
            return None
        from alita_tui.console.review.screen import ApprovalScreen

        return self.screen if isinstance(self.screen, ApprovalScreen) else None

    def _notify_if_away(self, view: SessionView) -> None:
        """Notify a person who is away of builds and questions that wait, and of tasks that ended."""
        if self._engine is None:
            return
        away = self._options.bell and not self.app_focus
        for build in pending(view):
            text = f"{build.name} v{build.version} is ready for your review"
            self._attention.call(build.approval_id, text, away=away)
        if view.question is not None:
            question = one_line(view.question.text, 80)
            self._attention.call(view.question.question_id, f"asks you: {question}", away=away)
        for task in view.tasks if self._running_tasks else ():
            if task.task_id in self._running_tasks and task.outcome is not None:
                self._running_tasks.remove(task.task_id)
                if task.outcome != "parked":
                    outcome = "finished" if task.outcome == "answered" else task.outcome
                    self._attention.call(
                        f"end {task.task_id}", f"{outcome}: {one_line(task.text, 80)}", away=away
                    )
        self._running_tasks.update(view.running)

    def _terminal_focus(self, focused: bool) -> None:
        if focused:
            self._attention.seen()

    def on_settled(self, message: Settled) -> None:
        """Act on a held verdict that no other input followed."""
        if self.screen is self.main:
            return
        from alita_tui.console.review.guarded import GuardedScreen

        if isinstance(self.screen, GuardedScreen):
            self.screen.call_next(self.screen.settled, message.number)

    def on_deciding_screen_edit_requested(self, message: ApprovalScreen.EditRequested) -> None:
        """Open the draft in the person's editor."""
        from alita_tui.console.review.editor import NoEditor, edit

        draft = message.draft
        try:
            edited = edit(draft.name, draft.code, runtime_of(draft.language).suffix, self.suspend)
        except NoEditor as error:
            self.notify(str(error), severity="error")
            return
        if self._review is not None:
            self._review.edited(message.approval_id, edited, draft.tests)

    def action_review(self) -> None:
        """Review the oldest waiting build."""
        from alita_tui.console.review.screen import ApprovalScreen

        if self.replaying or self._review is not None:
            return
        if pending(self.main.view):
            self.main.add_class("-beside")
            self.push_screen(ApprovalScreen(self.main.view), self._review_closed)
            self._load_habits()
        else:
            self.notify("No build waits for your decision.", timeout=3)

    def _review_closed(self, _nothing: None) -> None:
        """Show the session at its full width again."""
        self.main.remove_class("-beside")

    @work(name="habits", group="habits", exclusive=True, exit_on_error=False)
    async def _load_habits(self) -> None:
        """Show how the last verdicts were given."""
        try:
            habits = await self._catalog.habits()
        except AlitaError:
            return  # reported where the habits are needed
        if self._review is not None:
            self._review.remind(habits)
