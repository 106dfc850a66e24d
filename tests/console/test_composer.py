"""The composer: lists of commands and files, earlier entries, long pastes, the editor; and nothing typed is lost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.drafts import COMPOSER, Drafts
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.session.completions import Completions, earlier, offer
from alita_tui.console.session.composer import Composer
from alita_tui.console.themes import ThemedApp
from alita_tui.replay.playback import LiveTape
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.envelope import Envelope
from tests.console.navigating import until
from tests.console.screens import Catalog, Sink, Source, console, covered, drawn
from tests.support import goldens, streams


class Kept:
    """A store of drafts in memory."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})
        self.asked: list[tuple[str, bool]] = []

    def read(self, session: str, *, fresh: bool) -> Mapping[str, str]:
        self.asked.append((session, fresh))
        return dict(self.texts)

    def write(self, session: str, fields: Mapping[str, str], *, fresh: bool) -> None:
        self.texts.update(fields)
        self.texts = {field: text for field, text in self.texts.items() if text}


def beginning() -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    return tape.envelopes


def keeping(envelopes: list[Envelope], kept: Kept, sink: Sink | None = None) -> AlitaApp:
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True)
    return AlitaApp(
        Source(envelopes),
        sink or Sink(),
        catalog=Catalog(),
        options=options,
        tape=LiveTape(),
        drafts=Drafts(kept, new=True),
    )


def names(app: AlitaApp) -> list[str]:
    """Return what the list offers; nothing where it is closed."""
    return [pick.name for one in app.main.query(Completions) if one.display for pick in one.picks]


async def paste(pilot, text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


# --- what is offered ------------------------------------------------------------------------


def test_a_slash_offers_commands_those_that_begin_so_first() -> None:
    found = offer("/se", "/se")
    assert found is not None and found.kind == "command"
    assert found.texts[:3] == ("/servers", "/sessions", "/settings") or set(found.texts[:3]) >= {
        "/servers",
        "/sessions",
    }
    assert all("se" in one for one in found.texts)
    assert offer("/nothing-like-it", "/nothing-like-it") is None
    assert offer("/tmp/x", "/tmp/x") is None and offer("do /se", "do /se") is None


def test_an_at_offers_files_and_choosing_one_completes_the_text(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("sales.csv", "sales 2.csv", "\x1b[31msalt.csv", "data/x.csv"):
        (tmp_path / name).touch()
    found = offer("sum @sa", "sum @sa")
    assert found is not None and found.kind == "file" and found.texts == ("les.csv ",)
    assert offer("sum @da", "sum @da").texts == ("ta/",)  # type: ignore[union-attr]
    assert offer('sum @"sales ', 'sum @"sales ').texts == ('2.csv" ',)  # type: ignore[union-attr]
    assert offer("mail@sa", "mail@sa") is None and offer("sum @nothing", "sum @nothing") is None
    shown = offer("@", "@")
    assert shown is not None and not any("\x1b" in pick.name for pick in shown.picks)


def test_matching_entries_contain_every_word_newest_first_without_repeats() -> None:
    entries = ["chart sales", "roll dice", "Chart the SALES by day", "roll dice"]
    assert earlier(entries, "sales chart").texts == ("Chart the SALES by day", "chart sales")
    assert earlier(entries, "").texts == ("roll dice", "Chart the SALES by day", "chart sales")


async def test_the_list_is_moved_in_taken_and_closed_without_sending() -> None:
    envelopes, sink = beginning(), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        await pilot.press("slash", "s", "e")
        await until(pilot, lambda: "/servers" in names(app))
        second = names(app)[1]
        await pilot.press("down", "tab")
        await until(pilot, lambda: composer.text == second and not names(app))
        await pilot.press("ctrl+u", "slash", "s", "e")
        await until(pilot, lambda: names(app))
        await pilot.press("escape")
        await until(pilot, lambda: not names(app))
        assert composer.text == "/se" and app.focused is composer
        await pilot.press("r")
        await until(pilot, lambda: names(app))
        assert sink.commands == []


async def test_a_command_that_quits_is_no_unsent_text() -> None:
    """It would come back in the next new session, and what is typed there would follow it."""
    kept = Kept()
    app = keeping(beginning(), kept)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, beginning()[-1].seq)
        await pilot.press("slash", *"quit")
        await until(pilot, lambda: kept.texts.get(COMPOSER) == "/quit")
        await pilot.press("enter")
        await until(pilot, lambda: not app.is_running or app._exit)
    assert not kept.texts.get(COMPOSER), kept.texts


async def test_enter_takes_the_command_that_is_marked_for_a_beginning_and_the_next_one_runs_it() -> None:
    envelopes, sink = beginning(), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        await pilot.press("slash", *"stat")
        await until(pilot, lambda: names(app)[:1] == ["/statistics"])
        await pilot.press("enter")
        await until(pilot, lambda: composer.text == "/statistics" and not names(app))
        assert not app._notifications, "what is offered is not unknown"
        assert app.screen is app.main
        await pilot.press("enter")
        await covered(pilot)
        assert sink.commands == [] and composer.text == ""


async def test_earlier_entries_are_searched_and_esc_restores_the_text() -> None:
    envelopes, sink = beginning(), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        composer._history = ["chart sales", "roll dice"]
        await pilot.press(*"half")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.main.query(Completions))
        await pilot.press("ctrl+u", *"chart")
        await until(pilot, lambda: names(app) == ["chart sales"])
        await pilot.press("escape")
        await until(pilot, lambda: composer.text == "half" and not names(app))
        await pilot.press("ctrl+u", "ctrl+r", *"dice", "enter")
        await until(pilot, lambda: composer.text == "roll dice")
        assert sink.commands == []
        await pilot.press("enter")
        await until(pilot, lambda: sink.commands)
        assert sink.commands == [SubmitTask(text="roll dice")]


