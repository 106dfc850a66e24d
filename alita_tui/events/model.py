"""Model calls: replies, failures, budget, and how the conversation was shortened for the model."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, Json, Transient, Value

ModelErrorKind = Literal[
    "auth",  # 401, 403: the key is wrong or may not use the model
    "payment",  # 402 or exhausted quota
    "not_found",  # 404: no such model or path
    "rate_limit",  # 429
    "overloaded",  # 503, 529
    "server",  # other 5xx
    "timeout",  # connect, read or stall
    "connection",  # refused, reset, DNS, TLS
    "truncated",  # the stream ended without a stop reason
    "malformed",  # the reply is not what the protocol promises
    "context",  # the conversation is longer than the model's window
    "refused",  # the model declined
    "bad_request",  # any other 4xx
    "no_tools",  # it cannot call tools natively; the text protocol is used from now on
    "unavailable",  # no model is configured, or its SDK is missing
]


class Usage(Value, frozen=True):
    """Tokens of one model call. Input counts include the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Read from the provider's cache."""
    cache_write_tokens: int = 0
    """Written to the provider's cache, which some charge more for."""
    reported: bool = True
    """False if the server sent no counts and these are estimates."""


class ToolRequest(Value, frozen=True):
    """A native tool call as the model wrote it, arguments parsed."""

    call_id: str
    name: str
    arguments: Json
    problem: str = ""
    """Why the arguments could not be parsed; empty when they could."""
    carried: dict[str, str] = {}
    """Data that the provider wants back with it, such as signatures and reasoning; `by` is the model it is from."""


ModelRole = Literal[
    "orchestrator", "planner", "toolsmith", "reviewer", "summariser", "archivist", "specialist", "verifier"
]
Payer = Literal[ModelRole, "encoder"]
"""Who a call is paid for: a role, or the encoder of the library's search."""


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
    """Milliseconds until the first piece; 0 if the reply came in one piece."""
    prompt: str = ""
    """Version (hash) of the prompt text in use."""
    cached: bool = False
    """True if the reply came from alita's own cache, and no model was called."""


class ModelFailed(Fact, frozen=True):
    """A model call that gave no usable reply."""

    call_id: str
    role: ModelRole
    model: str
    error: ModelErrorKind
    text: str
    hint: str = ""
    retry_in: float | None = None
    """Seconds until the next attempt; None if none follows."""


class ProviderFailedOver(Fact, frozen=True):
    """Another model serves a role from now on; the conversation continues unchanged."""

    role: ModelRole
    previous: str
    model: str
    """Both as `provider:model`."""
    reason: str


ProviderState = Literal["closed", "half_open", "open", "disabled"]


class ProviderChanged(Fact, frozen=True):
    """A model's circuit breaker changed: it is asked always, only as a trial, not for a while, or not at all."""

    model: str
    """`provider:model`."""
    state: ProviderState
    reason: str = ""
    """Why it is not asked."""
    retry_in: float | None = None
    """Seconds until it is tried again; None if no time is set."""


BudgetScope = Literal["task", "session", "day"]


BudgetUnit = Literal["usd", "tokens"]


class BudgetReserved(Fact, frozen=True):
    """The most that a call may cost was set aside. This is on disk before the call."""

    call_id: str
    role: Payer
    model: str
    usd: float | None
    """None when no price is known."""
    tokens: int
    build_id: str = ""
    """The build that it is for; empty for none."""
    assumed_usd: float = 0.0
    """Assumed cost in US dollars if no price is known and a cap in money applies."""


class BudgetRaised(Fact, frozen=True):
    """The person raised a cap: of this task, of this session, or of the day within this session."""

    scope: BudgetScope
    unit: BudgetUnit
    limit: float


class BudgetSpent(Fact, frozen=True):
    """A call was settled at its actual cost, which ends its reservation."""

    call_id: str
    cost_usd: float | None
    """None if no price is known, which never counts as zero."""
    role: Payer | Literal[""] = ""
    model: str = ""
    tokens: int = 0
    assumed_usd: float = 0.0
    """Assumed cost in US dollars if no price is known and a cap in money applies. Part of the totals."""
    estimated: bool = False
    """True if the provider reported no counts: the call broke off, or the process ended meanwhile."""
    spared: bool = False
    """True if the reply came from alita's own cache, and no model was called."""
    saved_usd: float = 0.0
    """US dollars saved by the provider's cache or by alita's own."""
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


class ContextTrimmed(Fact, frozen=True):
    """Earlier parts of the conversation were shortened for the model, which can still look them up."""

    masked: tuple[int, ...] = ()
    """Events whose observations are reduced to one line."""
    shortened: tuple[int, ...] = ()
    """Events whose observations are reduced to their beginning and end."""
    left_out: int = 0
    """Number of turns that are not sent at all."""
    tokens_before: int = 0
    """Estimated tokens of the whole conversation."""
    tokens_after: int = 0


class ContextSummarised(Fact, frozen=True):
    """Turns up to an event are shown to the model as this summary; the person's words stay as they were."""

    upto: int
    text: str
    tokens_before: int = 0
    tokens_after: int = 0
