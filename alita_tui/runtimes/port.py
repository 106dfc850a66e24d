"""What alita has to know of a language to build tools in it. One folder beside this file is one language.

Tests are Python for every language: they run in a process of their own and see `run` alone, so judge and judged share
nothing, and a tool that is written anew in another language is held to the tests of the one before.
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
    """A draft that does not meet the contract; every problem in words that the model can act on."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Start(Value, frozen=True):
    """How the warden starts a tool whose language is not its own: a program, confined as any tool is."""

    argv: tuple[str, ...]
    """`{name}` is the tool's. The code is read from descriptor 5."""
    env: tuple[tuple[str, str], ...] = ()
    kept: bool = False
    """Whether one process answers call after call, a line of JSON each on descriptor 4; otherwise each call is a
    process that reads the arguments from stdin and writes the result to stdout. One that is kept is started before
    there is a tool: it writes `.` to descriptor 4, then reads the path of its file, a line end and the code."""
    reserved_bytes: int = 0
    """Address space that it reserves and does not use."""


class Constant(NamedTuple):
    """A value that is written into code."""

    line: int
    value: Json
    refuses: bool = False
    """True if it stands in the message of an error."""


class Mutant(NamedTuple):
    """One wrong version."""

    line: int
    change: str
    """For example `< became >=`."""
    code: str


class Lint(NamedTuple):
    """A program that reads code and says what is doubtful in it; it runs in the sandbox, the code does not."""

    title: str
    needs: tuple[str, ...]
    """Requirements (PEP 508) with the program."""
    script: str
    """Python that reads `{"text": ...}` from stdin and writes the program's answer to stdout."""
    question: Callable[[str], str]
    """Returns the code as the program is given it."""
    note: Callable[[Notes, str], None]
    """Notes what the answer says. Raises ValueError for one that cannot be read."""


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
        """What a requirement of a tool has to be, in words; empty where tools of it have none."""

    def requirement(self, text: str) -> str | None:
        """Return a requirement as it is kept; None for what is none."""

    @property
    def start(self) -> Start | None:
        """How it is started; None: it runs in the warden's own Python."""

    @property
    def prompt(self) -> str:
        """What a model is told of writing tools in it, besides what holds for every tool."""

    @property
    def outside(self) -> str:
        """The command that runs a tool's file outside of alita."""

    @property
    def outside_needs(self) -> str:
        """What has to be there for that, in words."""

    @property
    def lint(self) -> Lint | None:
        """What else reads the code; None: nothing does."""

    def completed(self, draft: ToolDraft) -> str:
        """Return the code in its portable form; idempotent."""

    def review(self, notes: Notes, draft: ToolDraft, tests: ast.Module | None) -> tuple[str, ...]:
        """Note what is to be said of a draft's code; return the modules or programs that it uses, sorted."""

    def uses(self, draft: ToolDraft) -> Notes:
        """Return what the code reaches for beyond the draft's capabilities, as the findings of a review."""

    def texts(self, code: str) -> Iterator[tuple[int, str]]:
        """Yield what can be read in the code: its comments and texts, with their lines."""

    def constants(self, code: str, task: frozenset[str] | None = None) -> list[Constant]:
        """Return the values that the code is written with; with the texts of a task, less what is a table's own or the
        default of a parameter.
        """

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
