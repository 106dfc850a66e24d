"""Tells an exception that refuses an argument, as a contract may demand, from a crash."""

from __future__ import annotations

import re
from typing import Any

from alita_tui.events import ToolDraft
from alita_tui.runtimes.rules import rule

_CRASHES = frozenset({
    "ArithmeticError", "AssertionError", "AttributeError", "BaseExceptionGroup", "GeneratorExit", "ImportError",
    "KeyboardInterrupt", "MemoryError", "ModuleNotFoundError", "NameError", "NotImplementedError", "RecursionError",
    "StopAsyncIteration", "StopIteration", "SystemError", "SystemExit", "UnboundLocalError", "ZeroDivisionError",
    "FloatingPointError", "error", "ExitStatus", "Signal", "ReferenceError", "Thrown",
})  # fmt: skip
"""Exceptions that are not raised on purpose to refuse an argument; `error` is that of `struct`."""
_SUSPECT = frozenset({"TypeError", "IndexError", "RuntimeError"})
"""Exceptions that may refuse an argument or be a fault in the code: their text decides."""


def refused(answer: dict[str, Any], draft: ToolDraft) -> bool:
    """Return True if a tool refused its arguments: by an exception meant for that, or one its description names.

    `answer` comes from `Workbench.outputs`. A timeout, an ended process and a result that is not JSON are not
    refusals.
    """
    error = str(answer.get("error") or "")
    if not error or "result" in answer or answer.get("unfit") or error in ("timeout", "ended", "flood"):
        return False
    if named_in_description(error, draft):
        return True
    if error in _CRASHES:
        return False
    return not (error in _SUSPECT and rule("errors", "interpreter").search(str(answer.get("text", ""))))


def named_in_description(error: str, draft: ToolDraft) -> bool:
    """Return True if the description mentions this exception."""
    return re.search(rf"\b{re.escape(error)}\b", draft.description) is not None
