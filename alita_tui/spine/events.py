"""Everything that can have happened. Past tense, frozen, JSON only.

An event never carries a live object: what is recorded is what was shown. Transient events
stream a thing while it grows and are never stored; a durable event with the whole follows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from alita_tui.spine.commands import Verdict
from alita_tui.spine.errors import ModelErrorKind
from alita_tui.spine.values import (
    Capabilities,
    Finding,
    GateResult,
    Json,
    Lasting,
    Lock,
    MemoryItem,
    NearMiss,
    RunReport,
    SandboxStatus,
    SearchHit,
    Source,
    ToolCard,
    ToolDraft,
    ToolRequest,
    ToolState,
    Twin,
    Usage,
    WebResult,
)


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Fact(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag=_snake
):
    """Base of all events; `kind` in JSON is the class's name in snake case.

    Frozen JSON makes no cycles, so the garbage collector need not look at a long session's events.
    """


class Transient(Fact, frozen=True, tag=_snake):
    """Base of the events that are shown and not stored."""


# --- session ------------------------------------------------------------------------------


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


class LibraryLoaded(Fact, frozen=True):
    """The tools on the shelf when the session began or was resumed."""

    tools: tuple[ToolCard, ...] = ()


class SandboxChecked(Fact, frozen=True):
    """What holds generated code here, from a live probe."""

    status: SandboxStatus


class SessionResumed(Fact, frozen=True):
    """A process took the session up again."""

    restored: int
    """Durable events read back."""
    note: str = ""
    """What could not be restored, in one line; empty when all could."""


class SessionClosed(Fact, frozen=True):
    """The process let the session go in good order. Only a SessionResumed may follow."""

    state: str = ""
    """Fingerprint of the view just before; a replay of the same events comes to the same."""
    version: str = ""
    """The alita that folded it: another one may say the same in other words."""


# --- task and control ---------------------------------------------------------------------


class TaskQueued(Fact, frozen=True):
    """A person asked for something while another task runs. It is taken up, also by a later process."""

    queue_id: str
    text: str


class TaskSubmitted(Fact, frozen=True):
    """A person asked for something."""

    task_id: str
    text: str
    again: str = ""
    """The task that is gone on with: parked, and a build it waited for was decided, or `retried`; empty: none."""
    retried: bool = False
    """The person asked to try it again."""
    queue_id: str = ""
    """The queued task that this is; empty for one that never waited."""


class PlanProposed(Fact, frozen=True):
    """The agent said how it means to go about the task."""

    task_id: str
    steps: tuple[str, ...]
    recipe: str = ""
    """Item id of the remembered recipe that it follows; empty for a new plan."""


class Steered(Fact, frozen=True):
    """The person added to a running task; the agent reads it before its next step."""

    text: str


class QuestionAsked(Fact, frozen=True):
    """The agent needs an answer from the person."""

    question_id: str
    text: str
    about: Literal["task", "budget"] = "task"
    """`budget`: the run waits because its next call could break a cap."""


class QuestionAnswered(Fact, frozen=True):
    """The person answered."""

    question_id: str
    text: str


class Interrupted(Fact, frozen=True):
    """The person stopped the running task; what was there is kept."""

    text: str = ""
    """What the model had said when it was cut off."""


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
    """The task ended, or stands parked until a build is decided."""

    task_id: str
    outcome: TaskOutcome
    answer: str = ""
    reason: str = ""
    """Why, where the outcome is not `answered`."""
    hint: str = ""
    """What the person can do about it."""
    retry_in: float | None = None
    """Seconds until the model's server answers again, where it says so."""


class NoticeRaised(Fact, frozen=True):
    """Something the person should know that is no step of the task."""

    level: Literal["info", "warning", "error"]
    text: str
    hint: str = ""


# --- model --------------------------------------------------------------------------------

ModelRole = Literal["orchestrator", "planner", "toolsmith", "reviewer", "summariser"]


class ModelDelta(Transient, frozen=True):
    """A piece of a reply that is still coming."""

    call_id: str
    role: ModelRole
    channel: Literal["text", "thinking", "arguments"]
    text: str


class ModelReplied(Fact, frozen=True):
    """A reply that ended properly."""

    call_id: str
    role: ModelRole
    model: str
    text: str = ""
    thinking: str = ""
    requests: tuple[ToolRequest, ...] = ()
    stop: str = ""
    usage: Usage = Usage()
    duration_ms: float = 0.0
    first_ms: float = 0.0
    """Until the first piece came; 0 when none came before the whole."""
    prompt: str = ""
    """Version (hash) of the prompt text in use."""
    cached: bool = False
    """True when the very same was asked before and nobody was asked now."""


