"""The one error tree. A message says what happened and where; the hint says what to do.

AlitaError
├── UsageError              bad input from the person at the keyboard
│   └── ConfigError         a setting is missing, unknown or wrong
├── StoreError              a file could not be read or written
│   └── StoreLocked         another process has it open
├── SandboxUnavailable      no sandbox, so nothing can run
├── RequirementsError       a tool's requirements cannot be resolved or installed
├── RegistryError           no such tool, or a tool that may not run
│   └── DigestMismatch      the bytes are not the approved ones
├── CallRefused             a tool may not call another tool, or that tool gave no result
├── WebError                a page or a search did not answer
│   └── AddressRefused      a private address that the settings do not list
├── BudgetExceeded          the next call could break a cap
├── ApprovalPending         a build waits for a verdict and no person is attached to give it
└── ModelError              a model call that gave no usable reply (see `ModelErrorKind`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `--version` and `--help` need no event
    from alita_tui.events.model import ModelErrorKind


class AlitaError(Exception):
    """Base of every error that a person may see."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        """What happened, and where."""
        self.hint = hint
        """What to do about it; empty if nothing can be done."""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(AlitaError):
    """The person asked for something that cannot be done as asked."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is missing, unknown or wrong."""


class StoreError(AlitaError):
    """A file of alita could not be read or written."""


class StoreLocked(StoreError):
    """Another process has the file open for writing."""


class SandboxUnavailable(AlitaError):
    """There is no sandbox, so nothing can run; never used for a tool's failure."""

    exit_code = 6


class NotAllowedHere(SandboxUnavailable):
    """There is a sandbox, and the person's settings do not allow this tool in it."""


class RequirementsError(AlitaError):
    """A tool's requirements cannot be resolved or installed as wheels."""


class IndexUnreachable(RequirementsError):
    """The package index did not answer, and the wheels are not cached: not the tool's fault."""


class RegistryError(AlitaError):
    """No such tool, or a tool that may not run."""


class DigestMismatch(RegistryError):
    """The bytes on disk are not the bytes that were approved."""


class CallRefused(AlitaError):
    """A running tool called another tool, which it may not call or which gave no result."""

    def __init__(self, message: str, *, status: int = 403, failed: bool = False) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status that the tool gets."""
        self.failed = failed
        """True if the call was allowed and gave no result."""


class WebError(AlitaError):
    """A search or a page did not answer."""


class AddressRefused(WebError):
    """The address is private, and the settings do not list it."""


class BudgetExceeded(AlitaError):
    """The next call could break a cap, so it is not sent."""

    exit_code = 3


class BuildSpent(BudgetExceeded):
    """The next call could break its build's cap; the task continues."""


class ApprovalPending(AlitaError):  # a state rather than a fault
    """A build waits for a verdict, or a question for its answer, and no person is attached to give it."""

    exit_code = 4


class ModelError(AlitaError):
    """A model call that gave no usable reply."""

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        window: int = 0,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status = status
        """HTTP status, where one was received."""
        self.retry_after = retry_after
        """Seconds that the server asked to wait."""
        self.window = window
        """Tokens that the model reads and writes at most, where its server named them; 0: unknown."""