async def test_up_and_ctrl_r_know_what_was_asked_in_earlier_sessions() -> None:
    envelopes = beginning()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        tasks = await Catalog().earlier_tasks(envelopes[0].session_id)
        await pilot.press(*"half", "up")
        await until(pilot, lambda: composer.text == tasks[-1])
        await pilot.press("up")
        assert composer.text == tasks[-2]
        await pilot.press("down", "down")
        assert composer.text == "half"
        await pilot.press("ctrl+r")
        await pilot.press("ctrl+u", *"dice")
        await until(pilot, lambda: names(app) == [one for one in tasks if "dice" in one] != [])


async def test_ctrl_r_pressed_first_finds_earlier_sessions_too() -> None:
    envelopes = beginning()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(names(app)) > 1)


@pytest.mark.parametrize("newline", ["\r", "\r\n"])
async def test_lines_of_a_paste_are_counted_as_terminals_send_them(newline: str) -> None:
    """Most terminals, and tmux, send a carriage return for each line of what is pasted."""
    envelopes, sink = beginning(), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        await paste(pilot, newline.join(f"{n}" for n in range(60)))
        await until(pilot, lambda: composer.text)
        assert "[pasted 1: 60 lines" in composer.text
        assert composer.full_text == "\n".join(f"{n}" for n in range(60))


async def test_a_long_paste_stands_as_one_line_and_is_sent_whole() -> None:
    envelopes, sink = beginning(), Sink()
    app = console(envelopes, sink=sink)
    pasted = "\n".join(f"line {n}" for n in range(400))
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        await pilot.press(*"sum", "space")
        await paste(pilot, pasted)
        await until(pilot, lambda: "[pasted 1: 400 lines" in composer.text)
        assert composer.document.line_count == 1 and composer.full_text == f"sum {pasted}"
        await paste(pilot, " now")
        await until(pilot, lambda: composer.text.endswith(" now"))
        await pilot.press("enter")
        await until(pilot, lambda: sink.commands)
        (sent,) = sink.commands
        assert isinstance(sent, SubmitTask) and sent.text[-20:] == f"{pasted} now"[-20:]
        assert sent == SubmitTask(text=f"sum {pasted} now")


async def test_the_editor_gets_the_whole_text_and_its_result_is_in_the_composer(
    tmp_path, monkeypatch
) -> None:
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "assert path.suffix == '.md' and path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0\n"
        "path.write_text(path.read_text().upper() + '\\nmore\\n')\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    envelopes = beginning()
    app = console(envelopes)
    monkeypatch.setattr(app, "suspend", nullcontext)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press(*"roll", "ctrl+g")
        await until(pilot, lambda: app.main.query_one(Composer).text == "ROLL\nmore")


# --- nothing typed is lost --------------------------------------------------------------------


