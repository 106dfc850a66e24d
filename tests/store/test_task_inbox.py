"""Notes with which one process asks something of another's queue: only what this home signed, for that session."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from alita_tui.app.context import AppContext
from alita_tui.spine.commands import CancelTask, SubmitTask, SwitchQueue
from alita_tui.store.task_inbox import QueueCommand, TaskInbox, TaskNote

SESSION = "20260101-000000-aaaa"


@pytest.fixture
def inbox(tmp_path: Path) -> TaskInbox:
    app = AppContext.open(tmp_path / "home")
    told: list[str] = []
    made = TaskInbox(tmp_path / "left", app.audit, told.append)
    made.told = told  # type: ignore[attr-defined]
    return made


def test_commands_are_taken_in_order_and_once(inbox: TaskInbox) -> None:
    commands: list[QueueCommand] = [SubmitTask("one"), SwitchQueue(paused=True), CancelTask(task_id="t1")]
    for command in commands:
        inbox.leave(SESSION, command)
    inbox.leave("another", SubmitTask("elsewhere"))
    waiting = inbox.waiting(SESSION)
    assert [command for _, command in waiting] == commands
    inbox.taken(waiting[0][0])
    assert [command for _, command in inbox.waiting(SESSION)] == commands[1:]


@pytest.mark.parametrize("how", ["unsigned", "changed", "another session", "garbage", "nothing in it"])
def test_unsigned_commands_are_set_aside_and_reported(inbox: TaskInbox, how: str, tmp_path: Path) -> None:
    inbox.leave(SESSION, SubmitTask("wanted"))
    ((path, _),) = inbox.waiting(SESSION)
    note = msgspec.json.decode(path.read_bytes(), type=TaskNote)
    match how:
        case "unsigned":
            raw = msgspec.json.encode(msgspec.structs.replace(note, signature=""))
        case "changed":
            raw = msgspec.json.encode(msgspec.structs.replace(note, submit=SubmitTask("not wanted")))
        case "another session":
            inbox.leave("another", SubmitTask("elsewhere"))
            ((other, _),) = inbox.waiting("another")
            raw = other.read_bytes()
        case "garbage":
            raw = b"\xff{"
        case _:
            raw = b"{}"
    path.write_bytes(raw)
    assert inbox.waiting(SESSION) == []
    assert not path.exists() and len(inbox.told) == 1  # type: ignore[attr-defined]
    assert "set aside" in inbox.told[0] and list((tmp_path / "left").iterdir()), "it is kept to be looked at"  # type: ignore[attr-defined]
    inbox.leave(SESSION, SubmitTask("wanted again"))
    assert [command for _, command in inbox.waiting(SESSION)] == [SubmitTask("wanted again")]
