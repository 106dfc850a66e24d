"""The palette: every action of the table with its key and its state; what cannot run says why, and does not."""

from __future__ import annotations

from textual.widgets import Input

from alita_tui.console.action_table import ACTIONS
from alita_tui.console.app import AlitaApp
from alita_tui.console.library.tool import ToolScreen
from alita_tui.console.palette import Entry, PaletteScreen, matching
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.picker import Pick, Picker
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.commands import Interrupt
from tests.console.navigating import on, replaying, until
from tests.console.screens import Sink, at_main, console, covered, drawn
from tests.support import goldens, streams


async def opened(pilot, app: AlitaApp) -> PaletteScreen:
    await pilot.press("ctrl+p")
    await until(pilot, lambda: on(app, PaletteScreen))
    assert isinstance(app.screen, PaletteScreen)
    return app.screen


def one(palette: PaletteScreen, name: str) -> Entry:
    return next(entry for entry in palette.entries if entry.name == name)


async def write(pilot, palette: PaletteScreen, text: str) -> None:
    palette.query_one(Input).value = text
    await until(pilot, lambda: palette._listed == matching(palette.entries, text))


async def test_the_palette_lists_every_command_with_its_key_and_its_state() -> None:
    sink = Sink()
    app = console(goldens.waiting(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, goldens.waiting()[-1].seq)
        palette = await opened(pilot, app)
        assert len(palette.entries) >= len(ACTIONS) - 1
        for action in ACTIONS:
            if action.id != "app.palette":
                assert any(entry.what == action.tooltip and entry.key for entry in palette.entries), action.id
        review = one(palette, "tool: review waiting build")
        assert (review.key, review.state, review.wrong) == ("F8", "1 waiting", "")
        assert one(palette, "view: answers, steps or everything").state == "steps"
        assert one(palette, "replay: fork").wrong == "only in a replay"
        assert one(palette, "sessions: rename").wrong == "in: Sessions"
        assert one(palette, "theme: alita-dark").state == "in use"


async def test_a_command_that_cannot_run_says_why_and_stays_listed() -> None:
    tape, sink = streams.Tape(), Sink()
    streams.opened(tape)
    app = console(tape.envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        palette = await opened(pilot, app)
        await write(pilot, palette, "session: interrupt")
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen is palette and not any(isinstance(sent, Interrupt) for sent in sink.commands)
        assert "no task runs" in str(palette.query_one("#said", Plain).content)
        assert palette.query_one(Picker).picks[0].off


async def test_the_palette_runs_actions_of_parts_without_focus_and_opens_themes_and_tools() -> None:
    app = console(streams.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, streams.walkthrough()[-1].seq)
        for typed, there in (
            ("answers, steps", lambda: app.main.query_one(Trace).level == "everything"),
            ("theme: lagoon", lambda: app.theme == "lagoon"),
            ("tool: csv_join", lambda: isinstance(app.screen, ToolScreen)),
        ):
            palette = await opened(pilot, app)
            await write(pilot, palette, typed)
            await pilot.press("enter")
            await until(pilot, there)


async def test_the_palette_offers_no_verdict() -> None:
    sink = Sink()
    app = console(goldens.waiting(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, goldens.waiting()[-1].seq)
        await pilot.press("f8")
        await covered(pilot)
        palette = await opened(pilot, app)
        verdicts = [entry for entry in palette.entries if entry.name.startswith("review of a build: approve")]
        assert len(verdicts) == 2 and all("only by its key" in entry.wrong for entry in verdicts)
        before = list(sink.commands)
        await write(pilot, palette, verdicts[0].name)
        await pilot.press("enter")
        await pilot.pause()
        assert sink.commands == before and app.screen is palette


async def test_in_a_replay_nothing_that_changes_something_can_run() -> None:
    app, _playback, _catalog = replaying(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        palette = await opened(pilot, app)
        live_only = {action.tooltip for action in ACTIONS if not action.replay}
        assert all(entry.wrong for entry in palette.entries if entry.what in live_only)
        assert not one(palette, "replay: fork").wrong
        await pilot.press("escape")
        await until(pilot, lambda: at_main(app))


def test_the_palette_finds_words_in_any_order_and_ranks_names_before_descriptions() -> None:
    entries = [Entry("view: memory", "What is remembered"), Entry("session: new", "Begin another"),
               Entry("tool: x", "memory of a view")]  # fmt: skip
    assert [entry.name for entry in matching(entries, "memory view")][:2] == ["view: memory", "tool: x"]
    assert matching(entries, "") == entries
    assert matching(entries, "zzzz") == []


async def test_words_are_not_cut_and_a_long_key_narrows_its_own_row_only() -> None:
    async def lines(key: str) -> list[str]:
        app = console(goldens.walkthrough())
        async with app.run_test(size=(80, 24)) as pilot:
            await drawn(pilot, goldens.walkthrough()[-1].seq)
            picker = (await opened(pilot, app)).query_one(Picker)
            state = "words that take more room than a row of a narrow screen has"
            picker.show([Pick("session: interrupt", state, "esc"), Pick("app: quit", state, key)])
            await pilot.pause()
            return [picker.render_line(row).text for row in range(2)]

    (short, _quit), (beside_long, long) = await lines("ctrl+q"), await lines("ctrl+shift+alt+pagedown")
    assert short == beside_long
    assert "ctrl+shift+alt+pagedown" in long
    for line in (short, long):
        shown = line.partition("words")[2].partition(" …")
        assert shown[1] and all(
            word in "that take more room than a row of a narrow".split() for word in shown[0].split()
        )


async def test_commands_are_found_by_the_words_that_people_use() -> None:
    app = console(goldens.waiting())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, goldens.waiting()[-1].seq)
        palette = await opened(pilot, app)
        for words, name in {
            "divider": "trace: wider",
            "resize pane": "trace: narrower",
            "sidebar": "view: side panes",
            "verbose": "view: answers, steps or everything",
            "cost": "view: money and models",
            "preferences": "settings: change…",
            "dark": "theme: choose…",
            "shortcuts": "view: help",
            "stop": "session: interrupt",
            "exit": "session: quit",
        }.items():
            assert name in [entry.name for entry in matching(palette.entries, words)][:8], words
