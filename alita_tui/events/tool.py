"""Tools and their runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from alita_tui.events.base import (
    BuildDigest,
    CallId,
    DraftDigest,
    Fact,
    Json,
    ToolName,
    Transient,
    Value,
    as_json,
    digest_of,
)

_BROWSER = "browser:chromium"


class Capabilities(Value, frozen=True):
    """The capabilities that a tool asks for or was granted. Without any it can only compute."""

    network: tuple[str, ...] = ()
    """Hosts as `name:port`, or `GET,HEAD name:port` for these methods alone (see `spine.grants`)."""
    workspace: Literal["none", "read", "write"] = "none"
    secrets: tuple[str, ...] = ()
    """Names of secrets, never their values: `NAME@name:port`, or `NAME` if only one host is granted."""
    model_calls: int = 0
    """How many model calls one run may make."""
    tools: tuple[str, ...] = ()
    """Tools of the library that it may call: names in a draft, pinned to a version's bytes when it is built (see
    `spine.grants`).
    """
    browser: bool = False
    """Whether it runs in the image with Chromium. That alone reaches nothing: pages come from hosts in `network`."""

    @property
    def none(self) -> bool:
        """True if there are no capabilities."""
        return self == Capabilities()

    @property
    def brokered(self) -> bool:
        """True if any of them is served by the broker itself: files, models, tools."""
        return self.workspace != "none" or self.model_calls > 0 or bool(self.tools)

    @property
    def items(self) -> tuple[str, ...]:
        """One item per grant: `network:host:443`, `workspace:read`, `secret:NAME`, `model:3`, `browser:chromium`,
        `tool:NAME@1:DIGEST`.
        """
        return (
            *(f"network:{host}" for host in self.network),
            *((f"workspace:{self.workspace}",) if self.workspace != "none" else ()),
            *(f"secret:{name}" for name in self.secrets),
            *((f"model:{self.model_calls}",) if self.model_calls else ()),
            *((_BROWSER,) if self.browser else ()),
            *map(_tool_item, self.tools),
        )

    def without(self, items: Collection[str]) -> Capabilities:
        """Return the capabilities without those that these `items` name."""
        return Capabilities(
            network=tuple(host for host in self.network if f"network:{host}" not in items),
            workspace="none" if f"workspace:{self.workspace}" in items else self.workspace,
            secrets=tuple(name for name in self.secrets if f"secret:{name}" not in items),
            model_calls=0 if f"model:{self.model_calls}" in items else self.model_calls,
            tools=tuple(entry for entry in self.tools if _tool_item(entry) not in items),
            browser=self.browser and _BROWSER not in items,
        )

    def within(self, wider: Capabilities) -> bool:
        """Return True if `wider` includes every capability of this one."""
        return set(self.items) <= set(wider.items) and set(self.tools) <= set(wider.tools)


def _tool_item(entry: str) -> str:
    """Return the word for a tool: of a pinned one its name, version and the first 12 digits of its digest."""
    name, colon, digest = entry.partition(" ")[0].partition(":")
    return f"tool:{name}{colon}{digest[:12]}"


class ToolDraft(Value, frozen=True):
    """A tool as it was written. Exactly this is reviewed, tested, shown, approved and run."""

    name: ToolName
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
    """JSON Schema of the result of `run`."""
    capabilities: Capabilities = Capabilities()
    language: str = "python"
    """Language of the code, one of `runtimes`; the tests are always Python."""

    @property
    def digest(self) -> DraftDigest:
        """SHA-256 (hex) over all of the draft that is shown for approval and used at run time.

        Names in schemas are sorted first. A tool gets its arguments by name, so their order changes no run, only the
        meaning of tests that pass them by position. The language is included only if it is not Python, so that older
        digests stay valid.
        """
        digest = digest_of(
            self.name,
            self.description,
            self.code,
            self.tests,
            "\n".join(self.requirements),
            as_json(self.input_schema, ordered=True),
            as_json(self.output_schema, ordered=True),
            as_json(self.capabilities, ordered=True),
            *(() if self.language == "python" else (self.language,)),
        )
        return DraftDigest(digest)


class Provided(Value, frozen=True):
    """The names under which an installed distribution can be imported, from the metadata of its wheel."""

    distribution: str
    """Its normalised name (PEP 503)."""
    modules: tuple[str, ...]


class LockedPackage(Value, frozen=True):
    """One wheel or npm package that a requirement was resolved to."""

    name: str
    """`npm:NAME` for an npm package."""
    version: str
    hashes: tuple[str, ...] = ()
    """As `sha256:hex`; for npm as `sha512-base64`, the integrity of the tarball."""
    uploaded: str = ""
    """Upload time (ISO 8601) according to the index; empty if unknown."""
    size: int = 0
    """Size of the wheel in bytes; 0 if unknown."""
    direct: bool = False
    """True if the draft names it, False if another package requires it."""
    place: str = ""
    """Path of an npm package, as `node_modules/a/node_modules/b`; empty for a wheel."""
    needs: tuple[str, ...] = ()
    """Dependencies of an npm package, as `NAME@SPEC`, sorted, without optional ones."""
    deprecated: str = ""
    """The deprecation message of an npm package, by its authors."""

    @property
    def label(self) -> str:
        """Its name, with the version for npm, where one lock can hold two versions."""
        return f"{self.name}@{self.version}" if self.place else self.name


class Lock(Value, frozen=True):
    """Requirements resolved to exact, hashed packages. Its digest names an environment."""

    requirements: tuple[str, ...] = ()
    packages: tuple[LockedPackage, ...] = ()
    python: str = ""
    """The Python that the wheels are for, for example `3.12`."""
    platform: str = ""
    """The platform as uv names it, for example `x86_64-manylinux_2_36`."""

    @property
    def listing(self) -> str:
        """The `requirements.txt` that is installed: exact versions with their hashes."""
        entries = (
            " ".join(
                (f"{package.name}=={package.version}", *(f"--hash={digest}" for digest in package.hashes))
            )
            for package in self.packages
            if not package.place
        )
        return "".join(f"{entry}\n" for entry in entries)

    @property
    def npm(self) -> tuple[LockedPackage, ...]:
        """The npm packages."""
        return tuple(package for package in self.packages if package.place)

    @property
    def npm_listing(self) -> str:
        """The npm packages, one per line, each with path, version, integrity and dependencies."""
        return "".join(
            f"{' '.join((package.place, f'{package.name}@{package.version}', *package.hashes))}"
            f"{''.join(f' ({need})' for need in package.needs)}\n"
            for package in self.npm
        )

    @property
    def wheels(self) -> Lock:
        """The lock without the npm packages."""
        if not self.npm:
            return self
        return Lock(
            requirements=tuple(
                requirement for requirement in self.requirements if not requirement.startswith("npm:")
            ),
            packages=tuple(package for package in self.packages if not package.place),
            python=self.python,
            platform=self.platform,
        )

    @property
    def digest(self) -> str:
        """Content address of the environment: SHA-256 (hex). Empty for no packages."""
        npm = self.npm_listing
        parts = (self.listing, self.python, self.platform, *((npm,) if npm else ()))
        return digest_of(*parts) if self.packages else ""


def build_digest(draft: ToolDraft, lock: Lock) -> BuildDigest:
    """Return the SHA-256 (hex) over everything that an approval covers: the draft and its locked packages.

    A draft without requirements has its own digest.
    """
    return BuildDigest(digest_of(draft.digest, lock.digest) if lock.digest else draft.digest)


class TestCase(Value, frozen=True):
    """The result of one self-test in the sandbox."""

    __test__ = False  # pytest would collect it

    name: str
    passed: bool
    message: str = ""
    """The traceback of a failure."""
    duration_ms: float = 0.0
    calls: int | None = None
    """How often it called the tool; None in older records."""


LimitHit = Literal["wall", "cpu", "memory", "output", "result", "files", "processes", "inodes"]


class LeftFile(Value, frozen=True):
    """A file that a run left in its current folder."""

    name: str
    """Its path below that folder, as the tool chose it."""
    size: int


class RunReport(Value, frozen=True):
    """The report of one run in the sandbox, made by the host."""

    status: Literal["ok", "error", "exit", "timeout", "limit", "killed", "bad_result"]
    """`error`: the code raised. `exit`: it ended without a result. `killed`: it was interrupted."""
    exit_code: int | None = None
    signal: int | None = None
    """The signal that ended it."""
    result: Json = None
    """The result of `run`; None unless the status is `ok`."""
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
    files: tuple[LeftFile, ...] = ()
    """The files that the run left in its current folder and that were taken out of the container."""
    result_handle: str = ""
    """The artefact with the result, if that is too large to be recorded here; `result` is its outline then."""
    files_lost: str = ""
    """Why some of the files that it left were lost; empty if none was."""

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


class Twin(Value, frozen=True):
    """A version of a library tool that gives the same answers as a draft."""

    name: ToolName
    version: int
    digest: BuildDigest

    @property
    def label(self) -> str:
        """As people write it."""
        return f"{self.name} v{self.version}"


class FileUse(Value, frozen=True):
    """A file that a call may read."""

    handle: str
    digest: str
    name: str


class ToolCalled(Fact, frozen=True):
    """A tool is called. This is on disk before it runs."""

    call_id: CallId
    action_id: str
    name: ToolName
    version: int
    digest: BuildDigest
    arguments: Json
    alias: str = ""
    """The other name that it was called by; empty for its own."""
    label: str = ""
    """The agent's name for the result; empty for the tool's name."""
    files: tuple[FileUse, ...] = ()
    """The artefacts that it may read, in the order of their paths."""
    references: tuple[str, ...] = ()
    """The references in its arguments, as written: `e41#/rows/0`. The recorded arguments contain them unresolved."""
    tools: tuple[str, ...] = ()
    """The tools that this run was granted to call, as in `Capabilities.tools`."""
    caller: str = ""
    """The running call of the tool that made this call; empty for the agent's own calls."""
    depth: int = 0
    """Nesting depth of the call; 0 for the agent's own calls."""
    server: str = ""
    """The MCP server of the tool; empty for a tool with code."""


class OutputChunk(Transient, frozen=True):
    """A piece of the output of a run in the sandbox."""

    run_id: str
    """A call id or a build id."""
    title: str
    stream: Literal["stdout", "stderr"]
    text: str


class ToolReturned(Fact, frozen=True):
    """A called tool returned a result."""

    call_id: CallId
    report: RunReport
    depth: int = 0
    """As in `ToolCalled`."""
    misfit: str = ""
    """Why the result does not fit the tool's output schema, in one line; empty if it does."""


FailureReason = Literal["error", "exit", "timeout", "limit", "killed", "bad_result", "interrupted", "sandbox"]


class ToolFailed(Fact, frozen=True):
    """A called tool failed, or could not run."""

    call_id: CallId
    reason: FailureReason
    text: str
    hint: str = ""
    report: RunReport | None = None
    depth: int = 0
    """As in `ToolCalled`."""
