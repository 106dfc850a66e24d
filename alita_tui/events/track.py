"""Track records of tools: the outcomes of their runs, and of the needs that they were found for."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, TaskId, Value

Grade = Literal["ran", "accepted", "failed", "misfit", "up", "down"]
"""`ran`: it returned, and nothing else is known. `accepted`: its task was answered with it. `misfit`: its result does
not fit its own output schema. `up`, `down`: the person's rating.
"""

Rating = Literal["up", "down"]
RatingTarget = tuple[TaskId, str, str]
"""A rated thing as task, call and build; without call and build it is the answer."""


class RunOutcome(Value, frozen=True):
    """The outcome of one run. A later outcome of the same run replaces it if it knows more."""

    run: str
    """`SESSION/CALL`; `SESSION/BUILD` for a rating of the build itself."""
    at: str
    """ISO 8601, UTC."""
    grade: Grade
    task: str = ""
    """`SESSION/TASK`."""
    share: float = 1.0
    """Share of this run in the rating of an answer: one divided by the number of the answer's tools."""
    text: str = ""
    """The person's comment."""
    asked: str = ""
    """The part of the task that an accepted run answers."""
    undone: bool = False
    """True if the person took the rating back, so that this outcome replaces it."""


class Showing(Value, frozen=True):
    """A need that a tool was found for."""

    need: str
    """`SESSION/ACTION` of the search."""
    query: str
    at: str
    """ISO 8601, UTC."""
    shown: bool = True
    """False if it was only a near miss."""
    used: bool = False
    """True if it was run later in the same task."""
    accepted: bool = False
    """True if the task was answered with it."""
    prior: float = 0.0
    """For the first tool found: the uncalibrated probability that it meets the need; 0 for others."""
    met: bool = False
    """True if the task was answered with one of the tools that were found."""
    instead: str = ""
    """If it was not used: the tool that was built in the same task."""


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
    """The reliability of a version, and the reasons for it."""

    value: float
    """Expected success of the next run, 0 to 1."""
    words: str
    """The reasons, in one line."""
    needs: str = ""
    """How often it was found, shown, used and accepted, in one line; empty if it was never found."""


class FeedbackGiven(Fact, frozen=True):
    """The person rated an answer, one run of a tool, or a build."""

    task_id: TaskId
    rating: Rating
    call_id: str = ""
    """The run; empty for the whole answer."""
    text: str = ""
    """The person's comment."""
    by: Literal["person", "correction"] = "person"
    """`correction`: inferred from the person's next task, not given by a key or a command."""
    expected: str = ""
    """The right answer, in the person's words; empty if they gave none."""
    undone: bool = False
    """True if it takes back the newest rating of the same answer, run or build."""
    build_id: str = ""
    """The rated build, which became a tool; empty for an answer or a run."""

    @property
    def remark(self) -> str:
        """Return what the person said of it, and what it should be; empty if they gave neither."""
        expected = f"it should be: {self.expected}" if self.expected else ""
        return "; ".join(filter(None, (self.text, expected)))

    @property
    def target(self) -> RatingTarget:
        """Return the rated thing."""
        return self.task_id, self.call_id, self.build_id

    @property
    def answer(self) -> bool:
        """Return whether it is about the answer of its task."""
        return not self.call_id and not self.build_id
