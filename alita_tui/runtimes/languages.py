"""The languages that tools are written in, each behind one port (`port.py`): one folder for each."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from alita_tui.spine.errors import UsageError

if TYPE_CHECKING:
    from alita_tui.runtimes.port import Runtime

_WHERE = {
    "python": ("python.runtime", "Python"),
    "bash": ("bash.runtime", "Bash"),
    "javascript": ("node.runtime", "JavaScript"),
    "typescript": ("node.runtime", "TypeScript"),
}
LANGUAGES = tuple(_WHERE)
"""Every language, by its name in drafts."""


def title_of(language: str) -> str:
    """Return the name of a language for people; that in drafts where this version does not know it."""
    return runtime_of(language).title if language in _WHERE else language


@cache
def runtime_of(language: str) -> Runtime:
    """Return the runtime of a language. Raises UsageError for one that this version does not know."""
    if language not in _WHERE:
        raise UsageError(
            f"This version of alita knows no tools in {language[:40]!r}.",
            hint=f"It knows {', '.join(LANGUAGES)}.",
        )
    module, name = _WHERE[language]
    runtime: Runtime = getattr(import_module(f"{__package__}.{module}"), name)()
    return runtime


def runtime_called(name: str) -> Runtime:
    """Return the runtime of a language, or of the first that a program runs, as `node`. Raises UsageError."""
    named = (language for language in _WHERE if name == runtime_of(language).outside)
    return runtime_of(name if name in _WHERE else next(named, name))
