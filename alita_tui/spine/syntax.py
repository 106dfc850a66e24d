"""Python's parser, safe to call from any thread."""

from __future__ import annotations

import ast
import threading
import warnings
from contextlib import suppress

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What text that is no Python makes the parser raise."""
PARSER = threading.Lock()
"""Held by whoever parses: CPython before 3.11.8 counts the depth of all threads' trees together and fails at
random (python/cpython#106905), and the filter of warnings belongs to the whole process."""

_AGAIN = 5


def parse(text: str) -> ast.Module:
    """Return the tree of a module without printing the parser's warnings. Raise one of UNPARSABLE."""
    with PARSER, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_AGAIN):
            with suppress(SystemError):  # another library parsed in another thread at the same time
                return ast.parse(text)
        return ast.parse(text)
