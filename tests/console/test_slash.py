"""Slash commands, typed as a person types them: the whole name runs, a slip runs and sends nothing."""

from __future__ import annotations

import pytest

from alita_tui import events as e
from alita_tui.console.action_table import ACTIONS
from alita_tui.console.servers.screen import ServersScreen
from alita_tui.console.session import slash
from alita_tui.console.session.composer import Composer
from alita_tui.spine.commands import AnswerQuestion, SubmitTask
from alita_tui.spine.envelope import Envelope
from tests.console.navigating import until
from tests.console.screens import Sink, at_main, console, covered, drawn
from tests.support import streams


def keys(text: str) -> list[str]:
    return [{"/": "slash", " ": "space", "-": "minus"}.get(char, char) for char in text]


def beginning(*more: e.SessionEvent) -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    for event in more:
        tape.add(event)
    return tape.envelopes


def test_every_command_of_the_palette_has_its_own_name() -> None:
    runs = {one.run for one in slash.commands().values()}
    offered = {one.run for one in ACTIONS if one.palette and one.live and one.owner == "app"}
    assert offered <= runs and {"servers", "new-session", "quit", "help"} <= set(slash.commands())


@pytest.mark.parametrize("text", ["/tmp/x.csv sum it", "/plan", "/servers now", "a /servers", "/tmp/"])
def test_paths_plans_and_sentences_are_not_read_as_commands(text: str) -> None:
    assert not slash.is_command(text)


async def test_a_command_that_is_typed_fast_runs_and_nothing_is_sent() -> None:
    envelopes, sink = beginning(), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        before = len(sink.commands)
        app.main.query_one(Composer).focus()
        await pilot.press(*keys("/servers"), "enter")
        await covered(pilot)
        assert isinstance(app.screen, ServersScreen) and len(sink.commands) == before


async def test_a_mistyped_command_stays_in_the_composer_with_a_suggestion() -> None:
    envelopes, sink = beginning(), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        composer = app.main.query_one(Composer)
        composer.focus()
        await pilot.press(*keys("/servrs"), "enter")
        await until(pilot, lambda: len(app._notifications))
        assert composer.text == "/servrs" and at_main(app)
        assert any("Did you mean /servers" in one.message for one in app._notifications)
        assert not any(isinstance(one, SubmitTask | AnswerQuestion) for one in sink.commands)


async def test_a_path_can_be_the_answer_to_a_question() -> None:
    envelopes, sink = beginning(e.QuestionAsked(question_id="q1", text="Which folder?")), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        app.main.query_one(Composer).focus()
        await pilot.press(*keys("/tmp"), "enter")
        await until(pilot, lambda: sink.commands)
        assert sink.commands == [AnswerQuestion(question_id="q1", text="/tmp")]
