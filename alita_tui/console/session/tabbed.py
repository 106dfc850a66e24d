"""Part of the session's screen: tabs of what runs, here and in the background."""

from __future__ import annotations

from textual import on
from textual.screen import Screen

from alita_tui.console.messages import SessionAsked
from alita_tui.console.ports import RunningSession
from alita_tui.console.session.tabs import Tab, Tabs, after, tabs_of
from alita_tui.events import TaskId
from alita_tui.view.lanes import OneTask
from alita_tui.view.model import SessionView


class Tabbed(Screen[None]):
    """Base of the session's screen."""

    view: SessionView
    _ready: bool
    _only_task: OneTask | None
    running_elsewhere: tuple[RunningSession, ...] = ()
    """The sessions that the background works on."""

    def only(self, task_id: TaskId) -> None:
        """Show one task's rows in the trace; all rows for an empty id."""
        raise NotImplementedError

    def elsewhere(self, running: tuple[RunningSession, ...]) -> None:
        """Show the sessions that the background works on."""
        self.running_elsewhere = running
        self.draw_tabs()

    def draw_tabs(self) -> None:
        """Show what runs now."""
        if self._ready:
            task_id = self._only_task.task_id if self._only_task else ""
            self.query_one(Tabs).advance(tabs_of(self.view, task_id, self.running_elsewhere))

    @on(Tabs.Chosen)
    def _tab_chosen(self, message: Tabs.Chosen) -> None:
        self._go_to(message.tab)

    def action_next_tab(self) -> None:
        """Go to the tab after the active one."""
        if (tab := after(self.query_one(Tabs).tabs)) is not None:
            self._go_to(tab)
        else:
            self.notify("Nothing else runs: neither here nor in the background.")

    def _go_to(self, tab: Tab) -> None:
        if tab.session_id:
            self.post_message(SessionAsked(tab.session_id))
        else:
            self.only(tab.task_id)
