"""Other names of tools, kept beside them. A removed one stays on record, and can be put back."""

from __future__ import annotations

import msgspec

from alita_tui.spine.ports import Documents
from alita_tui.spine.values import Alias, Json


class Aliases:
    """All aliases, in the registry's documents."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def all(self) -> tuple[Alias, ...]:
        """Every alias that was not removed, oldest first."""
        return tuple(one for one in self._kept() if not one.removed)

    def of(self, target: str) -> tuple[Alias, ...]:
        """The other names of a tool."""
        return tuple(one for one in self.all() if one.target.name == target)

    def find(self, name: str, *, removed: bool = False) -> Alias | None:
        """The alias of this name; one that was removed only where that is asked for."""
        return next((one for one in self._kept() if one.name == name and (removed or not one.removed)), None)

    def keep(self, alias: Alias) -> None:
        """Keep an alias, in place of an earlier one of its name. Raises StoreError."""
        self._documents.put(f"alias:{alias.name}", {"alias": msgspec.to_builtins(alias)})

    def _kept(self) -> tuple[Alias, ...]:
        found = (_read(document) for document in self._documents.all())
        return tuple(alias for alias in found if alias is not None)


def _read(document: Json) -> Alias | None:
    """A document as an alias; what is none, or cannot be read, is passed over."""
    try:
        return msgspec.convert(document["alias"], Alias)
    except (msgspec.ValidationError, TypeError, KeyError):
        return None
