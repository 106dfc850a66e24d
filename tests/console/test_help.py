"""F1 is everywhere, and lists the keys that the screen beneath takes: each listed key is pressed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.screen import ModalScreen

from alita_tui.console.action_table import ACTIONS
from alita_tui.console.actions import offered
from alita_tui.console.app import AlitaApp
from alita_tui.console.help import HelpScreen, rows
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.envelope import Envelope
from tests.console.navigating import on, replaying, until
from tests.console.screens import console, covered, drawn
from tests.console.servers_lab import using
from tests.console.tasks_lab import told
from tests.support import goldens

Opened = tuple[Callable[[], list[Envelope]], tuple[str, ...]]
OPENED: dict[str, Opened] = {
    "session": (goldens.walkthrough, ()),
    "trace": (goldens.walkthrough, ("f2",)),
    "tools": (goldens.walkthrough, ("f3",)),
    "sandbox pane": (goldens.walkthrough, ("f4",)),
    "find": (goldens.walkthrough, ("ctrl+f",)),
    "sessions": (goldens.walkthrough, ("f5",)),
    "theme": (goldens.walkthrough, ("f6",)),
    "spend": (goldens.walkthrough, ("ctrl+o",)),
    "statistics": (goldens.walkthrough, ("shift+f9",)),
    "evaluations": (goldens.walkthrough, ("shift+f8",)),
    "tasks": (told, ("ctrl+k",)),
    "context": (goldens.walkthrough, ("shift+f2",)),
    "memory": (goldens.walkthrough, ("shift+f4",)),
    "servers": (using, ("shift+f5",)),
    "settings": (goldens.walkthrough, ("ctrl+backslash",)),
    "sandbox": (goldens.walkthrough, ("ctrl+s",)),
    "tool": (goldens.walkthrough, ("f3", "enter")),
    "explain": (goldens.walkthrough, ("f2", "w")),
    "review": (goldens.waiting, ("f8",)),
    "back in time": (goldens.walkthrough, ("ctrl+y",)),
    "replay": (goldens.walkthrough, ()),
}


class Pressed:
    """Remembers which actions keys run, and runs none."""

    def __init__(self, app: AlitaApp, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[tuple[str, tuple[object, ...]]] = []

        async def dispatch(_namespace: object, name: str, params: tuple[object, ...]) -> bool:
            self.ran.append((name, tuple(params)))
            return True

        monkeypatch.setattr(app, "_dispatch_action", dispatch)


def wanted(app: AlitaApp, run: str) -> tuple[str, tuple[object, ...]]:
    _target, name, params = app._parse_action(run, app)
    return name, tuple(params)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("where", OPENED)
async def test_each_key_that_f1_lists_works(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, keys = OPENED[where]
    envelopes = stream()
    app = replaying(envelopes)[0] if where == "replay" else console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        if where != "replay":
            await drawn(pilot, envelopes[-1].seq)
        for key in keys:
            await pilot.press(key)
            await (pilot.pause if key in ("f2", "f3", "f4", "ctrl+f") else lambda: covered(pilot))()
        beneath, focused = app.screen, app.focused
        await pilot.press("f1")
        await until(pilot, lambda: on(app, HelpScreen))
        assert isinstance(app.screen, HelpScreen)
        listed, text = app.screen.sections, app.screen.query_one(Sheet).text()
        assert sum(len(section.keys) for section in listed) > 2
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is beneath)
        assert app.focused is focused, "F1 takes the focus away from nobody"
        pressed = Pressed(app, monkeypatch)
        for section in listed:
            if section.part is not None:
                beneath.set_focus(section.part)
                await pilot.pause()
            for one in section.keys:
                assert one.action.id in text
                for key in one.keys:
                    if isinstance(beneath, ModalScreen) and one.action.owner == "approval":
                        continue  # a verdict counts once it was read; the keys are pressed in test_approval_verdicts.py
                    pressed.ran.clear()
                    await pilot.press(key)
                    await until(pilot, lambda: pressed.ran)
                    assert wanted(app, one.action.run) in pressed.ran, (section.heading, one.action.id, key)


async def test_keys_that_a_screen_does_not_handle_are_not_listed() -> None:
    envelopes = goldens.walkthrough()
    app = console(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("f5")
        await covered(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: on(app, HelpScreen))
        assert isinstance(app.screen, HelpScreen)
        ids = {one.action.id for section in app.screen.sections for one in section.keys}
        assert "sessions.rename" in ids
        # The session beneath, and dialogs that open over the session alone.
        assert not ids & {"session.plan", "app.tasks", "app.memory", "composer.send", "replay.toggle"}


def test_keys_that_do_not_arrive_everywhere_are_not_offered() -> None:
    assert offered(("ctrl+j", "shift+enter")) == ("Ctrl+J",)
    assert offered(("N", "shift+n")) == ("N", "Shift+N")


async def test_the_column_of_keys_is_no_wider_than_they_need() -> None:
    app = console(goldens.walkthrough())
    async with app.run_test(size=(80, 24)) as pilot:
        await drawn(pilot, goldens.walkthrough()[-1].seq)
        await pilot.press("f1")
        await until(pilot, lambda: on(app, HelpScreen))
        shown = app.screen
        assert isinstance(shown, HelpScreen)
        gutters = [row.gutter[0][0] for row in rows(shown.sections) if row.gutter]
        assert min(len(gutter) - len(gutter.rstrip()) for gutter in gutters) == 2
        assert len(gutters) > 20 and sorted(map(len, gutters))[len(gutters) // 2] <= 16


def test_no_share_of_a_session_is_written_with_two_zeros() -> None:
    assert not [action.id for action in ACTIONS if "00 %" in action.tooltip.replace("100 %", "")]
