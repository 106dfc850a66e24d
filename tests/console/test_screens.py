"""Every screen of the frame as a picture, at three sizes, dark and light, fed by a lawful stream."""

from __future__ import annotations

import pytest
from textual.widgets import Input, OptionList

from alita_tui import events as e
from alita_tui.console.help import HelpScreen
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.dialog import Dialog
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.events import RunReport, Usage
from alita_tui.spine.commands import EnableModel, Interrupt, Steer, SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.view.queries import pending
from tests.console.navigating import until
from tests.console.screens import (
    CHANGED,
    SIZES,
    THEMES,
    Sink,
    console,
    covered,
    drawn,
)
from tests.console.servers_lab import using
from tests.console.tasks_lab import told
from tests.support import goldens, streams


def spending() -> list[Envelope]:
    """A session that paid for a build, ran its tool twice, and has one model limp and one off."""
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Validate the addresses of our customers"))
    total = 0.0
    for n in range(14):
        role: e.ModelRole
        role, model = ("toolsmith", "anthropic:large") if n % 4 == 1 else ("orchestrator", "openai:small")
        if n == 1:
            tape.add(
                e.BuildStarted(
                    build_id=e.BuildId("b1"), action_id="m0.0", name="validate_email_addresses", goal="…"
                )
            )
        cost = 0.11 if role == "toolsmith" else 0.03
        total += cost
        usage = Usage(input_tokens=4000 + 90 * n, output_tokens=300, cached_tokens=2600)
        tape.add(
            e.ModelReplied(
                call_id=f"m{n}", role=role, model=model, usage=usage, duration_ms=5200, first_ms=800
            )
        )
        tape.add(e.BudgetSpent(call_id=f"m{n}", cost_usd=cost, role=role, model=model, tokens=4300 + 90 * n, saved_usd=0.004,
                 total_usd=total, limit_usd=1.5, task_usd=total, task_limit_usd=0.8, day_usd=total + 2))  # fmt: skip
    for name in ("roll_dice", "roll_dice"):
        call_id = e.CallId(f"r{tape.envelopes[-1].seq}")
        tape.add(
            e.ToolCalled(
                call_id=call_id,
                action_id=f"{call_id}.0",
                name=e.ToolName(name),
                version=1,
                digest=e.BuildDigest("3c" * 32),
                arguments={},
            )
        )
        tape.add(
            e.ToolReturned(
                call_id=call_id,
                report=RunReport(status="ok", exit_code=0, result=4, duration_ms=90),
            )
        )
    tape.add(
        e.ProviderChanged(
            model="openai:small",
            state="open",
            reason="openai:small: api.openai.com answered HTTP 503.",
            retry_in=20,
        )
    )
    tape.add(
        e.ProviderChanged(
            model="groq:fast",
            state="disabled",
            reason="groq:fast: api.groq.com answered HTTP 402. Add credit.",
        )
    )
    tape.add(e.ProviderFailedOver(role="orchestrator", previous="openai:small", model="anthropic:large",
             reason="api.openai.com answered HTTP 503."))  # fmt: skip
    tape.add(e.ModelReplied(call_id="m99", role="orchestrator", model="anthropic:large", text="I go on with the other model.",
             usage=Usage(input_tokens=9000, output_tokens=250), duration_ms=6400, first_ms=900))  # fmt: skip
    return tape.envelopes


