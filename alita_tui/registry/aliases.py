"""Other names of tools, kept beside them. A removed one stays on record, and can be put back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from alita_tui.spine.ports import Documents, Standing
from alita_tui.spine.values import Alias, Json


class Aliases:
    """All aliases, in the registry's documents; none holds that the audit log does not have."""

    def __init__(self, documents: Documents, standing: Callable[[], Standing] | None = None) -> None:
        """Without `standing` the documents are believed."""
        self._documents = documents
        self._standing = standing

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
        said = self._standing() if self._standing is not None else None
        return tuple(
            alias if said is None else _as_logged(alias, said) for alias in found if alias is not None
        )


def _as_logged(alias: Alias, said: Standing) -> Alias:
    """The alias as the log has it: taken away where it has none of this name for this tool."""
    move = said.aliases.get(alias.name)
    if move is None or move.name not in (alias.target.name, alias.target.label):
        removed = True
    elif move.kind == "alias" and not move.undone:
        removed = alias.removed
    else:
        removed = not move.after
    return msgspec.structs.replace(alias, removed=removed)


def _read(document: Json) -> Alias | None:
    """A document as an alias; what is none, or cannot be read, is passed over."""
    try:
        return msgspec.convert(document["alias"], Alias)
    except (msgspec.ValidationError, TypeError, KeyError):
        return None
