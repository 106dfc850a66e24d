"""An event's origin: its task, agent, step and span.

It is stored in a context variable, so it follows the code into asyncio tasks and threads without being passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from alita_tui.events import NO_AGENT, NO_TASK, AgentId, TaskId

LEAD = AgentId("lead")
"""Id of the agent that leads a task."""


class Origin(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The part of an envelope that says where its event comes from."""

    task_id: TaskId = NO_TASK
    """Empty for what belongs to the session as a whole."""
    agent_id: AgentId = NO_AGENT
    """`lead`, or the agent that was handed a part of the task; empty outside of a task."""
    step: int = 0
    """ReAct step of the agent; 0 outside of one."""
    span: str = ""
    """The task, action, build or call that is being worked on."""
    parent: str = ""
    """The span that it is a part of; empty for a task."""

    def inside(self, span: str) -> Origin:
        """Return the origin of what happens in a span that is opened here."""
        if span in ("", self.span):
            return self
        return msgspec.structs.replace(self, span=span, parent=self.span)


_NOWHERE = Origin()
_current: ContextVar[Origin] = ContextVar("origin", default=_NOWHERE)


def current() -> Origin:
    """Return the origin of an event that is emitted here."""
    return _current.get()


def delegate() -> AgentId:
    """Return the id of the agent that works here on a part of a task; empty for the lead, and outside of a task."""
    agent_id = _current.get().agent_id
    return NO_AGENT if agent_id == LEAD else agent_id


@contextmanager
def working_on(origin: Origin) -> Iterator[None]:
    """Emit events with this origin inside the `with` block."""
    token = _current.set(origin)
    try:
        yield
    finally:
        _current.reset(token)


def begin_step() -> None:
    """Count one more step of the agent, from here on until the task or agent ends."""
    _current.set(msgspec.structs.replace(_current.get(), step=_current.get().step + 1))


def in_task(task_id: TaskId, *, agent_id: AgentId = LEAD, step: int = 0) -> Origin:
    """Return the origin of what happens in a task."""
    return Origin(task_id=task_id, agent_id=agent_id, step=step, span=task_id)
