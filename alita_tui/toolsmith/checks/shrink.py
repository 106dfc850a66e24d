"""Smaller arguments of the same kind, to show a fault with its simplest input. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.events import Json, ToolDraft
from alita_tui.toolsmith.checks.probes import Fit

_MOST = 40


def smaller(arguments: dict[str, Json], draft: ToolDraft) -> list[dict[str, Json]]:
    """Return arguments that fit the schema and have one part made smaller, smallest first."""
    fit = Fit(draft.input_schema)
    candidates: list[dict[str, Json]] = []
    for name, value in arguments.items():
        remaining = {key: item for key, item in arguments.items() if key != name}
        for candidate in (remaining, *({**arguments, name: less} for less in _less(value))):
            if candidate not in candidates and candidate != arguments and fit(candidate):
                candidates.append(candidate)
    return sorted(candidates, key=lambda smaller_arguments: len(str(smaller_arguments)))[:_MOST]


def _less(value: Json) -> Iterator[Json]:
    match value:
        case bool():
            return
        case int() | float():
            yield from (
                number for number in (0, 1, int(value), value // 2, -value) if abs(number) <= abs(value)
            )
        case str() | list():
            half = len(value) // 2
            yield from (value[:0], value[:1], value[:half], value[half:], value[1:], value[:-1])
            if isinstance(value, list):
                for n, item in enumerate(value[:4]):
                    yield from ([*value[:n], less, *value[n + 1 :]] for less in _less(item))
        case dict():
            yield from ({key: item for key, item in value.items() if key != removed} for removed in value)
            for key, item in value.items():
                yield from ({**value, key: less} for less in _less(item))
        case _:
            return
