"""Track records of tools: the outcomes of their runs, and of the needs that they were found for."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, Value

Grade = Literal["ran", "accepted", "failed", "misfit", "up", "down"]
"""`ran`: it returned, and no more is known. `accepted`: its task was answered with it. `misfit`: its result does not
fit its own output schema. `up`, `down`: what the person said.
"""

Rating = Literal["up", "down"]


class RunOutcome(Value, frozen=True):
    """The outcome of one run. A later outcome of the same run replaces it if it knows more."""

    run: str
    """`SESSION/CALL`; `SESSION/BUILD` for what the person said of the build itself."""
    at: str
    """ISO 8601, UTC."""
    grade: Grade
    task: str = ""
    """`SESSION/TASK`."""
    share: float = 1.0
    """Part that this run has in what the person said of an answer: one, divided by the tools of the answer."""
    text: str = ""
    """What the person said of it."""
    asked: str = ""
    """The part of the task that an accepted run answers."""
    undone: bool = False
    """The person took back what they said of it, so this replaces it."""


class Showing(Value, frozen=True):
    """A need that a tool was found for."""

    need: str
    """`SESSION/ACTION` of the search."""
    query: str
    at: str
    """ISO 8601, UTC."""
    shown: bool = True
    """False where it was a near miss only."""
    used: bool = False
    """It was run later in the same task."""
    accepted: bool = False
    """The task was answered with it."""
    prior: float = 0.0
    """For the first tool found: the search's uncorrected probability that it meets the need; else 0."""
    met: bool = False
    """The task was answered with one of the tools that were found."""
    instead: str = ""
    """The tool that was built in the same task, where it was not used."""


class Track(Value, frozen=True):
    """The record of one version."""

    name: str
    version: int
    outcomes: tuple[RunOutcome, ...] = ()
    """The newest last."""
    showings: tuple[Showing, ...] = ()
    """The newest last."""

    @property
    def bypassed(self) -> tuple[Showing, ...]:
        """The times it was shown and not used, since it was last used; the newest last."""
        passed: list[Showing] = []
        for showing in reversed(self.showings):
            if showing.used:
                break
            if showing.shown:
                passed.append(showing)
        return tuple(reversed(passed))


class Reliability(Value, frozen=True):
    """How far a version is relied on, and why."""

    value: float
    """0 to 1: what is expected of the next run."""
    words: str
    """What it comes from, in one line."""
    needs: str = ""
    """How often it was found, shown, used and accepted, in one line; empty where it never was found."""


class FeedbackGiven(Fact, frozen=True):
    """The person said how good an answer, one run of a tool, or a build was."""

    task_id: str
    rating: Rating
    call_id: str = ""
    """The run; empty for the whole answer."""
    text: str = ""
    """What was wrong, or what was good."""
    by: Literal["person", "correction"] = "person"
    """`correction`: read from how the person went on, and not said by a key or a command."""
    expected: str = ""
    """What it should be instead, in the person's words; empty where they did not say."""
    undone: bool = False
    """It takes back the newest rating of the same answer, run or build."""
    build_id: str = ""
    """The build that it is about, which became a tool; empty for an answer or a run."""

    @property
    def target(self) -> tuple[str, str, str]:
        """Return what it is about: task, call and build; without both of these, the answer."""
        return self.task_id, self.call_id, self.build_id

    @property
    def answer(self) -> bool:
        """Return whether it is about the answer of its task."""
        return not self.call_id and not self.build_id
