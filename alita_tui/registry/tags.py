"""Words that the person gives tools, to find them by and to choose what is served. They approve nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from alita_tui.events import Value
from alita_tui.registry.stored import stored
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.text import one_line

_TAG = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_MOST = 12
"""Tags of one tool."""


class Tagged(Value, frozen=True):
    """The tags of one tool, all its versions."""

    name: str
    tags: tuple[str, ...]
    """Sorted, without the `#`."""


class Tags:
    """The tags in the registry's documents."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def all(self) -> dict[str, tuple[str, ...]]:
        """Return the tags of every tool that has some."""
        all_tagged = stored(self._documents.all(), "tagged", Tagged)
        return {tagged.name: tagged.tags for tagged in all_tagged if tagged.tags}

    def of(self, name: str) -> tuple[str, ...]:
        """Return the tags of a tool, sorted."""
        return self.all().get(name, ())

    def change(self, name: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
        """Add and remove tags, and return those that are left. Raises UsageError, StoreError."""
        added, removed = {tag(word) for word in add}, {tag(word) for word in remove}
        with self._documents.changing():
            tags = tuple(sorted({*self.of(name), *added} - removed))
            if len(tags) > _MOST:
                raise UsageError(f"A tool has at most {_MOST} tags.", hint="Remove one first, with --remove.")
            tagged = Tagged(name=name, tags=tags)
            self._documents.put(f"tags:{name}", {"tagged": msgspec.to_builtins(tagged)})
        return tags


def tag(word: str) -> str:
    """Return a tag as it is stored, without the leading `#`. Raises UsageError."""
    name = word.strip().removeprefix("#").lower()
    if not _TAG.fullmatch(name):
        raise UsageError(
            f"{one_line(word, 40)!r} is not a tag.",
            hint="Use a-z, 0-9, - and _, at most 32 of them: work, csv-2",
        )
    return name
