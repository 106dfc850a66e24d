"""Tabs of what runs: the tasks of this session that run side by side, and the sessions the background works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message

from alita_tui.console.ports import RunningSession
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.events import NO_TASK, TaskId
from alita_tui.spine.text import counted, one_line
from alita_tui.state.lanes import phase_of
from alita_tui.view.lanes import letter
from alita_tui.view.model import SessionView

_LEAST, _MOST = 12, 32
"""Cells of a tab's name: at least if there is room for several, and at most."""
_GAP = " │ "
_STATES = {"working": ("●", "$primary"), "waiting": ("◈", "$alita-wait"), "asking": ("◈", "$alita-wait")}
_OTHER = ("◌", "$alita-muted")
"""Mark and colour of a session that begins, ends or is queued."""


class Tab(NamedTuple):
    """One tab: a task of this session, all of them, or another session."""

    name: str
    mark: str
    style: str
    task_id: TaskId = NO_TASK
    session_id: str = ""
    """Of another session; empty for this one."""
    active: bool = False


def tabs_of(view: SessionView, only_task: str, others: Sequence[RunningSession]) -> tuple[Tab, ...]:
    """Return the tabs: none if only this session runs, with one task at most. `only_task` is the task shown alone."""
    own = view.running if len(view.running) > 1 else ()
    elsewhere = [session for session in others if session.session_id != view.session_id]
    if not own and not elsewhere:
        return ()
    title = f"all {counted(len(own), 'task')}" if own else one_line(view.title or "this session", 60)
    mark = ("●", "$primary") if view.busy else _OTHER
    tabs = [Tab(title, *mark, active=not only_task)]
    texts = {task.task_id: task.text for task in view.tasks}
    for task_id in own:
        state = "waiting" if phase_of(view.state, task_id) in ("waiting", "asking") else "working"
        name = f"{letter(view.state, task_id)} {one_line(texts.get(task_id, task_id), 60)}"
        tabs.append(Tab(name, *_STATES[state], task_id=task_id, active=task_id == only_task))
    for session in elsewhere:
        mark = _STATES.get(session.state, _OTHER)
        tabs.append(
            Tab(one_line(session.task or session.session_id, 60), *mark, session_id=session.session_id)
        )
    return tuple(tabs)


def after(tabs: Sequence[Tab]) -> Tab | None:
    """Return the tab after the active one; after the last, the first."""
    if not tabs:
        return None
    active = next((index for index, tab in enumerate(tabs) if tab.active), -1)
    return tabs[(active + 1) % len(tabs)]


class Tabs(Plain):
    """One line; hidden while there is nothing to choose."""

    DEFAULT_CSS = """
    Tabs { height: 1; padding: 0 1; background: $panel; color: $alita-muted; display: none; text-wrap: nowrap; }
    """
    ALLOW_SELECT = False

    @dataclass
    class Chosen(Message):
        """A tab was clicked."""

        tab: Tab

    def __init__(self, key: str, *, id: str | None = None) -> None:
        """`key` goes to the next tab."""
        super().__init__(id=id)
        self._key = key
        self.tabs: tuple[Tab, ...] = ()
        self._ends: list[int] = []
        """The cell after each tab that is shown."""

    def advance(self, tabs: tuple[Tab, ...]) -> None:
        """Show these tabs."""
        if tabs != self.tabs:
            self.tabs = tabs
            self.display = bool(tabs)
            self._draw()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        room = self.content_size.width
        if not room or not self.tabs:
            return
        most, apart = _MOST, len(_GAP) + 2
        while most > _LEAST and sum(min(cell_len(tab.name), most) + apart for tab in self.tabs) > room:
            most -= 1
        parts: list[tuple[str, str]] = []
        self._ends, used = [], 0
        for tab in self.tabs:
            name = at_words(tab.name, most)
            cells = cell_len(name) + 2 + (len(_GAP) if parts else 0)
            if used + cells > room - 2:
                parts.append((" …", "$alita-muted"))  # the key goes through those, too
                break
            parts += [(_GAP, "$alita-line")] if parts else []
            parts += [
                (f"{tab.mark} ", tab.style),
                (name, "bold $foreground underline" if tab.active else "$alita-muted"),
            ]
            used += cells
            self._ends.append(used)
        hint = f"{self._key} next"
        if used + len(hint) + 4 <= room:
            parts.append((f"{hint:>{room - used}}", "$alita-muted"))
        self.update(Content.assemble(*parts))

    def on_click(self, event: events.Click) -> None:
        """Go to the tab that was clicked."""
        offset = event.get_content_offset(self)
        if (
            offset is not None
            and (index := next((number for number, end in enumerate(self._ends) if offset.x < end), None))
            is not None
        ):
            self.post_message(self.Chosen(self.tabs[index]))
