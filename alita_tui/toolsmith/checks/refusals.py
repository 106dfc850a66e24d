"""Is an exception a refusal that the contract may want, or a crash?"""

from __future__ import annotations

import re
from typing import Any

from alita_tui.events import ToolDraft

_CRASHES = frozenset({
    "ArithmeticError", "AssertionError", "AttributeError", "BaseExceptionGroup", "GeneratorExit", "ImportError",
    "KeyboardInterrupt", "MemoryError", "ModuleNotFoundError", "NameError", "NotImplementedError", "RecursionError",
    "StopAsyncIteration", "StopIteration", "SystemError", "SystemExit", "UnboundLocalError", "ZeroDivisionError",
    "FloatingPointError", "error",
})  # fmt: skip
"""Exceptions that nobody raises to refuse an argument; `error` is that of `struct`."""
_SUSPECT = frozenset({"TypeError", "IndexError", "RuntimeError"})
"""Raised to refuse an argument as well as by code that meets an unexpected value: their text decides."""
_INTERPRETER = re.compile(
    r"index out of range|pop from (an )?empty|dictionary changed size|generator raised StopIteration|"
    r"object is not (subscriptable|iterable|callable|an iterator|reversible)|"
    r"unsupported operand|bad operand type|not supported between instances|can only concatenate|"
    r"can't multiply sequence|object (does not support|has no len|cannot be interpreted)|cannot unpack non-iterable|"
    r"(missing|takes) .*positional argument|unexpected keyword argument|unhashable type|is not iterable|"
    r"indices must be|must be (a )?(str|real number|int|number|string|bytes)\b.*, not |expected .+ instance, \w+ found|"
    r"argument must be .*, not |expected string or bytes-like object|doesn't define __|takes exactly"
)
"""Texts of the interpreter's own exceptions."""


def refused(answer: dict[str, Any], draft: ToolDraft) -> bool:
    """Return True if a tool refused its arguments: by an exception meant for that, or one its description names.

    `answer` comes from `Workbench.outputs`. A timeout, an ended process and a result that is not JSON are not
    refusals.
    """
    error = str(answer.get("error") or "")
    if not error or "result" in answer or answer.get("unfit") or error in ("timeout", "ended", "flood"):
        return False
    if named(error, draft):
        return True
    if error in _CRASHES:
        return False
    return not (error in _SUSPECT and _INTERPRETER.search(str(answer.get("text", ""))))


def named(error: str, draft: ToolDraft) -> bool:
    """Return True if the description says that this exception is raised."""
    return re.search(rf"\b{re.escape(error)}\b", draft.description) is not None