class ModelFailed(Fact, frozen=True):
    """A model call that gave no usable reply."""

    call_id: str
    role: ModelRole
    model: str
    error: ModelErrorKind
    text: str
    hint: str = ""
    retry_in: float | None = None
    """Seconds until the next attempt; None when none follows."""


class ProviderFailedOver(Fact, frozen=True):
    """A role is served by another model than before; the conversation goes on with it as it was."""

    role: ModelRole
    previous: str
    model: str
    """Both as `provider:model`."""
    reason: str


ProviderState = Literal["closed", "half_open", "open", "disabled"]


class ProviderChanged(Fact, frozen=True):
    """Whether a model is asked: always, only to see if it is back, not for a while, or not at all."""

    model: str
    """`provider:model`."""
    state: ProviderState
    reason: str = ""
    """Why it is not closed."""
    retry_in: float | None = None
    """Seconds until it is tried again; None where no time is set."""


BudgetScope = Literal["task", "session", "day"]
BudgetUnit = Literal["usd", "tokens"]


class BudgetReserved(Fact, frozen=True):
    """A call is about to be made, and may cost up to this. On disk before it is."""

    call_id: str
    role: ModelRole
    model: str
    usd: float | None
    """None when no price is known."""
    tokens: int
    build_id: str = ""
    """The build that it is for; empty for none."""
    assumed_usd: float = 0.0
    """What it is taken to cost, where no price is known and a cap in money holds."""


class BudgetRaised(Fact, frozen=True):
    """The person allowed more, for this task, this session, or in this session for this day."""

    scope: BudgetScope
    unit: BudgetUnit
    limit: float


class BudgetSpent(Fact, frozen=True):
    """What a call cost, and what is left. Ends its reservation."""

    call_id: str
    cost_usd: float | None
    """None when no price is known; never taken for zero."""
    role: ModelRole | Literal[""] = ""
    model: str = ""
    tokens: int = 0
    assumed_usd: float = 0.0
    """What it is taken to have cost, where no price is known and a cap in money holds. Part of the totals."""
    estimated: bool = False
    """True where the provider told no counts: the call broke off, or the process ended meanwhile."""
    saved_usd: float = 0.0
    """What the provider's cache made it cheaper by."""
    task_usd: float = 0.0
    """Known spend of the task."""
    task_limit_usd: float | None = None
    day_usd: float = 0.0
    """Known spend of the day over all sessions."""
    total_usd: float = 0.0
    """Known spend of the session."""
    total_tokens: int = 0
    limit_usd: float | None = None
    unpriced_calls: int = 0
    build_id: str = ""
    """The build that it was for; empty for none."""
    build_usd: float = 0.0
    """Known spend of that build."""
    build_limit_usd: float | None = None


# --- actions and observations -------------------------------------------------------------

ActionName = Literal[
    "plan",
    "find_tool",
    "search_web",
    "read_page",
    "look_back",
    "wait",
    "build_tool",
    "run_tool",
    "ask_user",
    "answer",
]


class ActionChosen(Fact, frozen=True):
    """The model decided what to do next."""

    action_id: str
    action: ActionName
    arguments: Json


class ActionFailed(Fact, frozen=True):
    """An action that could not be carried out; the agent reads why and goes on."""

    action_id: str
    action: str
    text: str
    hint: str = ""


class ActionMalformed(Fact, frozen=True):
    """A reply that names no valid action."""

    text: str
    """What the model wrote."""
    problem: str


