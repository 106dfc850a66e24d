from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from alita_tui.console.replay.bar import ReplayBar
from alita_tui.console.replay.timeline import FLAG, GLYPHS, Timeline, cell_of, draw, position_of
from alita_tui.console.replay.words import state
from alita_tui.console.themes import ThemedApp, load
from alita_tui.console.widgets.figures import clock_time, spoken
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import text_of, width_of
from alita_tui.replay.playback import SPEEDS, LiveTape, Playback
from alita_tui.replay.recording import Recording
from alita_tui.spine.sessions import Bookmark
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from alita_tui.view.queries import mark
from tests.support import goldens, streams

THEMES = Path(__file__).parents[2] / "themes"
WALK = [one for one in streams.walkthrough() if one.durable]
IDLE = [
    msgspec.structs.replace(one, at=one.at + timedelta(seconds=252 if n >= 20 else 0))
    for n, one in enumerate(WALK)
]


class Host(ThemedApp[None]):
    """A bar under nothing; keeps the views it is told to go on from."""

    def __init__(self, playback: Playback, theme: str = "alita-dark", *, rewound: bool = False) -> None:
        super().__init__()
        self.bar = ReplayBar(playback, rewound=rewound)
        self.marked: list[ReplayBar.Marked] = []
        self.wanted: list[ReplayBar.Wanted] = []
        self.wanted_theme = theme
        self.views: list[SessionView] = []

    def compose(self) -> ComposeResult:
        yield Plain("the trace")
        yield self.bar

    def on_mount(self) -> None:
        for theme in load(THEMES).themes:
            self.register_theme(theme)
        self.theme = self.wanted_theme
        self.bar.styles.dock = "bottom"
        self.bar.focus()

    def on_replay_bar_jumped(self, message: ReplayBar.Jumped) -> None:
        self.views.append(message.view)

    def on_replay_bar_marked(self, message: ReplayBar.Marked) -> None:
        self.marked.append(message)

    @on(ReplayBar.ForkAsked)
    @on(ReplayBar.ExplainAsked)
    @on(ReplayBar.ExportAsked)
    @on(ReplayBar.Left)
    def _asked(self, message: ReplayBar.Wanted) -> None:
        self.wanted.append(message)

    def line(self, selector: str) -> str:
        return str(self.bar.query_one(selector, Plain).content)


def host(envelopes: list[object] | None = None) -> tuple[Host, Playback]:
    playback = Playback(Recording(envelopes or WALK))  # type: ignore[arg-type]
    return Host(playback), playback


async def test_every_jump_shows_the_view_of_the_event_that_it_jumped_to() -> None:
    app, playback = host()
    async with app.run_test(size=(120, 10)) as pilot:
        for key in ("right", "right", "left", "5", "9", "shift+left", "shift+right", "right_square_bracket"):
            await pilot.press(key)
            await pilot.pause()
            assert app.views[-1] == fold_all(WALK[: playback.position]), key
        assert app.views[2].seq == 1


async def test_the_controls_move_the_player() -> None:
    app, playback = host()
    async with app.run_test(size=(120, 10)) as pilot:
        for tenth in "0123456789":
            await pilot.press(tenth)
            assert playback.position == round(len(WALK) * int(tenth) / 10)
        await pilot.press("plus", "plus", "minus")
        assert playback.speed == 2.0
        await pilot.press(*["plus"] * 12)
        assert playback.speed == float("inf")
        assert "∞" in app.line("#state")
        await pilot.press(*["minus"] * 20)
        assert playback.speed == SPEEDS[0]
        assert "0.25×" in app.line("#state")
        await pilot.press("0", "right_square_bracket")
        assert playback.marks[playback.position - 1] in ("build", "approval", "error")
        here = playback.position
        await pilot.press("right_square_bracket", "left_square_bracket")
        assert playback.position == here
        await pilot.press("end", "right_square_bracket")
        assert "No further build, approval or error." in app.line("#keys")
        assert playback.position == len(WALK)
        await pilot.press("left")
        assert "No further" not in app.line("#keys")
        await pilot.press("home")
        assert playback.position == 0


