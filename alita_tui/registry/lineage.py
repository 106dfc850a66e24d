"""Changes that a person makes to versions of a tool. Each is recorded with its author and can be undone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from alita_tui.events import STATE_AFTER, Lineage, Move, MoveKind, ToolRecord, ToolState, ready
from alita_tui.registry.callers import callers_of
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.moves import Moves
from alita_tui.registry.reconcile import RUNNABLE
from alita_tui.registry.trust import base
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.grants import tool_grants
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.text import one_line


class Lineages:
    """Versions and moves of the library's tools."""

    def __init__(
        self,
        library: ToolLibrary,
        documents: Documents,
        enter: Callable[[Move, ToolRecord], None],
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        """`enter` writes each move to the audit log before it is made; `repair` makes moves that a crash prevented."""
        self._library = library
        self._moves = Moves(documents)
        self._enter = enter
        self._clock = clock

    def of(self, name: str) -> Lineage:
        """Return all versions and moves of a tool. Raises RegistryError."""
        versions = self._library.versions(name)
        if not versions:
            near = did_you_mean(name, self._library.names(), "`alita tools list` shows the library.")
            raise RegistryError(f"There is no tool {one_line(name, 60)}.", hint=near)
        return Lineage(
            name=name,
            versions=versions,
            pinned=self._library.pinned(name),
            current=self._library.current(name),
            moves=self._moves.of(name),
            aliases=tuple(alias.name for alias in self._library.aliases.of(name)),
            reliability={
                version.version: self._library.reliability(name, version.version) for version in versions
            },
            calls=tuple(
                f"{grant.name} v{grant.version}"
                for version in versions
                if version.version == self._library.current(name)
                for grant in tool_grants(version.granted)
            ),
            called_by=tuple(
                f"{caller.draft.name} v{caller.version}, which calls v{grant.version}"
                for caller, grant in callers_of(self._library, name)
            ),
        )

    def move(self, name: str, kind: MoveKind, version: int | None, *, by: str, reason: str = "") -> Lineage:
        """Archive, revoke, quarantine, restore, pin, unpin or roll back a version.

        Without a version it is the one that runs now; for a restore, the newest that does not run. Versions with the
        same bytes are revoked and quarantined together. Raises RegistryError, StoreError.
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
        moves = lineage.moves
        for each in (
            *_same_bytes(lineage, record, kind),
            record,
        ):  # the one that was named last: undo means it
            move = Move(
                name=name, version=each.version, kind=kind, before=before if each is record else base(each.state),
                after=after, by=by, at=self._clock().isoformat(), reason=reason,
            )  # fmt: skip
            self._enter(move, each)
            self._set(move, after)
            moves = (*moves, move)
            self._moves.remember(name, moves)
        return self.of(name)

    def unalias(self, alias: str, *, by: str, reason: str = "") -> Lineage:
        """Remove another name of a tool. Raises RegistryError, StoreError."""
        stored = self._library.aliases.find(alias)
        if stored is None:
            raise RegistryError(
                f"{one_line(alias, 60)} is no other name of a tool.", hint="`alita tools aliases` lists them."
            )
        lineage = self.of(stored.target.name)
        move = Move(
            name=lineage.name, version=stored.target.version, kind="unalias", before=alias, after="", by=by,
            at=self._clock().isoformat(), reason=reason,
        )  # fmt: skip
        self._enter(move, _version(lineage, move))
        self._set(move, "")
        self._moves.remember(lineage.name, (*lineage.moves, move))
        return self.of(lineage.name)

    def undo(self, name: str, *, by: str) -> Lineage:
        """Undo the newest move that was not undone yet. Raises RegistryError, StoreError."""
        lineage = self.of(name)
        index = max((number for number, move in enumerate(lineage.moves) if not move.undone), default=None)
        if index is None:
            raise RegistryError(f"No change of {name} can be undone.")
        undone = msgspec.structs.replace(lineage.moves[index], undone=True)
        self._enter(msgspec.structs.replace(undone, by=by), _version(lineage, undone))
        self._set(undone, undone.before)
        self._moves.remember(name, (*lineage.moves[:index], undone, *lineage.moves[index + 1 :]))
        return self.of(name)

    def repair(self) -> tuple[str, ...]:
        """Make the moves that only the audit log has; return a line for each. Raises StoreError.

        A move is written to the log first, so a crash, or a restored older library, may lack it.
        """
        differences = self._library.overridden()
        for difference in differences:
            if difference.move.kind in ("pin", "unpin"):
                self._library.pin(
                    difference.move.name, int(difference.move.after) if difference.move.after else None
                )
            else:
                self._library.change_state(
                    difference.move.name,
                    difference.version,
                    msgspec.convert(difference.move.after, ready(ToolState)),
                )
            self._mend_history(msgspec.structs.replace(difference.move, version=difference.version))
        return tuple(difference.text for difference in differences)

    def _mend_history(self, move: Move) -> None:
        """Record a move as the last, or as undone, unless it is so already."""
        moves = self._moves.of(move.name)
        indexes = [
            index
            for index, earlier in enumerate(moves)
            if (earlier.kind, earlier.version) == (move.kind, move.version)
        ]
        if move.undone:
            if indexes and not moves[indexes[-1]].undone:
                undone = msgspec.structs.replace(moves[indexes[-1]], undone=True)
                self._moves.remember(move.name, (*moves[: indexes[-1]], undone, *moves[indexes[-1] + 1 :]))
        elif not indexes or indexes[-1] < len(moves) - 1 or moves[indexes[-1]].undone:
            before = move.before or ("provisional" if move.kind in STATE_AFTER else "")
            self._moves.remember(move.name, (*moves, msgspec.structs.replace(move, before=before)))

    def _pick(self, lineage: Lineage, kind: MoveKind, version: int | None) -> ToolRecord:
        name = lineage.name
        if version is not None:
            picked = [record for record in lineage.versions if record.version == version]
        elif kind == "restore":
            picked = [record for record in lineage.versions if record.state not in RUNNABLE][-1:]
        else:
            picked = [record for record in lineage.versions if record.version == lineage.current]
        if not picked:
            label = f" v{version}" if version is not None else ""
            raise RegistryError(f"There is no version of {name}{label} to {kind}.")
        earlier = [record for record in lineage.versions if record.version < picked[0].version]
        if kind == "rollback" and not any(record.state in RUNNABLE for record in earlier):
            raise RegistryError(
                f"{name} v{picked[0].version} has no earlier version that runs.",
                hint=f"`alita tools history {name}` shows them; restore one first.",
            )
        return picked[0]

    def _set(self, move: Move, value: str) -> None:
        if move.kind in ("pin", "unpin"):
            self._library.pin(move.name, int(value) if value else None)
        elif move.kind in ("alias", "unalias"):
            alias = self._library.aliases.find(move.before or move.after, removed=True)
            if alias is None or alias.target.name != move.name:
                raise RegistryError(f"{move.before or move.after} is now the name of something else.")
            self._library.aliases.keep(msgspec.structs.replace(alias, removed=not value))
        else:
            self._library.change_state(move.name, move.version, msgspec.convert(value, ready(ToolState)))


def _same_bytes(lineage: Lineage, record: ToolRecord, kind: MoveKind) -> tuple[ToolRecord, ...]:
    """Return the other versions that would go on running the bytes that a version is revoked or quarantined for."""
    if kind not in ("revoke", "quarantine"):
        return ()
    same = (other for other in lineage.versions if other.digest == record.digest and other is not record)
    return tuple(other for other in same if other.state in RUNNABLE)


def _version(lineage: Lineage, move: Move) -> ToolRecord:
    return next(record for record in lineage.versions if record.version == move.version)
