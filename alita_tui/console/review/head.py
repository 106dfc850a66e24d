"""The head of a review, and the tabs of its parts on narrow screens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message

from alita_tui.console.actions import shown_keys
from alita_tui.console.widgets.figures import waited
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.text import one_line, reveal
from alita_tui.state.build import AgentsBuild, BuildState

Tab = Literal["Risk", "Code", "Why", "Tests", "Sandbox"]
TABS: tuple[Tab, ...] = get_args(Tab)
_LOW = 28
"""Lines of a low screen."""


class BuildHead(Plain):
    """Name, version, origin, waiting time and digest of a build."""

    DEFAULT_CSS = """
    BuildHead { height: auto; max-height: 3; padding: 0 1; background: $panel; color: $foreground; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn_parts: tuple[object, ...] = ()

    def present(
        self, build: BuildState, position: int, total: int, now: datetime, *, several: bool = False
    ) -> None:
        """Show the head of a build; `position` 0 if it no longer waits. `several`: builds of several tasks wait."""
        number = f"BUILD {position} of {total}" if position else "BUILD"
        replaces = f" (replaces v{build.version - 1})" if build.parent else " (new)"
        attempt = build.presented
        digest = attempt.build_digest if attempt else build.digest
        by = f"{one_line(reveal(build.agent_id), 30)}, " if isinstance(build, AgentsBuild) else ""
        asked_by = f"asked by {by}step {build.step}" + (
            f" of {one_line(build.task, 40)!r}" if several else ""
        )
        digest_part = f"sha256 {digest[:12]}…"
        waiting = f"waiting {waited(build.requested_at, now)}" if position else build.status
        parts = [asked_by, waiting, digest_part]
        title = f"{number} · {build.name} v{build.version}{replaces} · "
        room = self.content_size.width
        if room and self.app.size.height < _LOW:
            # One line. The digest is among what an approval grants, the step among the reasons.
            for least in (asked_by, digest_part):
                if cell_len(title + " · ".join(parts)) > room:
                    parts.remove(least)
        # On one line if there is room.
        separator = " · " if cell_len(title + " · ".join(parts)) <= room else "\n"
        content = (number, build.name, build.version, replaces, separator, *parts)
        if content == self._drawn_parts:
            return
        self._drawn_parts = content
        self.update(
            Content.assemble(
                (f"{number} · ", "bold $alita-approval"),
                (one_line(reveal(build.name)), "bold"),
                (f" v{build.version}", "bold"),
                (replaces, "$alita-muted"),
                (separator, "$alita-muted"),
                (" · ".join(parts), "$alita-muted"),
            )
        )


class PartTabs(Plain):
    """Tabs of the parts of a review."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PartTabs { height: 1; padding: 0 1; background: $surface; color: $alita-muted; }
    """

    @dataclass
    class Chosen(Message):
        """A part was clicked."""

        tab: Tab

    def __init__(self) -> None:
        super().__init__()
        self._spans: list[tuple[int, int, Tab]] = []

    def mark(self, tab: Tab, marks: Mapping[Tab, str]) -> None:
        """Highlight the open tab, and mark those that need care."""
        pieces: list[str | tuple[str, str]] = []
        self._spans = []
        column = 1
        for name in TABS:
            sign = marks.get(name, "")
            text = f" {name} {sign} " if sign else f" {name} "
            style = "bold $alita-approval reverse" if name == tab else "$alita-bad" if sign else ""
            pieces += [(text, style), " "]
            self._spans.append((column, column + len(text), name))
            column += len(text) + 1
        keys = shown_keys(self.screen)
        turning_keys = " ".join(keys[action] for action in ("tab(-1)", "tab(1)") if action in keys)
        self.update(Content.assemble(*pieces, (f"  {turning_keys}" if turning_keys else "", "$alita-muted")))

    def on_click(self, event: events.Click) -> None:
        """Report what was clicked."""
        for start, end, tab in self._spans:
            if start <= event.x < end:
                self.post_message(self.Chosen(tab))
