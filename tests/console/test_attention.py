"""The person is called where they are not looking, and left alone where they are."""

from __future__ import annotations

import asyncio

from textual import events

from alita_tui import events as e
from alita_tui.console.review.attention import Attention
from alita_tui.console.review.evidence import Evidence
from alita_tui.console.stage import Advanced
from alita_tui.view.fold import fold_all
from tests.console.screens import console, drawn
from tests.support import goldens, streams


def test_a_notification_rings_and_sets_the_title_once() -> None:
    said: list[str] = []
    attention = Attention(said.append)
    attention.call("p1", "x v1 waits\x1b]0;evil\x07 for; you", away=True)
    attention.call("p1", "x v1 waits", away=True)
    (written,) = said
    assert written.startswith("\a\x1b]9;alita: x v1 waits for, you\a")
    assert "\x1b]777;notify;alita;x v1 waits for, you\a" in written
    assert written.endswith("\x1b[22;2t\x1b]2;● x v1 waits for, you\a")
    assert "evil" not in written
    attention.call("p2", "y", away=True)
    assert "\x1b[22;2t" not in said[1], "the person's own title is kept once"
    attention.seen()
    attention.seen()
    assert said[2:] == ["\x1b[23;2t"]


def test_no_notification_for_what_the_person_has_seen() -> None:
    said: list[str] = []
    attention = Attention(said.append)
    attention.call("p1", "x", away=False)
    attention.call("p1", "x", away=True)
    attention.seen()
    assert said == []


async def test_the_console_notifies_only_while_its_terminal_is_in_the_background() -> None:
    waiting = streams.waiting()
    for behind in (False, True):
        app = console(waiting[:-1])
        written: list[str] = []
        async with app.run_test(size=(120, 36)) as pilot:
            app._attention = Attention(written.append)
            await drawn(pilot, waiting[-2].seq)
            if behind:
                app.post_message(events.AppBlur())
                await pilot.pause()
            app.post_message(Advanced(fold_all(waiting)))
            await pilot.pause()
            assert bool(written) is behind
            if behind:
                assert "validate_email_addresses v1 is ready for your review" in written[0]
                app.post_message(events.AppFocus())
                await pilot.pause()
                assert written[1:] == ["\x1b[23;2t"]


async def test_the_end_of_a_task_notifies_a_person_who_is_away() -> None:
    whole = goldens.walkthrough()
    end = next(n for n, one in enumerate(whole) if isinstance(one.event, e.TaskFinished))
    for behind in (False, True):
        app = console(whole[:end])
        written: list[str] = []
        async with app.run_test(size=(120, 36)) as pilot:
            app._attention = Attention(written.append)
            await drawn(pilot, whole[end - 1].seq)
            written.clear()
            if behind:
                app.post_message(events.AppBlur())
                await pilot.pause()
            app.post_message(Advanced(fold_all(whole[: end + 1])))
            await pilot.pause()
            told = [one for one in written if "finished: " in one]
            assert len(told) == behind
            app.post_message(Advanced(fold_all(whole[: end + 2])))
            await pilot.pause()
            assert [one for one in written if "finished: " in one] == told, "once"


async def test_the_review_reminds_of_the_person_s_own_habits() -> None:
    waiting = streams.waiting()
    app = console(waiting)
    async with app.run_test(size=(200, 60)) as pilot:
        await drawn(pilot, waiting[-1].seq)
        await pilot.press("f8")
        said = "last 20 verdicts: median 2.1 s, 35% read to the end"
        async with asyncio.timeout(180):
            while said not in app.screen.query_one("#evidence", Evidence).text():
                await pilot.pause()
