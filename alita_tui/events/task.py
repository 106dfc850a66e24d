"""Tasks: from the person's request, through plans, questions and actions, to the end."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from alita_tui.events.base import NO_TASK, Fact, Json, TaskId, Value


class TaskQueued(Fact, frozen=True):
    """A task that cannot begin yet was queued. It begins later, if necessary in another process."""

    queue_id: str
    text: str
    files: tuple[str, ...] = ()
    """Handles of the artefacts that were given with it."""
    again: TaskId = NO_TASK
    """The earlier task that is tried again; empty for a new one."""


class TaskEdited(Fact, frozen=True):
    """The person changed the text of a queued task."""

    queue_id: str
    text: str


class TaskMoved(Fact, frozen=True):
    """The person moved a queued task."""

    queue_id: str
    before: str = ""
    """The queued task that now follows it; empty if it is the last one."""
    text: str = ""
    """The text of the task."""


class TaskCancelled(Fact, frozen=True):
    """The person cancelled a queued task before it began."""

    queue_id: str
    text: str = ""
    """The text of the task."""


class QueueSwitched(Fact, frozen=True):
    """The person paused the queue, so that no further task begins, or resumed it."""

    paused: bool


class TaskSubmitted(Fact, frozen=True):
    """A task began."""

    task_id: TaskId
    text: str
    again: TaskId = NO_TASK
    """The task that this one continues, because its build was decided or it is `retried`; empty for none."""
    retried: bool = False
    """The person asked to try it again."""
    queue_id: str = ""
    """Its id in the queue; empty if it never waited."""
    files: tuple[str, ...] = ()
    """Handles of the artefacts that were given with it."""
    improves: str = ""
    """The proposal that it builds, which is all it does; empty for a task of the person."""


class TaskEstimated(Fact, frozen=True):
    """The task's likely cost and duration, from similar tasks: low, middle and high, with eight of ten in between."""

    task_id: TaskId
    tasks: int
    """Number of tasks that it is based on."""
    alike: bool = True
    """False if too few tasks are similar, so that it is based on tasks of all kinds."""
    usd: tuple[float, float, float] | None = None
    """None if too few prices are known."""
    seconds: tuple[float, float, float] | None = None
    """Duration without the time that the task waits for the person."""


MOST_REPLANS = 2
"""How often a failing tool may change the plan of one task."""

StepStatus = Literal["open", "doing", "done", "failed", "dropped"]


class PlanProposed(Fact, frozen=True):
    """A new plan or the progress of the present one, by the agent; or a change of the plan by the person."""

    task_id: TaskId
    steps: tuple[str, ...]
    status: tuple[StepStatus, ...] = ()
    """The status of each step; empty in older files, where all are open."""
    ids: tuple[int, ...] = ()
    """The number of each step, which it keeps in later plans of the task; empty in older files."""
    recipe: str = ""
    """Item id of the remembered recipe that it follows; empty for a new plan."""
    apart: tuple[int, ...] = ()
    """Numbers of the independent steps; a step so marked in an earlier plan stays marked."""
    by: Literal["agent", "person"] = "agent"
    """`person`: the person changed the plan of a running task."""


class PlanCandidate(Value, frozen=True):
    """One plan for a task, with its scores."""

    steps: tuple[str, ...]
    tools: tuple[str, ...] = ()
    """Names of the tools that it calls, in order; those that are not in the library have to be built."""
    source: Literal["agent", "planner", "recipe"] = "agent"
    recipe: str = ""
    """Item id of the recipe."""
    confidence: float = 0.0
    """How sure its author is, 0 to 1."""
    fit: float = 1.0
    """How well it covers the task, 0 to 1."""
    worked: int = 0
    tried: int = 0
    """How often these tools in this order answered a task, and how often they were tried."""
    reliability: float = 0.0
    """Chance that all of its tools work."""
    value: float = 0.0


class PlansWeighed(Fact, frozen=True):
    """Several plans were compared, and one is followed."""

    task_id: TaskId
    candidates: tuple[PlanCandidate, ...]
    chosen: Annotated[int, Meta(ge=0)]
    """Index of the plan that is followed."""
    because: str = ""
    """What failed, so that the plans were weighed again; empty at the start of a task."""

    @property
    def followed(self) -> PlanCandidate | None:
        """The plan that is followed; None if the record is damaged."""
        return self.candidates[self.chosen] if 0 <= self.chosen < len(self.candidates) else None


class Steered(Fact, frozen=True):
    """The person added to a running task; the agent reads it before its next step."""

    text: str
    files: tuple[str, ...] = ()
    """Handles of the artefacts that were given with it."""


class QuestionAsked(Fact, frozen=True):
    """The agent needs an answer from the person."""

    question_id: str
    text: str
    about: Literal["task", "budget"] = "task"
    """`budget`: the task waits because its next call could break a cap."""
    choices: tuple[str, ...] = ()
    """Suggested answers; any other text is valid, too."""


class QuestionAnswered(Fact, frozen=True):
    """The person answered."""

    question_id: str
    text: str


class Interrupted(Fact, frozen=True):
    """The person stopped the running task. Everything so far is recorded."""

    text: str = ""
    """The text of the model's reply up to that moment."""


TaskOutcome = Literal[
    "answered",
    "failed",
    "interrupted",
    "budget",
    "step_limit",
    "stuck",
    "rejected",
    "sandbox",
    "parked",
]


class TaskFinished(Fact, frozen=True):
    """The task ended, or is parked until a build is decided."""

    task_id: TaskId
    outcome: TaskOutcome
    answer: str = ""
    reason: str = ""
    """The reason for any outcome but `answered`."""
    hint: str = ""
    """What the person can do about it."""
    retry_in: float | None = None
    """Seconds until the model's server answers again, if it said so."""
    ungrounded: tuple[str, ...] = ()
    """Figures, dates and quotations of the answer without a source among tools, pages, files and the person."""
    finding: Literal["", "holds", "refused", "unknown"] = ""
    """Result of the check of the answer; empty if it was not checked."""
    faults: tuple[str, ...] = ()
    """The faults that the check found."""


ActionName = Literal[
    "plan",
    "find_tool",
    "search_web",
    "read_page",
    "look_back",
    "look",
    "build_tool",
    "run_tool",
    "ask_user",
    "wait",
    "answer",
    "delegate",
    "report",
]


class ActionChosen(Fact, frozen=True):
    """The model decided what to do next."""

    action_id: str
    action: ActionName
    arguments: Json


class ActionFailed(Fact, frozen=True):
    """An action could not be carried out; the agent reads the reason and continues."""

    action_id: str
    action: str
    text: str
    hint: str = ""


class ActionMalformed(Fact, frozen=True):
    """A reply had no valid action."""

    text: str
    """The reply."""
    problem: str


NudgeKind = Literal["act", "repeat", "replan", "repair"]
"""What the agent is asked for: an action, something new, another plan, a repair."""


class AgentNudged(Fact, frozen=True):
    """The agent made no progress and gets this text before its next step."""

    nudge: NudgeKind
    text: str
    """The message to the model."""
    about: str = ""
    """For `repair`: the name of the tool."""


class LookedBack(Fact, frozen=True):
    """The model read again something left out of its context, or a part of a file or a result."""

    action_id: str
    text: str
    seq: int = 0
    """The event that it came from; 0 for an artefact."""
    handle: str = ""
    """The artefact that it came from."""
    part: str = ""
    """The requested part: a pointer, lines, rows or a search; empty for the beginning."""


class WaitEnded(Fact, frozen=True):
    """The agent waited for builds that were put off; one was decided, or the person said something."""

    action_id: str
