"""Records of sessions made event by event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from alita_tui import events as e
from alita_tui.events import BuildDigest, CallId, RunReport, ToolName
from alita_tui.spine.envelope import Envelope

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


def record(*events: Any, session: str = "s1") -> list[Envelope]:
    """Events a second apart; a pair says how many seconds after the start instead."""
    made = []
    task = e.NO_TASK
    for number, one in enumerate(events, 1):
        event, seconds = one if isinstance(one, tuple) else (one, float(number))
        task = event.task_id if isinstance(event, e.TaskSubmitted) else task
        at = START + timedelta(seconds=seconds)
        made.append(
            Envelope(seq=number, session_id=session, at=at, task_id=task, schema_version=2, event=event)
        )
    return made


def opened(**more: Any) -> e.SessionOpened:
    return e.SessionOpened(title="", model="openai:small", version="1", **more)


def called(call: str, name: str = "csv_join") -> e.ToolCalled:
    return e.ToolCalled(
        call_id=CallId(call),
        action_id="a",
        name=ToolName(name),
        version=2,
        digest=BuildDigest("0" * 64),
        arguments={},
    )


def returned(call: str, ms: float = 40.0, **more: Any) -> e.ToolReturned:
    return e.ToolReturned(call_id=CallId(call), report=RunReport(status="ok", duration_ms=ms), **more)
