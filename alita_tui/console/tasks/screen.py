"""The drawer of tasks: those that run, those that wait, and the queue, which can be reordered and edited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec
from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.messages import CommandAsked
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.figures import clock_time
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.events import NO_AGENT, NO_TASK, AgentId, TaskId
from alita_tui.spine.commands import CancelTask, Command, EditTask, Interrupt, MoveTask, Retry, SwitchQueue
from alita_tui.spine.text import counted, one_line
from alita_tui.state.session import TaskState
from alita_tui.state.spend import of_task
from alita_tui.view.agents import agent_line, tree
from alita_tui.view.model import SessionView, Tone
from alita_tui.view.statistics import dollars
from alita_tui.view.tasks import waits_for_you

_PADDING, _NARROWEST = 2, 30
"""Cells of the list beside a row, and those that a row takes at least."""
_AROUND = 4
"""Lines above and below the list, a blank one among them that the words of a task take."""
_COST, _TIME = 9, 9
"""Cells of the columns at the right: what a task has cost, and how long it took."""
_COLUMNS = 60
"""Cells of a row from which it has these columns."""
_ENDED = 3
"""Ended tasks that are listed above the others."""
_PARTS = {
    "ended": "$alita-muted", "running": "$primary", "waiting": "$alita-wait", "queued": "", "agent": "$alita-muted",
}  # fmt: skip

_TONES: dict[Tone, str] = {
    "good": "$alita-good", "warn": "$alita-warn", "bad": "$alita-bad", "wait": "$alita-wait",
}  # fmt: skip


class _Line(msgspec.Struct, frozen=True):
    part: str
    """ended, running, waiting, queued, or agent: one that works for the task above it."""
    task_id: TaskId
    """Empty for a queued task."""
    text: str
    state: str
    agent_id: AgentId = NO_AGENT
    name: str = ""
    """Of an agent, with the attempt that it makes if not the first."""
    depth: int = 0
    """For an agent: its depth in the tree of agents."""
    at_work: bool = False
    """For an agent: it has not ended."""
    tone: Tone = "normal"
    """The tone of its state."""
    queue_id: str = ""
    """For a queued task: its id in the queue."""
    cost: str = ""
    time: str = ""
    """How long it took or has taken. As the cost, empty for a task that has not begun and for an agent."""

    @property
    def key(self) -> tuple[str, str]:
        """What it is about: two ids that no other line has."""
        return self.task_id or self.queue_id, self.agent_id


class TasksScreen(Dialog[None]):
    """One list; the keys say what can be done with the chosen task."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tasks")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    @dataclass
    class Alone(Message):
        """Show only one task's rows in the trace."""

        task_id: TaskId

    def __init__(self, view: SessionView, keys: Mapping[str, str], *, may_change: bool) -> None:
        """`may_change`: false in a replay."""
        super().__init__()
        self._view = view
        self._keys = keys
        self._may_change = may_change
        self._lines: tuple[_Line, ...] = ()
        self._edited = ""

    def compose(self) -> ComposeResult:
        """Keys, list, field for the words of a task, totals."""
        with Vertical(id="box"):
            yield Plain(self._heading())
            yield OptionList(id="list", markup=False)
            yield Input(placeholder="What the task asks for; Enter keeps it, Esc does not", id="words")
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Draw, with the queue's first task chosen, else the first that has not ended."""
        self._draw()
        self.say(summary(self._view))
        listed = self.query_one(OptionList)
        parts = [line.part for line in self._lines]
        unfinished = next((number for number, part in enumerate(parts) if part in ("waiting", "running")), 0)
        listed.highlighted = parts.index("queued") if "queued" in parts else unfinished
        listed.focus()

    def on_resize(self) -> None:
        """Draw for the new width; what was said stays."""
        self.call_after_refresh(self._draw)

    def advance(self, view: SessionView) -> None:
        """Draw what changed."""
        if view.seq != self._view.seq:
            self._view = view
            self._draw()
            self.say(summary(view))

    # --- drawing ----------------------------------------------------------------------------

    def _heading(self) -> Content:
        if not self._may_change:
            return Content.assemble(("Tasks", "bold $accent"), "   Esc closes")
        up, down, edit, cancel, retry, pause = (
            key_of(f"tasks.{name}", self._keys) for name in ("up", "down", "edit", "cancel", "retry", "pause")
        )
        keys = f"   {up} {down} move · {edit} edit · {cancel} cancel · {retry} retry · {pause} pause · Esc closes"
        return Content.assemble(("Tasks", "bold $accent"), keys)

    @property
    def _chosen(self) -> _Line | None:
        index = self.query_one(OptionList).highlighted
        return self._lines[index] if index is not None and index < len(self._lines) else None

    def _draw(self) -> None:
        listed, chosen = self.query_one(OptionList), self._chosen
        index = listed.highlighted or 0
        self._lines = _lines(self._view)
        listed.clear_options()
        width = max(listed.scrollable_content_region.width - _PADDING, _NARROWEST)
        listed.add_options([Option(_row(line, width)) for line in self._lines])
        self.fit(len(self._lines) + _AROUND)
        matches = (number for number, line in enumerate(self._lines) if chosen and line.key == chosen.key)
        if self._lines:
            listed.highlighted = next(matches, min(index, len(self._lines) - 1))

    # --- what a person asks for ---------------------------------------------------------------

    def _ask(self, command: Command) -> None:
        if self._may_change:
            self.post_message(CommandAsked(command))
        else:
            self.say("This is a recording: nothing of it can be changed.")

    def _queued(self) -> _Line | None:
        """The chosen task if it waits in the queue; else say that only those can be changed."""
        line = self._chosen
        if line is not None and line.part == "queued":
            return line
        self.say("Only a task in the queue has a place and can be changed.")
        return None

    @on(OptionList.OptionSelected)
    def action_alone(self) -> None:
        """Show only the chosen task's rows of the trace."""
        line = self._chosen
        if line is None or line.part == "queued":
            self.say("It has not begun: it has no rows yet.")
            return
        self.post_message(self.Alone(line.task_id))
        self.dismiss(None)

    def action_move(self, by: int) -> None:
        """Give the chosen task the place before or after it."""
        line = self._queued()
        if line is None:
            return
        ids = [task.queue_id for task in self._view.queue]
        index = ids.index(line.queue_id)
        if not 0 <= index + by < len(ids):
            return
        others = [task for task in ids if task != line.queue_id]
        before = others[index + by] if index + by < len(others) else ""
        self._ask(MoveTask(queue_id=line.queue_id, before=before))

    def action_cancel(self) -> None:
        """Cancel the chosen task."""
        line = self._chosen
        if line is not None and line.at_work:
            self._ask(Interrupt(agent_id=line.agent_id))
        elif line is not None and line.part in ("queued", "running"):
            self._ask(CancelTask(task_id=line.queue_id or line.task_id))
        else:
            self.say("It has ended, or waits for your decision or answer.")

    def action_retry(self) -> None:
        """Try the chosen task again, which ended."""
        line = self._chosen
        if line is not None and line.part == "ended":
            self._ask(Retry(task_id=line.task_id))
        else:
            self.say("Only what ended can be tried again.")

    def action_pause(self) -> None:
        """Pause the queue, or let it go on."""
        self._ask(SwitchQueue(paused=not self._view.paused))

    def action_edit(self) -> None:
        """Change the words of the chosen task."""
        line = self._queued()
        task = next(
            (queued for queued in self._view.queue if line and queued.queue_id == line.queue_id), None
        )
        if task is None:
            return
        if task.again:
            self.say("A task that is tried again keeps its words.")
            return
        if task.text != one_line(task.text, len(task.text) + 1):  # the field would lose what it cannot show
            self.say(f"It has several lines: alita tasks edit {task.queue_id} TEXT")
            return
        self._edited = task.queue_id
        words = self.query_one(Input)
        words.value = task.text
        self.query_one("#box").add_class("-editing")
        words.focus()

    @on(Input.Submitted)
    def _keep(self, message: Input.Submitted) -> None:
        if message.value.strip():
            self._ask(EditTask(queue_id=self._edited, text=message.value))
        self.action_back()

    def action_back(self) -> None:
        """Leave the field, then the drawer."""
        if self._edited:
            self._edited = ""
            self.query_one("#box").remove_class("-editing")
            self.query_one(OptionList).focus()
        else:
            super().action_back()


