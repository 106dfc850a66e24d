"""Values that ride in events and cross rooms: tools, evidence, requirements, memory, usage."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import msgspec

Json = Any
"""A JSON value. Checked where it enters, not by the type checker."""


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A frozen record made of JSON types only."""


def digest_of(*parts: str) -> str:
    """SHA-256 (hex) over parts, each prefixed with its length so that no two lists collide."""
    from hashlib import sha256  # loads OpenSSL, which the first paint has no use for

    sha = sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        sha.update(len(raw).to_bytes(8, "big"))
        sha.update(raw)
    return sha.hexdigest()


class Capabilities(Value, frozen=True):
    """What a tool asks to be granted. The empty value is a pure computation."""

    network: tuple[str, ...] = ()
    """Hosts as `name:port`, or `GET,HEAD name:port` for these methods alone (see `spine.grants`)."""
    workspace: Literal["none", "read", "write"] = "none"
    secrets: tuple[str, ...] = ()
    """Names of secrets, never their values: `NAME@name:port`, or `NAME` where one host is granted."""
    model_calls: int = 0
    """How many model calls one run may make."""

    @property
    def none(self) -> bool:
        """True when nothing is asked for."""
        return self == Capabilities()

    @property
    def items(self) -> tuple[str, ...]:
        """One word for each: `network:host:443`, `workspace:read`, `secret:NAME`, `model:3`."""
        return (
            *(f"network:{host}" for host in self.network),
            *((f"workspace:{self.workspace}",) if self.workspace != "none" else ()),
            *(f"secret:{name}" for name in self.secrets),
            *((f"model:{self.model_calls}",) if self.model_calls else ()),
        )

    def without(self, items: Collection[str]) -> Capabilities:
        """The same, less what these words (see `items`) name."""
        return Capabilities(
            network=tuple(host for host in self.network if f"network:{host}" not in items),
            workspace="none" if f"workspace:{self.workspace}" in items else self.workspace,
            secrets=tuple(name for name in self.secrets if f"secret:{name}" not in items),
            model_calls=0 if f"model:{self.model_calls}" in items else self.model_calls,
        )

    def within(self, wider: Capabilities) -> bool:
        """True when nothing is here that the other has not."""
        return set(self.items) <= set(wider.items)


