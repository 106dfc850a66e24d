"""A console that is started and left at once leaves no session; whatever was done in one stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.store.task_inbox import TaskInbox
from tests.app.test_sandbox_watch import running
from tests.crash.scene import open_app


async def test_a_session_in_which_nothing_was_done_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(tmp_path)
    async with running(tmp_path, monkeypatch) as watched:
        assert [one.session_id for one in app.sessions.list()] == [watched.session.session_id]
        await watched.session.bus.emit(e.NoticeRaised(level="info", text="said while it opened"))
    assert app.sessions.list() == () and app.sessions.trash.ids() == ()
    assert not [path for path in app.paths.sessions.iterdir() if path.name != "summaries.cache"]


@pytest.mark.parametrize("kept", ["a task", "a title", "a task left in a shell", "opened again"])
async def test_a_session_with_something_in_it_stays(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(tmp_path)
    async with running(tmp_path, monkeypatch) as watched:
        own = watched.session.session_id
        if kept == "a title":
            app.labels.rename(own, "Invoices")
        elif kept == "a task left in a shell":  # it came between the last look at the inbox and the end
            monkeypatch.setattr(TaskInbox, "waiting", lambda _inbox, _session: [(Path("note"), None)])
        else:
            await watched.session.bus.emit(e.TaskQueued(queue_id="q1", text="roll dice"))
    if kept == "opened again":
        async with running(tmp_path, monkeypatch, own):
            pass
    assert [one.session_id for one in app.sessions.list()] == [own]