async def test_play_and_pause() -> None:
    app, playback = host()
    async with app.run_test(size=(120, 10)) as pilot:
        assert "paused" in app.line("#state")
        await pilot.press("space")
        assert (playback.playing, "playing" in app.line("#state")) == (True, True)
        await pilot.press("9", "space")
        assert not playback.playing
        playback.seek(playback.total)
        jumps = len(app.views)
        await pilot.press("space")
        await pilot.pause()
        assert (playback.playing, playback.position) == (True, 0)
        assert len(app.views) == jumps + 1, "playing from the end begins anew"


async def test_the_replay_always_says_that_nothing_runs() -> None:
    app, playback = host(IDLE)  # type: ignore[arg-type]
    async with app.run_test(size=(200, 10)) as pilot:
        for width in (40, 60, 80, 120, 200):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            for key in ("space", "5", "slash", "escape", "9"):
                await pilot.press(key)
                assert "REPLAY — nothing runs" in app.line("#state")
        assert f"event {playback.position}/{playback.total}" in app.line("#state")
        assert "» 4 m" in app.line("#state")


async def test_n_jumps_to_the_next_hit() -> None:
    app, playback = host()
    async with app.run_test(size=(120, 10)) as pilot:
        await pilot.press("slash")
        assert isinstance(app.focused, Input)
        await pilot.press(*"validate", "enter")
        first = playback.position
        assert first > 0
        assert app.screen.focused is app.bar
        await pilot.press("n")
        assert playback.position > first
        await pilot.press("N")
        assert playback.position == first
        await pilot.press("slash")
        app.bar.query_one(Input).value = "[no such] thing"
        await pilot.press("enter")
        assert "“[no such] thing” has no further hit." in app.line("#keys")
        assert playback.position == first


async def test_the_replay_stops_at_the_chosen_kinds_of_event() -> None:
    app, playback = host()
    async with app.run_test(size=(160, 10)) as pilot:
        await pilot.press("b", *"nonsense", "enter")
        assert "'nonsense' is not a breakpoint" in app.line("#keys")
        await pilot.press("b", *"approval error", "enter")
        assert "stops at approval error" in app.line("#state")
        await pilot.press("greater_than_sign")
        assert playback.marks[playback.position - 1] in ("approval", "error")
        first = playback.position
        await pilot.press("greater_than_sign", "less_than_sign")
        assert playback.position == first
        await pilot.press("less_than_sign")
        assert "No earlier event" in app.line("#keys")
        await pilot.press("b")
        app.bar.query_one(Input).value = ""
        await pilot.press("enter")
        assert playback.breakpoints == "" and "stops at" not in app.line("#state")


async def test_bookmarks_are_asked_for_shown_and_visited() -> None:
    app, playback = host()
    async with app.run_test(size=(160, 10)) as pilot:
        await pilot.press("m")
        assert "no event before" in app.line("#keys")
        await pilot.press("5", "m", *"here [b]it[/b] began", "enter")
        await pilot.pause()
        asked = app.marked[-1]
        assert (asked.seq, asked.note) == (playback.seq, "here [b]it[/b] began")
        app.bar.show_bookmarks(
            (Bookmark(seq=3, note="early"), Bookmark(seq=asked.seq, note=asked.note or ""))
        )
        assert "⚑ here [b]it[/b] began" in app.line("#state")
        line = draw(playback.marks, playback.position, 100, bookmarks=(3, playback.position))
        assert text_of(line).count(FLAG) == 2
        await pilot.press("apostrophe")
        assert playback.position == 3
        await pilot.press("apostrophe")
        assert playback.seq == asked.seq
        await pilot.press("M")
        await pilot.pause()
        assert (app.marked[-1].seq, app.marked[-1].note) == (asked.seq, None)
        await pilot.press("left", "M")
        assert "no bookmark here" in app.line("#keys")


