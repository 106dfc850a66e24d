"""Commands from other processes for a session that one process has open."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec

from alita_tui.events import ready
from alita_tui.spine.commands import (
    AnswerQuestion,
    CancelTask,
    EditTask,
    MoveTask,
    Retry,
    SubmitTask,
    SwitchQueue,
)
from alita_tui.spine.ports.builds import Sealing
from alita_tui.spine.text import one_line
from alita_tui.store import disk
from alita_tui.store.seal import Signed

_KIND = "task note"

QueueCommand = SubmitTask | EditTask | MoveTask | CancelTask | Retry | SwitchQueue
"""Commands for the queue of a session."""
LeftCommand = QueueCommand | AnswerQuestion
"""Commands that can be left for a session."""


class TaskNote(Signed, frozen=True, omit_defaults=False):
    """The file in which one process leaves a command for another. Exactly one command is set."""

    session_id: str
    submit: SubmitTask | None = None
    edit: EditTask | None = None
    move: MoveTask | None = None
    cancel: CancelTask | None = None
    retry: Retry | None = None
    switch: SwitchQueue | None = None
    answer: AnswerQuestion | msgspec.UnsetType = msgspec.UNSET
    """Not written if unset: notes of versions without it keep their signature."""
    signature: str = ""
    """The home's signature over the other fields."""

    @property
    def command(self) -> LeftCommand | None:
        """The command; None if none is set."""
        queued = self.submit or self.edit or self.move or self.cancel or self.retry or self.switch
        return queued or self.answer or None


_FIELDS: dict[type[LeftCommand], str] = {
    SubmitTask: "submit", EditTask: "edit", MoveTask: "move", CancelTask: "cancel", Retry: "retry",
    SwitchQueue: "switch", AnswerQuestion: "answer",
}  # fmt: skip


class TaskInbox:
    """One signed file per command, taken in the order in which they were left."""

    def __init__(
        self, folder: Path, sealing: Sealing, report: Callable[[str], None] = lambda _: None
    ) -> None:
        """`report` is called with a sentence about each note that was set aside."""
        self._folder = folder
        self._sealing = sealing
        self._report = report

    def leave(self, session_id: str, command: LeftCommand) -> None:
        """Leave a command for a session; it is on disk when this returns. Raises StoreError."""
        unsigned = msgspec.structs.replace(TaskNote(session_id), **{_FIELDS[type(command)]: command})
        note = msgspec.structs.replace(unsigned, signature=self._sealing.signed(_KIND, unsigned.text))
        disk.make_folder(self._folder)
        name = f"{_prefix(session_id)}{time.time_ns():020}-{secrets.token_hex(4)}"
        draft, path = self._folder / f"{name}.tmp", self._folder / f"{name}.json"
        try:
            disk.write_new(draft, [msgspec.json.encode(note)])
            draft.replace(path)
            disk.sync_folder(self._folder)
        except OSError as error:
            raise disk.store_error("saved", path, error) from error

    def waiting(self, session_id: str) -> list[tuple[Path, LeftCommand]]:
        """Return the commands left for a session, the oldest first; those not signed by this home are set aside."""
        commands = []
        for path in sorted(self._folder.glob(f"{_prefix(session_id)}*.json")):
            raw = disk.read_bytes(path)
            if raw is None:
                continue
            command = self._verified(session_id, raw)
            if command is None:
                self._set_aside(path)
            else:
                commands.append((path, command))
        return commands

    def taken(self, path: Path) -> None:
        """Remove a note whose command was carried out. Raises StoreError."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise disk.store_error("removed", path, error) from error

    def _verified(self, session_id: str, raw: bytes) -> LeftCommand | None:
        try:
            note = msgspec.json.decode(raw, type=ready(TaskNote))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        signed = self._sealing.vouched(_KIND, note.text, note.signature)
        return note.command if signed and note.session_id == session_id else None

    def _set_aside(self, path: Path) -> None:
        aside = one_line(str(disk.move_aside(path)), 200)
        self._report(
            f"A task that was left for this session was set aside as {aside}: no process of this home signed it."
        )


def _prefix(session_id: str) -> str:
    """Return the beginning of the names of a session's notes. Ids come from files, so they are not used as paths."""
    return f"{sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:24]}-"
