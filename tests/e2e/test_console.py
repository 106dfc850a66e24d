"""The real engine behind the real console, driven by keys; then the same session from its file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot

from alita_tui.app.catalog import AppCatalog
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.app.session import LiveSession, close_session, open_session
from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.review.code import CodeView
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.sandbox.screen import SandboxScreen
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.laws import check
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending
from tests.e2e.over_wire import SCRIPT, SERVERS

pytestmark = pytest.mark.podman


async def until(pilot: Pilot[Any], holds: Callable[[], object], seconds: float = 240) -> None:
    """Let the app work until something holds."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():
                await pilot.pause(0.02)
    except TimeoutError:
        shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        raise AssertionError(f"it did not come to that:\n{shown}") from None


async def typed(pilot: Pilot[Any], text: str, *then: str) -> None:
    """Write text as a terminal hands it over, all of it at once, and press what follows."""
    for event in XTermParser().feed(text):
        pilot.app.post_message(event)
    await pilot.press(*then)


def lines(trace: Trace) -> list[str]:
    height = trace.virtual_size.height
    return [trace.render_line(y - trace.scroll_offset.y).text.rstrip() for y in range(height)]


@pytest.fixture(params=["demo:recorded", "openai:test-model", "anthropic:test-model"])
def model(request: pytest.FixtureRequest, shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The recorded model, and the same replies over either vendor's wire through its SDK."""
    provider = request.param.partition(":")[0]
    with ExitStack() as stack:
        if provider in SERVERS:
            server_type, key_name = SERVERS[provider]
            server = stack.enter_context(server_type(SCRIPT))
            shell.environ |= {"ALITA_MODEL_BASE_URL": server.base_url, key_name: "sk-not-a-real-key"}
        for name, value in shell.environ.items():
            if name.startswith(("ALITA_", "OPENAI", "ANTHROPIC")):
                monkeypatch.setenv(name, value)
        yield request.param


def console(context: AppContext, opened: LiveSession) -> AlitaApp:
    return AlitaApp(
        opened.source,
        opened,
        catalog=AppCatalog(context),
        options=ConsoleOptions(builtin_themes=shipped("themes"), reduced_motion=True),
        upkeep=opened,
    )


async def read_and_approve(pilot: Pilot[Any], review: ApprovalScreen, *risks: str) -> None:
    """All of the code is read first; risks are accepted by name before the one key that approves."""
    code = review.query_one(CodeView)
    code.focus()
    await pilot.press("home")  # the code opens at what was found in it
    while code.unread:
        await pilot.press("pagedown")
        await pilot.pause(0.02)
    await until(pilot, lambda: review.armed)
    await pilot.press("a")
    if risks:
        await until(pilot, lambda: review.bar.mode == "name")
        await pilot.press(*" ".join(risks))
        await pilot.pause(0.6)  # the pause that a person has to make, too
        await until(pilot, lambda: review.armed)
        await pilot.press("enter")
        await until(pilot, lambda: review.bar.mode == "idle" and review.armed)
        await pilot.press("a")


async def look_at_the_sandbox(pilot: Pilot[Any]) -> None:
    """Its screen shows what is really there, and clears up when it is told to."""
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(pilot.app.screen, SandboxScreen))
    sheet, said = pilot.app.screen.query_one("#sheet", Sheet), pilot.app.screen.query_one("#said", Plain)

    def told() -> str:
        return "\n".join(text_of(row.gutter + row.body) for row in sheet.rows)

    await until(pilot, lambda: "email_validator" in told() and "this session" in told())
    assert "validate_email_addresses" in told() and "warm" in told() and "RLIMIT_NPROC" in told()
    await pilot.press("x")
    await until(pilot, lambda: str(said.content).startswith("Removed "))
    await pilot.press("escape")
    await until(pilot, lambda: not isinstance(pilot.app.screen, SandboxScreen))


