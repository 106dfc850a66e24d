"""Other names of tools. A removed alias stays on record and can be put back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from alita_tui.events import Alias
from alita_tui.registry.stored import stored
from alita_tui.spine.ports.library import Documents, Standing


class Aliases:
    """The aliases in the registry's documents; only those that the audit log confirms are valid."""

    def __init__(self, documents: Documents, standing: Callable[[], Standing] | None = None) -> None:
        """Without `standing` the documents are trusted."""
        self._documents = documents
        self._standing = standing

    def all(self) -> tuple[Alias, ...]:
        """Return every alias that was not removed, oldest first."""
        return tuple(alias for alias in self._stored() if not alias.removed)

    def of(self, target: str) -> tuple[Alias, ...]:
        """Return the other names of a tool."""
        return tuple(alias for alias in self.all() if alias.target.name == target)

    def find(self, name: str, *, removed: bool = False) -> Alias | None:
        """Return the alias of this name; a removed one only if `removed` is set."""
        matches = (alias for alias in self._stored() if alias.name == name)
        return next((alias for alias in matches if removed or not alias.removed), None)

    def keep(self, alias: Alias) -> None:
        """Store an alias, replacing an earlier one of its name. Raises StoreError."""
        self._documents.put(f"alias:{alias.name}", {"alias": msgspec.to_builtins(alias)})

    def _stored(self) -> tuple[Alias, ...]:
        aliases = [*stored(self._documents.all(), "alias", Alias)]
        if self._standing is None:
            return tuple(aliases)
        standing = self._standing()
        return tuple(_as_logged(alias, standing) for alias in aliases)


def _as_logged(alias: Alias, standing: Standing) -> Alias:
    """Return the alias as the log has it: removed unless the log has this name for this tool."""
    move = standing.aliases.get(alias.name)
    if move is None or move.name not in (alias.target.name, alias.target.label):
        removed = True
    elif move.kind == "alias" and not move.undone:
        removed = alias.removed
    else:
        removed = not move.after
    return msgspec.structs.replace(alias, removed=removed)
