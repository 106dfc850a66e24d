"""The languages that tools are written in, each behind one port (`port.py`): one folder for each."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from alita_tui.spine.errors import UsageError

if TYPE_CHECKING:
    from alita_tui.runtimes.port import Runtime

_RUNTIMES = {
    "python": ("python.runtime", "Python"),
    "bash": ("bash.runtime", "Bash"),
    "javascript": ("node.runtime", "JavaScript"),
    "typescript": ("node.runtime", "TypeScript"),
}
LANGUAGES = tuple(_RUNTIMES)
"""Every language, by its name in drafts."""


def title_of(language: str) -> str:
    """Return the title of a language; its name in drafts if this version does not know it."""
    return runtime_of(language).title if language in _RUNTIMES else language


@cache
def runtime_of(language: str) -> Runtime:
    """Return the runtime of a language. Raises UsageError for one that this version does not know."""
    if language not in _RUNTIMES:
        raise UsageError(
            f"This version of alita knows no tools in {language[:40]!r}.",
            hint=f"It knows {', '.join(LANGUAGES)}.",
        )
    module, name = _RUNTIMES[language]
    runtime: Runtime = getattr(import_module(f"{__package__}.{module}"), name)()
    return runtime


def not_allowed(language: str, allowed: Collection[str]) -> tuple[str, str]:
    """Return why tools in a language do not run where these are allowed, and what to do; empty if they run.

    Python always runs: alita's own checks are written in it.
    """
    if language in allowed or (language in _RUNTIMES and runtime_of(language).start is None):
        return "", ""
    return (
        f"Tools in {title_of(language)} are not allowed here.",
        f"`sandbox.languages` would have to list {language}.",
    )


def runtime_called(name: str) -> Runtime:
    """Return the runtime of a language, or the first that runs with a program such as `node`. Raise UsageError."""
    named = (language for language in _RUNTIMES if name == runtime_of(language).outside)
    return runtime_of(name if name in _RUNTIMES else next(named, name))
