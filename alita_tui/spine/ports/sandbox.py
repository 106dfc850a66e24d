"""The sandbox: jobs, limits, runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from alita_tui.events.base import Json, Value
from alita_tui.events.session import SandboxStatus
from alita_tui.events.tool import Capabilities, Lock, RunReport
from alita_tui.spine.judge_plan import Plan
from alita_tui.spine.ports.stream import Progress


class Limits(Value, frozen=True):
    """Limits of one run."""

    wall_seconds: float = 20.0
    cpu_seconds: float = 40.0
    """Processor time of one process, over all of its threads."""
    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 64
    output_bytes: int = 256 * 1024
    """Bytes that are recorded of each of stdout and stderr; a run that prints 64 times as much is ended."""
    result_bytes: int = 1024 * 1024
    file_bytes: int = 16 * 1024 * 1024
    scratch_bytes: int = 32 * 1024 * 1024
    reserved_bytes: int = 0
    """Address space that the language's runtime reserves and does not use, on top of the memory."""


class InputFile(Value, frozen=True):
    """A file that a run may read."""

    path: str
    """Path on this machine."""
    name: str
    """Name in the container, in a folder of its own; without a slash."""


class Job(Value, frozen=True):
    """One run of one tool's code, in a fresh container unless its digest is approved."""

    run_id: str
    """Labels the container; output chunks carry it."""
    module: str
    """Snake-case name of the tool."""
    code: str
    language: str = "python"
    """Language of the code, one of `runtimes`."""
    parameters: tuple[str, ...] = ()
    """For `test` and `judge` jobs: names of the parameters by position, in a language whose code does not name them."""
    tests: str = ""
    """For `test` jobs: the module with the `test_*` functions."""
    kind: Literal["run", "test", "script", "judge"] = "run"
    """`run` calls the tool; `test` runs its tests; `judge` carries out `plan`.

    `script` runs the file as `__main__`, or by its `#!` line, and is ok if it exits with 0.
    """
    plan: Plan | None = None
    """For `judge` jobs: the pieces of work on the draft; the result has an entry for each."""
    arguments: Json = None
    """For `run` jobs: keyword arguments of `run`. For scripts: the standard input, as JSON."""
    lock: Lock = Lock()
    digest: str = ""
    """Digest of an approved build, whose calls in a session may share a container. Empty: a fresh container."""
    limits: Limits = Limits()
    capabilities: Capabilities = Capabilities()
    """What the run may use: approved with its digest, or granted by a person to a draft's tests; nothing by default."""
    remote: bool = False
    """True for a tool of an MCP server: the code is its pinned descriptor (`spine.servers`), and the server runs it."""
    inputs: tuple[InputFile, ...] = ()
    """Files of this call, mounted read-only; the n-th is at `input_path(n, name)`."""
    outputs: str = ""
    """Folder of this machine for the files that a `run` leaves; the n-th is called `n`. Empty: they are discarded."""
    scratch: Mapping[str, bytes] | None = None
    """For `test` and `judge` jobs: files of a workspace for this run alone; `capabilities` give access to it instead of
    the person's. One entry may hold the canned answers of hosts (`spine.trials.ANSWERS`).
    """


class Tree(Value, frozen=True):
    """A folder of this machine with a program's files, identified by its content."""

    path: str
    digest: str
    """Its `tree_digest`; any other content is refused."""


class Program(Value, frozen=True):
    """A program that runs in a container of its own and communicates over stdin and stdout: an MCP server."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    lock: Lock = Lock()
    """Wheels, at `/env`."""
    tree: Tree | None = None
    """Files, at `/env/app`."""
    limits: Limits = Limits(cpu_seconds=3600.0)
    """The processor time is for its whole lifetime; there is no limit on the wall clock."""
    capabilities: Capabilities = Capabilities()
    """Its grants while a call runs."""


class RunningProgram(Protocol):
    """A program in its container."""

    @property
    def ended(self) -> str:
        """The reason why it ended, in one line; empty while it runs."""

    @property
    def stderr_tail(self) -> bytes | bytearray:
        """The end of what it wrote to stderr."""

    async def read(self) -> bytes:
        """Return some bytes of its stdout; none at the end."""

    async def write(self, data: bytes) -> None:
        """Write to its stdin, waiting until it is taken. Raise ConnectionError if it has ended."""

    def begin(self, call_id: str) -> None:
        """Open its grants for this call."""

    async def finish(self) -> None:
        """Withdraw the grants: its requests are refused and its connections closed."""

    async def close(self) -> None:
        """End everything in its container."""


class Programs(Protocol):
    """Starts programs in containers. Implemented by `sandbox`."""

    async def lock(self, requirements: Sequence[str], progress: Progress) -> Lock:
        """Return the lock of requirements, resolved to hashed wheels on the host. Raise RequirementsError."""

    async def open_program(self, program: Program, progress: Progress) -> RunningProgram:
        """Start a program and return it.

        Raise SandboxUnavailable, RequirementsError, UsageError for files that changed.
        """


def input_path(number: int, name: str) -> str:
    """Return where a job's input file is in its container."""
    return f"/in/{number}/{name}"


class ToolCaller(Protocol):
    """Runs approved tools for running ones. Implemented by `agent`."""

    async def call(self, caller: str, name: str, arguments: Json) -> Json:
        """Run a tool that the running job `caller` is granted to call; return its result.

        Raise CallRefused, SandboxUnavailable, StoreError. Cancelling it ends the run.
        """


OnOutput = Callable[[Literal["stdout", "stderr"], str], None]
"""Called on the event loop with decoded pieces, at most about 30 times a second."""


class Sandbox(Protocol):
    """Runs generated code in confined containers. Implemented by `sandbox`."""

    async def status(self) -> SandboxStatus:
        """Return the state of the engine, and how each limit is enforced; never raises."""

    async def prepare(self, progress: Progress) -> None:
        """Make sure that engine and base image are present, building what is missing. Raise SandboxUnavailable."""

    async def lock(self, requirements: Sequence[str], progress: Progress, *, browser: bool = False) -> Lock:
        """Return the lock of requirements, resolved to hashed wheels on the host.

        None of their code runs. Raise RequirementsError.

        With `browser` for tools with that capability, which have another image.
        """

    async def run(self, job: Job, on_output: OnOutput, progress: Progress) -> RunReport:
        """Run a job in a fresh container and return the report, also if the tool fails.

        Raise SandboxUnavailable, RequirementsError. Cancelling it ends everything inside.
        """

    async def close(self) -> None:
        """End everything that runs, and the engine's service."""
