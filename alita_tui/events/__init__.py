"""Everything that can happen in a session, by topic. Past tense, frozen, JSON only.

An event never carries a live object, so what is recorded is what was shown. Transient events carry pieces of something
that grows, and are never stored; a durable event with all of it follows.
"""

from alita_tui.events.agent import (
    AgentEnded,
    AgentInput,
    AgentOutcome,
    AgentStarted,
    AnswerVerified,
    DirectorChosen,
)
from alita_tui.events.artefact import Artefact, ArtefactAdded, ArtefactOrigin
from alita_tui.events.base import (
    NO_AGENT,
    NO_TASK,
    AgentId,
    BuildDigest,
    BuildId,
    CallId,
    DraftDigest,
    Fact,
    Json,
    TaskId,
    ToolName,
    Transient,
    Value,
    as_json,
    digest_of,
    ready,
)
from alita_tui.events.broker import BrokerAnswered, BrokerOutcome, PageLevel, PageLogged, RequestCount
from alita_tui.events.build import (
    ApprovalRequested,
    ApprovalResolved,
    BuildDrafted,
    BuildFailed,
    BuildPutOff,
    BuildReviewed,
    BuildStarted,
    BuildTested,
    Decision,
    Finding,
    GateChecked,
    GateName,
    GateResult,
    GateRow,
    GateState,
    RequirementsLocked,
    Verdict,
)
from alita_tui.events.context import ContextBlock, ContextGiven, ContextSwitched
from alita_tui.events.library import (
    MOVED,
    STATE_AFTER,
    TAKEN_BACK,
    Alias,
    Ban,
    Band,
    Lasting,
    LibraryLoaded,
    Lineage,
    Move,
    MoveKind,
    NearMiss,
    Origin,
    SearchHit,
    ToolAliased,
    ToolCard,
    ToolDemoted,
    ToolRecord,
    ToolRegistered,
    ToolSearched,
    ToolState,
)
from alita_tui.events.memory import (
    MemoryForgotten,
    MemoryItem,
    MemoryKind,
    MemoryOrigin,
    MemoryRecalled,
    MemoryWritten,
    RecipeStep,
)
from alita_tui.events.model import (
    BudgetRaised,
    BudgetReserved,
    BudgetScope,
    BudgetSpent,
    BudgetUnit,
    ContextSummarised,
    ContextTrimmed,
    ModelDelta,
    ModelErrorKind,
    ModelFailed,
    ModelReplied,
    ModelRole,
    Payer,
    ProviderChanged,
    ProviderFailedOver,
    ProviderState,
    ToolRequest,
    Usage,
)
from alita_tui.events.server import (
    ServerAsked,
    ServerQuestion,
    ServerQuestionEnded,
    ServerStarted,
    ServerStopped,
    ToolSuspended,
)
from alita_tui.events.session import (
    Check,
    Enforcement,
    NoticeRaised,
    Progressed,
    SandboxChecked,
    SandboxStatus,
    SavingStalled,
    SessionClosed,
    SessionOpened,
    SessionResumed,
    UnknownEvent,
    WorkHeld,
)
from alita_tui.events.task import (
    ActionChosen,
    ActionFailed,
    ActionMalformed,
    ActionName,
    AgentNudged,
    Interrupted,
    LookedBack,
    NudgeKind,
    PlanCandidate,
    PlanProposed,
    PlansWeighed,
    QuestionAnswered,
    QuestionAsked,
    QueueSwitched,
    Steered,
    StepStatus,
    TaskCancelled,
    TaskEdited,
    TaskEstimated,
    TaskFinished,
    TaskMoved,
    TaskOutcome,
    TaskQueued,
    TaskSubmitted,
    WaitEnded,
)
from alita_tui.events.tool import (
    Capabilities,
    FailureReason,
    FileUse,
    LeftFile,
    LimitHit,
    Lock,
    LockedPackage,
    OutputChunk,
    Provided,
    RunReport,
    TestCase,
    ToolCalled,
    ToolDraft,
    ToolFailed,
    ToolReturned,
    Twin,
    build_digest,
)
from alita_tui.events.track import (
    FeedbackGiven,
    Grade,
    Rating,
    RatingTarget,
    Reliability,
    RunOutcome,
    Showing,
    Track,
)
from alita_tui.events.web import (
    PageRead,
    SearchFailure,
    Source,
    WebResult,
    WebSearched,
)

SessionEvent = (
    SessionOpened
    | LibraryLoaded
    | SandboxChecked
    | SessionResumed
    | SessionClosed
    | TaskQueued
    | TaskEdited
    | TaskMoved
    | TaskCancelled
    | QueueSwitched
    | TaskSubmitted
    | TaskEstimated
    | PlanProposed
    | PlansWeighed
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
    | AgentNudged
    | ToolSearched
    | WebSearched
    | PageRead
    | LookedBack
    | ArtefactAdded
    | WaitEnded
    | ContextTrimmed
    | ContextSummarised
    | ContextGiven
    | ContextSwitched
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
    | PageLogged
    | OutputChunk
    | Progressed
    | SavingStalled
    | WorkHeld
    | ToolReturned
    | ToolFailed
    | ToolDemoted
    | ToolSuspended
    | ServerStarted
    | ServerStopped
    | ServerAsked
    | ServerQuestion
    | ServerQuestionEnded
    | MemoryRecalled
    | MemoryWritten
    | MemoryForgotten
    | FeedbackGiven
    | DirectorChosen
    | AgentStarted
    | AgentEnded
    | AnswerVerified
    | UnknownEvent
)
"""Every kind of event."""

BARRIERS = (
    ApprovalRequested,
    ApprovalResolved,
    ToolRegistered,
    ToolAliased,
    ToolCalled,
    ToolSuspended,
    ServerStarted,
    BudgetReserved,
    ArtefactAdded,
    ContextSwitched,
    AgentStarted,
)
"""Events that are on disk before the engine continues: no action happens before its record."""
