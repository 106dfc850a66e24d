"""The screen of the next call over a real session: what is switched off there is off on the wire, and stays so."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from alita_tui.app.catalog import AppCatalog
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.app.session import close_session, open_session
from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.context.screen import ContextScreen
from alita_tui.console.ports import ConsoleOptions
from alita_tui.llm.scripted import Rule, Script
from alita_tui.spine.laws import check
from alita_tui.spine.ports.context import BLOCKS
from tests.cli.scripted_runs import act
from tests.e2e.test_console import typed, until
from tests.support.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.podman


async def switched_off(pilot: Pilot[Any], name: str) -> None:
    """Open the screen, switch a block off, see that it is, close."""
    await pilot.press("shift+f2")
    await until(pilot, lambda: isinstance(pilot.app.screen, ContextScreen))
    listed = pilot.app.screen.query_one(OptionList)

    def said(row: int) -> str:
        return str(listed.get_option_at_index(row).prompt)

    await until(pilot, lambda: listed.option_count > len(BLOCKS))
    row = next(n for n in range(listed.option_count) if f" {name} " in said(n))
    listed.highlighted = row
    await pilot.press("space")
    await until(pilot, lambda: " off " in said(row))
    await pilot.press("escape")


async def test_a_block_is_switched_off_on_the_screen_and_is_off_on_the_wire(shell) -> None:
    rules = (Rule(role="orchestrator", match="TASK: ", replies=(act("answer", text="done"),)),)
    with OpenAIServer(Script(format="alita-script/1", name="wire", rules=rules)) as server:
        shell.home.mkdir(mode=0o700, exist_ok=True)
        (shell.home / "config.toml").write_text(
            f'[model]\nprovider = "custom"\nname = "m"\nbase_url = "{server.base_url}"\n'
            '[context]\npreferences = "Metric units."\n'
        )
        context = AppContext.open(shell.home)
        opened = await open_session(context, parks=False)
        engine = asyncio.create_task(opened.run())
        app = AlitaApp(
            opened.source,
            opened,
            catalog=AppCatalog(context, live=lambda: opened.bus.history),
            options=ConsoleOptions(builtin_themes=shipped("themes"), reduced_motion=True),
            upkeep=opened,
        )
        async with app.run_test(size=(120, 36)) as pilot:
            await until(pilot, lambda: app.main.view.sandbox)
            await typed(pilot, "say hello", "enter")
            await until(pilot, lambda: app.main.view.task and app.main.view.task.outcome)
            sent = json.dumps(server.requests[-1].body)
            assert "Today is" in sent and "Metric units." in sent
            for name in ("environment", "preferences"):
                await switched_off(pilot, name)
            app.main.home_focus()
            await typed(pilot, "say hello again", "enter")
            await until(pilot, lambda: len(app.main.view.tasks) == 2 and app.main.view.tasks[1].outcome)
            sent = json.dumps(server.requests[-1].body)
            assert "hello again" in sent and "Today is" not in sent and "Metric units." not in sent
            await close_session(opened, engine)
    stored = recording(context, opened.session_id)
    assert check(stored, complete=True) == []
    assert shell("context", opened.session_id, "--show", "environment").stdout.strip() == ""