class ToolDraft(Value, frozen=True):
    """A tool as written: what is reviewed, tested, shown, approved and run."""

    name: str
    """Snake case; also the module's name."""
    description: str
    """One sentence for people and for search."""
    code: str
    """A PEP 723 script with a typed `run(...)`, a docstring and a JSON `__main__`."""
    tests: str
    """A module of `test_*` functions with plain asserts."""
    requirements: tuple[str, ...] = ()
    """PEP 508 requirements as the draft asks for them."""
    input_schema: Json = msgspec.field(default_factory=dict)
    """JSON Schema (2020-12) of the arguments object of `run`."""
    output_schema: Json = msgspec.field(default_factory=dict)
    """JSON Schema of what `run` returns."""
    capabilities: Capabilities = Capabilities()

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over every byte of the draft that is shown for approval and used at run time."""
        return digest_of(
            self.name,
            self.description,
            self.code,
            self.tests,
            "\n".join(self.requirements),
            msgspec.json.encode(self.input_schema, order="sorted").decode(),
            msgspec.json.encode(self.output_schema, order="sorted").decode(),
            msgspec.json.encode(self.capabilities, order="sorted").decode(),
        )


class LockedPackage(Value, frozen=True):
    """One wheel that a requirement resolved to."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    """As `sha256:hex`."""
    uploaded: str = ""
    """Upload time (ISO 8601) as the index says it; empty when unknown."""
    size: int = 0
    """Bytes of the wheel; 0 when unknown."""
    direct: bool = False
    """True when the draft names it, false when another package pulls it in."""


class Lock(Value, frozen=True):
    """Requirements resolved to exact, hashed wheels. Its digest names an environment."""

    requirements: tuple[str, ...] = ()
    packages: tuple[LockedPackage, ...] = ()
    python: str = ""
    """The Python that the wheels are for, for example `3.12`."""
    platform: str = ""
    """As uv names it, for example `x86_64-manylinux_2_36`."""

    @property
    def listing(self) -> str:
        """The `requirements.txt` that is installed: nothing but exact versions with their hashes."""
        entries = (
            " ".join((f"{one.name}=={one.version}", *(f"--hash={each}" for each in one.hashes)))
            for one in self.packages
        )
        return "".join(f"{entry}\n" for entry in entries)

    @property
    def digest(self) -> str:
        """Content address of the environment: SHA-256 (hex). Empty for no packages."""
        return digest_of(self.listing, self.python, self.platform) if self.packages else ""


def build_digest(draft: ToolDraft, lock: Lock) -> str:
    """SHA-256 (hex) over all that an approval is for: the draft, and the wheels it was tested with.

    A draft without requirements has its own digest.
    """
    return digest_of(draft.digest, lock.digest) if lock.digest else draft.digest


class Finding(Value, frozen=True):
    """One remark of the static review."""

    severity: Literal["info", "low", "medium", "high"]
    rule: str
    """`contract`, `schema`, `ast/...` or a bandit id such as `B602`."""
    text: str
    line: int = 0
    """1-based line in the code; 0 where none applies."""
    blocking: bool = False
    """True when the draft goes back to be repaired before it is tested."""


class TestCase(Value, frozen=True):
    """One self-test as the sandbox saw it."""

    __test__ = False  # pytest would collect it

    name: str
    passed: bool
    message: str = ""
    """The traceback of a failure."""
    duration_ms: float = 0.0
    calls: int | None = None
    """How often it called the tool; None in a record from before that was counted."""


GateName = Literal[
    "requirements",
    "contract",
    "capabilities",
    "literals",
    "coverage",
    "mutation",
    "conditions",
    "fuzz",
    "growth",
    "hidden",
    "neighbours",
    "replay",
]
GateState = Literal["passed", "failed", "skipped"]


class GateRow(Value, frozen=True):
    """One line of what a gate saw."""

    label: str
    text: str
    tone: Literal["", "good", "warn", "bad", "muted"] = ""


class Twin(Value, frozen=True):
    """A version of a tool of the library that answers as a draft does."""

    name: str
    version: int
    digest: str

    @property
    def label(self) -> str:
        """As people write it."""
        return f"{self.name} v{self.version}"


class GateResult(Value, frozen=True):
    """What one gate found out about a draft."""

    gate: GateName
    state: GateState
    """`skipped`: it could not run; that is no pass."""
    summary: str
    """What was found, or why it could not run, in one line."""
    rows: tuple[GateRow, ...] = ()
    duration_ms: float = 0.0
    twins: tuple[Twin, ...] = ()
    """Tools that give the same answers, the nearest first."""


LimitHit = Literal["wall", "cpu", "memory", "output", "result", "files", "processes", "inodes"]


class Provided(Value, frozen=True):
    """What an installed distribution can be imported as, by the metadata of its wheel."""

    distribution: str
    """Its normalised name (PEP 503)."""
    modules: tuple[str, ...]


class RunReport(Value, frozen=True):
    """How one run in the sandbox went, as the host saw it."""

    status: Literal["ok", "error", "exit", "timeout", "limit", "killed", "bad_result"]
    """`error`: the code raised. `exit`: it ended without a result. `killed`: it was interrupted."""
    exit_code: int | None = None
    signal: int | None = None
    """The signal that ended it."""
    result: Json = None
    """What `run` returned; None unless status is ok."""
    error: str = ""
    """The traceback, or the reason in one line."""
    exception: str = ""
    """Name of the class of the exception that ended it."""
    stdout: str = ""
    stderr: str = ""
    truncated: tuple[Literal["stdout", "stderr", "error"], ...] = ()
    limits_hit: tuple[LimitHit, ...] = ()
    duration_ms: float = 0.0
    cpu_ms: float = 0.0
    """Processor time of all its processes."""
    peak_memory_bytes: int = 0
    cases: tuple[TestCase, ...] = ()
    """Filled for test runs."""
    provided: tuple[Provided, ...] = ()
    """Filled for test runs with requirements."""

    @property
    def reason(self) -> str:
        """Why it did not end well, in a word or two; empty when it did.

        A limit, the name of an exception, `bad result`, `killed`, `signal 9`, `exit 3` or `wall`.
        """
        if self.status == "ok":
            return ""
        if self.limits_hit and self.status in ("limit", "timeout"):
            return self.limits_hit[0]
        if self.status == "error":
            return self.exception or "error"
        if self.status in ("bad_result", "killed"):
            return self.status.replace("_", " ")
        return f"signal {self.signal}" if self.signal else f"exit {self.exit_code}"


class NearMiss(Value, frozen=True):
    """A tool that was found and not used, with the score that decided."""

    name: str
    version: int
    score: float
    """0 to 1."""
    description: str = ""


class Source(Value, frozen=True):
    """A page or package that was read for a build. Untrusted."""

    url: str
    title: str = ""
    excerpt: str = ""


class Enforcement(Value, frozen=True):
    """Which mechanism holds one limit here, from a live probe."""

    resource: str
    """`memory`, `processes`, `cpu`, `network` …"""
    mechanism: str
    measured: str = ""
    """What happened when it was tried; empty where it was not."""
    strong: bool = True
    """False where the limit is approximate or missing."""


class SandboxStatus(Value, frozen=True):
    """What `doctor`, the status line and the approval say of the sandbox."""

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


Lasting = Literal["library", "task"]
"""How long an approval is good for: until it is revoked, or until the task that asked for it ends."""


class Ban(Value, frozen=True):
    """What a person does not want to be asked about again. What is empty is not banned."""

    ban_id: str
    name: str = ""
    """Builds of this name do not begin."""
    digest: str = ""
    """These bytes are neither approved nor run, under whatever name."""
    draft: str = ""
    """The same for the draft's own digest, whatever wheels its requirements are locked to."""
    capabilities: tuple[str, ...] = ()
    """No draft may ask for any of them; as in `Capabilities.items`."""
    reason: str = ""
    by: str = ""
    at: str = ""
    """ISO 8601, UTC."""


