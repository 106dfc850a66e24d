"""The words of the replay bar: position and keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from alita_tui.console.replay.player import Player
from alita_tui.console.replay.timeline import FLAG, GLYPHS
from alita_tui.console.widgets.figures import clock_time, spoken
from alita_tui.console.widgets.styled_text import cut
from alita_tui.spine.sessions import Bookmark
from alita_tui.state.session import Phase

NOW: dict[Phase, str] = {
    "idle": "it is idle",
    "waiting": "a build waits for you",
    "asking": "a question waits for you",
    "parked": "a build waits for you",
    "closed": "it is closed",
}
"""What a running session does; phases not listed are work."""


def state(
    player: Player,
    bookmarks: Sequence[Bookmark],
    width: int,
    *,
    rewound: bool,
    now: Phase | None = None,
) -> Content:
    """Return the first line: state and position."""
    speed = "∞" if player.speed == float("inf") else f"{player.speed:g}×"
    parts = [
        f"{'▶ playing' if player.playing else '▮▮ paused'} {speed}",
        f"event {player.position}/{player.total}",
        f"{clock_time(player.elapsed)}/{clock_time(player.length)}",
    ]
    if rewound and now is not None:
        parts.append(f"now {NOW.get(now, 'working')}")
    if player.breakpoints:
        parts.append(f"stops at {player.breakpoints}")
    bookmark_here = next((bookmark for bookmark in bookmarks if bookmark.seq == player.seq), None)
    if bookmark_here is not None:
        parts.append(f"{FLAG} {bookmark_here.note}".rstrip())
    if player.skipped >= 1:
        parts.append(f"» {spoken(player.skipped)} skipped")
    banner = " REPLAY — nothing runs "
    if rewound:
        working = now not in NOW
        banner = " LOOKING BACK — the task continues " if working else " LOOKING BACK "
    room = width - len(banner) - 2
    while len(parts) > 3 and cell_len(" · ".join(parts)) > room:
        parts.pop()  # the most important ones come first
    return Content.assemble(
        (banner, "bold reverse $alita-approval"),
        ("  " + cut(" · ".join(parts), room), "$foreground"),
    )


def keys(shown: Mapping[str, str], width: int, *, rewound: bool) -> str:
    """Return the last line: as many keys as fit, the most used first. `shown` is key by action."""

    def key(action: str) -> str:
        return shown.get(action, "")

    marks = " ".join(f"{GLYPHS[mark]} {mark}" for mark in ("build", "approval", "error"))
    help_key = f"{key('help')} all keys"
    parts = [
        f"{key('last')} back to now" if rewound else f"{key('leave')} leave",
        f"{key('play')} play",
        f"{key('back')}{key('forward')} event",
        f"{key('mark_back')} {key('mark_forward')} {marks}",
        f"{key('explain')} why",
        f"{key('find')} find",
        f"{key('fork')} fork",
        f"{key('export')} export",
        f"{key('slower')} {key('faster')} speed",
        f"{key('bookmark')} bookmark",
        f"{key('stop_at')} stop at",
        f"{key('step_back')} {key('step_forward')} step",
        "0–9 seek",
    ]
    line = ""
    for part in parts:
        short = f"{key('mark_back')} {key('mark_forward')} marks" if marks in part else part
        for words in (part, short):
            longer = f"{line} · {words}" if line else words
            if len(longer) + len(help_key) + 3 <= width:
                line = longer
                break
    return f"{line} · {help_key}" if line else help_key
