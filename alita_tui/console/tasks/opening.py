"""The app's part in the drawer of tasks: opening it, and sending its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_tui.console.servers.opening import ServersOpener

if TYPE_CHECKING:
    # What opens later is imported when it does: the first paint needs the session's screen alone.
    from alita_tui.console.tasks.screen import TasksScreen


class TasksOpener(ServersOpener):
    """Base of the app: shows the tasks."""

    if TYPE_CHECKING:

        @property
        def replaying(self) -> bool:
            """Whether an earlier moment is shown."""

    def action_tasks(self) -> None:
        """Show the running task, those that wait, and the queue."""
        from alita_tui.console.tasks.screen import TasksScreen

        if self.screen is self.main:
            may_change = self._sink is not None and not self.replaying
            self.push_screen(TasksScreen(self.main.view, self._keys, may_change=may_change))

    def on_tasks_screen_alone(self, message: TasksScreen.Alone) -> None:
        """Show one task's rows only."""
        self.main.only(message.task_id)

    def on_tasks_screen_asked(self, message: TasksScreen.Asked) -> None:
        """Send the command to the engine."""
        if self._sink is not None:
            self._sink.send(message.command)
