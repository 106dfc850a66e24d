"""Is an exception a refusal, as a contract may want it, or a crash?"""

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
"""Exceptions that nobody raises to decline an argument; `error` is that of `struct`."""
_SUSPECT = frozenset({"TypeError", "IndexError", "RuntimeError"})
"""Raised to decline as well as by code that meets a value it was not written for: what they say tells."""
_INTERPRETER = re.compile(
    r"index out of range|pop from (an )?empty|dictionary changed size|generator raised StopIteration|"
    r"object is not (subscriptable|iterable|callable|an iterator|reversible)|"
    r"unsupported operand|bad operand type|not supported between instances|can only concatenate|"
    r"can't multiply sequence|object (does not support|has no len|cannot be interpreted)|cannot unpack non-iterable|"
    r"(missing|takes) .*positional argument|unexpected keyword argument|unhashable type|is not iterable|"
    r"indices must be|must be (a )?(str|real number|int|number|string|bytes)\b.*, not |expected .+ instance, \w+ found|"
    r"argument must be .*, not |expected string or bytes-like object|doesn't define __|takes exactly"
)
"""What Python itself says then."""


def refused(answer: dict[str, Any], draft: ToolDraft) -> bool:
    """True where a tool declined its arguments: by an exception made for that, or by one its own texts name.

    `answer` is one of `Workbench.outputs`. No end, an ended process and a result that is no JSON are no refusals.
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
    """True where the description says that this exception is raised."""
    return re.search(rf"\b{re.escape(error)}\b", draft.description) is not None
