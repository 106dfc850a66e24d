"""What alita has to know about a language to build tools in it. Each folder beside this file is one language.

Tests are Python for every language: they run in a process of their own and see only `run`, so judge and judged share
nothing, and a tool that is rewritten in another language has to pass the same tests.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from alita_tui.events import Json, ToolDraft, Value
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.places import Instrumented
from alita_tui.spine.errors import AlitaError

LARGEST_TEXT = 200_000
"""Bytes (UTF-8) of the code, and of the tests."""


class ContractError(AlitaError):
    """A draft that violates the contract; every problem is described so that the model can correct it."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Start(Value, frozen=True):
    """How the warden starts a tool in another language than Python: as a program, confined like any tool."""

    argv: tuple[str, ...]
    """`{name}` is the tool's. The code is read from descriptor 5."""
    env: tuple[tuple[str, str], ...] = ()
    persistent: bool = False
    """Whether one process answers all calls, with a line of JSON each on descriptor 4; otherwise each call has a
    process that reads the arguments from stdin and writes the result to stdout. A persistent process is started before
    there is a tool: it writes `.` to descriptor 4, then reads the path of its file, a line end and the code."""
    reserved_bytes: int = 0
    """Address space that it reserves and does not use."""


class Constant(NamedTuple):
    """A literal value in code."""

    line: int
    value: Json
    refuses: bool = False
    """True if it is part of an error message."""


class Mutant(NamedTuple):
    """One wrong version of the code."""

    line: int
    change: str
    """For example `< became >=`."""
    code: str


class Lint(NamedTuple):
    """A linter: a program that runs in the sandbox and reads the code, which is not run."""

    title: str
    needs: tuple[str, ...]
    """Requirements (PEP 508) with the program."""
    script: str
    """Python that reads `{"text": ...}` from stdin and writes the program's answer to stdout."""
    question: Callable[[str], str]
    """Returns the code in the form in which the program gets it."""
    note: Callable[[Notes, str], None]
    """Adds the findings of the answer. Raises ValueError for an answer that cannot be read."""


class Runtime(Protocol):
    """One language."""

    @property
    def language(self) -> str:
        """Its name in drafts."""

    @property
    def title(self) -> str:
        """Its name for people."""

    @property
    def suffix(self) -> str:
        """What its files end with, such as `.py`."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Requirements (PEP 508) that every tool of it is locked with, such as its interpreter."""

    @property
    def packages(self) -> str:
        """What a requirement of a tool has to be, in words; empty where tools have none."""

    def requirement(self, text: str) -> str | None:
        """Return a requirement as it is recorded; None for an invalid one."""

    @property
    def start(self) -> Start | None:
        """How it is started; None: it runs in the warden's own Python."""

    @property
    def prompt(self) -> str:
        """Instructions for a model that writes tools in it, besides those for every tool."""

    @property
    def outside(self) -> str:
        """The command that runs a tool's file outside of alita."""

    @property
    def outside_needs(self) -> str:
        """What that command needs, in words."""

    @property
    def outside_start(self) -> Start | None:
        """How a server without alita starts a tool's file; None: in its own Python.

        `{file}` is the file, `{python}` the server's interpreter, `{scripts}` and `{packages}` are the folders with the
        programs and the modules of the packages that it was approved with; `{memory_mb}` is the limit on its memory.
        """

    @property
    def outside_missing(self) -> str:
        """What that server has to find on its machine, as its packages do not bring it; empty for nothing."""

    @property
    def lint(self) -> Lint | None:
        """A linter of the code; None if there is none."""

    def completed(self, draft: ToolDraft) -> str:
        """Return the code in its portable form; idempotent."""

    def review(self, notes: Notes, draft: ToolDraft, tests: ast.Module | None) -> tuple[str, ...]:
        """Add the findings about a draft's code; return the modules that it imports, sorted."""

    def uses(self, draft: ToolDraft) -> Notes:
        """Return findings about what the code accesses beyond the draft's capabilities."""

    def texts(self, code: str) -> Iterator[tuple[int, str]]:
        """Yield the comments and texts of the code, with their lines."""

    def constants(self, code: str, task: frozenset[str] | None = None) -> list[Constant]:
        """Return the literal values in the code; with the texts of a task, without tables and default values."""

    def parameters(self, draft: ToolDraft) -> list[str]:
        """Return the parameters of `run` that can be given by position."""

    def instrumented(self, code: str) -> Instrumented:
        """Return code that reports which places it passes. Raises one of `spine.syntax.UNPARSABLE`."""

    def mutants(self, code: str, most: int) -> list[Mutant]:
        """Return wrong versions spread over the code, the same for the same code."""

    def disguised(self, code: str) -> str:
        """Return the same program written differently."""


def with_line_feeds(text: str) -> str:
    """Return the text with line ends as Python reads them: a lone carriage return ends a line too."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