ToolState = Literal["draft", "provisional", "trusted", "stale", "archived", "revoked", "quarantined"]


class ToolCard(Value, frozen=True):
    """One line of the library."""

    name: str
    version: int
    description: str
    digest: str
    state: ToolState
    requirements: tuple[str, ...] = ()
    runs: int = 0
    failures: int = 0


class ToolRecord(Value, frozen=True):
    """One version of a registered tool, whole."""

    draft: ToolDraft
    version: int
    digest: str
    state: ToolState
    lock: Lock
    approval_id: str
    grants: Capabilities | None = None
    """What it was granted of what it asks for; None for all of it."""
    origin: Literal["built", "imported", "starter"] = "built"
    parent_version: int | None = None
    sources: tuple[Source, ...] = ()
    created_at: str = ""
    """ISO 8601, UTC."""
    runs: int = 0
    failures: int = 0

    @property
    def granted(self) -> Capabilities:
        """What a run of it may use."""
        return self.draft.capabilities if self.grants is None else self.grants

    @property
    def card(self) -> ToolCard:
        """The line that the library shows."""
        return ToolCard(
            name=self.draft.name,
            version=self.version,
            description=self.draft.description,
            digest=self.digest,
            state=self.state,
            requirements=self.draft.requirements,
            runs=self.runs,
            failures=self.failures,
        )


MoveKind = Literal["archive", "revoke", "quarantine", "restore", "pin", "unpin", "rollback"]