class ToolSearched(Fact, frozen=True):
    """The library was searched."""

    action_id: str
    query: str
    hits: tuple[SearchHit, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()


class WebSearched(Fact, frozen=True):
    """The web was searched. Results are untrusted."""

    action_id: str
    query: str
    provider: str
    results: tuple[WebResult, ...] = ()


class LookedBack(Fact, frozen=True):
    """The model read again what had been left out of its view."""

    action_id: str
    seq: int
    """The event that it came from."""
    text: str


class WaitEnded(Fact, frozen=True):
    """The agent waited for builds that were put off; one was decided, or the person said something."""

    action_id: str


class ContextTrimmed(Fact, frozen=True):
    """From now on the model is shown less of what was before. Nothing is lost: it can look back."""

    masked: tuple[int, ...] = ()
    """Events whose observations are down to one line."""
    shortened: tuple[int, ...] = ()
    """Events whose observations have only head and tail."""
    tokens_before: int = 0
    """Estimated, as everything would be sent."""
    tokens_after: int = 0


class ContextSummarised(Fact, frozen=True):
    """Turns up to an event are shown to the model as this summary; the person's words stay as they were."""

    upto: int
    text: str
    tokens_before: int = 0
    tokens_after: int = 0


class PageRead(Fact, frozen=True):
    """A page was read. Its text is untrusted."""

    action_id: str
    url: str
    title: str = ""
    text: str = ""
    truncated: bool = False
    unchanged: bool = False
    """Kept from an earlier read; the server said that it still holds."""


# --- builds -------------------------------------------------------------------------------


class BuildStarted(Fact, frozen=True):
    """The toolsmith took on a gap in the library."""

    build_id: str
    action_id: str
    name: str
    goal: str
    task: str = ""
    """What the person asked for, in their words."""
    version: int = 1
    parent: ToolDraft | None = None
    """The version that this one would replace."""
    near_misses: tuple[NearMiss, ...] = ()
    sources: tuple[Source, ...] = ()
    lessons: tuple[str, ...] = ()
    """Why earlier builds were rejected, as the toolsmith was told."""


class BuildDrafted(Fact, frozen=True):
    """A draft was written, whole."""

    build_id: str
    attempt: int
    """1 for the first draft; each repair adds one."""
    author: Literal["model", "person"]
    model: str
    draft: ToolDraft
    digest: str


class BuildReviewed(Fact, frozen=True):
    """The static review of a draft is done."""

    build_id: str
    attempt: int
    digest: str
    findings: tuple[Finding, ...] = ()
    passed: bool = True
    imports: tuple[str, ...] = ()
    """Top-level modules the code imports."""


class RequirementsLocked(Fact, frozen=True):
    """Each requirement was resolved to hashed wheels, or was refused."""

    build_id: str
    attempt: int
    lock: Lock
    problem: str = ""


class BuildTested(Fact, frozen=True):
    """The draft's own tests ran in the sandbox."""

    build_id: str
    attempt: int
    digest: str
    passed: bool
    reports: tuple[RunReport, ...]
    """One per repetition."""
    problem: str = ""
    """Why it does not pass, in one line."""
    granted: Capabilities = Capabilities()
    """What the tests were granted because a person asked for it; nothing under the draft profile."""


class GateChecked(Fact, frozen=True):
    """One more gate looked at a draft: it passed, it failed, or it could not run."""

    build_id: str
    attempt: int
    digest: str
    result: GateResult


class BuildFailed(Fact, frozen=True):
    """The toolsmith gave the build up."""

    build_id: str
    reason: str


class ApprovalRequested(Fact, frozen=True):
    """A build waits for a person. On disk before anyone is asked."""

    approval_id: str
    build_id: str
    digest: str
    name: str
    version: int


class ApprovalResolved(Fact, frozen=True):
    """A person decided on exactly these bytes. On disk before anything follows from it."""

    approval_id: str
    build_id: str
    digest: str
    verdict: Verdict | Literal["withdrawn"]
    """`edited`: a new draft by the person follows. `withdrawn`: its task was cancelled."""
    reason: str = ""
    tags: tuple[str, ...] = ()
    lasting: Lasting = "library"
    grants: Capabilities | None = None
    """What was granted of what the draft asks for; None for all of it."""
    accepted: tuple[str, ...] = ()
    """As in `ResolveApproval`."""
    banned: tuple[str, ...] = ()
    """As in `ResolveApproval`."""
    alias_of: Twin | None = None
    """As in `ResolveApproval`."""
    by: str = ""
    """The account that decided, or the rule of the policy."""
    via: Literal["console", "cli", "engine", "policy"] = "console"
    seen_ms: float = 0.0
    """How long the build was on screen."""
    scrolled_to_end: bool = False

    @property
    def why(self) -> str:
        """Tags and reason in one line."""
        return ": ".join(part for part in (", ".join(self.tags), self.reason) if part)


class BuildPutOff(Fact, frozen=True):
    """The person decides later: the build waits on beside the task, and the agent goes on without it."""

    build_id: str
    approval_id: str


class ToolRegistered(Fact, frozen=True):
    """An approved build joined the library, or is lent to its task."""

    build_id: str
    approval_id: str
    card: ToolCard
    lasting: Lasting = "library"


class ToolAliased(Fact, frozen=True):
    """A build's name became another name of a tool of the library; its code did not join."""

    build_id: str
    approval_id: str
    name: str
    target: Twin


# --- tool runs ----------------------------------------------------------------------------


class ToolCalled(Fact, frozen=True):
    """A registered tool is about to run. On disk before it does."""

    call_id: str
    action_id: str
    name: str
    version: int
    digest: str
    arguments: Json
    alias: str = ""
    """The other name that it was called by; empty for its own."""


class BrokerAnswered(Fact, frozen=True):
    """A running tool asked for something that it was granted, or was not: a host, a file, a model."""

    call_id: str
    """The run's: a call of a registered tool, or a build whose tests a person granted something."""
    request: str
    """Method and address as the tool gave them, without the values of secrets."""
    outcome: Literal["served", "refused", "failed"]
    """`failed`: it was granted and could not be carried out."""
    reason: str = ""
    """Why it was not served."""
    status: int = 0
    """The HTTP status that the tool got; 0 for none."""
    address: str = ""
    """IP address that was connected to."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that were put in."""
    sent_bytes: int = 0
    received_bytes: int = 0
    duration_ms: float = 0.0


class OutputChunk(Transient, frozen=True):
    """A piece of what a run in the sandbox prints."""

    run_id: str
    """A call id or a build id."""
    title: str
    stream: Literal["stdout", "stderr"]
    text: str


class Progressed(Transient, frozen=True):
    """How far a long piece of work is."""

    work: str
    """What is going on, for people."""
    done: float = 0.0
    total: float = 0.0
    """0 when unknown."""
    detail: str = ""


class SavingStalled(Transient, frozen=True):
    """Nothing can be saved at present, and the run waits until it can; without a text it can again."""

    text: str = ""
    hint: str = ""


class ToolReturned(Fact, frozen=True):
    """A registered tool ran and gave a result."""

    call_id: str
    report: RunReport


FailureReason = Literal["error", "exit", "timeout", "limit", "killed", "bad_result", "interrupted", "sandbox"]


class ToolFailed(Fact, frozen=True):
    """A registered tool ran, or could not run, and gave no result."""

    call_id: str
    reason: FailureReason
    text: str
    hint: str = ""
    report: RunReport | None = None


class ToolDemoted(Fact, frozen=True):
    """A tool is relied on less than before, because of how its runs went. A repair is a build that asks again."""

    name: str
    version: int
    state: ToolState
    reason: str


# --- memory -------------------------------------------------------------------------------


class MemoryRecalled(Fact, frozen=True):
    """What the agent remembered of earlier tasks."""

    task_id: str
    items: tuple[MemoryItem, ...] = ()


class MemoryWritten(Fact, frozen=True):
    """What the agent will remember of this one."""

    item: MemoryItem


class UnknownEvent(Fact, frozen=True):
    """A record that this version cannot read: damaged, or written by a newer alita."""

    raw: str
    reason: str


SessionEvent = (
    SessionOpened
    | LibraryLoaded
    | SandboxChecked
    | SessionResumed
    | SessionClosed
    | TaskQueued
    | TaskSubmitted
    | PlanProposed
    | Steered
    | QuestionAsked
    | QuestionAnswered
    | Interrupted
    | TaskFinished
    | NoticeRaised
    | ModelDelta
    | ModelReplied
    | ModelFailed
    | ProviderFailedOver
    | ProviderChanged
    | BudgetReserved
    | BudgetRaised
    | BudgetSpent
    | ActionChosen
    | ActionFailed
    | ActionMalformed
    | ToolSearched
    | WebSearched
    | PageRead
    | LookedBack
    | WaitEnded
    | ContextTrimmed
    | ContextSummarised
    | BuildStarted
    | BuildDrafted
    | BuildReviewed
    | RequirementsLocked
    | BuildTested
    | GateChecked
    | BuildFailed
    | ApprovalRequested
    | ApprovalResolved
    | BuildPutOff
    | ToolRegistered
    | ToolAliased
    | ToolCalled
    | BrokerAnswered
    | OutputChunk
    | Progressed
    | SavingStalled
    | ToolReturned
    | ToolFailed
    | ToolDemoted
    | MemoryRecalled
    | MemoryWritten
    | UnknownEvent
)

BARRIERS = (ApprovalRequested, ApprovalResolved, ToolRegistered, ToolAliased, ToolCalled, BudgetReserved)
"""Events that are on disk before the engine goes on: no action outruns its record."""
