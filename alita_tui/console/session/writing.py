"""Part of the session's screen: what is written into the composer, and where it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.screen import Screen
from textual.widgets import TextArea

from alita_tui.console.drafts import COMPOSER
from alita_tui.console.session import slash
from alita_tui.console.session.attaching import attached
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.queued import Queued
from alita_tui.spine.commands import AnswerQuestion, Command, SubmitTask
from alita_tui.spine.text import one_line
from alita_tui.view.agents import steer_from
from alita_tui.view.model import SessionView

if TYPE_CHECKING:
    from alita_tui.console.themes import ThemedApp
    from alita_tui.console.widgets.picker import Picker


class Writing(Screen[None]):
    """Base of the session's screen."""

    app: ThemedApp[object]
    view: SessionView

    def ask(self, command: Command) -> None:
        """Hand a command to the engine."""
        raise NotImplementedError

    def _expect(self, text: str) -> None:
        """Show a task as it is sent."""
        raise NotImplementedError

    def restore(self, text: str) -> None:
        """Show what was written before, and not sent."""
        for composer in self.query(Composer):
            composer.restore(text)

    @on(TextArea.Changed, "#composer")
    def _written(self, event: TextArea.Changed) -> None:
        if isinstance(event.text_area, Composer):
            self.app.drafts.keep(COMPOSER, event.text_area.whole)

    @on(Composer.Offered)
    async def _offered(self, message: Composer.Offered) -> None:
        found = self.query("Completions")
        if message.offer is None:
            found.set(display=False)
            return
        from alita_tui.console.session.completing import Completions

        if not found:  # it is made when it is needed first
            await self.mount(Completions())
        below = self.size.height - self.query_one("#status").region.y
        self.query_one(Completions).open(message.offer, below)

    @on(Composer.Moved)
    def _moved(self, message: Composer.Moved) -> None:
        from alita_tui.console.session.completing import Completions

        for one in self.query(Completions):
            one.move(message.by)

    def on_picker_clicked(self, message: Picker.Clicked) -> None:
        """Take what was clicked in the list over the composer."""
        self.query_one(Composer).take(message.index)

    @on(Composer.Sent)
    def _sent(self, message: Composer.Sent) -> None:
        view, text = self.view, message.text
        if slash.is_command(text):
            if run := slash.found(text):
                self.app.call_later(self.app.run_action, run)
                return
            if view.question is None:  # an answer may well be /tmp
                self.query_one(Composer).put_back(text)
                self.notify(slash.unknown(text), severity="warning", markup=False)
                return
        given = attached(text)
        if given.missing:
            self.query_one(Composer).put_back(text)
            named = ", ".join(one_line(name, 120) for name in given.missing)
            self.notify(f"There is no file {named}. Nothing was sent.", severity="error", markup=False)
            return
        command: Command = SubmitTask(text=text, attach=given.files)
        if view.question is not None and not message.next_task:
            command = AnswerQuestion(question_id=view.question.question_id, text=text)
        elif view.busy or view.live.held:
            if not message.next_task:
                text = (command := steer_from(view.state, text, given.files)).text
            self.query_one(Queued).add(text, view, task=message.next_task)
        if isinstance(command, SubmitTask) and not view.busy and not view.live.holds:
            self._expect(text)
        self.ask(command)
