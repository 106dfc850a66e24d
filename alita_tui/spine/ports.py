"""What the rooms promise each other. Each protocol is met by one room and joined in `app`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from alita_tui.spine.commands import Command, ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ModelError
from alita_tui.spine.events import ModelRole, ProviderChanged
from alita_tui.spine.trials import Plan
from alita_tui.spine.values import (
    Alias,
    Ban,
    Capabilities,
    Json,
    Lock,
    LockedPackage,
    MemoryItem,
    Move,
    NearMiss,
    RunReport,
    SandboxStatus,
    SearchHit,
    Source,
    ToolCard,
    ToolDraft,
    ToolRecord,
    ToolRequest,
    ToolState,
    Twin,
    Usage,
    Value,
    WebResult,
)

Clock = Callable[[], datetime]
"""The time in UTC."""

Progress = Callable[[str, float, float, str], None]
"""`(work, done, total, detail)`; total 0 when unknown. Called from any thread."""


# --- the stream ---------------------------------------------------------------------------


class EventSource(Protocol):
    """A live engine or a recording: the reader cannot tell."""

    def __aiter__(self) -> AsyncIterator[Envelope]: ...


class CommandSink(Protocol):
    """Where a person's commands go. A replay has none."""

    def send(self, command: Command) -> None:
        """Hand the command over; never blocks."""


class Recorder(Protocol):
    """Keeps durable envelopes. Met by `store`."""

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        """Store one durable envelope; with `barrier` return only once it is on disk.

        Raises StoreError when it cannot be saved.
        """


# --- models -------------------------------------------------------------------------------


class Message(Value, frozen=True):
    """One turn of a conversation, in the neutral form that every provider is given."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    requests: tuple[ToolRequest, ...] = ()
    """Tool calls of an assistant turn."""
    call_id: str = ""
    """For `tool`: the request that this answers."""
    is_error: bool = False


class ToolSpec(Value, frozen=True):
    """A tool that the model may call natively."""

    name: str
    description: str
    parameters: Json
    """JSON Schema of the arguments object."""


class ModelRequest(Value, frozen=True):
    """One call of a model."""

    role: ModelRole
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    hurry: bool = False
    """Another model could be asked instead: a server that takes no connection is not waited for long."""
    must_call: str = ""
    """Name of the tool the model has to call; `*` for any; empty when it may also just write."""
    max_tokens: int = 8192
    build: str = ""
    """The build that it is for and counts toward, by its id; no part of what is asked."""


class Delta(Value, frozen=True):
    """A piece of a reply."""

    channel: Literal["text", "thinking", "arguments"]
    text: str


class Reply(Value, frozen=True):
    """A reply that ended properly."""

    model: str
    text: str = ""
    thinking: str = ""
    requests: tuple[ToolRequest, ...] = ()
    stop: str = ""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    """What was wrong with it and could be put right, for the person."""
    call_id: str = ""
    """Of the call that it replies to, as recorded; empty before that."""


Ability = Literal["tools", "vision"]
"""What a role may need of a model: tool calling of its own, and reading images."""


class Model(Protocol):
    """A language model. Met by `llm`."""

    @property
    def name(self) -> str:
        """`provider:model`."""

    @property
    def recorded(self) -> bool:
        """True when the replies are a recording."""

    @property
    def abilities(self) -> frozenset[Ability]:
        """What it can do, as far as is known now; its first use may show that it cannot."""

    def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Stream one reply: any number of deltas, then exactly one Reply.

        Raises ModelError. Closing the iterator closes the connection.
        """

    def price(self, usage: Usage) -> float | None:
        """US dollars for a usage, or None when no price is known."""

    async def window(self) -> int:
        """Tokens that it reads and writes at most, as its own server says; 0 where none does. Never raises."""


class Candidate(msgspec.Struct, frozen=True):
    """A model and the limits within which a role may use it."""

    model: Model
    context: int = 0
    """Tokens that it reads at most; 0: not known."""
    max_usd: float | None = None
    """A call that could cost more, or whose price is not known, goes to the next candidate."""
    needs: frozenset[Ability] = frozenset()
    """Without these the role passes the model over."""

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self.model.name


class Route(Protocol):
    """One call's way through the candidates of its role. Met by `llm`."""

    def next(self) -> Candidate | float:
        """The model to ask now, or the seconds to wait before asking here again.

        Raises ModelError, the last one, when there is nobody left to ask.
        """

    @property
    def first(self) -> str:
        """The model that comes first in the role's order."""

    def spare(self, one: Candidate) -> bool:
        """True where a model that did not fail yet could be asked at once instead."""

    def why(self, previous: str, one: Candidate) -> str:
        """Why a call goes to this model and not to the one before."""

    def replied(self, one: Candidate) -> None:
        """It gave a whole reply."""

    def failed(self, one: Candidate, error: ModelError) -> None:
        """It gave none."""

    def released(self, one: Candidate) -> None:
        """The call was given up before there was an outcome."""


