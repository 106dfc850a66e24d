"""The other panes and controls, each alone in a bare app."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace
from textual.events import Paste

from alita_tui import events as e
from alita_tui.console.messages import CopyAsked, ToolAsked
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.library import Library
from alita_tui.console.session.queued import Queued
from alita_tui.console.session.sandbox import SandboxPane
from alita_tui.console.session.status import StatusLine
from alita_tui.console.session.suggestions import Suggestion, Suggestions
from alita_tui.console.themes import ThemedApp
from alita_tui.events import SandboxStatus
from alita_tui.spine.text import SafeText
from alita_tui.state.rows import Rows
from alita_tui.state.spend import Spend
from alita_tui.view.fold import fold_all
from alita_tui.view.model import Live, SessionView
from tests.support import streams
from tests.support.viewing import with_


class Bare(ThemedApp[None]):
    """One widget, and what it posts."""

    def __init__(self, widget) -> None:
        super().__init__()
        self.widget = widget
        self.posted: list[object] = []

    def compose(self):
        yield self.widget

    def on_mount(self) -> None:
        self.widget.focus()

    def on_composer_sent(self, message: Composer.Sent) -> None:
        self.posted.append((message.text, message.next_task))

    def on_tool_asked(self, message: ToolAsked) -> None:
        self.posted.append(message.name)

    def on_copy_asked(self, message: CopyAsked) -> None:
        self.posted.append(message.text)

    def on_suggestion_chosen(self, message: Suggestion.Chosen) -> None:
        self.posted.append(message.task)


def drawn(widget) -> str:
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


async def test_the_composer_sends_queues_and_breaks_lines() -> None:
    composer = Composer(blink=False)
    app = Bare(composer)
    async with app.run_test() as pilot:
        await pilot.press("enter", *"one", "ctrl+j", *"two", "shift+enter", *"three", "enter")
        assert app.posted == [("one\ntwo\nthree", False)]
        assert composer.text == "one\ntwo\nthree", "it stays until the screen shows it elsewhere"
        composer.let_go()
        assert composer.text == ""
        await pilot.press(*"later", "ctrl+t", "space", "enter")
        assert app.posted[1:] == [("later", True)]


async def test_the_cursor_stands_still_when_nothing_is_typed_and_blinks_again_with_the_next_key(
    monkeypatch,
) -> None:
    monkeypatch.setattr("alita_tui.console.session.composer.BLINKS_SECONDS", 0.02)
    composer = Composer()

    def blinks() -> bool:
        return composer.cursor_blink

    async with Bare(composer).run_test() as pilot:
        while blinks():
            await pilot.pause(0.02)
        assert composer._draw_cursor, "standing still it is still seen"
        blinked: list[bool] = []
        composer.watch(composer, "cursor_blink", lambda now: blinked.append(now), init=False)
        await pilot.press("a")
        assert blinked[0]
        while blinks():
            await pilot.pause(0.02)
        assert composer.text == "a"


async def test_earlier_entries_come_back_and_a_half_written_one_too() -> None:
    composer = Composer(blink=False)
    app = Bare(composer)
    async with app.run_test() as pilot:
        await pilot.press(*"first", "enter", *"second", "enter", *"half")
        await pilot.press("up")
        assert composer.text == "second"
        await pilot.press("up", "up")
        assert composer.text == "first"
        await pilot.press("down", "down")
        assert composer.text == "half"
        await pilot.press("ctrl+j", *"x", "up")
        assert composer.text == "half\nx"
        assert composer.cursor_location[0] == 0


async def test_earlier_tasks_of_a_resumed_session_and_other_keys() -> None:
    composer = Composer(blink=False)
    app = Bare(composer)
    async with app.run_test() as pilot:
        app.set_keymap({"composer.send": "ctrl+j", "composer.newline": "enter"})
        composer.remember(("Roll dice", "Parse dates"))
        await pilot.press("up", "up", "enter", *"twice", "ctrl+j")
        assert app.posted == [("Roll dice\ntwice", False)]


async def test_up_moves_within_a_wrapped_line_first() -> None:
    composer = Composer(blink=False)
    app = Bare(composer)
    async with app.run_test(size=(20, 10)) as pilot:
        await pilot.press(*"old", "enter", *("word " * 8).strip())
        await pilot.press("up")
        assert composer.text != "old"
        await pilot.press("up", "up", "up")
        assert composer.text == "old"


async def test_a_paste_of_many_lines_stays_whole_and_sends_nothing() -> None:
    composer = Composer(blink=False)
    app = Bare(composer)
    async with app.run_test(size=(40, 12)) as pilot:
        pasted = "\n".join(f"line {n} [/red]" for n in range(200))
        await app.on_event(Paste(pasted))  # as the driver does
        await pilot.pause()
        assert app.posted == []
        assert composer.full_text == pasted
        assert "200 lines" in composer.text
        assert composer.size.height <= 8
        await pilot.press("enter")
        assert app.posted == [(pasted, False)]


async def test_a_queued_message_is_shown_until_the_agent_takes_it() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Task"))
    view = fold_all(tape.envelopes)
    queued = Queued()
    app = Bare(queued)
    async with app.run_test() as pilot:
        assert (queued.display, queued.waiting) == (False, ())
        queued.add("[b]faster[/b]", view, kind="steer")
        queued.add("Another task", view, kind="task")
        await pilot.pause()
        assert queued.display
        assert list(queued.waiting) == ["[b]faster[/b]", "Another task"]
        tape.add(e.Steered(text="[b]faster[/b]"))
        queued.advance(fold_all(tape.envelopes))
        assert list(queued.waiting) == ["Another task"]
        tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="Done"))
        queued.advance(fold_all(tape.envelopes))
        assert list(queued.waiting) == ["Another task"]
        tape.add(e.TaskSubmitted(task_id=e.TaskId("t2"), text="Another task"))
        queued.advance(fold_all(tape.envelopes))
        assert list(queued.waiting) == []
        assert not queued.display


async def test_a_message_that_is_taken_up_before_it_was_painted_leaves_the_composer() -> None:
    """A task that only waits takes it up at once: the text stood in the composer, sent, until the next key."""
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Task"))
    queued, composer = Queued(), Composer(blink=False)
    app = Bare(composer)
    async with app.run_test() as pilot:
        await app.mount(queued)
        await pilot.press(*"faster", "enter")
        queued.add("faster", fold_all(tape.envelopes), kind="steer")
        queued.when_painted(composer.let_go)
        tape.add(e.Steered(text="faster"))
        queued.advance(fold_all(tape.envelopes))
        await pilot.pause()
        assert not queued.display and composer.text == ""


async def test_the_library_filters_opens_and_shows_the_tool_in_use() -> None:
    library = Library()
    app = Bare(library)
    view = fold_all(streams.walkthrough())
    async with app.run_test(size=(50, 12)) as pilot:
        assert "builds one" in drawn(library)
        library.advance(view)
        await pilot.pause()
        assert [line.split()[1] for line in drawn(library).split("\n")[:8:2]] == [
            card.name for card in view.library
        ]
        await pilot.press("down", "enter", "y")
        assert app.posted[0] == "parse_dates"
        assert "sha256:" + "2b" * 32 in str(app.posted[1])
        assert library.filter("CSV column") == 1
        await pilot.press("enter")
        assert app.posted[2] == "csv_join"
        assert library.filter("nothing like it") == 0
        await pilot.press("enter", "y", "down")
        assert len(app.posted) == 3
        assert "No tool fits" in drawn(library)
        assert library.filter("") == 4


async def test_the_sandbox_pane_shows_the_limits_and_current_and_past_runs() -> None:
    pane = SandboxPane()
    app = Bare(pane)
    async with app.run_test(size=(60, 30)) as pilot:
        pane.advance(SessionView())
        await pilot.pause()
        assert "Checking the sandbox" in drawn(pane)
        down = SandboxStatus(
            available=False, problem="Podman is not there.", hint="Run `alita doctor --fix`."
        )
        pane.advance(with_(sandbox=down))
        await pilot.pause()
        assert "doctor --fix" in drawn(pane)
        opened = fold_all(streams.waiting()[:3])
        assert opened.sandbox is not None
        pane.advance(opened)
        await pilot.pause()
        assert "Nothing has run yet" in drawn(pane) and "enforced memory" in drawn(pane)
        begun = next(n for n, one in enumerate(streams.waiting()) if isinstance(one.event, e.TaskSubmitted))
        pane.advance(fold_all(streams.waiting()[: begun + 1]))
        await pilot.pause()
        assert "2 limits enforced" in drawn(pane) and "enforced memory" not in drawn(pane), (
            "a task is at work"
        )
        live = Live(
            work=SafeText("checks of roll_dice"),
            work_detail=SafeText("Tests passed"),
            work_done=2,
            work_total=9,
        )
        pane.advance(replace(opened, live=live))
        await pilot.pause()
        text = drawn(pane)
        assert "checks of roll_dice  running" in text and "Tests passed" in text and "━━" in text
        assert "limits enforced" in text and "enforced memory" not in text, "what runs leads, limits recede"
        assert "Nothing has run" not in text
        envelopes = streams.waiting()
        chunk = next(n for n, one in enumerate(envelopes) if isinstance(one.event, e.OutputChunk))
        pane.advance(fold_all(envelopes[: chunk + 1]))
        await pilot.pause()
        assert "self-tests  running" in drawn(pane)
        assert "│ 3 tests" in drawn(pane)
        pane.advance(fold_all(envelopes))
        await pilot.pause()
        text = drawn(pane)
        assert "running" not in text
        assert "2 limits enforced" in text and text.index("2 limits") < text.index("test_keeps")
        assert "✓ test_keeps_the_order" in text


async def test_a_narrow_status_line_keeps_what_matters() -> None:
    status = StatusLine(keys={"app.review": "ctrl+r"}, motion=False)
    view = with_(
        fold_all(streams.waiting()), recorded=True, spend=Spend(3, 900, 100, 0.42, 0.5, tokens=1_000)
    )
    app = Bare(status)
    async with app.run_test(size=(200, 3)) as pilot:
        status.advance(view)
        await pilot.pause()
        text = drawn(status)
        for part in ("RECORDED", "waiting · step 4", "1 to review Ctrl+R", "$0.42 of $0.50", "openai:small",
                     "1.0k tokens", "sandbox ready", "events saved"):  # fmt: skip
            assert part in text, part
        # The price of some calls is assumed, and is in the sum: it may be too high as well as too low.
        status.advance(with_(view, spend=replace(view.spend, unpriced_calls=2)))
        await pilot.pause()
        assert "~$0.42 of $0.50" in drawn(status) and "unpriced" not in drawn(status)
        status.advance(view)
        await pilot.resize_terminal(60, 3)
        await pilot.pause()
        text = drawn(status)
        assert "RECORDED" in text
        assert "1 to review Ctrl+R" in text
        assert "tokens" not in text
        gone = with_(view, sandbox=SandboxStatus(available=False), builds=Rows())
        status.advance(gone)
        await pilot.pause()
        assert "no sandbox" in drawn(status)


async def test_a_session_opened_again_is_not_ready_while_its_task_waits_for_a_verdict() -> None:
    status = StatusLine(keys={}, motion=False)
    tape = streams.Tape()
    streams.opened(tape)
    streams.until_approval(tape)
    tape.add(e.SessionClosed())
    tape.add(e.SessionResumed(restored=len(tape.envelopes)))
    tape.add(e.TaskQueued(queue_id="q1", text="Another one"))
    async with Bare(status).run_test(size=(120, 3)) as pilot:
        view = fold_all(tape.envelopes)
        status.advance(view)
        await pilot.pause()
        assert "waiting" in drawn(status) and "ready  1 queued" not in drawn(status)
        later = e.BuildPutOff(build_id=view.builds[-1].build_id, approval_id=view.builds[-1].approval_id)
        tape.add(later)
        status.advance(with_(fold_all(tape.envelopes), phase="idle"))
        await pilot.pause()
        assert "ready  1 queued" in drawn(status), "a task that decides later does not hold others up"


async def test_no_spinner_turns_with_reduced_motion() -> None:
    still, turning = StatusLine(keys={}, motion=False), StatusLine(keys={}, motion=True)
    view = with_(fold_all(streams.waiting()), phase="thinking")
    for status, turns in ((still, False), (turning, True)):
        async with Bare(status).run_test():
            status.advance(view)
            assert (status._timer is not None) is turns
            status.advance(with_(view, phase="idle"))
            assert status._timer is None


async def test_a_task_that_is_offered_is_cut_between_words() -> None:
    offers = Suggestions(("Are these addresses valid: grace.hopper@navy..mil",), "Tasks to try")
    async with Bare(offers).run_test(size=(42, 12)) as pilot:
        await pilot.pause()
        assert drawn(offers.query_one(Suggestion)).rstrip().endswith("❯ Are these addresses valid …")


async def test_a_suggestion_is_chosen_by_key_or_click() -> None:
    offers = Suggestions(("Roll [b]dice[/b]", "Parse dates"), "Tasks to try")
    app = Bare(offers)
    async with app.run_test() as pilot:
        first, second = offers.query(Suggestion)
        first.focus()
        await pilot.press("enter", "down", "enter")
        assert app.posted == ["Roll [b]dice[/b]", "Parse dates"]
        await pilot.click(second)
        assert app.posted[2:] == ["Parse dates"]
        assert "Roll [b]dice[/b]" in drawn(first)


async def test_a_description_in_the_library_is_cut_between_words() -> None:
    library = Library()
    view = fold_all(streams.walkthrough())
    told = "Converts an amount between two currencies at the rate of a given day, from the bank's table."
    tool = msgspec.structs.replace(view.library[0], description=told)
    app = Bare(library)
    async with app.run_test(size=(44, 10)) as pilot:
        library.advance(with_(view, library=(tool,)))
        await pilot.pause()
        shown = library.render_line(1).text.rstrip()
        assert shown.endswith(" …") and f"{shown.removesuffix(' …').strip()} " in told
