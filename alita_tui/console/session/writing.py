"""Part of the session's screen: what happens with the text of the composer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.events import Paste
from textual.screen import Screen
from textual.widgets import TextArea

from alita_tui.console.drafts import COMPOSER
from alita_tui.console.messages import CommandAsked
from alita_tui.console.session import slash
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.context_line import ContextLine
from alita_tui.console.session.file_references import attached
from alita_tui.console.session.queued import Queued
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.painted import TellsPainted
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
    _given_back: tuple[int, str] = (0, "")
    """How many tasks there were when a text was given back to the composer, and the text; empty for none."""

    def _expect(self, text: str, files: tuple[str, ...] = ()) -> TellsPainted:
        """Show a task as it is sent; return the widget that does."""
        raise NotImplementedError

    def restore(self, text: str) -> None:
        """Show a text that was written earlier and not sent."""
        for composer in self.query(Composer):
            composer.restore(text)

    def on_paste(self, event: Paste) -> None:
        """Take a paste into the composer that came while a part without a field had the focus."""
        for composer in self.query(Composer):
            event.stop()
            composer.focus()
            composer.take_paste(event.text)

    @on(TextArea.Changed, "#composer")
    def _written(self, event: TextArea.Changed) -> None:
        if isinstance(event.text_area, Composer):
            self.app.drafts.keep(COMPOSER, event.text_area.full_text)

    @on(Composer.Offered)
    async def _offered(self, message: Composer.Offered) -> None:
        for line in self.query(ContextLine):
            line.draw()
        lists = self.query("Completions")
        if message.offer is None:
            lists.set(display=False)
            return
        from alita_tui.console.session.completions import Completions

        if not lists:  # mounted when first needed
            await self.mount(Completions())
        below = self.size.height - self.query_one("#status").region.y
        self.query_one(Completions).open(message.offer, below)

    @on(Composer.Moved)
    def _moved(self, message: Composer.Moved) -> None:
        from alita_tui.console.session.completions import Completions

        for completions in self.query(Completions):
            completions.move(message.by)

    def on_picker_clicked(self, message: Picker.Clicked) -> None:
        """Take what was clicked in the list over the composer."""
        self.query_one(Composer).take(message.index)

    @on(Composer.Sent)
    def _sent(self, message: Composer.Sent) -> None:
        view, text, composer = self.view, message.text, self.query_one(Composer)
        if slash.is_command(text):
            if run := slash.action_for(text):
                composer.let_go()
                self.app.drafts.keep(
                    COMPOSER, ""
                )  # a command that leaves is faster than the field's own message
                self.app.call_later(self.app.run_action, run)
                return
            if view.question is None:  # an answer may well be /tmp
                composer.put_back(text)
                self.notify(slash.unknown_message(text), severity="warning")
                return
        files = attached(text)
        if files.missing:
            composer.put_back(text)
            named = ", ".join(one_line(name, 120) for name in files.missing)
            self.notify(f"There is no file {named}. Nothing was sent.", severity="error")
            return
        command: Command = SubmitTask(text=text, attach=files.files)
        queued = self.query_one(Queued)
        shows: TellsPainted = queued
        if view.question is not None and not message.next_task:
            command = AnswerQuestion(question_id=view.question.question_id, text=text)
            queued.add(text, view, kind="answer")
        elif view.busy or view.live.held:
            if not message.next_task:
                text = (command := steer_from(view.state, text, files.files)).text
            queued.add(text, view, kind="task" if message.next_task else "steer")
        elif view.live.holds:
            queued.add(text, view, kind="task")
        else:
            shows = self._expect(text, files.files)
        self.post_message(CommandAsked(command))
        # The frame that empties the composer has the text elsewhere already.
        shows.when_painted(composer.let_go)

    @on(Trace.Refused)
    def _refused(self, message: Trace.Refused) -> None:
        """Give the text of a task back that was not begun, unless something else is being written."""
        composer = self.query_one(Composer)
        composer.let_go()
        if not composer.text:
            composer.put_back(message.text)
            self._given_back = (len(self.view.tasks), message.text)

    def begun_after_all(self, view: SessionView) -> None:
        """Take a text away again that was given back: the error was about something else, and its task began."""
        seen, text = self._given_back
        if text and any(task.text == text for task in view.tasks.since(seen)):
            self._given_back = (0, "")
            composer = self.query_one(Composer)
            if composer.text == text:
                composer.take_away()