def summary(view: SessionView) -> str:
    """Return how many tasks run and wait, as in `1 running · 3 queued`."""
    parts = []
    waits = [task_id for task_id in view.running if waits_for_you(view, task_id)]
    if running := (len(view.running) or view.busy) - len(waits):
        parts.append(f"{running:d} running")
    if waits:
        parts.append(f"{len(waits)} waiting for you")
    if view.queue:
        parts.append(f"{len(view.queue)} queued")
    if view.paused:
        parts.append("paused: no further task begins")
    return " · ".join(parts) or f"{counted(len(view.state.tasks), 'task')}, none waits"


def _lines(view: SessionView) -> tuple[_Line, ...]:
    newest = (view.state.task.task_id,) if view.busy and view.state.task else ()
    ids = view.running or newest
    running = [task for task in view.state.tasks if view.busy and task.task_id in ids]
    continued = {task.again for task in view.state.tasks if task.again}
    waiting = [
        task
        for task in view.state.tasks
        if task.outcome in ("parked", "budget") and task.task_id not in continued and task not in running
    ]
    ended = [task for task in view.state.tasks if task not in running and task not in waiting][-_ENDED:]
    return (
        *(line for task in ended for line in (_of(view, task, "ended"), *_agents(view, task))),
        *(line for task in waiting for line in (_of(view, task, "waiting"), *_agents(view, task))),
        *(
            line
            for task in running
            for line in (
                _of(view, task, "running", waits=waits_for_you(view, task.task_id)),
                *_agents(view, task),
            )
        ),
        *(
            _Line("queued", NO_TASK, task.text, f"{place} in the queue", queue_id=task.queue_id)
            for place, task in enumerate(view.queue, 1)
        ),
    )


