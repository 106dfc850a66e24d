"""The line of keys at the bottom: those of what has the focus, the most used first, F1 always."""

from __future__ import annotations

import msgspec
import pytest
from textual.widgets import OptionList

from alita_tui import events as e
from alita_tui.console.actions import action
from alita_tui.console.active_keys import ActiveKey, active_keys
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.context_line import ContextLine, fitting, items_of
from alita_tui.console.session.library import Library
from alita_tui.console.tasks.screen import TasksScreen
from alita_tui.spine.commands import AnswerQuestion, Steer, SubmitTask
from alita_tui.view.fold import fold_all
from tests.console.navigating import until
from tests.console.screens import Sink, console, drawn
from tests.support import goldens, streams


def line(app) -> str:
    return str(app.main.query_one(ContextLine).content)


async def test_the_context_line_follows_focus_and_state() -> None:
    envelopes = goldens.waiting()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await until(pilot, lambda: "Enter steer" in line(app))
        assert line(app).startswith("Enter steer   Ctrl+T queue") and line(app).endswith("F1 all keys")
        await pilot.press("f2")
        await until(pilot, lambda: "d detail: steps" in line(app))
        assert "Enter open   Esc back" in line(app) and "steer" not in line(app)
        for level in ("everything", "answer", "steps"):
            await pilot.press("d")
            await until(pilot, lambda level=level: f"d detail: {level}" in line(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Enter steer" in line(app))


async def test_while_a_build_is_made_the_line_names_the_key_that_stops_it() -> None:
    """Esc Esc drops no build, so the line must not offer it."""
    events = streams.waiting()
    begun = next(index for index, one in enumerate(events) if isinstance(one.event, e.BuildStarted))
    app = console(events[: begun + 1], sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, events[begun].seq)
        await until(pilot, lambda: "Enter steer" in line(app))
        assert "F10 stop" in line(app) and "Esc Esc" not in line(app)


def test_the_line_says_what_enter_and_f10_do_with_unfinished_work() -> None:
    """The banner says that what is written is added to it, and Esc Esc that F10 ends it."""
    events = streams.waiting()
    begun = next(index for index, one in enumerate(events) if isinstance(one.event, e.BuildStarted))
    view = fold_all(events[:begun])
    parked = msgspec.structs.replace(view, state=msgspec.structs.replace(view.state, phase="parked"))
    names = ("composer.send", "composer.next", "session.escape", "session.interrupt")
    keys = {name: ActiveKey(action(name), Composer(), (action(name).key,)) for name in names}
    held = msgspec.structs.replace(parked, live=msgspec.structs.replace(view.live, held=(e.TaskId("t1"),)))
    assert ("Enter", "send") in items_of(keys, parked)
    items = items_of(keys, held)
    assert items[:3] == [("Enter", "steer"), ("Ctrl+T", "queue"), ("F10", "stop")], items
    waiting = msgspec.structs.replace(fold_all(events), live=held.live)  # a build of it was put off
    items = items_of(keys, waiting)
    assert items[:3] == [("Enter", "steer"), ("Ctrl+T", "queue"), ("F10", "stop")], items


WAITS = (("Enter steer", "Ctrl+T queue"), "Add to this task · Ctrl+T queues a new one", Steer)
ASKED = e.QuestionAsked(question_id="q1", text="Which?")
REOPENED = {
    "the build waits": ((), *WAITS),
    "the task was parked": ((e.TaskFinished(task_id=e.TaskId("t1"), outcome="parked"),), *WAITS),
    "it waits for an answer": (
        (ASKED,),
        ("Enter answer", "Ctrl+T queue"),
        "Answer the question",
        AnswerQuestion,
    ),
    "the task is over": (
        (e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="Done."),),
        ("Enter send",),
        "What should alita do?",
        SubmitTask,
    ),
}
"""What a session was left with → the keys of the line, the composer's words, and what Enter does."""


@pytest.mark.parametrize("closed", [True, False], ids=["quit", "killed"])
@pytest.mark.parametrize("case", REOPENED)
async def test_in_a_reopened_session_the_line_and_the_composer_say_what_enter_does(
    case: str, closed: bool
) -> None:
    """A task that waits for the person runs again as soon as its session is open, however it was left."""
    last, keys, placeholder, command = REOPENED[case]
    tape = streams.Tape()
    streams.opened(tape)
    streams.until_approval(tape)
    for event in (*last, *((e.SessionClosed(),) if closed else ()), e.SessionResumed(restored=9)):
        tape.add(event)
    sink = Sink()
    app = console(tape.envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await until(pilot, lambda: "Enter" in line(app))
        assert line(app).startswith("   ".join(keys))
        assert ("queue" in line(app)) == ("Ctrl+T queue" in keys)
        await pilot.press("ctrl+k")  # the drawer of tasks agrees
        await until(pilot, lambda: isinstance(app.screen, TasksScreen))
        tasks = app.screen.query_one(OptionList)
        await until(pilot, lambda: tasks.option_count)
        rows = " ".join(str(option.prompt) for option in tasks.options)
        assert ("waits for you" in rows) == (command is not SubmitTask), rows
        await pilot.press("escape")
        composer = app.main.query_one(Composer)
        assert str(composer.placeholder) == placeholder
        composer.text = "also lists"
        await pilot.press("enter")
        await until(pilot, lambda: sink.commands)
        assert isinstance(sink.commands[0], command)


async def test_under_another_screen_the_line_names_f1_alone_and_the_composer_has_no_cursor() -> None:
    envelopes = goldens.waiting()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await until(pilot, lambda: "Enter steer" in line(app))
        await pilot.press("f8")
        await until(pilot, lambda: app.screen is not app.main and line(app).strip() == "F1 all keys")
        assert app.main.query_one(Composer)._draw_cursor is False
        await pilot.press("escape")
        await until(pilot, lambda: "Enter steer" in line(app))
        await until(pilot, lambda: app.main.query_one(Composer)._draw_cursor)


async def test_the_line_names_the_keys_of_an_open_list_and_of_a_field() -> None:
    """Enter does not send there, so the line must not say it."""
    envelopes = goldens.walkthrough()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("slash", *"st")
        await until(pilot, lambda: line(app).startswith("Tab take   ↑ ↓ choose   Esc close"))
        await pilot.press("escape")
        await until(pilot, lambda: line(app).startswith("Enter send"))
        await pilot.press("ctrl+u", "ctrl+r")
        await until(pilot, lambda: line(app).startswith("Enter take   ↑ ↓ choose   Esc close"))
        await pilot.press("escape", "f2", "slash")
        await until(pilot, lambda: line(app).startswith("Enter find"))
        await pilot.press("escape", "f2", "end", "minus")
        await until(pilot, lambda: line(app).startswith("Enter send   Esc back"))


async def test_an_idle_session_offers_to_send_and_no_queue() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    app = console(tape.envelopes)
    async with app.run_test(size=(200, 55)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await until(pilot, lambda: "Enter send" in line(app))
        assert "queue" not in line(app) and "Ctrl+R earlier" in line(app) and "Ctrl+G editor" in line(app)


async def test_a_remapped_key_is_shown_as_remapped(tmp_path) -> None:
    (tmp_path / "keymap.toml").write_text('[keys]\n"trace.level" = "ctrl+e"\n', "utf-8")
    envelopes = goldens.walkthrough()
    app = console(envelopes, keymap=tmp_path / "keymap.toml")
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("f2")
        await until(pilot, lambda: "Ctrl+E detail" in line(app))
        assert "d detail" not in line(app)
        assert active_keys(app.main, app.focused)["trace.level"].keys == ("ctrl+e",)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_keys_that_do_not_fit_are_dropped_from_the_end_and_f1_stays(width: int) -> None:
    items = [
        ("Enter", "send"),
        ("Esc", "back"),
        ("Ctrl+R", "earlier"),
        ("Ctrl+G", "editor"),
        ("/", "commands"),
    ]
    kept = fitting(items, (("F1", "all keys"),), width)
    assert kept[-1] == ("F1", "all keys") and list(kept[:-1]) == items[: len(kept) - 1]
    assert sum(len(f"{key} {word}") for key, word in kept) + 3 * (len(kept) - 1) <= max(width, 11)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "+ - = u rate"),
        (120, "+ good   - not good   = should be   u undo"),
        (200, "= should be   u undo"),
    ],
)
async def test_the_context_line_of_the_trace_names_the_keys_that_rate_and_undo_a_rating(
    width: int, shown: str
) -> None:
    envelopes = goldens.walkthrough()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(width, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("f2")
        await until(pilot, lambda: "d detail" in line(app))
        assert shown in line(app) and line(app).endswith("F1 all keys")


async def test_the_line_of_the_library_names_the_keys_of_a_tool_only_while_there_is_one() -> None:
    app = console(streams.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, streams.walkthrough()[-1].seq)
        library = app.main.query_one(Library)
        library.focus()
        await until(pilot, lambda: "Enter open" in line(app))
        library.filter("nothing like it")
        await until(pilot, lambda: "Enter" not in line(app) and "y copy" not in line(app))
        assert "/ find" in line(app)
        library.filter("")
        await until(pilot, lambda: "Enter open" in line(app))
