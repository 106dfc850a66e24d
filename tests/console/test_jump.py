"""Jump mode: a letter on each place on screen, and typing it goes there."""

from __future__ import annotations

from textual.widgets import Input

from alita_tui.console.jump import LETTERS, JumpScreen, labels
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.library import Library
from alita_tui.console.session.trace import Trace
from tests.console.navigating import on, until
from tests.console.screens import at_main, console, covered, drawn
from tests.support import goldens


def test_no_jump_label_is_the_prefix_of_another() -> None:
    for count in (1, 26, 27, 300):
        found = labels(count)
        assert len(set(found)) == count
        assert not [
            (one, other) for one in found for other in found if one != other and other.startswith(one)
        ]


async def test_each_jump_label_goes_to_the_card_or_pane_that_it_marks() -> None:
    envelopes = goldens.walkthrough()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace, places = app.main.query_one(Trace), []
        composer, library = app.main.query_one(Composer), app.main.query_one(Library)
        await pilot.press("ctrl+x")
        await until(pilot, lambda: on(app, JumpScreen))
        assert isinstance(app.screen, JumpScreen)
        places = list(app.screen.places)
        assert len(places) >= 7 and set("".join(places)) <= set(LETTERS)
        await pilot.press("escape")
        await until(pilot, lambda: at_main(app))
        reached, cards = set(), set()
        for label in places:
            composer.focus()  # with the trace in focus the side shows what is selected there
            await pilot.pause()
            await pilot.press("ctrl+x")
            await until(pilot, lambda: on(app, JumpScreen))
            await pilot.press(*label)
            await until(pilot, lambda: at_main(app))
            reached.add(app.focused)
            if app.focused is trace:
                cards.add((trace.cursor, trace.inner))
        assert {trace, composer, library} <= reached
        assert len(cards) >= 5


async def test_any_other_key_leaves_jump_mode() -> None:
    envelopes = goldens.walkthrough()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("ctrl+x")
        await until(pilot, lambda: on(app, JumpScreen))
        await pilot.press("1")
        await until(pilot, lambda: at_main(app))
        assert app.main.query_one(Composer).text == ""


async def test_with_selected_text_the_jump_key_cuts_and_no_label_marks_a_verdict() -> None:
    envelopes = goldens.waiting()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press(*"abc", "shift+home", "ctrl+x")
        await until(pilot, lambda: not app.main.query_one(Composer).text)
        assert at_main(app)
        await pilot.press("f8")
        await covered(pilot)
        await pilot.press("ctrl+x")
        await until(pilot, lambda: on(app, JumpScreen))
        assert not any(isinstance(part, Input) and part.display for part in app.screen_stack[-2].focus_chain)