class Router(Protocol):
    """Which model is asked, and what follows from a failure. Met by `llm`."""

    def route(
        self, role: ModelRole, tokens: Callable[[Model], int], usd: Callable[[Model], float | None]
    ) -> Route:
        """A call's way. `tokens` is what a model has to take and give at least; `usd` what it could cost there."""

    def learn(self, name: str, window: int) -> int:
        """The window of a model as its server tells it, 0 where it does not; the window that holds, 0: unknown."""

    def narrow(self, name: str, tokens: int) -> ModelError:
        """What to say where a model's window leaves no room for a reply to a call of so many tokens."""

    def window(self, role: ModelRole) -> int:
        """Tokens that the role's next model reads at most; 0 when not known."""

    def enable(self, name: str) -> None:
        """The person says that a model works again; an unknown name is passed over."""

    def changes(self) -> tuple[ProviderChanged, ...]:
        """Models whose state changed since the last time this was asked."""


class ReplyCache(Protocol):
    """Replies to the very same requests, of earlier sessions. Met by `llm`; blocks on the disk."""

    def get(self, model: str, request: ModelRequest) -> Reply | None:
        """What this model replied to this request, if it was asked before."""

    def put(self, model: str, request: ModelRequest, reply: Reply) -> None:
        """Keep a reply."""


class DaySpend(Value, frozen=True):
    """What all sessions spent on a day, with what they have reserved."""

    usd: float = 0.0
    tokens: int = 0


class DayBook(Protocol):
    """The spend of a day over all sessions and processes. Met by `store`; blocks on the disk."""

    def today(self) -> DaySpend:
        """What is spent and reserved today. Raises StoreError."""

    def reserve(
        self, call_id: str, usd: float, tokens: int, *, limit_usd: float | None, limit_tokens: int | None
    ) -> bool:
        """Set money and tokens aside, unless that could break a cap; in one step, whoever else does so.

        Raises StoreError.
        """

    def settle(self, call_id: str, usd: float, tokens: int) -> DaySpend:
        """Put what a call took in place of its reservation. Raises StoreError."""


class Asker(Protocol):
    """One model call as everyone makes it: routed, recorded, retried, paid. Met by `agent`."""

    async def enable(self, model: str) -> None:
        """Ask a model again that was turned off."""

    async def ask(self, request: ModelRequest) -> Reply:
        """The reply, its deltas and costs already on the stream.

        Raises ModelError when the attempts are used up, BudgetExceeded before a call that
        could break a cap, as BuildSpent where the cap is the build's.
        """

    @property
    def unfinished(self) -> str:
        """What the model had said when a call was cancelled; empty when the last one ended."""


# --- sandbox ------------------------------------------------------------------------------


class Limits(Value, frozen=True):
    """Limits of one run."""

    wall_seconds: float = 20.0
    cpu_seconds: float = 40.0
    """Of one process, over all of its threads."""
    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 64
    output_bytes: int = 256 * 1024
    """Kept of each of stdout and stderr; a run that prints 64 times this is ended."""
    result_bytes: int = 1024 * 1024
    file_bytes: int = 16 * 1024 * 1024
    scratch_bytes: int = 32 * 1024 * 1024


class Job(Value, frozen=True):
    """One run of one tool's code, in a fresh container unless its digest is approved."""

    run_id: str
    """Labels the container; output chunks carry it."""
    module: str
    """Snake-case name of the tool."""
    code: str
    tests: str = ""
    """For `test` jobs: the module with the `test_*` functions."""
    what: Literal["run", "test", "script", "judge"] = "run"
    """`script`: the file itself, as `__main__` or by its `#!` line; ok when it exits with 0. `judge`: `plan`."""
    plan: Plan | None = None
    """For `judge` jobs: what is to be done with the draft; the result has an entry for each piece."""
    arguments: Json = None
    """For `run` jobs: keyword arguments of `run`. For scripts: what standard input holds, as JSON."""
    lock: Lock = Lock()
    digest: str = ""
    """The approved build whose code this is: its calls in a session may share a container. Empty: never."""
    limits: Limits = Limits()
    capabilities: Capabilities = Capabilities()
    """What is granted: to an approved digest, or by a person to a draft's tests. The draft profile grants nothing."""


OnOutput = Callable[[Literal["stdout", "stderr"], str], None]
"""Called on the event loop with decoded pieces, at most about 30 times a second."""


