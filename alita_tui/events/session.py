"""The session itself: opened, resumed and closed; notices, and the state of the sandbox."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, TaskId, Transient, Value


class Enforcement(Value, frozen=True):
    """The mechanism that enforces one limit on this machine, found by trying it."""

    resource: str
    """`memory`, `processes`, `cpu`, `network` …"""
    mechanism: str
    measured: str = ""
    """What happened when it was tried; empty if it was not tried."""
    strong: bool = True
    """False if the limit is approximate or missing."""


class SandboxStatus(Value, frozen=True):
    """The state of the sandbox, as `doctor`, the status line and the review show it."""

    available: bool
    engine: str = ""
    """For example `podman 4.3.1, runc 1.1.5, rootless as alita-sandbox`."""
    image: str = ""
    """Reference of the base image."""
    image_digest: str = ""
    image_origin: str = ""
    """`pulled`, `built from distribution packages` or `imported`."""
    enforcement: tuple[Enforcement, ...] = ()
    problem: str = ""
    hint: str = ""


class Check(Value, frozen=True):
    """One line of `alita doctor`."""

    name: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    hint: str = ""
    """What to do; empty if nothing is needed."""
    fixable: bool = False
    """True if `alita doctor --fix` can do it."""


class SessionOpened(Fact, frozen=True):
    """A session file was begun. Always seq 1."""

    title: str = ""
    model: str = ""
    """`provider:name` of the orchestrator role."""
    recorded: bool = False
    """True when the model's replies are a recording (the demo)."""
    version: str = ""
    """alita's version."""
    parent: str | None = None
    """The session this one was forked from."""
    parent_seq: int = 0
    """The last event that it has in common with its parent."""
    imported: bool = False
    """True if it comes from another home, where its verdicts were given: it can be looked at, but not continued."""


class SandboxChecked(Fact, frozen=True):
    """The sandbox was probed."""

    status: SandboxStatus


class SessionResumed(Fact, frozen=True):
    """A process opened the session again."""

    restored: int
    """Number of recorded events that were read."""
    note: str = ""
    """What could not be restored, in one line; empty if all was."""


class SessionClosed(Fact, frozen=True):
    """The process closed the session. Only a SessionResumed may follow."""

    state: str = ""
    """Fingerprint of the view just before; a replay of the same events has the same fingerprint."""
    version: str = ""
    """Version of alita that made the view; other versions may word it differently."""


class NoticeRaised(Fact, frozen=True):
    """A message for the person that is not a step of the task."""

    level: Literal["info", "warning", "error"]
    text: str
    hint: str = ""


class Progressed(Transient, frozen=True):
    """The progress of a long piece of work."""

    work: str
    """The work, in words for people."""
    done: float = 0.0
    total: float = 0.0
    """0 when unknown."""
    detail: str = ""


class SavingStalled(Transient, frozen=True):
    """Nothing can be saved at present, so the engine waits. With an empty text: saving works again."""

    text: str = ""
    hint: str = ""


class WorkHeld(Transient, frozen=True):
    """Unfinished work waits until the person continues it. Without tasks and queue: nothing waits any more."""

    tasks: tuple[TaskId, ...] = ()
    """Ids of the tasks that would continue."""
    queued: int = 0
    """Tasks in the queue that would begin."""


class UnknownEvent(Fact, frozen=True):
    """A record that this version cannot read: damaged, or written by a newer alita."""

    raw: str
    reason: str