SCREENS = {
    "session": (goldens.walkthrough, ()),
    "waiting": (goldens.waiting, ()),
    "sessions": (goldens.walkthrough, ("f5",)),
    "help": (goldens.walkthrough, ("f1",)),
    "theme": (goldens.walkthrough, ("f6",)),
    "spend": (spending, ("ctrl+o",)),
    "statistics": (goldens.walkthrough, ("shift+f9",)),
    "strip": (spending, ()),
    "tasks": (told, ("ctrl+k",)),
    "context": (goldens.walkthrough, ("shift+f2", *("down",) * 10)),
    "memory": (goldens.walkthrough, ("shift+f4", *("down",) * 2)),
    "servers": (using, ("shift+f5",)),
    "settings": (goldens.walkthrough, ("ctrl+backslash", "down", "down")),
    "tool": (goldens.walkthrough, ("f3", "enter")),
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_screen(snap_compare, name: str, size: tuple[int, int], theme: str) -> None:
    stream, keys = SCREENS[name]
    envelopes = stream()

    async def before(pilot) -> None:
        await drawn(pilot, envelopes[-1].seq)
        for key in keys:
            await pilot.press(key)
            if key not in ("f3", "down"):  # the others open a screen
                await covered(pilot)
            if key == "shift+f2":  # its blocks are counted beside
                await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count)
            await pilot.pause()
        await pilot.pause()

    assert snap_compare(console(envelopes, theme), terminal_size=size, run_before=before)


# --- behaviour ----------------------------------------------------------------------------