class Sandbox(Protocol):
    """The wall around generated code. Met by `sandbox`."""

    async def status(self) -> SandboxStatus:
        """What is there and what enforces each limit; never raises."""

    async def prepare(self, progress: Progress) -> None:
        """Make sure engine and base image are there, building what is missing.

        Raises SandboxUnavailable.
        """

    async def lock(self, requirements: Sequence[str], progress: Progress) -> Lock:
        """Resolve requirements to hashed wheels on the host; runs none of their code.

        Raises RequirementsError.
        """

    async def run(self, job: Job, on_output: OnOutput, progress: Progress) -> RunReport:
        """Run a job in a fresh container; a failing tool is a report, not an exception.

        Raises SandboxUnavailable, RequirementsError. Cancelling it ends everything inside.
        """

    async def close(self) -> None:
        """End what is still running and let the engine go."""


# --- shelf, memory, web -------------------------------------------------------------------


class SearchResult(Value, frozen=True):
    """What a search of the library found."""

    hits: tuple[SearchHit, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()


class Library(Protocol):
    """The approved tools of all sessions. Met by `registry`; synchronous and in memory."""

    def cards(self) -> tuple[ToolCard, ...]:
        """The newest runnable version of every tool, by name."""

    def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """Tools that fit a need, best first, and those that nearly do."""

    def get(self, name: str, version: int | None = None) -> ToolRecord:
        """One version (default: the newest runnable one) of a tool by its name or another name of it.

        The bytes are checked against the digest.

        Raises RegistryError, DigestMismatch.
        """

    def next_version(self, name: str) -> int:
        """The number a new build of this name would get."""

    def register(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        approval_id: str,
        digest: str,
        sources: tuple[Source, ...],
        grants: Capabilities | None = None,
    ) -> ToolRecord:
        """Add an approved version. Raises DigestMismatch, RegistryError."""

    def alias(self, name: str, description: str, twin: Twin, *, approval_id: str, by: str) -> Alias:
        """Give a tool another name. Doing it again for the same approval changes nothing.

        Raises RegistryError where there is a tool of that name, or the twin does not run; DigestMismatch
        where it is another one by now; StoreError.
        """

    def banned(self, name: str, draft: ToolDraft | None = None, digest: str = "") -> str:
        """Why a build of this name, a draft or bytes may not be; empty when they may."""

    def ban(self, ban: Ban) -> None:
        """Keep a ban. Doing it again changes nothing. Raises StoreError."""

    def record_run(self, name: str, version: int, *, ok: bool, query: str) -> ToolState | None:
        """Count a run, and on success learn that this query is served by this tool.

        Gives how far the tool is relied on now; None where there is no such version.
        """


class ToolShelf(Library, Protocol):
    """The library as one session has it, with what was approved for its running task alone."""

    def lend(
        self,
        draft: ToolDraft,
        lock: Lock,
        *,
        version: int,
        approval_id: str,
        digest: str,
        grants: Capabilities | None = None,
    ) -> ToolRecord:
        """Have an approved build at hand until `give_back`, on no disk. Raises DigestMismatch, RegistryError."""

    def lends(self, digest: str) -> bool:
        """Whether this is at hand because it was lent."""

    def give_back(self, keep: Container[str] = ()) -> bool:
        """Let go what was lent, but for these digests; False when nothing was."""


REJECTION = "rejection:"
"""Begins the id of what a rejection teaches; the tool's name follows."""


class Memory(Protocol):
    """What earlier tasks taught. Met by `memory`; synchronous and in memory."""

    def recall(self, task: str) -> tuple[MemoryItem, ...]:
        """A few items that bear on the task, best first, or none."""

    def write(self, item: MemoryItem) -> None:
        """Keep one item. An item with the same id is replaced."""

    def lessons(self, name: str, goal: str) -> tuple[MemoryItem, ...]:
        """Why earlier builds of this name, or for such a goal, were rejected; best first, or none."""

    def recipe_failed(self, item_id: str) -> None:
        """A task that followed this recipe was not answered."""


class Page(Value, frozen=True):
    """A page as text. Untrusted."""

    url: str
    title: str
    text: str
    truncated: bool = False
    unchanged: bool = False
    """Kept from an earlier read; the server says that it still holds."""


class SearchPage(Value, frozen=True):
    """Results of one provider. Untrusted."""

    provider: str
    results: tuple[WebResult, ...]


class Web(Protocol):
    """Search and reading. Met by `web`."""

    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        """Search with one provider (`web`, `github`, `pypi`; empty: `web`). Raises WebError."""

    async def read(self, url: str) -> Page:
        """Read one page as text. Raises WebError, AddressRefused."""

    async def close(self) -> None:
        """Close connections."""


class PackageFacts(Value, frozen=True):
    """What the index says of one version of a package."""

    first_upload: str = ""
    """When the project's first file came (ISO 8601); empty when unknown."""
    yanked: bool = False


class PackageIndex(Protocol):
    """The package index as a source of facts. Met by `web`."""

    async def package(self, name: str, version: str) -> PackageFacts | None:
        """Facts of one version; None where the index does not answer or knows nothing of it."""


class Faults(Value, frozen=True):
    """What a database of known faults says of some packages."""

    known: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """By the package's name, ids such as `PYSEC-2023-1 = CVE-2023-2`; empty ones where none is known."""
    problem: str = ""
    """Why it could not be looked up; then nothing is known of any."""


class FaultBook(Protocol):
    """A database of known faults. Met by `sandbox`, whose packages it is about."""

    async def faults(self, packages: Sequence[LockedPackage]) -> Faults:
        """Known faults of these versions, within bounded time."""


# --- the toolsmith ------------------------------------------------------------------------


class PastCall(Value, frozen=True):
    """A recorded call of a tool that returned."""

    arguments: Json
    result: Json


class BuildOrder(Value, frozen=True):
    """A gap that the agent wants closed."""

    action_id: str
    name: str
    goal: str
    details: str = ""
    task: str = ""
    """What the person asked for, in their words."""
    near_misses: tuple[NearMiss, ...] = ()
    sources: tuple[Source, ...] = ()
    past_rejections: tuple[str, ...] = ()


class BuildOutcome(Value, frozen=True):
    """How a build ended."""

    result: Literal["registered", "rejected", "failed", "stopped", "aliased"]
    reason: str = ""
    card: ToolCard | None = None


# --- parked builds ------------------------------------------------------------------------


class ParkedBuild(Value, frozen=True):
    """A build that waits for a verdict, as any shell sees it."""

    approval_id: str
    build_id: str
    session_id: str
    digest: str
    name: str
    version: int
    requested_at: str
    """ISO 8601, UTC."""
    task: str = ""
    verdict: str = ""
    """Empty while it waits; `approved` or `rejected` once decided and not yet taken up."""


class Verdict(Value, frozen=True):
    """A verdict given outside the session's process, waiting to be taken up."""

    command: Json
    """A ResolveApproval as JSON."""
    by: str
    at: str
    """ISO 8601, UTC."""
    signature: str = ""
    """Of the home over all of this, made by the process that leaves it; see `Sealing`."""


class Sealing(Protocol):
    """Signs what processes of one home leave for one another. Met by `store`; blocks."""

    def signed(self, kind: str, text: str) -> str:
        """A signature over a text of this kind. Raises StoreError."""

    def vouched(self, kind: str, text: str, signature: str) -> bool:
        """Whether this home signed that text as this kind. Raises StoreError."""


class ApprovalDesk(Protocol):
    """Where verdicts from other shells are left for a session. Met by `store`."""

    def verdict(self, approval_id: str) -> Verdict | None:
        """The verdict left for this approval, if there is one."""

    def claim(self, command: ResolveApproval, by: str) -> Verdict:
        """Leave this session's own verdict, unless there is one; the one that stands. Raises StoreError."""

    def taken(self, approval_id: str) -> None:
        """The verdict is not needed any more. Raises StoreError."""


# --- documents ----------------------------------------------------------------------------


class Approval(Value, frozen=True):
    """An approval as the audit log has it."""

    approval_id: str
    name: str
    digest: str
    grants: tuple[str, ...] | None = None
    """What was granted, as in `Capabilities.items`; None for all that is asked for."""
    lasting: str = "library"


class Standing(Value, frozen=True):
    """What the audit log makes of the library: the newest entry on each thing counts, whatever the library says."""

    approvals: Mapping[str, Approval] = {}
    """By approval id: what was approved, starters and what was approved anew included."""
    states: Mapping[str, Move] = {}
    """By approval id: the newest move that set the state of what was approved; `after` is that state."""
    pins: Mapping[str, Move] = {}
    """By tool: the newest pin; `after` is the version, empty for none."""
    aliases: Mapping[str, Move] = {}
    """By other name: the newest move of it; `after` is that name, empty where it was taken away."""
    bans: Mapping[str, Ban] = {}
    """By ban id: what is banned and was not taken back."""
    revoked_rules: Mapping[str, str] = {}
    """Rules of the policy that were taken back, by name: when and by whom."""
    problem: str = ""
    """Why nothing of the log is relied on, in one sentence; empty where it holds."""


class Approvals(Protocol):
    """What was approved, from a source that the library does not write. Met by `store`; blocks on the disk."""

    def standing(self) -> Standing:
        """What holds now; the same object as long as nothing changed. Raises StoreError."""


class Documents(Protocol):
    """A keyed table of JSON documents. Met by `store`, used by `registry` and `memory`."""

    def all(self) -> tuple[Json, ...]:
        """Every document, oldest first."""

    def put(self, key: str, document: Json) -> None:
        """Insert or replace; on disk when it returns. Raises StoreError."""

    def remove(self, key: str) -> None:
        """Remove; a missing key is no error. Raises StoreError."""
