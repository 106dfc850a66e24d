"""What is recorded at the close is the fold of all that happened, without folding all of it for that."""

import asyncio
from pathlib import Path

import pytest

from alita_tui.app.session import open_session
from alita_tui.console.stage import Stage
from alita_tui.events import SessionClosed
from alita_tui.replay.playback import LiveTape
from alita_tui.spine.commands import SubmitTask
from alita_tui.view import fold
from alita_tui.view.fingerprint import fingerprint
from tests.crash.scene import Person, open_app


@pytest.mark.parametrize("leaves", ["at the end", "early", "before it began"])
async def test_closing_folds_only_events_that_no_screen_has_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: str
) -> None:
    fold_all, folded = fold.fold_all, []

    def counted(envelopes, view=None):
        news = list(envelopes)
        folded.append(len(news))
        return fold_all(news, view)

    home = open_app(tmp_path)
    opened = await open_session(home, None, parks=False)
    tape = LiveTape()
    opened.folded_view = tape.newest
    seen: list[int] = []
    screen = asyncio.create_task(
        Stage(opened.source, lambda view: seen.append(view.seq), tape=tape).run(), name="screen"
    )
    if leaves == "before it began":
        screen.cancel()
    person = Person(opened, home.witness_log)
    for task in person.untyped_tasks():
        opened.send(SubmitTask(text=task))
    watching = asyncio.create_task(person.watch())
    running = asyncio.create_task(opened.run(until_idle=True))
    if leaves == "early":
        while len(tape) < 30:
            await asyncio.sleep(0)
        screen.cancel()
    monkeypatch.setattr(fold, "fold_all", counted)
    await running
    await watching
    await asyncio.wait((screen,))
    *before, last = opened.bus.history
    assert isinstance(last.event, SessionClosed)
    assert last.event.state == fingerprint(fold_all(before))
    at_the_close = folded[-1]
    if leaves == "at the end":
        assert at_the_close < 20 < len(before)
    else:
        assert len(before) - 100 < at_the_close <= len(before)