async def test_a_task_steering_and_an_interrupt_reach_the_engine() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    sink = Sink()
    app = console(tape.envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 3)
        await pilot.press(*"roll dice", "enter")
        assert sink.commands == [SubmitTask(text="roll dice")]
    sink = Sink()
    app = console(streams.waiting(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, streams.waiting()[-1].seq)
        await pilot.press(*"hurry", "enter", *"another task", "ctrl+t", "f10")
        assert sink.commands == [Steer(text="hurry"), SubmitTask(text="another task"), Interrupt()]


async def test_enter_on_an_empty_line_sends_nothing() -> None:
    sink = Sink()
    app = console(streams.waiting(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, streams.waiting()[-1].seq)
        await pilot.press("enter", "space", "enter", "f2", "a", "r", "enter", "y", "f3", "a", "r", "f4", "a")
        assert sink.commands == []
        assert pending(app.main.view)


async def test_scrolling_up_leaves_the_end_and_end_comes_back() -> None:
    envelopes = streams.walkthrough()
    app = console(envelopes)
    async with app.run_test(size=(80, 24)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        trace = app.main.query_one("#trace", Trace)
        await pilot.press("f2")
        assert (trace.follow, trace.scroll_y) == (True, trace.max_scroll_y)
        await pilot.press("home")
        await pilot.pause()
        assert (trace.follow, trace.scroll_y) == (False, 0)
        await pilot.press("end")
        await pilot.pause()
        assert trace.follow and trace.scroll_y == trace.max_scroll_y


HOSTILE = [
    "[red]x[/blue]",
    "[/]",
    "\x1b[31mred\x1b[2J",
    "\x1b]52;c;aGk=\x07",
    "名前" * 80,
    "👩‍👩‍👧‍👦" * 30,
    "w" * 500,
    "a\tb\r\nc\x00d",
    "\u202egnp.exe",
]


@pytest.mark.parametrize("width", [20, 33, 80, 300])
async def test_no_text_breaks_a_pane(width: int) -> None:
    from alita_tui import events as e
    from alita_tui.events import RunReport, ToolCard

    tape = streams.Tape()
    cards = tuple(
        ToolCard(
            name=e.ToolName(f"t{n}"),
            version=1,
            description=text,
            digest=e.BuildDigest("0" * 64),
            state="trusted",
        )
        for n, text in enumerate(HOSTILE)
    )
    streams.opened(tape, library=cards)
    for n, text in enumerate(HOSTILE):
        tape.add(e.TaskSubmitted(task_id=e.TaskId(f"x{n}"), text=text))
        tape.add(e.NoticeRaised(level="error", text=text, hint=text))
        tape.add(e.ModelDelta(call_id="m", role="orchestrator", channel="text", text=text))
        tape.add(e.OutputChunk(run_id="r", title=text, stream="stdout", text=text))
        tape.add(
            e.ToolCalled(
                call_id=e.CallId(f"c{n}"),
                action_id="a",
                name=e.ToolName(text[:20]),
                version=1,
                digest=e.BuildDigest("0" * 64),
                arguments={"x": text},
            )
        )
        report = RunReport(status="exit", stdout=text, stderr=text, error=text)
        tape.add(e.ToolFailed(call_id=e.CallId(f"c{n}"), reason="exit", text=text, report=report))
        tape.add(e.TaskFinished(task_id=e.TaskId(f"x{n}"), outcome="answered", answer=text))
    app = console(tape.envelopes)
    async with app.run_test(size=(width, 30)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        for key in ("f2", "home", *(["enter", "down"] * 12), "f3", "down", "f4", "end"):
            await pilot.press(key)
        await pilot.resize_terminal(max(width // 2, 20), 24)
        await pilot.pause()
        picture = app.export_screenshot()
    assert "\x1b" not in picture
    assert app.return_code in (None, 0)


async def test_a_model_that_was_turned_off_is_enabled_on_the_spend_screen() -> None:
    envelopes, sink = spending(), Sink()
    app = console(envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("ctrl+o")
        await covered(pilot)
        sheet = app.screen.query_one(Sheet).text()
        assert "api.groq.com answered HTTP 402. Add credit." in sheet
        assert "50 % of the input came from the provider's cache" in sheet
        assert "2 runs of tools that were there already" in sheet
        assert "newest change 2026-11-09" in sheet
        await pilot.press("e")
        await pilot.pause()
        assert sink.commands == [EnableModel(model="groq:fast")]
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main


async def test_a_setting_is_changed_and_a_wrong_value_is_reported() -> None:
    CHANGED.clear()
    app = console(streams.waiting())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, streams.waiting()[-1].seq)
        await pilot.press("ctrl+backslash")
        await covered(pilot)
        await pilot.press("slash", *"max_steps", "enter", "enter")
        value = app.screen.query_one("#value", Input)
        assert (value.has_focus, value.value) == (True, "30")
        value.value = "many"
        await pilot.press("enter")
        await pilot.pause()
        said = app.screen.query_one("#said", Plain)
        assert said.has_class("-bad") and "a whole number" in str(said.content) and value.has_focus
        value.value = "40"
        await pilot.press("enter")
        await pilot.pause()
        assert str(said.content) == "budget.max_steps = 40"
        assert CHANGED == [("budget.max_steps", "many"), ("budget.max_steps", "40")]
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main


async def test_a_role_gets_its_models_in_order_with_their_limits() -> None:
    CHANGED.clear()
    app = console(streams.waiting())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, streams.waiting()[-1].seq)
        await pilot.press("ctrl+backslash")
        await covered(pilot)
        await pilot.press("slash", *"roles.toolsmith", "enter", "enter")
        value, said = app.screen.query_one("#value", Input), app.screen.query_one("#said", Plain)
        for text, told in (
            ("openai:gpt; contxt=5", "Did you mean context?"),
            ("openai:gpt; needs=wings", "needs cannot be"),
            (
                "openai:gpt; max_usd=0.2; needs=tools, ollama:qwen3; context=32768",
                "roles.toolsmith = openai:gpt;",
            ),
        ):
            value.value = text
            await pilot.press("enter")
            await pilot.pause()
            assert told in str(said.content)
    assert CHANGED[-1] == (
        "roles.toolsmith",
        "openai:gpt; max_usd=0.2; needs=tools, ollama:qwen3; context=32768",
    )


@pytest.mark.parametrize("name", ["sessions", "context", "settings", "tool"])
async def test_help_opens_over_every_screen_and_closes_again(name: str) -> None:
    stream, keys = SCREENS[name]
    envelopes = stream()
    app = console(envelopes)
    async with app.run_test(size=(100, 30)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press(*keys[:2])
        await until(pilot, lambda: isinstance(app.screen, Dialog))
        screen = app.screen
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is screen)