@pytest.mark.sampled(1)
async def test_type_review_approve_and_replay(shell, keep, model: str) -> None:
    context = AppContext.open(shell.home, {"model": model})
    build, reuse, *_ = SCRIPT.tasks
    opened = await open_session(context, parks=False)
    heard: list[Envelope] = []
    news = opened.bus.subscribe()

    async def hear() -> None:
        async for envelope in news:
            heard.append(envelope)

    hearing = asyncio.create_task(hear())
    engine = asyncio.create_task(opened.run())
    app = console(context, opened)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.main.view.sandbox)
        await typed(pilot, build, "enter")
        await until(pilot, lambda: pending(app.main.view))
        assert not isinstance(app.screen, ApprovalScreen), "a build that arrives never takes the screen"
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        review = app.screen
        assert isinstance(review, ApprovalScreen)
        await until(pilot, lambda: review.armed)
        await read_and_approve(pilot, review, "named-elsewhere")
        await until(pilot, lambda: any(task.outcome == "answered" for task in app.main.view.tasks))
        await until(pilot, lambda: not isinstance(app.screen, ApprovalScreen))
        assert [card.name for card in app.main.view.library] == ["validate_email_addresses"]
        app.main.home_focus()
        await typed(pilot, reuse, "enter")
        await until(pilot, lambda: len(app.main.view.tasks) == 2 and app.main.view.tasks[1].outcome)
        assert app.main.view.tasks[1].outcome == "answered"
        assert len(app.main.view.builds) == 1, "the second task builds nothing"
        await look_at_the_sandbox(pilot)
        await until(pilot, lambda: app.main.view.seq == opened.bus.last_seq)
        shown = app.main.view
        drawn = lines(app.main.query_one(Trace))
        await close_session(opened, engine)
    await hearing
    if context.demo:
        keep(shell.home, "golden-walkthrough")

    stored = recording(context, opened.session_id)
    assert check(stored, complete=True) == []
    assert any(not envelope.durable for envelope in heard)
    lived, reloaded = SessionView(), SessionView()
    durable = iter(stored)
    for envelope in heard:
        lived = fold(lived, envelope)
        if envelope.durable:
            reloaded = fold(reloaded, next(durable))
            assert lived == reloaded, f"live and reloaded differ at event {envelope.seq}"
            if envelope.seq == shown.seq:
                assert lived == shown, "the screen showed what the file tells"
    assert next(durable, None) is None and reloaded == fold_all(stored)

    class Stored:
        async def __aiter__(self):
            for envelope in stored:
                if envelope.seq is not None and envelope.seq <= shown.seq:
                    yield envelope

    again = AlitaApp(
        Stored(),
        None,
        catalog=AppCatalog(context),
        options=ConsoleOptions(builtin_themes=shipped("themes"), reduced_motion=True),
    )
    async with again.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: again.main.view.seq == shown.seq)
        assert lines(again.main.query_one(Trace)) == drawn, "the trace renders the same"


@pytest.mark.walk
@pytest.mark.parametrize("model", ["demo:recorded"], indirect=True)
async def test_a_postponed_build_lets_another_task_run_and_is_resumed(shell, model: str) -> None:
    context = AppContext.open(shell.home, {"model": model})
    opened = await open_session(context, parks=False)
    engine = asyncio.create_task(opened.run())
    app = console(context, opened)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.main.view.sandbox)
        await typed(pilot, SCRIPT.tasks[2], "enter")
        await until(pilot, lambda: pending(app.main.view))
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        await pilot.press("z")
        await until(pilot, lambda: app.main.view.phase == "waiting" and app.main.view.builds[0].put_off)
        app.main.home_focus()
        await typed(pilot, "say hello", "ctrl+t")
        await until(pilot, lambda: len(app.main.view.tasks) == 2 and app.main.view.tasks[1].outcome)
        assert [task.outcome for task in app.main.view.tasks] == ["parked", "answered"]
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        assert isinstance(app.screen, ApprovalScreen)
        await read_and_approve(pilot, app.screen)
        await until(pilot, lambda: len(app.main.view.tasks) == 3 and app.main.view.tasks[2].outcome)
        assert app.main.view.tasks[2].again == app.main.view.tasks[0].task_id
        assert app.main.view.tasks[2].outcome == "answered"
        assert [card.name for card in app.main.view.library] == ["roll_dice"]
        await close_session(opened, engine)
    assert check(recording(context, opened.session_id), complete=True) == []