async def test_forking_exporting_and_closing_are_requests_to_the_app() -> None:
    app, playback = host()
    async with app.run_test(size=(120, 10)) as pilot:
        await pilot.press("5", "f", "question_mark", "q")
        await pilot.press("e", "enter", "e")
        app.bar.query_one(Input).value = "markdown"
        await pilot.press("enter", "e")
        app.bar.query_one(Input).value = "pdf"
        await pilot.press("enter")
        assert "It can be written as html, markdown, asciicast, jsonl." in app.line("#keys")
        await pilot.pause()
        kinds = [type(one).__name__ for one in app.wanted]
        assert kinds == ["ForkAsked", "ExplainAsked", "Left", "ExportAsked", "ExportAsked"]
        assert [one.form for one in app.wanted if isinstance(one, ReplayBar.ExportAsked)] == [
            "html",
            "markdown",
        ]
        assert all(one.player is playback for one in app.wanted)


async def test_the_replay_says_that_a_rewound_session_continues() -> None:
    tape = LiveTape(WALK[:20])
    app = Host(tape.player(), rewound=True)
    async with app.run_test(size=(100, 10)) as pilot:
        assert "LOOKING BACK — the task continues" in app.line("#state")
        await pilot.press("0")
        for envelope in WALK[20:]:
            tape.add(envelope)
        await pilot.press("right")
        assert f"event 1/{len(WALK)}" in app.line("#state")
        assert app.bar.query_one(Timeline).marks == [mark(one) for one in WALK]
        await pilot.press("end")
        await pilot.pause()
        assert type(app.wanted[-1]).__name__ == "Left"


async def test_a_click_on_the_line_seeks() -> None:
    app, playback = host()
    async with app.run_test(size=(122, 10)) as pilot:
        await pilot.click("#timeline", offset=(60, 0))
        await pilot.pause()
        assert playback.position == pytest.approx(len(WALK) / 2, abs=1)
        assert cell_of(playback.position, len(WALK), 120) == pytest.approx(60, abs=2)


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([None, None, *GLYPHS]), max_size=400), st.integers(0, 400), st.integers(1, 200)
)
def test_the_line_fills_its_width_and_hides_no_error(marks: list[object], position: int, width: int) -> None:
    position = min(position, len(marks))
    line = draw(marks, position, width)  # type: ignore[arg-type]
    assert width_of(line) == width
    text = text_of(line)
    cells = {cell_of(n, len(marks), width) for n, mark in enumerate(marks, 1) if mark == "error"}
    assert {n for n, char in enumerate(text) if char == GLYPHS["error"]} == cells
    assert sum(ink.endswith("-head") for _text, ink in line) == 1


@settings(max_examples=200)
@given(st.integers(1, 3000), st.integers(1, 250), st.data())
def test_a_click_lands_in_the_cell_that_was_clicked(total: int, width: int, data: st.DataObject) -> None:
    cell = data.draw(st.integers(0, width - 1))
    position = position_of(cell, total, width)
    assert 0 <= position <= total
    landed = cell_of(position, total, width)
    assert abs(landed - cell) <= max(1, -(-width // total))


@pytest.mark.parametrize(
    ("seconds", "clock", "said"),
    [(0, "0:00", "0 s"), (42, "0:42", "42 s"), (725, "12:05", "12 m 5 s"), (11400, "3:10:00", "3 h 10 m")],
)
def test_times_are_written_as_people_write_them(seconds: float, clock: str, said: str) -> None:
    assert clock_time(seconds) == clock
    assert spoken(seconds) == said


async def test_the_timeline_mounts_alone_and_empty() -> None:
    class Bare(ThemedApp[None]):
        def compose(self) -> ComposeResult:
            yield Timeline()

    app = Bare()
    async with app.run_test(size=(40, 3)) as pilot:
        app.query_one(Timeline).advance(5)
        await pilot.pause()
        await pilot.click(Timeline)


@pytest.mark.parametrize("width", range(40, 130, 3))
def test_the_line_of_a_replay_leaves_words_out_whole(width: int) -> None:
    playback = Playback(Recording(goldens.walkthrough()), position=86)
    assert playback.skipped >= 1
    text = state(playback, (), width, rewound=False).plain
    assert "skipped" in text or "ski" not in text
    assert cell_len(text) <= width
