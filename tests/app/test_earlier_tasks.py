"""The tasks of earlier sessions that the composer recalls: the person's own, the newest last, not without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.app import session_lists
from alita_tui.app.session_lists import earlier_tasks
from tests.crash.scene import open_app
from tests.support import streams


def test_the_newest_sessions_are_recalled_with_the_persons_own_tasks_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(tmp_path)

    def add(session_id: str, *tasks: e.TaskSubmitted, imported: bool = False) -> None:
        tape = streams.Tape(session_id)
        streams.opened(tape)
        for task in tasks:
            tape.add(task)
        app.sessions.add(session_id, tape.envelopes, imported=imported)

    def task(number: int, text: str, **more: str) -> e.TaskSubmitted:
        return e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text=text, **more)  # type: ignore[arg-type]

    add("20261101-000000-aaaa", task(1, "first"), task(2, "second\nwith a line"))
    add("20261102-000000-bbbb", task(1, "of another house"), imported=True)
    add("20261103-000000-cccc", task(1, "third"), task(2, "third", again="t1"), task(3, "x", improves="p"))
    add("20261104-000000-dddd", task(1, "in the open session"))
    known = earlier_tasks(app, "20261104-000000-dddd")
    assert known == ("first", "second\nwith a line", "third")
    monkeypatch.setattr(session_lists, "_TASKS", 2)
    assert earlier_tasks(app, "") == ("third", "in the open session")
    (app.paths.sessions / "20261104-000000-dddd.json").write_text("{", "utf-8")
    assert earlier_tasks(app, "")[-1] == "third", "a damaged one does not hide the others"
