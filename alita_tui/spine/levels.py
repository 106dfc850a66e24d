"""How deeply JSON from outside may be nested: what walks through a value later calls itself for each level."""

from __future__ import annotations

import msgspec

from alita_tui.events import Json

DEEPEST = 100
"""Most levels of lists and objects in arguments of a call, in a value of a file and in a server's result."""


def levels(value: Json) -> int:
    """Return how many levels a value has: 1 for a text or a number, 2 for a list of texts."""
    deepest, pending = 0, [(value, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        if isinstance(node, dict | list):
            pending += [(inner, level + 1) for inner in (node.values() if isinstance(node, dict) else node)]
    return deepest


def shallow_json(raw: bytes | str) -> Json:
    """Return JSON of at most `DEEPEST` levels. Raises ValueError for other JSON and for what is none."""
    try:
        value: Json = msgspec.json.decode(raw)
    except RecursionError:
        raise ValueError(too_deep()) from None
    if levels(value) > DEEPEST:
        raise ValueError(too_deep())
    return value


def too_deep() -> str:
    """Return what is wrong with a value of more levels."""
    return f"it is nested more than {DEEPEST} levels deep"