MOVED: dict[str, str] = {
    "archive": "archived",
    "revoke": "revoked",
    "quarantine": "quarantined",
    "restore": "restored",
    "pin": "pinned",
    "unpin": "unpinned",
    "rollback": "rolled back",
    "alias": "given another name",
    "unalias": "another name removed",
}
"""What the audit log calls a move."""

TAKEN_BACK = "taken back: "
"""Begins what the audit log calls a move that takes another one back."""

STATE_AFTER: dict[str, ToolState] = {
    "archive": "archived",
    "revoke": "revoked",
    "quarantine": "quarantined",
    "restore": "provisional",
    "rollback": "archived",
}
"""The state that a move leaves a version in."""


class Alias(Value, frozen=True):
    """Another name of a tool: a build that a person found to be the same."""

    name: str
    description: str
    """The build's own, so that a search for it finds the tool."""
    target: Twin
    """The tool, with the version that gave the same answers. What runs is the tool as it runs under its own name."""
    approval_id: str
    """The verdict that made it."""
    at: str = ""
    """ISO 8601, UTC."""
    removed: bool = False


class Move(Value, frozen=True):
    """Something that a person did with a version of a tool."""

    name: str
    version: int
    kind: MoveKind | Literal["alias", "unalias"]
    before: str
    """The state before; for a pin the version that was pinned, for an alias the name; empty for none."""
    after: str
    by: str
    at: str
    """ISO 8601, UTC."""
    reason: str = ""
    undone: bool = False


class Lineage(Value, frozen=True):
    """All that is kept of a tool."""

    name: str
    versions: tuple[ToolRecord, ...]
    """The oldest first."""
    current: int | None = None
    """The version that runs; None when none does."""
    pinned: int | None = None
    moves: tuple[Move, ...] = ()
    """The oldest first."""
    aliases: tuple[str, ...] = ()
    """Its other names."""
    spent_usd: dict[int, float] = msgspec.field(default_factory=dict)
    """What building each version took, as far as it is known."""

    @property
    def saved_usd(self) -> float:
        """What building each version anew for every run but its first would have cost."""
        runs = {one.version: one.runs for one in self.versions}
        return sum(usd * max(0, runs[version] - 1) for version, usd in self.spent_usd.items())


class SearchHit(Value, frozen=True):
    """A tool the search returns."""

    card: ToolCard
    score: float
    """0 to 1; comparable between queries."""
    input_schema: Json = msgspec.field(default_factory=dict)
    output_schema: Json = msgspec.field(default_factory=dict)


class WebResult(Value, frozen=True):
    """One result of a web search. Untrusted text."""

    title: str
    url: str
    snippet: str = ""


class MemoryItem(Value, frozen=True):
    """One remembered thing, tied to the event it came from."""

    item_id: str
    memory: Literal["episodic", "semantic", "procedural"]
    text: str
    source_session: str = ""
    source_seq: int = 0
    score: float = 0.0
    """Relevance to the query, 0 to 1; 0 when not recalled."""
    why: str = ""
    """The words that matched."""
    tools: tuple[str, ...] = ()
    """The tool chain of a recipe."""


class Usage(Value, frozen=True):
    """Tokens of one model call. Input counts include the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Read from the provider's cache."""
    cache_write_tokens: int = 0
    """Written to the provider's cache, which some charge more for."""
    reported: bool = True
    """False when the server sent none and the numbers are estimates."""


class ToolRequest(Value, frozen=True):
    """A native tool call as the model wrote it, arguments parsed."""

    call_id: str
    name: str
    arguments: Json
    problem: str = ""
    """Why the arguments could not be parsed; empty when they could."""
    carried: dict[str, str] = {}
    """What the provider gave with it and wants back: signatures and reasoning, and `by`, the model they are of."""


class Check(Value, frozen=True):
    """One line of `alita doctor`."""

    name: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    hint: str = ""
    """What to do; empty when nothing is needed."""
    fixable: bool = False
    """True when `alita doctor --fix` can do it."""
