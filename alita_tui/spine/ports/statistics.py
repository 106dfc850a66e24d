"""The statistics of the sessions' records, as the command line and the console show them."""

from __future__ import annotations

from typing import Literal

from alita_tui.events import Value

By = Literal["tool", "model", "role", "kind", "day"]
"""What the rows of a table are; `kind` is the kind of failure."""


class Place(Value, frozen=True):
    """An event of a session that a figure rests on."""

    session_id: str
    seq: int


class Line(Value, frozen=True):
    """The figures of one tool, model, role, kind of failure or day."""

    name: str
    count: int = 0
    """Runs of a tool, calls of a model or role, failures of a kind, tasks of a day."""
    judged: int = 0
    """Number of these that ended by themselves: not interrupted, and not for lack of a sandbox."""
    ok: int = 0
    """Number of the judged ones that succeeded."""
    median_ms: float | None = None
    p95_ms: float | None = None
    """95th percentile; both are None if no duration is known."""
    usd: float | None = None
    """Known cost; None if nothing was paid for it."""
    unpriced: int = 0
    """Calls without a known price, which `usd` leaves out."""
    tokens: int = 0
    reused: int = 0
    """Runs of a tool that existed before its task."""
    trend: tuple[int, ...] = ()
    """Count on each day of the report."""
    note: str = ""
    """What is unusual."""
    places: tuple[Place, ...] = ()
    """Its newest failures, else its newest rows."""

    @property
    def share(self) -> float | None:
        """Share of successes, 0 to 1; None if nothing was judged."""
        return self.ok / self.judged if self.judged else None


class Totals(Value, frozen=True):
    """Everything of a period."""

    tasks: int = 0
    """Tasks that ended."""
    answered: int = 0
    runs: int = 0
    runs_ok: int = 0
    runs_judged: int = 0
    reused: int = 0
    calls: int = 0
    """Calls of models."""
    tokens: int = 0
    usd: float = 0.0
    """Known cost."""
    unpriced: int = 0
    builds: int = 0
    """Builds that joined the library."""
    median_s: float | None = None
    """Median duration of the answered tasks in seconds, without waiting for the person."""


class Day(Value, frozen=True):
    """One day, in the local time."""

    day: str
    """ISO 8601."""
    usd: float = 0.0
    """Known cost."""
    unpriced: int = 0
    """Calls without a known price, which `usd` leaves out."""
    tokens: int = 0
    tasks: int = 0
    answered: int = 0
    runs: int = 0
    reused: int = 0
    median_s: float | None = None
    p95_s: float | None = None
    places: tuple[Place, ...] = ()
    """Its newest tasks without an answer, else its newest tasks."""


class Anomaly(Value, frozen=True):
    """An unusual day, by a stated rule."""

    what: Literal["cost", "answered", "time", "tool"]
    name: str
    """The tool; empty for the others."""
    day: str
    text: str
    """In words, without the day."""
    rule: str
    places: tuple[Place, ...] = ()


class Advice(Value, frozen=True):
    """A suggestion, with the events that it is based on."""

    text: str
    command: str
    """The command that carries it out."""
    places: tuple[Place, ...]
    tool: str = ""
    """The tool that it is about: the console opens it."""
    setting: str = ""
    """The setting that it is about: the console opens it."""


class Estimate(Value, frozen=True):
    """The likely cost and duration of a task, from similar tasks: low, middle, high, with eight of ten in between."""

    count: int
    """Number of tasks that it is based on; 0 if there are too few for an estimate."""
    alike: bool = True
    """False if too few tasks are similar, so that it is based on all tasks."""
    usd: tuple[float, float, float] | None = None
    """Low, middle, high; None if no price is known for enough of them."""
    seconds: tuple[float, float, float] | None = None
    places: tuple[Place, ...] = ()


class EstimateAccuracy(Value, frozen=True):
    """How often estimates held, each made from the tasks that had ended before its task began."""

    tasks: int = 0
    usd_of: int = 0
    usd_in: int = 0
    """Of `usd_of` tasks with an estimate of the cost, those that cost between low and high."""
    seconds_of: int = 0
    seconds_in: int = 0


class Report(Value, frozen=True):
    """The statistics of a period."""

    since: str
    """First day, ISO 8601; empty for everything."""
    until: str
    """Last day."""
    sessions: int
    unreadable: tuple[str, ...]
    """Sessions that could not be read completely, so that the figures lack something."""
    totals: Totals
    before: Totals
    """Of the previous period of the same length; zeros if there is none."""
    days: tuple[Day, ...]
    tools: tuple[Line, ...]
    models: tuple[Line, ...]
    roles: tuple[Line, ...]
    kinds: tuple[Line, ...]
    anomalies: tuple[Anomaly, ...]
    advice: tuple[Advice, ...]
    held: EstimateAccuracy