def _of(view: SessionView, task: TaskState, part: str, *, waits: bool = False) -> _Line:
    state = (task.outcome or "not finished") if part == "ended" else "waits for you" if waits else part
    usd, until = task.usd, task.ended
    if part == "running":
        lane = next((lane for lane in view.state.lanes if lane.task_id == task.task_id), None)
        usd, until = lane.task_usd if lane is not None else of_task(view.spend), view.state.at
    time = clock_time((until - task.started).total_seconds()) if until is not None else ""
    tone: Tone = "wait" if waits else "normal"
    return _Line(
        part, task.task_id, task.text, state, tone=tone, cost=dollars(usd) if time else "", time=time
    )


def _agents(view: SessionView, task: TaskState) -> Iterator[_Line]:
    """Yield the agents that a task's parts were handed to, as a tree below it."""
    for depth, agent in tree(view.state, task.task_id):
        name, state, goal, tone = agent_line(agent)
        at_work = agent.outcome is None and view.busy
        yield _Line("agent", task.task_id, goal, state, agent.agent_id, name, depth, at_work, tone)


def _row(line: _Line, width: int) -> Content:
    style = _PARTS[line.part]
    how = _TONES.get(line.tone, style)
    if line.part == "agent":
        place, ink = " " * (1 + 2 * line.depth), "" if line.at_work else style  # room for its goal
        # How it stands comes first: at the end it would be cut off on a small screen.
        head = Content.assemble(f"{place}└ ", (line.name, ink), ": ", (line.state, how), "  ")
    else:
        head = Content.assemble((f" {line.state.replace('_', ' '):<16}", how))
    right = f"{line.cost:>{_COST}}{line.time:>{_TIME}}" if width >= _COLUMNS and line.part != "agent" else ""
    room = width - head.cell_length - len(right)
    text = at_words(one_line(line.text, 400), room)
    gap = " " * (room - cell_len(text)) if right else ""
    return Content.assemble(head, (text, style if line.part == "agent" else ""), gap, (right, "$alita-muted"))
