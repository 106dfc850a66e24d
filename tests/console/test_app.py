"""The whole console over a fake engine: what a person does, and what leaves as a command or a result."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.widget import Widget
from textual.widgets import OptionList

from alita_tui import events as e
from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.library.tool import ToolScreen
from alita_tui.console.ports import ConsoleOptions, Switch
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.library import Library
from alita_tui.console.session.queued import Queued
from alita_tui.console.session.stopping import EscTwice
from alita_tui.console.session.suggestions import Suggestion, Suggestions
from alita_tui.console.session.trace import Trace
from alita_tui.console.session.words import banner
from alita_tui.spine.commands import AnswerQuestion, Continue, Interrupt, Steer, SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.view.habits import Habits
from tests.console.approval_cases import calm
from tests.console.keeping_lab import DICE
from tests.console.navigating import until
from tests.console.screens import Catalog, Sink, Source, at_main, drawn
from tests.support import goldens, streams


async def shown(pilot, widget: type[Widget]) -> None:
    async with asyncio.timeout(180):
        while not pilot.app.main.query(widget):
            await pilot.pause(0.01)
    await pilot.pause()


def opened() -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    return tape.envelopes


def running() -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Roll dice"))
    return tape.envelopes


class House(Catalog):
    """Remembers the theme that is kept."""

    def __init__(self, suggested: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.suggested = suggested
        self.kept: list[str] = []
        self.preloaded = asyncio.Event()

    async def save_theme(self, name: str) -> None:
        self.kept.append(name)

    async def habits(self) -> Habits:
        return Habits()

    async def suggestions(self) -> tuple[str, ...]:
        return self.suggested

    async def preload(self) -> None:
        self.preloaded.set()


def console(
    envelopes: list[Envelope], sink: Sink | None = None, suggestions: tuple[str, ...] = (), **options
) -> AlitaApp:
    chosen: dict[str, Any] = {"theme": "alita-dark", "reduced_motion": True} | options
    return AlitaApp(
        Source(envelopes),
        sink or Sink(),
        catalog=House(suggestions),
        options=ConsoleOptions(builtin_themes=shipped("themes"), **chosen),
    )


async def test_the_composer_has_the_keys_at_once_and_imports_begin_after_the_first_paint() -> None:
    app = console(opened())
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        assert isinstance(app.focused, Composer)
        assert isinstance(app._catalog, House)
        await asyncio.wait_for(app._catalog.preloaded.wait(), 180)


async def test_an_answer_goes_to_the_question_and_a_queued_task_behind_it() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Task"))
    tape.add(e.QuestionAsked(question_id="q1", text="Which [b]one[/b]?"))
    sink = Sink()
    app = console(tape.envelopes, sink)
    async with app.run_test() as pilot:
        await drawn(pilot, 5)
        await pilot.press(*"this", "enter", *"next", "ctrl+t")
        assert sink.commands == [AnswerQuestion(question_id="q1", text="this"), SubmitTask(text="next")]
        assert app.main.query_one(Queued).waiting == ("this", "next")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_question_stands_on_screen_once_wherever_the_person_reads(size: tuple[int, int]) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Task"))
    for number in range(40):
        tape.add(e.NoticeRaised(level="info", text=f"Notice {number}"))
    tape.add(e.QuestionAsked(question_id="q1", text="Which [b]one[/b]?"))
    app = console(tape.envelopes, Sink())

    def shown() -> str:
        return "\n".join(strip.text for strip in app.main._compositor.render_strips())

    async with app.run_test(size=size) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        assert shown().count("Which [b]one[/b]?") == 1
        app.main.query_one(Trace).action_first()
        await until(pilot, lambda: "Notice 39" not in shown())
        assert shown().count("Which [b]one[/b]?") == 1
        app.main.query_one(Trace).action_last()
        await until(pilot, lambda: "Notice 39" in shown())
        assert shown().count("Which [b]one[/b]?") == 1
        await pilot.press("f3")
        await pilot.pause()
        assert shown().count("Which [b]one[/b]?") == 1


async def test_esc_stops_a_task_only_when_it_is_pressed_again_from_an_empty_composer() -> None:
    sink = Sink()
    app = console(running(), sink)
    async with app.run_test() as pilot:
        await drawn(pilot, 4)
        clock = [100.0]
        app.main.esc = EscTwice(lambda: clock[0])
        await pilot.press("x", "escape")
        await pilot.press("backspace", "f2", "escape")
        assert isinstance(app.focused, Composer)
        for _ in range(40):  # one Esc too many, and held
            clock[0] += 0.05
            await pilot.press("escape")
        assert sink.commands == []
        clock[0] += 60
        await pilot.press("escape")
        assert sink.commands == [], "a minute later it is a first one again"
        clock[0] += 1
        await pilot.press("escape")
        assert sink.commands == [Interrupt()]


async def test_esc_never_dismisses_a_waiting_build() -> None:
    sink = Sink()
    app = console(streams.waiting(), sink)
    async with app.run_test() as pilot:
        await drawn(pilot, streams.waiting()[-1].seq)
        clock = [100.0]
        app.main.esc = EscTwice(lambda: clock[0])
        for _ in range(10):
            clock[0] += 1
            await pilot.press("escape")
        assert sink.commands == []
        await pilot.press("f10")
        assert sink.commands == [Interrupt()]


async def test_ctrl_c_copies_interrupts_clears_and_leaves_on_the_second_press() -> None:
    sink = Sink()
    app = console(running(), sink)
    async with app.run_test() as pilot:
        await drawn(pilot, 4)
        await pilot.press(*"word", "shift+home", "ctrl+c")
        assert app.clipboard == "word"
        assert sink.commands == []
        await pilot.press("end", "ctrl+c")
        assert sink.commands == [Interrupt()]
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert not app.is_running or app._exit
    app = console(opened())
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        await pilot.press("x", "ctrl+c")
        assert app.main.query_one(Composer).text == ""
        assert not app._exit
        await pilot.press("ctrl+c", "ctrl+c")
        assert app._exit


async def test_the_question_whether_to_quit_can_be_answered_as_long_as_it_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr("alita_tui.console.app.monotonic", lambda: now[0])
    app = console(opened())
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        await pilot.press("ctrl+c")
        (shown,) = (toast for toast in app._notifications if "Press again to quit" in toast.message)
        now[0] += shown.timeout - 0.1
        await pilot.press("ctrl+c")
        assert app._exit


async def test_leaving_while_a_build_waits_says_so() -> None:
    envelopes = streams.waiting()
    app = console(envelopes, Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("ctrl+c")
        told = [toast.message for toast in app._notifications]
    assert any(
        "validate_email_addresses v1 waits for your decision. Come back with: alita --session" in message
        for message in told
    ), told


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 55)])
async def test_a_waiting_build_is_shown_in_two_places(size: tuple[int, int]) -> None:
    """On its card and in the status line; a third place would only hide what else there is."""
    envelopes = goldens.waiting()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=size) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        strips = app.screen._compositor.render_strips()
        text = ["".join(segment.text for segment in strip) for strip in strips]
    told = [line for line in text if "F8" in line or "is ready" in line]
    assert len([line for line in told if "F8" in line]) == 2, told
    assert len([line for line in told if "is ready" in line]) == 1, told


async def test_the_panes_take_turns_where_it_is_narrow() -> None:
    app = console(streams.waiting())
    async with app.run_test(size=(80, 24)) as pilot:
        await drawn(pilot, streams.waiting()[-1].seq)

        def shown() -> list[str]:
            panes = ("trace", "library", "sandbox")
            return [name for name in panes if app.main.query_one(f"#{name}").size.area]

        assert shown() == ["trace"]
        await pilot.press("f3")
        await pilot.pause()
        assert shown() == ["library"]
        await pilot.click("#tab-sandbox")
        await pilot.pause()
        assert shown() == ["sandbox"]
        await pilot.resize_terminal(120, 30)
        await pilot.pause()
        assert shown() == ["trace", "library", "sandbox"]
        await pilot.press("f9")
        await pilot.pause()
        assert shown() == ["trace"]


async def test_a_waiting_build_asks_without_taking_the_focus_and_opens_by_key_or_click() -> None:
    envelopes = streams.waiting()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        assert isinstance(app.focused, Composer)
        assert at_main(app)
        assert "to review F8" in str(app.main.query_one("#status").render())
        await pilot.click("#status")
        await pilot.pause()
        assert isinstance(app.screen, ApprovalScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert at_main(app)
        await pilot.press("f8")
        await pilot.pause()
        assert isinstance(app.screen, ApprovalScreen)


async def test_the_library_is_filtered_and_a_tool_opened_with_its_versions() -> None:
    app = console(streams.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, streams.walkthrough()[-1].seq)
        await pilot.press("f3", "slash", *"csv")
        await pilot.pause()
        assert len(app.main.query_one(Library)._cards) == 1
        await pilot.press("escape")
        assert len(app.main.query_one(Library)._cards) == 4
        await pilot.press("f3", "enter")
        await pilot.pause()
        assert isinstance(app.screen, ToolScreen)
        await pilot.press("y")
        assert app.clipboard == streams.DRAFT.code
        await pilot.press("escape")
        assert at_main(app)


async def test_a_theme_is_previewed_restored_and_saved() -> None:
    app = console(opened())
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        await pilot.press("f6")
        await pilot.pause()
        names = [option.id for option in app.screen.query_one(OptionList).options]
        await pilot.press("down")
        await pilot.pause()
        assert app.theme == names[names.index("alita-dark") + 1]
        await pilot.press("escape")
        await pilot.pause()
        assert app.theme == "alita-dark"
        assert isinstance(app._catalog, House)
        assert app._catalog.kept == []
        await pilot.press("f6")
        await pilot.pause()
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app._catalog.kept == [app.theme] != ["alita-dark"]


async def test_choosing_another_session_ends_the_app_with_its_id() -> None:
    app = console(opened())
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        await pilot.press("f5")
        await pilot.pause()
        await pilot.press("slash", *"two", "enter", "enter")
        await pilot.pause()
    assert app.return_value == Switch(DICE)
    app = console(opened())
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        await pilot.press("ctrl+n")
    assert app.return_value == Switch()


async def test_a_session_that_cannot_be_opened_leaves_the_console_as_it_is() -> None:
    async def refused(session_id: str) -> None:
        raise StoreError(f"{session_id}.json is not a session file.")

    app = console(opened())
    app._catalog.check_openable = refused  # type: ignore[method-assign]
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        await pilot.press("f5")
        await pilot.pause()
        await pilot.press("slash", *"two", "enter", "enter")
        for _ in range(50):
            if not app.is_running or app._notifications:
                break
            await pilot.pause()
        assert [note.message for note in app._notifications] == [f"{DICE}.json is not a session file."]
        assert app.screen is app.main and app.is_running
    assert app.return_value is None


async def test_suggestions_are_offered_until_they_are_done() -> None:
    sink = Sink()
    app = console(opened(), sink, suggestions=("Roll dice", "Parse dates"))
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        await shown(pilot, Suggestions)
        assert app.main.query_one(Suggestions).display
        await pilot.press("tab")
        assert app.focused is app.main.query(Suggestion).first()
        await pilot.press("down", "enter")
        assert sink.commands == [SubmitTask(text="Parse dates")]
        assert isinstance(app.focused, Composer)
    app = console(running(), suggestions=("Roll dice",))
    async with app.run_test() as pilot:
        await drawn(pilot, 4)
        await shown(pilot, Suggestions)
        assert not app.main.query_one(Suggestions).display
    past = streams.walkthrough()
    done = [one.event.text for one in past if isinstance(one.event, e.TaskSubmitted)]
    app = console(past, suggestions=(*done, "Roll dice"))
    async with app.run_test() as pilot:
        await drawn(pilot, past[-1].seq)
        await shown(pilot, Suggestions)
        assert app.main.query_one(Suggestions).display
        await pilot.press("tab")
        assert isinstance(app.focused, Suggestion) and app.focused.suggested == "Roll dice"


async def test_bad_files_are_reported_and_the_console_starts(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[palette]\ndark = 3\n", "utf-8")
    (tmp_path / "keymap.toml").write_text('[keys]\n"app.nothing" = "f3"\n', "utf-8")
    app = console(opened(), user_themes=tmp_path, keymap=tmp_path / "keymap.toml", theme="gone")
    async with app.run_test(notifications=True) as pilot:
        await drawn(pilot, 3)
        said = [note.message for note in app._notifications]
        assert len(said) == 2
        assert "mine.toml: palette.dark = 3" in said[0]
        assert "'gone'" in said[0]
        assert "app.nothing" in said[1]
        assert app.theme == "alita-dark"


async def test_a_broken_stream_is_reported() -> None:
    class Broken(Source):
        async def __aiter__(self):
            for envelope in self._envelopes:
                yield envelope
            raise StoreError("The file [x] is damaged.")

    app = AlitaApp(
        Broken(opened()),
        None,
        catalog=House(),
        options=ConsoleOptions(builtin_themes=shipped("themes"), reduced_motion=True),
    )
    async with app.run_test(notifications=True) as pilot:
        await drawn(pilot, 3)
        async with asyncio.timeout(180):
            while not app._notifications:
                await pilot.pause()
        assert "The file [x] is damaged." in next(iter(app._notifications)).message


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
async def test_a_signal_ends_in_good_order_and_is_given_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    app = console(opened())
    async with app.run_test() as pilot:
        await drawn(pilot, 3)
        os.kill(os.getpid(), number)
        async with asyncio.timeout(180):
            while not app._exit:
                await pilot.pause()
    assert app.return_code == 128 + number
    assert signal.getsignal(number) in (before, signal.SIG_DFL)


async def test_steering_is_sent_as_it_was_written() -> None:
    sink = Sink()
    app = console(running(), sink)
    async with app.run_test() as pilot:
        await drawn(pilot, 4)
        await pilot.press(*"use [b]two[/b]", "ctrl+j", *"dice", "enter")
        assert sink.commands == [Steer(text="use [b]two[/b]\ndice")]


class Growing:
    """A stream to which one adds."""

    def __init__(self, envelopes: list[Envelope]) -> None:
        self._begun = envelopes
        self.news: asyncio.Queue[e.SessionEvent] = asyncio.Queue()

    async def __aiter__(self):
        for envelope in self._begun:
            yield envelope
        while True:
            event = await self.news.get()
            yield msgspec.structs.replace(self._begun[-1], seq=None, event=event)


async def test_a_banner_stays_while_nothing_can_be_saved_and_goes_when_it_can() -> None:
    source = Growing(running())
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True)
    app = AlitaApp(source, Sink(), catalog=House(), options=options)
    stalled = e.SavingStalled(text="/data/s.json could not be saved: full.", hint="[b]Free some[/b] space.")
    async with app.run_test(size=(100, 30)) as pilot:
        await drawn(pilot, 4)
        banner = app.main.query_one("#unsaved")
        assert not banner.display
        for hint, shown in ((stalled, True), (stalled, True), (e.SavingStalled(), False)):
            source.news.put_nowait(hint)
            async with asyncio.timeout(180):
                while banner.display is not shown or not source.news.empty():
                    await pilot.pause(0.01)
            assert ("[b]Free some[/b] space." in str(banner.render())) is shown
            assert ("NOT SAVED" in str(app.main.query_one("#status").render())) is shown


def test_the_banner_names_all_that_continues_unfinished_work() -> None:
    view = calm()
    tasks = tuple(msgspec.structs.replace(task, text="Roll two dice.") for task in view.tasks)
    live = msgspec.structs.replace(view.live, held=(tasks[0].task_id,))
    said = banner(msgspec.structs.replace(view, live=live, tasks=tasks), {})
    assert (
        "Not finished: Roll two dice. Nothing runs yet: Ctrl+L or your decision on the build continues."
        in said
    )


async def test_unfinished_work_waits_for_one_key_and_is_steered_by_what_is_written_first() -> None:
    source, sink = Growing(running()), Sink()
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True)
    app = AlitaApp(source, sink, catalog=House(), options=options)
    async with app.run_test(size=(120, 30)) as pilot:
        await drawn(pilot, 4)
        source.news.put_nowait(e.WorkHeld(tasks=(e.TaskId("t1"),)))
        banner = app.main.query_one("#banner")
        async with asyncio.timeout(180):
            while not banner.display:
                await pilot.pause(0.01)
        said = str(banner.render())
        assert "Not finished: Roll dice" in said
        assert "Nothing runs yet: Ctrl+L continues" in said
        assert "not continued yet Ctrl+L" in str(app.main.query_one("#status").render())
        await pilot.press(*"six", "enter", "escape", "escape")
        assert sink.commands == [Steer(text="six")]
        await pilot.press("ctrl+l")
        assert sink.commands[1:] == [Continue()]
        source.news.put_nowait(e.WorkHeld())
        async with asyncio.timeout(180):
            while app.main.query_one("#banner").display:
                await pilot.pause(0.01)
        assert "thinking" in str(app.main.query_one("#status").render())
        await pilot.press("ctrl+l")
        assert sink.commands[2:] == [], "a task that runs is neither continued nor tried again"


async def test_a_second_esc_that_comes_too_soon_is_answered_once_and_does_not_stop_the_task() -> None:
    sink = Sink()
    app = console(running(), sink)
    async with app.run_test() as pilot:
        await drawn(pilot, 4)
        clock = [100.0]
        app.main.esc = EscTwice(lambda: clock[0])
        await pilot.press("escape")
        for _ in range(6):
            clock[0] += 0.2
            await pilot.press("escape")
        said = [notice.message for notice in app._notifications]
        assert sum("too quick" in message for message in said) == 1 and len(said) == 2
        assert sink.commands == []
        clock[0] += 1
        await pilot.press("escape")
        assert sink.commands == [Interrupt()]
