"""What a person does with versions of a tool: every move is kept, names who made it, and can be undone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from alita_tui.registry.library import RUNNABLE, ToolLibrary
from alita_tui.registry.moves import Moves
from alita_tui.registry.trust import base
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.ports import Clock, Documents
from alita_tui.spine.text import one_line
from alita_tui.spine.values import STATE_AFTER, Lineage, Move, MoveKind, ToolRecord, ToolState


class Lineages:
    """Versions and moves of the tools on a shelf, in the same documents."""

    def __init__(
        self,
        shelf: ToolLibrary,
        documents: Documents,
        told: Callable[[Move, ToolRecord], None],
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        """`told` writes each move down before it is made; `repair` makes those that a crash kept from it."""
        self._shelf = shelf
        self._moves = Moves(documents)
        self._told = told
        self._clock = clock

    def of(self, name: str) -> Lineage:
        """All that is kept of a tool. Raises RegistryError."""
        versions = self._shelf.versions(name)
        if not versions:
            raise RegistryError(
                f"There is no tool {one_line(name, 60)}.", hint="`alita tools list` shows the library."
            )
        return Lineage(
            name=name,
            versions=versions,
            pinned=self._shelf.pinned(name),
            current=self._shelf.current(name),
            moves=self._moves.of(name),
            aliases=tuple(one.name for one in self._shelf.aliases.of(name)),
        )

    def move(self, name: str, kind: MoveKind, version: int | None, *, by: str, reason: str = "") -> Lineage:
        """Archive, revoke, quarantine, restore, pin, unpin or roll back. Raises RegistryError, StoreError.

        Without a version it is the one that runs now; for a restore, the newest that does not run.
        """
        lineage = self.of(name)
        record = self._pick(lineage, kind, version)
        if kind == "pin":
            if record.state not in RUNNABLE:
                raise RegistryError(
                    f"{name} v{record.version} is {record.state}: it cannot be pinned.",
                    hint=f"Restore it first: alita tools restore {name} --version {record.version}",
                )
            after = str(record.version)
        elif kind == "unpin":
            after = ""
        else:
            after = STATE_AFTER[kind]
        before = str(lineage.pinned or "") if kind in ("pin", "unpin") else base(record.state)
        if before == after:
            raise RegistryError(f"{name} v{record.version} is {after or 'not pinned'} already.")
        made = Move(
            name=name, version=record.version, kind=kind, before=before, after=after, by=by,
            at=self._clock().isoformat(), reason=reason,
        )  # fmt: skip
        self._told(made, record)
        self._set(made, after)
        self._moves.remember(name, (*lineage.moves, made))
        return self.of(name)

    def unalias(self, alias: str, *, by: str, reason: str = "") -> Lineage:
        """Take another name of a tool away. Raises RegistryError, StoreError."""
        found = self._shelf.aliases.find(alias)
        if found is None:
            raise RegistryError(
                f"{one_line(alias, 60)} is no other name of a tool.", hint="`alita tools aliases` lists them."
            )
        lineage = self.of(found.target.name)
        made = Move(
            name=lineage.name, version=found.target.version, kind="unalias", before=alias, after="", by=by,
            at=self._clock().isoformat(), reason=reason,
        )  # fmt: skip
        self._told(made, _version(lineage, made))
        self._set(made, "")
        self._moves.remember(lineage.name, (*lineage.moves, made))
        return self.of(lineage.name)

    def undo(self, name: str, *, by: str) -> Lineage:
        """Take the newest move back that was not taken back yet. Raises RegistryError, StoreError."""
        lineage = self.of(name)
        at = next((n for n in range(len(lineage.moves) - 1, -1, -1) if not lineage.moves[n].undone), None)
        if at is None:
            raise RegistryError(f"Nothing was done to {name} that could be taken back.")
        undone = msgspec.structs.replace(lineage.moves[at], undone=True)
        self._told(msgspec.structs.replace(undone, by=by), _version(lineage, undone))
        self._set(undone, undone.before)
        self._moves.remember(name, (*lineage.moves[:at], undone, *lineage.moves[at + 1 :]))
        return self.of(name)

    def repair(self) -> tuple[str, ...]:
        """Make in the documents what the audit log has and they do not; one line for each. Raises StoreError.

        A move is in the log first: what ended the process before it was made, or an older library that was
        put back, is mended here.
        """
        found = self._shelf.overridden()
        for one in found:
            if one.move.kind in ("pin", "unpin"):
                self._shelf.pin(one.move.name, int(one.move.after) if one.move.after else None)
            else:
                self._shelf.change_state(
                    one.move.name, one.version, msgspec.convert(one.move.after, ToolState)
                )
            self._mend_history(msgspec.structs.replace(one.move, version=one.version))
        return tuple(one.text for one in found)

    def _mend_history(self, move: Move) -> None:
        """Let the moves that are kept end with this one."""
        moves = self._moves.of(move.name)
        same = [n for n, one in enumerate(moves) if (one.kind, one.version) == (move.kind, move.version)]
        if move.undone:
            if same and not moves[same[-1]].undone:
                undone = msgspec.structs.replace(moves[same[-1]], undone=True)
                self._moves.remember(move.name, (*moves[: same[-1]], undone, *moves[same[-1] + 1 :]))
        elif not same or same[-1] < len(moves) - 1 or moves[same[-1]].undone:
            before = move.before or ("provisional" if move.kind in STATE_AFTER else "")
            self._moves.remember(move.name, (*moves, msgspec.structs.replace(move, before=before)))

    def _pick(self, lineage: Lineage, kind: MoveKind, version: int | None) -> ToolRecord:
        name = lineage.name
        if version is not None:
            found = [one for one in lineage.versions if one.version == version]
        elif kind == "restore":
            found = [one for one in lineage.versions if one.state not in RUNNABLE][-1:]
        else:
            found = [one for one in lineage.versions if one.version == lineage.current]
        if not found:
            which = f" v{version}" if version is not None else ""
            raise RegistryError(f"There is no version of {name}{which} to {kind}.")
        earlier = [one for one in lineage.versions if one.version < found[0].version]
        if kind == "rollback" and not any(one.state in RUNNABLE for one in earlier):
            raise RegistryError(
                f"{name} v{found[0].version} has no earlier version that runs.",
                hint=f"`alita tools history {name}` shows them; restore one first.",
            )
        return found[0]

    def _set(self, move: Move, value: str) -> None:
        if move.kind in ("pin", "unpin"):
            self._shelf.pin(move.name, int(value) if value else None)
        elif move.kind in ("alias", "unalias"):
            known = self._shelf.aliases.find(move.before or move.after, removed=True)
            if known is None or known.target.name != move.name:
                raise RegistryError(f"{move.before or move.after} is the name of something else by now.")
            self._shelf.aliases.keep(msgspec.structs.replace(known, removed=not value))
        else:
            self._shelf.change_state(move.name, move.version, msgspec.convert(value, ToolState))


def _version(lineage: Lineage, move: Move) -> ToolRecord:
    return next(one for one in lineage.versions if one.version == move.version)
