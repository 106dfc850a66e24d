"""Smaller arguments of the same kind, to show a fault with its simplest input. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.events import Json, ToolDraft
from alita_tui.toolsmith.checks.probes import Fit

_MOST = 40


def smaller(arguments: dict[str, Json], draft: ToolDraft) -> list[dict[str, Json]]:
    """Return arguments that fit the schema and have one part made smaller, smallest first."""
    fit = Fit(draft.input_schema)
    found: list[dict[str, Json]] = []
    for name, value in arguments.items():
        rest = {key: one for key, one in arguments.items() if key != name}
        for one in (rest, *({**arguments, name: less} for less in _less(value))):
            if one not in found and one != arguments and fit(one):
                found.append(one)
    return sorted(found, key=lambda one: len(str(one)))[:_MOST]


def _less(value: Json) -> Iterator[Json]:
    match value:
        case bool():
            return
        case int() | float():
            yield from (one for one in (0, 1, int(value), value // 2, -value) if abs(one) <= abs(value))
        case str() | list():
            half = len(value) // 2
            yield from (value[:0], value[:1], value[:half], value[half:], value[1:], value[:-1])
            if isinstance(value, list):
                for n, one in enumerate(value[:4]):
                    yield from ([*value[:n], less, *value[n + 1 :]] for less in _less(one))
        case dict():
            yield from ({key: one for key, one in value.items() if key != gone} for gone in value)
            for key, one in value.items():
                yield from ({**value, key: less} for less in _less(one))
        case _:
            return
