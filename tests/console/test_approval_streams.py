"""Random streams of keys, pastes, clicks and wheel turns, with builds arriving meanwhile."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from textual import events
from textual.pilot import Pilot

from alita_tui.console.input.arming import QUIET
from alita_tui.console.review.code import CodeView
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.review.verdict_bar import VERDICTS, VerdictBar
from tests.console.approval_cases import calm, doubled, queue
from tests.console.approval_host import Host
from tests.console.navigating import until

SIZE = (100, 30)
KEYS = [*"aorertbxcul", *"aorertbxul", "enter", "space", *"dnpvqsf", "tab", "down", "end"]
NEVER = ["enter", "space", "enter", "space", "tab", "down", "pagedown", "end", *"dvsfnpq"]


@dataclass
class Stream:
    """Input with the times at which it was made."""

    app: Host
    random: random.Random
    at: float

    def key(self, key: str) -> None:
        character = " " if key == "space" else key if len(key) == 1 else None
        self._post(events.Key(key, character))

    def paste(self) -> None:
        self._post(events.Paste(self.random.choice(["a", "rno\n", "validate_email_addresses", "\r\n"])))

    def click(self) -> None:
        choice = self.random.choice(VERDICTS)
        button = self.app.screen.query(f"#choice-{choice}")
        region = button.first().region if button else None
        x, y = (region.x + 1, region.y) if region else (5, 5)
        for kind in (events.MouseDown, events.MouseUp):
            self._post(kind(None, x, y, 0, 0, 1, False, False, False, x, y))

    def wheel(self) -> None:
        self._post(events.MouseScrollDown(None, 100, 10, 0, 1, 0, False, False, False, 100, 10))

    def focus(self) -> None:
        """The terminal comes to the front, by a click on the approving button."""
        self._post(events.AppBlur())
        self._post(events.AppFocus())
        self.click()

    def arrive(self) -> None:
        if isinstance(self.app.screen, ApprovalScreen):
            self.app.screen.advance(doubled(queue()))

    def _post(self, event: events.Event) -> None:
        event.time = self.at
        self.app.post_message(event)


async def handled(pilot: Pilot[Any], turn: int) -> None:
    """Let what was posted be handled; every so often wait until all of it surely is."""
    if turn % 20 == 0:
        await pilot.pause()
    for _ in range(150):
        await asyncio.sleep(0)


async def anew(app: Host, pilot: Pilot[Any], turn: int) -> ApprovalScreen:
    """The review as if a build had just come on screen."""
    assert app.pace is None
    app.at += 100
    app.review.action_next()
    await handled(pilot, turn)
    assert not app.review.armed
    return app.review


async def test_no_input_made_before_the_review_is_armed_decides() -> None:
    rng = random.Random(20261120)
    app = Host(doubled(queue()))
    app.pace = None
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for turn in range(120):
            screen = await anew(app, pilot, turn)
            assert app.pace is None
            opened = app.at
            stream = Stream(app, rng, opened)
            script: list[str] = []
            while True:
                stream.at += rng.uniform(0, QUIET * 0.95)
                if stream.at >= opened + 1.5:
                    break
                app.at = stream.at
                act = rng.choice([*["key"] * 6, "paste", "click", "click", "wheel"])
                act = "focus" if rng.random() < 0.03 else act
                script.append(act)
                if rng.random() < 0.2:
                    stream.arrive()
                if act == "key":
                    script.append(rng.choice(KEYS))
                    stream.key(script[-1])
                else:
                    getattr(stream, act)()
                if rng.random() < 0.05:
                    await handled(pilot, 1)
            # What was made early may be handled late: by now it would be armed.
            app.at = opened + 50
            await handled(pilot, turn)
            assert app.decided == [], script
            assert app.edits == [], script
            assert app.screen is screen, script
            assert screen.query_one(VerdictBar).mode == "idle", script
        await pilot.pause()
        assert (app.decided, app.edits) == ([], [])


async def test_enter_space_and_escape_never_decide() -> None:
    rng = random.Random(17)
    app = Host(doubled(queue()))
    app.pace = None
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for turn in range(50):
            screen = await anew(app, pilot, turn)
            assert app.pace is None
            stream = Stream(app, rng, app.at)
            script: list[str] = []
            for _press in range(rng.randrange(3, 12)):
                stream.at += rng.choice([0.05, 0.5, 2.0, 10.0])
                app.at = stream.at
                act = rng.choice([*["key"] * 8, "paste", "wheel", "arrive"])
                script.append(act)
                if act == "key":
                    script.append(rng.choice(NEVER))
                    stream.key(script[-1])
                else:
                    getattr(stream, act)()
            await handled(pilot, turn)
            assert app.decided == [], script
            assert app.edits == [], script
            assert app.screen is screen
        stream.at += 5
        stream.key("escape")
        await pilot.pause()
        assert app.screen is not screen, "Esc closes the review, and decides nothing"
        assert app.decided == []


async def test_a_key_pressed_in_time_decides_however_late_it_is_handled() -> None:
    """The other side of the guarantee: the streams above could have decided."""
    app = Host(calm())
    app.pace = None
    async with app.run_test(size=(200, 60)) as pilot:
        await until(pilot, lambda: app.review.query_one(CodeView).read)
        stream = Stream(app, random.Random(0), 1000.0 + QUIET + 0.01)
        app.at = 1060.0
        stream.key("a")
        await pilot.pause()
        await pilot.pause()
        assert [c.verdict.decision for c in app.decided] == ["approved"]
