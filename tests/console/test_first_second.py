"""The first second: what an empty session says, and what is on screen as soon as Enter is pressed."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual import events

from alita_tui import events as e
from alita_tui.console.ports import Switch
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.recent import MOST, RecentSession, description, worth_reopening
from alita_tui.console.session.status import StatusLine
from alita_tui.console.session.suggestions import Suggestion
from alita_tui.console.session.trace import Trace
from alita_tui.console.session.words import TRY, states
from alita_tui.console.sessions.catalog import SessionLine
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.view.model import SessionView
from tests.console.frames import Frames
from tests.console.navigating import until
from tests.console.screens import SIZES, THEMES, Sink, console, drawn
from tests.support import streams


def shown(app) -> str:
    trace = app.main.query_one(Trace)
    return "\n".join(trace.render_line(y).text for y in range(trace.size.height))


def status(app) -> str:
    return str(app.main.query_one(StatusLine).render()).strip()


class Growing:
    """A stream that is told more while it is read."""

    def __init__(self, envelopes: list[Envelope]) -> None:
        self._told: asyncio.Queue[Envelope] = asyncio.Queue()
        for envelope in envelopes:
            self._told.put_nowait(envelope)

    def tell(self, envelope: Envelope) -> None:
        self._told.put_nowait(envelope)

    async def __aiter__(self):
        while True:
            yield await self._told.get()


@pytest.mark.parametrize("checked", [False, True])
async def test_a_sent_task_appears_at_once_and_says_what_it_waits_for(checked: bool) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    known = tape.envelopes if checked else tape.envelopes[:2]
    sink, source = Sink(), Growing(known)
    app = console(known, sink=sink)
    app._stage._source = source  # the same stream, that goes on
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, known[-1].seq)
        await pilot.press(*"[roll] dice", "enter")
        assert sink.commands == [SubmitTask(text="[roll] dice")]
        said = shown(app)
        assert "❯ [roll] dice" in said
        assert ("starting …" if checked else "checking the sandbox …") in status(app)
        assert not status(app).startswith("ready")
        assert ("Starting …" if checked else "Checking the sandbox …") in said
        assert "builds the tools it lacks" not in said
        if not checked:
            source.tell(tape.envelopes[2])
            await until(pilot, lambda: "Starting …" in shown(app) and "starting …" in status(app))
        tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="[roll] dice"))
        source.tell(tape.envelopes[-1])
        await until(pilot, lambda: " sent" not in shown(app))
        assert shown(app).count("[roll] dice") == 1 and "Starting …" in shown(app)
        tape.add(e.ModelReplied(call_id="c", role="orchestrator", model="m", text="I look first."))
        tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="Done."))
        source.tell(tape.envelopes[-2])
        source.tell(tape.envelopes[-1])
        await until(pilot, lambda: "Starting …" not in shown(app) and status(app).startswith("ready"))


async def test_a_failed_start_stops_the_spinner() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    source = Growing(tape.envelopes)
    app = console(tape.envelopes)
    app._stage._source = source
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 3)
        await pilot.press(*"roll dice", "enter")
        tape.add(e.NoticeRaised(level="error", text="There is no model.", hint="alita setup"))
        source.tell(tape.envelopes[-1])
        await until(pilot, lambda: "There is no model." in shown(app))
        assert "Starting …" not in shown(app) and status(app).startswith("ready")


def _typed_and_shown(frame: list[str], text: str) -> tuple[bool, bool]:
    """Whether a text is in the composer, and whether it is elsewhere on screen."""
    foot = max((number for number, line in enumerate(frame) if line.startswith(" ❯ ")), default=len(frame))
    return any(text in line for line in frame[foot:]), any(text in line for line in frame[:foot])


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", ["empty", "after an answer", "a long session", "at work", "asked"])
async def test_the_frame_that_empties_the_composer_shows_what_was_sent(
    size: tuple[int, int], state: str
) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    if state != "empty":
        for number in range(40 if state == "a long session" else 1):
            tape.add(e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text=f"earlier {number}"))
            if state == "asked":
                tape.add(e.QuestionAsked(question_id="q", text="Which one?"))
            elif state != "at work":
                tape.add(
                    e.TaskFinished(
                        task_id=e.TaskId(f"t{number}"), outcome="answered", answer="Done.\n\nIt is."
                    )
                )
    app = console(tape.envelopes)
    frames = Frames(app, size)
    async with app.run_test(size=size) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await pilot.press(*"toss a coin")
        await until(pilot, lambda: _typed_and_shown(frames.seen[-1], "toss a coin") == (True, False))
        frames.seen.clear()
        await pilot.press("enter")
        await until(
            pilot, lambda: bool(frames.seen) and not _typed_and_shown(frames.seen[-1], "toss a coin")[0]
        )
        for frame in frames.seen:
            assert any(_typed_and_shown(frame, "toss a coin")), "\n".join(frame)


async def test_the_real_card_replaces_the_sent_text_without_movement() -> None:
    for earlier in (0, 1, 40):
        tape = streams.Tape()
        streams.opened(tape)
        for number in range(earlier):
            tape.add(e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text=f"earlier {number}"))
            tape.add(
                e.TaskFinished(task_id=e.TaskId(f"t{number}"), outcome="answered", answer="Done.\n\nIt is.")
            )
        source = Growing(tape.envelopes)
        app = console(tape.envelopes)
        app._stage._source = source
        text = "roll five dice and add what they show, " * 4
        async with app.run_test(size=(120, 36)) as pilot:
            await drawn(pilot, tape.envelopes[-1].seq)
            await pilot.press(*text, "enter")
            await until(pilot, lambda app=app: not app.main.query_one(Composer).text)
            await until(pilot, lambda app=app: "Starting" in shown(app))
            sent = shown(app)
            assert " sent" in sent
            tape.add(e.TaskSubmitted(task_id=e.TaskId("new"), text=text.strip()))
            source.tell(tape.envelopes[-1])
            await drawn(pilot, tape.envelopes[-1].seq)
            await until(pilot, lambda app=app: " sent" not in shown(app))
            begun, before = (
                [re.sub(r"(\d\d:\d\d| sent) *$|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "", line).rstrip() for line in text.split("\n")]
                for text in (shown(app), sent)
            )
            assert begun == before, "and the spinner stays until something comes of it"


@pytest.mark.parametrize("earlier", [0, 1])
async def test_a_task_with_files_does_not_move_when_they_and_it_are_recorded(
    earlier: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("july.csv", "june.csv")
    for name in names:
        Path(name).write_text("a\n1\n")
    tape = streams.Tape()
    streams.opened(tape)
    for number in range(earlier):
        tape.add(e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text=f"earlier {number}"))
        tape.add(e.TaskFinished(task_id=e.TaskId(f"t{number}"), outcome="answered", answer="Done.\n\nIt is."))
    source, text = Growing(tape.envelopes), "compare @july.csv and @june.csv"
    app = console(tape.envelopes)
    app._stage._source = source

    def places() -> list[int]:
        lines = shown(app).split("\n")
        return [
            next((number for number, line in enumerate(lines) if words in line), -1)
            for words in (*(f"File {name}" for name in names), "❯ compare", "Starting …")
        ]

    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        app.main.query_one(Composer).take_paste(text)
        await pilot.press("enter")
        await until(pilot, lambda: "Starting …" in shown(app))
        await pilot.pause()
        before = places()
        assert -1 not in before and before == sorted(before)
        for name in names:
            file = e.Artefact(
                handle="art_aaaaaaaaaa", digest="a" * 64, name=name, media_type="text/csv", size=4
            )
            tape.add(e.ArtefactAdded(artefact=file, origin="person"))
            source.tell(tape.envelopes[-1])
            await until(pilot, lambda name=name: f"File {name}: text/csv" in shown(app))
            assert places() == before and shown(app).count(f"File {name}") == 1
        tape.add(e.TaskSubmitted(task_id=e.TaskId("new"), text=text, files=("art_aaaaaaaaaa",) * 2))
        source.tell(tape.envelopes[-1])
        await until(pilot, lambda: not re.search(r" sent *$", shown(app), re.MULTILINE))
        assert places() == before


async def test_a_task_that_is_refused_comes_back_into_the_composer() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    source = Growing(tape.envelopes)
    app = console(tape.envelopes)
    app._stage._source = source
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 3)
        composer = app.main.query_one(Composer)
        await pilot.press(*"roll dice", "enter")
        await until(pilot, lambda: not composer.text)
        tape.add(e.NoticeRaised(level="error", text="The task is not begun. The file cannot be read."))
        source.tell(tape.envelopes[-1])
        await until(pilot, lambda: composer.text == "roll dice")
        # An error that was not about the task: it begins after all, and what came back goes again.
        tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="roll dice"))
        source.tell(tape.envelopes[-1])
        await until(pilot, lambda: composer.text == "")


async def test_text_typed_right_after_enter_stays() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    sink = Sink()
    app = console(tape.envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 3)
        composer = app.main.query_one(Composer)
        for key in (*"one", "enter", *"two"):  # as one read of the terminal: nothing is painted between
            character = key if len(key) == 1 else None
            app.post_message(events.Key(key, character))
        await until(pilot, lambda: composer.text == "two")
        assert sink.commands == [SubmitTask(text="one")]


async def test_an_empty_session_explains_alita_its_state_and_what_to_try() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    app = console(tape.envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 3)
        said = " ".join(shown(app).split())
        assert "builds the tools it lacks, and runs none you did not approve." in said
        assert "● Model openai:small" in said and "● Sandbox podman" in said
        await until(
            pilot,
            lambda: (
                [one.suggested for one in app.main.query("#suggestions Suggestion").results(Suggestion)]
                == list(TRY)
            ),
        )


async def test_an_empty_session_without_model_or_sandbox_says_how_to_get_them() -> None:
    tape = streams.Tape()
    tape.add(e.SessionOpened(model="", version="0.1.0"))
    tape.add(
        e.SandboxChecked(
            status=e.SandboxStatus(available=False, problem="Podman is missing.", hint="alita doctor --fix")
        )
    )
    app = console(tape.envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 2)
        said = " ".join(shown(app).split())
        assert "▲ Model none is set up F12 sets one up" in said
        assert "▲ Sandbox Podman is missing. alita doctor --fix" in said


def first() -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape, library=())
    return tape.envelopes


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_first_screen(snap_compare, size: tuple[int, int], theme: str) -> None:
    envelopes = first()

    async def before(pilot) -> None:
        await drawn(pilot, envelopes[-1].seq)
        await until(pilot, lambda: len(pilot.app.main.query("#suggestions Suggestion")) == len(TRY))
        await until(pilot, lambda: len(pilot.app.main.query(RecentSession)) == MOST)
        await pilot.pause()

    assert snap_compare(console(envelopes, theme), terminal_size=size, run_before=before)


def past(session_id: str, **more: object) -> SessionLine:
    begun = datetime(2026, 11, 1, 9, tzinfo=UTC)
    known: dict[str, object] = {
        "started": begun,
        "last_activity": begun,
        "events": 40,
        "state": "closed",
        "tasks": 1,
    }
    known |= {"title": session_id.title(), "outcome": "answered"}
    return SessionLine(session_id=session_id, **(known | more))  # type: ignore[arg-type]


def test_only_sessions_that_can_be_continued_are_offered_newest_first() -> None:
    day = datetime(2026, 11, 2, tzinfo=UTC)
    lines = (
        past("old"),
        past("mine", last_activity=day),
        past("new", last_activity=day),
        past("empty", tasks=0, last_activity=day),
        past("away", archived=True, last_activity=day),
        past("foreign", imported=True, last_activity=day),
        past("broken", state="damaged", last_activity=day),
        past("elsewhere", state="open", last_activity=day),
        past("unread", readable=False, last_activity=day),
    )
    assert [one.session_id for one in worth_reopening(lines, "mine")] == ["new", "old"]


def test_each_recent_session_says_why_to_continue_it() -> None:
    now = datetime(2026, 11, 1, 9, 20, tzinfo=UTC)
    assert description(past("a", waiting=("x v1",), outcome="parked"), now)[:2] == (
        "◈",
        "1 build waits · 20 min ago",
    )
    assert description(past("a"), now)[:2] == ("●", "done · 20 min ago")
    assert description(past("a", outcome="budget"), now)[:2] == ("✗", "out of budget · 20 min ago")
    assert description(past("a", outcome=""), now)[1].startswith("not finished")


async def test_recent_sessions_are_on_the_empty_screen_open_by_key_and_go_with_the_first_task() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    for leaves in (True, False):
        app = console(tape.envelopes)
        lines = (
            past("first", title="[b]Rates[/b] \x1b[31m", waiting=("fx v1",)),
            past("second", title="Mails"),
        )

        async def listed(lines: tuple[SessionLine, ...] = lines) -> tuple[SessionLine, ...]:
            return lines

        app._catalog.sessions = listed  # type: ignore[method-assign]
        async with app.run_test(size=(120, 36)) as pilot:
            await until(pilot, lambda app=app: bool(app.main.query(RecentSession)))
            await pilot.pause()
            first, second = app.main.query(RecentSession)
            text = str(first.render())
            assert "[b]Rates[/b]" in text and "1 build waits" in text and "\x1b" not in text
            assert "F5 all 2 sessions" in str(app.main.query_one("#recent .heading").render())
            if leaves:
                second.focus()
                await pilot.press("enter")
                await pilot.pause()
                assert app.return_value == Switch("second")
            else:
                await pilot.press(*"dice", "enter")
                await pilot.pause()
                assert not app.main.query_one("#recent").display


def test_before_the_session_is_read_no_model_is_said_to_be_missing() -> None:
    model, _ = states(SessionView(), {})
    assert (model.said, model.tone) == ("checking …", "muted"), model
