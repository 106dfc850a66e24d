"""The running task's plan, changed by the person."""

from __future__ import annotations

from alita_tui import events as e
from alita_tui.agent.checklist import checklist, from_person
from alita_tui.console.session.composer import Composer
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.commands import Steer
from tests.console.screens import Sink, console, drawn
from tests.support import streams


def planned() -> streams.Tape:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="chart the sales"))
    written = ("[x] read the table", "[>] draw\x1b[31m it", "[!] send it", "[-] print it", "answer")
    tape.add(checklist(e.TaskId("t1"), written, None))
    return tape


async def test_a_key_puts_the_plan_into_the_composer_and_what_is_sent_replaces_it() -> None:
    tape = planned()
    sink = Sink()
    app = console(tape.envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await pilot.press(*"half a word", "shift+f7")
        composer = app.screen.query_one(Composer)
        assert composer.text.splitlines()[:3] == ["/plan", "[x] read the table", "[>] draw it"]
        await pilot.press("backspace", *"s", "enter")
        (sent,) = sink.commands
        assert isinstance(sent, Steer)
        steps = from_person(sent.text)
        assert steps is not None
        plan = checklist(e.TaskId("t1"), steps, None)
        assert plan.steps == ("read the table", "draw it", "send it", "print it", "answes")
        assert plan.status == ("done", "doing", "failed", "dropped", "open")
        recalled = set()
        for _ in range(12):
            await pilot.press("up")
            recalled.add(composer.text)
        assert "half a word" in recalled, "what was being written is not lost"


async def test_without_a_running_plan_the_key_says_so() -> None:
    tape = planned()
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="done"))
    app = console(tape.envelopes, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await pilot.press("shift+f7")
        assert app.screen.query_one(Composer).text == ""
        assert [one.message for one in app._notifications] == ["No task with a plan is running."]


async def test_a_plan_without_ticks_is_explained() -> None:
    cases: tuple[tuple[e.TaskOutcome | None, str], ...] = (
        (None, "No step is ticked yet: the agent does that."),
        ("answered", "Answered. The agent did not tick 2 steps"),
        ("failed", "The task ended with 2 steps open."),
    )
    for outcome, word in cases:
        tape = streams.Tape()
        streams.opened(tape)
        tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="chart the sales"), span="t1")
        tape.add(checklist(e.TaskId("t1"), ("read the table", "draw it"), None))
        if outcome:
            tape.add(
                e.TaskFinished(task_id=e.TaskId("t1"), outcome=outcome, answer="done", reason="it broke")
            )
        app = console(tape.envelopes, sink=Sink())
        async with app.run_test(size=(120, 36)) as pilot:
            await drawn(pilot, tape.envelopes[-1].seq)
            await pilot.press("f7")
            await pilot.pause()
            assert word in str(app.main.query_one("#plan").render()), outcome
            await pilot.press("f2", "home")  # the task: the inspector shows its plan, also after the end
            await pilot.pause()
            told = "".join(
                text for row in app.main.query_one("#inspector", Sheet).rows for text, _style in row.body
            )
            assert "draw it" in told and word in told, outcome
