"""A keeper of sessions in memory, over the golden recordings; it remembers what was asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from alita_tui.console.ports import RunningSession
from alita_tui.console.sessions.catalog import ExportForm, SessionLine
from alita_tui.replay.playback import Playback
from alita_tui.replay.recording import Recording
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.sessions import Bookmark, SessionHit
from alita_tui.view.compare import Comparison, compare
from alita_tui.view.trace import rows_for
from tests.support import streams
from tests.support.goldens import golden, walkthrough

NOW = streams.START + timedelta(hours=3)
WALK, DICE, OLD = "20261120-063000-0a1b", "20261119-180400-77cd", "20261101-090000-9e9e"
RECORDED = {WALK: "golden-walkthrough", DICE: "golden-dice-openai", OLD: "golden-repaired"}


def lines() -> tuple[SessionLine, ...]:
    start = streams.START
    return (
        SessionLine(WALK, "Create a tool to validate email addresses.", start, 58, "waiting", 0.0312, 1,
                    start + timedelta(minutes=150), "anthropic:large", 2, "answered", ("mail", "work"),
                    waiting=("validate_email_addresses v2",), bookmarks=2,
                    own_title="Create a tool to validate email addresses."),
        SessionLine("20261120-070000-5f5f", "Create a tool to validate email addresses.", start, 34, "stopped", 0.011, 0,
                    start + timedelta(minutes=170), "anthropic:large", 1, parent=WALK, parent_seq=30,
                    own_title="Create a tool to validate email addresses."),
        SessionLine(DICE, "Join [red]two[/red] lists and roll dice", start - timedelta(days=1), 40, "closed", 0.24, 3,
                    start - timedelta(hours=20), "openai:small", 1, "answered", own_title="Roll dice"),
        SessionLine("20261118-000000-aaaa", "日本語の住所を検証する", start - timedelta(days=2), 86, "open", 1.5, 0,
                    start - timedelta(days=2), "groq:fast", 4, "budget", ("日本",)),
        SessionLine("20261112-000000-bbbb", "A" * 150, start - timedelta(days=8), 1206, "damaged", 12.0, 12),
        SessionLine(OLD, "Put away long ago", start - timedelta(days=19), 40, "closed", 0.0, 1, archived=True),
    )  # fmt: skip


class Keeper:
    """Meets the console's `SessionCatalog`."""

    def __init__(self) -> None:
        self.lines = {line.session_id: line for line in lines()}
        self.gone: dict[str, SessionLine] = {}
        self.asked: list[tuple[object, ...]] = []
        self.marks: dict[str, dict[int, str]] = {}
        self.elsewhere: tuple[RunningSession, ...] = ()

    async def running(self) -> tuple[RunningSession, ...]:
        return self.elsewhere

    async def sessions(self) -> tuple[SessionLine, ...]:
        return tuple(sorted(self.lines.values(), key=lambda line: line.session_id, reverse=True))

    async def earlier_tasks(self, besides: str) -> tuple[str, ...]:
        return tuple(line.title for line in reversed(await self.sessions()) if line.session_id != besides)

    async def search(self, text: str) -> tuple[SessionHit, ...]:
        if text == "broken":
            raise StoreError("The index cannot be read.")
        found = []
        for name in (WALK, DICE):
            for one in golden(RECORDED[name]):
                for row in rows_for(one):
                    before, match, after = row.title.partition(text)
                    if match:
                        found.append(
                            SessionHit(
                                session_id=name,
                                seq=row.seq,
                                kind=row.kind,
                                pieces=(before[-30:], match, after[:60]),
                            )
                        )
        return tuple(found[:6])

    async def player(self, session_id: str) -> Playback:
        if session_id not in RECORDED:
            raise UsageError(f"There is no session {session_id}.")
        made = Recording.prepared(golden(RECORDED[session_id]))
        return Playback(made, position=len(made))

    async def check_openable(self, session_id: str) -> None:
        return

    async def compare(self, left: str, right: str) -> Comparison:
        self.asked.append(("compare", left, right))
        whole = walkthrough()
        return compare(golden(RECORDED[left]), golden(RECORDED[right]) if right in RECORDED else whole[:30])

    async def rename(self, session_id: str, title: str) -> None:
        line = self.lines[session_id]
        self.lines[session_id] = replace(line, title=title or line.own_title)
        self.asked.append(("rename", session_id, title))

    async def tag(self, session_id: str, tags: tuple[str, ...]) -> None:
        self.lines[session_id] = replace(self.lines[session_id], tags=tags)

    async def archive(self, session_id: str, archived: bool) -> None:
        self.lines[session_id] = replace(self.lines[session_id], archived=archived)

    async def delete(self, session_id: str) -> None:
        if self.lines[session_id].state == "open":
            raise StoreError("It is open in another process.")
        self.gone[session_id] = self.lines.pop(session_id)

    async def restore(self, session_id: str) -> None:
        self.lines[session_id] = self.gone.pop(session_id)

    async def bookmarks(self, session_id: str) -> tuple[Bookmark, ...]:
        return tuple(
            Bookmark(seq=seq, note=note) for seq, note in sorted(self.marks.get(session_id, {}).items())
        )

    async def bookmark(self, session_id: str, seq: int, note: str | None) -> tuple[Bookmark, ...]:
        kept = self.marks.setdefault(session_id, {})
        kept.pop(seq, None)
        if note is not None:
            kept[seq] = note
        return await self.bookmarks(session_id)

    async def fork(self, envelopes: Sequence[Envelope], seq: int) -> str:
        self.asked.append(("fork", envelopes[0].session_id, seq))
        return "20261121-000000-fork"

    async def export(self, envelopes: Sequence[Envelope], form: ExportForm) -> str:
        self.asked.append(("export", len(envelopes), form))
        return f"/home/ada/session.{form}"
