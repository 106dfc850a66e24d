"""Sessions on screen: list, search, tidy up, compare; looking at one; going back in the one that runs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.widgets import Input, OptionList

from alita_tui import events as e
from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import RunningSession, Switch
from alita_tui.console.replay.explain import ExplainScreen
from alita_tui.console.replay.screen import ReplayScreen
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.library import Library
from alita_tui.console.session.trace import Trace
from alita_tui.console.sessions.compare import CompareScreen
from alita_tui.console.sessions.rows import details, session_row
from alita_tui.console.sessions.screen import SessionsScreen
from alita_tui.console.spend.screen import SpendScreen
from alita_tui.console.stage import Advanced
from alita_tui.console.widgets.figures import age
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.view.fold import fold_all
from alita_tui.view.spend import total_of
from tests.console.keeping_lab import DICE, NOW, OLD, WALK, Keeper, lines
from tests.console.navigating import on, past, replaying, running, until
from tests.console.screens import THEMES, Sink, console, covered, drawn
from tests.support import goldens, streams

SIZES = [(80, 24), (120, 36), (200, 55)]


def text(app: AlitaApp, selector: str) -> str:
    return str(app.screen.query_one(selector, Plain).content)


def listed(app: AlitaApp) -> list[str]:
    options = app.screen.query_one(OptionList)
    return [options.get_option_at_index(n).id or "" for n in range(options.option_count)]


def searched(app: AlitaApp) -> bool:
    """Whether the search for the last letter that was typed is done."""
    return all(one.is_finished for one in app.workers if one.name == "search")


async def opened(pilot) -> SessionsScreen:
    await drawn(pilot, 3)
    await pilot.press("f5")
    await until(pilot, lambda: on(pilot.app, SessionsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SessionsScreen)
    return screen


# --- the list -----------------------------------------------------------------------------


async def test_the_list_shows_each_session_and_hides_archived_ones() -> None:
    app, _, catalog = running(goldens.walkthrough())
    async with app.run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        assert [one.removeprefix("session:") for one in listed(app)] == [
            line.session_id for line in await catalog.sessions() if not line.archived
        ]
        assert "1 archived" in text(app, "#head")
        about = text(app, "#about")
        for said in ("stopped", "$0.0110", WALK, "at event 30", "anthropic:large"):
            assert said in about
        await pilot.press("A")
        assert f"session:{OLD}" in listed(app)
        await pilot.press("down")
        assert "#mail #work" in text(app, "#about") and "validate_email_addresses v2" in text(app, "#about")


async def test_the_list_is_in_the_order_of_the_ages_that_it_shows() -> None:
    app, _, catalog = running(goldens.walkthrough())
    catalog.lines[DICE] = replace(catalog.lines[DICE], last_activity=NOW)  # began a day before the others
    async with app.run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        assert listed(app)[0] == f"session:{DICE}"
        rows = app.screen.query_one(OptionList).options
        assert [str(row.prompt)[2:7].strip() for row in rows][:3] == ["now", "10 m", "30 m"]


async def test_a_change_can_be_taken_back() -> None:
    app, _, catalog = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("down", "r")
        app.screen.query_one("#line", Input).value = "Mail [b]check[/b]"
        await pilot.press("enter")
        await until(pilot, lambda: catalog.lines[WALK].title == "Mail [b]check[/b]")
        await pilot.press("t")
        app.screen.query_one("#line", Input).value = "post, home"
        await pilot.press("enter")
        await until(pilot, lambda: catalog.lines[WALK].tags == ("post", "home"))
        await pilot.press("a")
        await until(pilot, lambda: f"session:{WALK}" not in listed(app))
        assert "u takes it back" in text(app, "#said")
        for _ in range(3):
            await pilot.press("u")
        await until(pilot, lambda: catalog.lines[WALK] == Keeper().lines[WALK])
        assert catalog.asked[-1] == ("rename", WALK, ""), "it had its own title"
        await pilot.press("u")
        assert "Nothing to undo" in text(app, "#said")


async def test_deleting_can_be_undone_and_an_open_session_stays() -> None:
    app, _, catalog = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("down", "down", "d")
        await until(pilot, lambda: DICE in catalog.gone)
        assert f"session:{DICE}" not in listed(app)
        await pilot.press("u")
        await until(pilot, lambda: f"session:{DICE}" in listed(app))
        names = listed(app)
        place = names.index("session:20261118-000000-aaaa")
        app.screen.query_one(OptionList).highlighted = place
        await pilot.press("d")
        await until(pilot, lambda: "open in another process" in text(app, "#said"))
        assert listed(app) == names


async def test_a_session_open_elsewhere_is_not_opened_here() -> None:
    app, _, _ = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        app.screen.query_one(OptionList).highlighted = listed(app).index("session:20261118-000000-aaaa")
        await pilot.press("enter")
        assert "Open in another window. v opens it read-only" in text(app, "#said")
        assert app.return_value is None and on(app, SessionsScreen)


async def test_a_session_of_the_background_can_be_opened_from_the_list() -> None:
    name = "20261118-000000-aaaa"
    app, _, _ = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 1)
        assert isinstance(app._catalog, Keeper)
        app._catalog.elsewhere = (RunningSession(name, "working", "collect"),)
        await app.look_elsewhere().wait()
        await opened(pilot)
        app.screen.query_one(OptionList).highlighted = listed(app).index(f"session:{name}")
        await pilot.press("enter")
        await pilot.pause()
    assert app.return_value == Switch(name)


async def test_a_search_finds_titles_at_once_and_texts_afterwards() -> None:
    app, _, _ = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", *"#mail")
        assert listed(app)[0] == f"session:{WALK}"
        screen.query_one("#find", Input).value = "email"
        await until(pilot, lambda: "hit:0" in listed(app))
        screen.query_one("#find", Input).value = "broken"
        await until(pilot, lambda: "cannot be read" in text(app, "#said"))
        await pilot.press("escape")
        assert len(listed(app)) == 5
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)


async def test_a_hit_opens_the_session_at_its_event() -> None:
    app, _, _ = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", *"email")
        await until(pilot, lambda: "hit:0" in listed(app))
        hit = screen._hits[2]
        await pilot.press("enter")
        options = app.screen.query_one(OptionList)
        options.highlighted = listed(app).index("hit:2")
        await pilot.press("enter")
        await until(pilot, lambda: on(app, ReplayScreen))
        await until(pilot, lambda: past(app).view.seq == hit.seq)
        assert past(app).view == fold_all(goldens.walkthrough()[: hit.seq])
        assert "REPLAY — nothing runs" in text(app, "#state")
        await pilot.press("q")
        await until(pilot, lambda: app.screen is screen)
        assert listed(app)[-1].startswith("hit:"), "the search is as it was left"


async def test_an_unreadable_session_says_so() -> None:
    app, _, _ = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("v")
        await until(pilot, lambda: bool(app._notifications))
        assert "There is no session" in next(iter(app._notifications)).message
        assert on(app, SessionsScreen)


async def test_two_sessions_are_compared_side_by_side() -> None:
    app, _, catalog = running(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: on(app, CompareScreen))
        assert catalog.asked[-1] == ("compare", WALK, "20261120-070000-5f5f"), "a fork with its parent"
        await pilot.press("escape")
        await pilot.press("down", "m", "down", "c")
        await until(pilot, lambda: on(app, CompareScreen))
        assert catalog.asked[-1] == ("compare", WALK, DICE)
        sheet = app.screen.query_one("#sheet", Sheet).text()
        for said in ("validate_email_addresses 1×", "they share no events", "answered"):
            assert said in sheet


# --- going back ---------------------------------------------------------------------------


async def test_the_running_session_can_be_scrubbed_back_while_it_continues() -> None:
    whole = goldens.walkthrough()
    sink = Sink()
    app, source, _ = running(whole[:40], sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 40)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: on(app, ReplayScreen))
        screen = past(app)
        assert "LOOKING BACK — the task continues" in text(app, "#state")
        await until(pilot, lambda: screen.view.seq == 40)
        for key in ("left", "2", "left_square_bracket", "right", "7", "shift+left"):
            await pilot.press(key)
            await pilot.pause()
            assert screen.view == fold_all(whole[: screen.player.position]), key
        there = screen.player.position
        for envelope in whole[40:]:
            source.queue.put_nowait(envelope)
        await until(pilot, lambda: app.main.view.seq == len(whole))
        assert (screen.player.position, screen.player.total) == (there, len(whole))
        assert screen.view == fold_all(whole[:there])
        names = [card.name for card in screen.query_one(Library)._cards]
        assert names == [card.name for card in fold_all(whole[:there]).library]
        await pilot.press("a", "r", "y", "enter", "f8")
        assert sink.commands == [], "nothing can be sent from the past"
        await pilot.press("end")
        await until(pilot, lambda: app.screen is app.main)
        assert app.main.view == fold_all(whole)


async def test_esc_goes_back_to_the_present_as_the_list_of_keys_says() -> None:
    app, _, _ = running(goldens.walkthrough()[:40], Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 40)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: on(app, ReplayScreen))
        await pilot.press("ctrl+f", *"mail", "escape")
        await pilot.pause()
        assert on(app, ReplayScreen), "it closes the line first"
        await pilot.press("f2", "escape")
        await pilot.pause()
        assert on(app, ReplayScreen), "then it goes from the trace to the controls"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert isinstance(app.focused, Composer)


async def test_the_past_shows_the_present_state_and_the_cost_of_its_time() -> None:
    whole = goldens.walkthrough()
    asked = next(n for n, one in enumerate(whole, 1) if isinstance(one.event, e.ApprovalRequested))
    sink = Sink()
    app, source, _ = running(whole[: asked - 1], sink)
    async with app.run_test(size=(160, 36)) as pilot:
        await drawn(pilot, asked - 1)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: on(app, ReplayScreen))
        assert "now working" in text(app, "#state")
        source.queue.put_nowait(whole[asked - 1])
        await until(pilot, lambda: "now a build waits for you" in text(app, "#state"))
        await pilot.press("2", "ctrl+o")
        await until(pilot, lambda: on(app, SpendScreen))
        under = app.screen_stack[-2]
        assert isinstance(under, ReplayScreen)
        then = under.view.spend
        assert total_of(then) in app.screen.query_one("#sheet", Sheet).text()
        assert then.input_tokens < app.main.view.spend.input_tokens
        source.queue.put_nowait(whole[asked])
        await until(pilot, lambda: app.main.view.seq == asked + 1)
        assert total_of(then) in app.screen.query_one("#sheet", Sheet).text()
        await pilot.press("escape")
        await until(pilot, lambda: on(app, ReplayScreen))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.screen is app.main)
        assert sink.commands == [], "Ctrl+C in the past only leaves it"


async def test_the_trace_can_be_rewound_to_any_row() -> None:
    whole = goldens.walkthrough()
    app, _, _ = running(whole)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, len(whole))
        await pilot.press("f2", "home", "down", "down")
        trace = app.main.query_one(Trace)
        seq = fold_all(whole).trace[trace.row].seq
        await pilot.press("left")
        await until(pilot, lambda: on(app, ReplayScreen))
        await until(pilot, lambda: past(app).view.seq == seq)
        await pilot.press("space")
        await until(pilot, lambda: past(app).view.seq > seq)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.main)


async def test_any_row_can_be_explained_live_and_in_replay() -> None:
    whole = goldens.walkthrough()
    app, _, _ = running(whole)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, len(whole))
        await pilot.press("f2", "home", "question_mark")
        await until(pilot, lambda: on(app, ExplainScreen))
        assert "Started by you." in app.screen.query_one("#sheet", Sheet).text()
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
    app, playback, _ = replaying(whole)
    async with app.run_test(size=(120, 36)) as pilot:
        asked = next(n for n, one in enumerate(whole, 1) if isinstance(one.event, e.ToolCalled))
        playback.seek(asked)
        await pilot.press("question_mark")
        await until(pilot, lambda: on(app, ExplainScreen))
        assert "was approved in this session" in app.screen.query_one("#sheet", Sheet).text()


async def test_a_fork_is_opened_next() -> None:
    whole = goldens.walkthrough()
    app, playback, catalog = replaying(whole)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("5", "f")
        await until(pilot, lambda: app.return_value is not None)
    assert app.return_value == Switch("20261121-000000-fork")
    assert catalog.asked[-1] == ("fork", whole[0].session_id, playback.seq)


async def test_a_fork_of_a_busy_session_waits_until_it_is_done() -> None:
    waiting = streams.waiting()
    app, _, _ = running(waiting)
    async with app.run_test(size=(80, 24)) as pilot:
        await drawn(pilot, waiting[-1].seq or 0)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: on(app, ReplayScreen))
        await pilot.press("f")
        said = "Made 20261121-000000-fork; open it from the sessions once this task is done."
        await until(pilot, lambda: said in text(app, "#keys"))
        assert app.return_value is None and app.is_running


async def test_bookmarks_and_exports_are_stored_by_the_session_catalog() -> None:
    whole = goldens.walkthrough()
    app, playback, catalog = replaying(whole)
    catalog.marks = {whole[0].session_id: {7: "before"}}
    async with app.run_test(size=(160, 36)) as pilot:
        bar = app.main.bar
        assert bar is not None
        await until(pilot, lambda: len(bar._bookmarks) == 1)
        await pilot.press("5", "m", *"look", "enter")
        await until(pilot, lambda: "⚑ look" in text(app, "#state"))
        assert catalog.marks[whole[0].session_id] == {7: "before", playback.seq: "look"}
        await pilot.press("e", "enter")
        await until(pilot, lambda: "Exported to /home/ada/session.html" in text(app, "#keys"))
        assert catalog.asked[-1] == ("export", len(whole), "html")


async def test_a_replay_that_begins_in_the_middle_shows_it() -> None:
    whole = goldens.walkthrough()
    app, playback, _ = replaying(whole)
    playback.seek(30)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.main.view.seq == 30)
        assert app.main.view == fold_all(whole[:30])


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(5, "now"), (90, "1 m"), (7200, "2 h"), (86400 * 3, "3 d"), (86400 * 30, "4 w"), (86400 * 800, "2 y")],
)
def test_ages_are_short(seconds: int, said: str) -> None:
    from datetime import timedelta

    assert age(NOW - timedelta(seconds=seconds), NOW) == said


@pytest.mark.parametrize("usd", [0.0, 0.24, 1.5, 12.0])
def test_a_sessions_cost_is_written_alike_in_the_list_and_beside_it(usd: float) -> None:
    line = replace(lines()[0], cost_usd=usd)
    row = session_row(line, 90, NOW, here=False, marked=False).plain
    cost = next(text for text in details(line, {}).plain.split("\n") if text.startswith("Cost"))
    assert row.split()[-1] == cost.split()[-1] == f"${usd:.2f}"


# --- as pictures --------------------------------------------------------------------------

PICTURES = {
    "search": ("f5", "slash", *"valid"),
    "compare": ("f5", "c"),
    "rewound": ("ctrl+y", "5"),
    "another": ("f5", "down", "v"),
    "explain": ("f2", "up", "question_mark"),
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", PICTURES)
def test_session_screens(snap_compare, name: str, size: tuple[int, int], theme: str) -> None:
    envelopes = goldens.walkthrough()
    app = console(envelopes, theme)

    async def before(pilot) -> None:
        await drawn(pilot, envelopes[-1].seq or 0)
        first, *keys = PICTURES[name]
        await pilot.press(first)
        if first != "f2":
            await covered(pilot)
        await pilot.press(*keys)
        if name == "search":
            await until(pilot, lambda: "hit:0" in listed(app) and searched(app))
        elif name == "compare":
            await until(pilot, lambda: on(app, CompareScreen))
        elif name in ("rewound", "another"):
            await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
            await until(pilot, lambda: past(app).view.seq == past(app).player.seq)
        elif name == "explain":
            await until(pilot, lambda: on(app, ExplainScreen))

    assert snap_compare(app, terminal_size=size, run_before=before)


async def test_a_view_that_comes_while_a_dialog_opens_is_drawn_once_it_is_open() -> None:
    whole = goldens.walkthrough()
    app, _, _ = running(whole, Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, whole[-1].seq or 0)
        app.push_screen(SpendScreen(fold_all(whole[:1]), {}))
        app._advanced(Advanced(app.main.view))  # the dialog has no widgets yet
        spent = total_of(app.main.view.spend)
        await until(pilot, lambda: any(spent in sheet.text() for sheet in app.screen.query(Sheet)))
