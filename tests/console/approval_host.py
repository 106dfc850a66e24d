"""A bare app around the review: it keeps what the review posts."""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from alita_tui.console.input.arming import TimedInput
from alita_tui.console.input.timing import InputTiming
from alita_tui.console.messages import CommandAsked
from alita_tui.console.review.code import CodeView
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.themes import ThemedApp, load
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.commands import PutOff, ResolveApproval
from alita_tui.view.model import SessionView
from tests.console.approval_cases import NOW

THEMES = Path(__file__).parents[2] / "themes"
CALMLY, HASTILY = 1.0, 0.05
"""Seconds between two inputs: one by one, each meant; or typed on."""


class Paced(InputTiming):
    """Hears one input after the other, as far apart as the host says."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host

    def note(
        self, what: str, at: float, *, deed: bool = True, repeated: bool = False, pieced: bool = False
    ) -> TimedInput:
        if self._host.pace is not None:
            self._host.at += self._host.pace
            at = self._host.at
        return super().note(what, at, deed=deed, repeated=repeated, pieced=pieced)


class Host(ThemedApp[None]):
    """Opens a review over a trace."""

    def __init__(
        self, view: SessionView, *, pace: float = CALMLY, theme: str = "alita-dark", now: datetime = NOW
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self.view = view
        self.pace: float | None = pace
        """Seconds between two inputs, as the review's clock has it; None: each says itself when it was made."""
        self.at = 1000.0
        """The review's clock, which nothing else moves."""
        self.now = now
        self.wanted_theme = theme
        self.decided: list[ResolveApproval] = []
        self.deferred: list[str] = []
        self.edits: list[ApprovalScreen.EditRequested] = []

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="trace"):
            yield Plain("\n".join(f" {n:>3} · a row of the trace" for n in range(120)))

    def on_mount(self) -> None:
        for theme in load(THEMES).themes:
            self.register_theme(theme)
        self.theme = self.wanted_theme
        self.open()

    def open(self) -> ApprovalScreen:
        screen = ApprovalScreen(self.view, now=lambda: self.now, clock=self.clock)
        self.push_screen(screen)
        return screen

    def clock(self) -> float:
        return self.at

    @cached_property
    def timing(self) -> InputTiming:
        return Paced(self)

    def on_command_asked(self, message: CommandAsked) -> None:
        if isinstance(message.command, PutOff):
            self.deferred.append(message.command.approval_id)
        else:
            assert isinstance(message.command, ResolveApproval)
            self.decided.append(message.command)

    def on_deciding_screen_edit_requested(self, message: ApprovalScreen.EditRequested) -> None:
        self.edits.append(message)

    @property
    def review(self) -> ApprovalScreen:
        assert isinstance(self.screen, ApprovalScreen)
        return self.screen

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the risks that the build on screen has to be accepted with."""
        assert self.review._review is not None
        return self.review._review.names

    @property
    def typed(self) -> list[str]:
        """The keys that type them."""
        return ["space" if char == " " else char for char in " ".join(self.names)]

    def said(self) -> str:
        return str(self.review.query_one("#said", Plain).content)

    def sheet_text(self, selector: str) -> str:
        return self.review.query_one(selector, Sheet).text()


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until messages are handled, the panes of an open review have their heights, and its code was painted."""
    await pilot.pause()
    await pilot.pause()
    async with asyncio.timeout(180):
        while isinstance(screen := pilot.app.screen, ApprovalScreen) and not _painted_once(screen.panes.code):
            await pilot.pause(0.01)


def _painted_once(code: CodeView) -> bool:
    """Return whether a line of the code was seen, unless none can be."""
    can_be_seen = code.lines and code.size.height
    return code.records_seen and (code.unread < code.lines or not can_be_seen)