async def test_typed_text_is_saved_until_it_is_sent() -> None:
    envelopes, kept, sink = beginning(), Kept(), Sink()
    app = keeping(envelopes, kept, sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press(*"roll", "space", *"dic")
        await until(pilot, lambda: kept.texts == {COMPOSER: "roll dic"})
    assert kept.asked == [(envelopes[0].session_id, True)]
    app = keeping(envelopes, kept, sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.main.query_one(Composer).text == "roll dic")
        await pilot.press("e", "enter")
        await until(pilot, lambda: not kept.texts)
        assert sink.commands == [SubmitTask(text="roll dice")]


async def test_text_typed_before_the_session_opened_precedes_the_saved_text() -> None:
    envelopes, kept = beginning(), Kept({COMPOSER: "from before"})
    app = keeping([], kept)
    async with app.run_test(size=(120, 36)) as pilot:
        composer = app.main.query_one(Composer)
        await pilot.press(*"now")
        app._source = None  # type: ignore[assignment]
        app.drafts.fresh = True
        app._open_drafts(envelopes[0].session_id)
        await until(pilot, lambda: kept.texts.get(COMPOSER) == "now")
        assert composer.text == "now"
        await pilot.press("up")
        assert composer.text == "from before"


async def test_quitting_at_once_saves_the_last_keystroke() -> None:
    envelopes, kept = beginning(), Kept()
    app = keeping(envelopes, kept)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await until(pilot, lambda: app.drafts.opened)
        await pilot.press(*"abc")
    assert kept.texts == {COMPOSER: "abc"}


async def test_an_unfinished_reason_is_restored_with_its_build_even_after_a_kill() -> None:
    envelopes, kept = goldens.waiting(), Kept()
    for again in (False, True):
        app = keeping(envelopes, kept)
        async with app.run_test(size=(120, 36)) as pilot:
            await drawn(pilot, envelopes[-1].seq)
            await pilot.press("f8")
            await covered(pilot)
            review = app.screen
            assert isinstance(review, ApprovalScreen) and review._review is not None
            review.bar.ask_reason(
                review._review.build.approval_id
            )  # the key counts after a moment of quiet only
            field = review.query_one("#reason", Input)
            await until(pilot, lambda field=field: field.has_focus)
            if not again:
                await pilot.press(*"too")
                await until(pilot, lambda: "too" in kept.texts.values())
                await pilot.press("escape")
                await until(pilot, lambda field=field: not field.value)
                review.bar.ask_reason(review._review.build.approval_id)
            assert field.value == "too"
            assert [key.partition(":")[0] for key in kept.texts] == ["reason"]


async def test_a_failing_draft_file_causes_a_notice_and_loses_no_keystroke() -> None:
    class Full(Kept):
        def write(self, session: str, fields: Mapping[str, str], *, fresh: bool) -> None:
            raise OSError(28, "No space left on device")

    envelopes = beginning()
    app = keeping(envelopes, Full())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press(*"abc")
        await until(pilot, lambda: app.drafts.failed)
        assert app.main.query_one(Composer).text == "abc"


async def test_after_many_keystrokes_the_newest_text_is_saved() -> None:
    kept = Kept()
    drafts = Drafts(kept)
    await drafts.open("s1")
    for n in range(200):
        drafts.keep(COMPOSER, f"text {n}")
        await asyncio.sleep(0)
    await drafts.close()
    assert kept.texts == {COMPOSER: "text 199"}


@pytest.mark.parametrize("text", ["", "x"])
def test_an_app_without_a_draft_file_holds_drafts_in_memory(text: str) -> None:
    app = ThemedApp[None]()
    app.drafts.keep("field", text)
    assert app.drafts.get("field") == text


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 55)])
async def test_the_list_of_commands_leaves_the_status_line_alone(size: tuple[int, int]) -> None:
    envelopes = goldens.waiting()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=size) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        app.main.query_one(Composer).focus()
        await pilot.press("slash")
        await until(pilot, lambda: bool(app.main.query(Completions)))
        offered, status = app.main.query_one(Completions), app.main.query_one("#status")
        await until(pilot, lambda: offered.region.height > 0)
        assert offered.region.bottom == status.region.y
        strips = app.screen._compositor.render_strips()
        assert "1 to review" in "".join(segment.text for segment in strips[status.region.y])


async def test_a_paste_lands_in_the_composer_whatever_has_the_focus() -> None:
    envelopes = goldens.waiting()
    app = console(envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        for part in ("f2", "f3", "f4"):
            composer.text = ""
            await pilot.press(part)
            assert app.focused is not composer
            await paste(pilot, "from\rthe clipboard")
            await until(pilot, lambda: composer.text == "from\nthe clipboard" and app.focused is composer)
            composer.text = ""
            await pilot.press(part)
            await paste(pilot, "line\n" * 20)
            await until(pilot, lambda: composer.full_text == "line\n" * 20)
