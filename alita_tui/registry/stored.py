"""Reads what the registry's documents hold: values of several kinds, and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TypeVar

import msgspec

from alita_tui.events import Json, ready

T = TypeVar("T")


def stored(documents: Iterable[Json], key: str, kind: type[T]) -> Iterator[T]:
    """Yield the values that documents have under a key; those that cannot be read are skipped."""
    for document in documents:
        if not isinstance(document, dict) or key not in document:
            continue
        try:
            yield msgspec.convert(document[key], ready(kind))
        except msgspec.ValidationError:
            continue


def parsed_time(text: str, otherwise: datetime) -> datetime:
    """Return a stored time; `otherwise` if it cannot be read. A time without a zone has that of `otherwise`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    return moment if moment.tzinfo else moment.replace(tzinfo=otherwise.tzinfo)
