"""While the console lies idle a proposal is built, in a process of its own, and a notice says that it waits."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.app import idle
from alita_tui.app.context import AppContext
from alita_tui.spine.bus import Bus
from tests.support.simulation import Tape

NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)
BUILT = [
    {"id": "repair:a:1", "kind": "repair", "name": "a", "reason": "it \x1b[31mfailed", "outcome": "parked"},
    {
        "id": "retire:b:1",
        "kind": "retire",
        "name": "b",
        "reason": "unused",
        "command": "alita tools archive b",
    },
]


class Engine:
    idle = True


class Session:
    """What the idle pass sees of a session."""

    def __init__(self, at: datetime) -> None:
        self.bus = Bus("s", Tape(), lambda: at)
        self.engine = Engine()

    @property
    def notices(self) -> list[str]:
        return [one.event.text for one in self.bus.history if isinstance(one.event, e.NoticeRaised)]


def app(folder: Path, *lines: str) -> AppContext:
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        '[model]\nprovider = "ollama"\nname = "m"\n[improve]\n' + "\n".join(lines)
    )
    return AppContext.open(folder)


async def passes(
    monkeypatch: pytest.MonkeyPatch, made: AppContext, session: Any, *, looks: float = 0.3
) -> int:
    """Let the pass look for a while; return how often it built something."""
    built = 0

    async def build(_: AppContext, __: Path | None) -> bytes:
        nonlocal built
        built += 1
        return json.dumps(BUILT).encode()

    monkeypatch.setattr(idle, "_built", build)
    monkeypatch.setattr(idle, "now", lambda: NOW)
    task = asyncio.create_task(idle.improve_when_idle(made, session, None, 0.005))
    done, _ = await asyncio.wait((task,), timeout=looks)
    task.cancel()
    await asyncio.wait((task,))
    return built


async def opened(at: datetime) -> Session:
    session = Session(at)
    await session.bus.emit(e.SessionOpened(model="ollama:m"))
    return session


async def test_an_idle_session_has_one_proposal_built_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await opened(NOW - timedelta(minutes=16))
    assert await passes(monkeypatch, app(tmp_path), session) == 1, "once, until something happens"
    (said,) = session.notices
    assert said.startswith("A proposal waits for your decision: repair of a") and "\x1b" not in said


@pytest.mark.parametrize(
    ("lines", "minutes", "busy"),
    [(("idle = false",), 99, False), (("per_day = 0",), 99, False), ((), 14, False), ((), 99, True)],
)
async def test_a_setting_turns_proposals_off_and_a_working_person_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...], minutes: int, busy: bool
) -> None:
    session = await opened(NOW - timedelta(minutes=minutes))
    session.engine.idle = not busy
    assert await passes(monkeypatch, app(tmp_path, *lines), session, looks=0.1) == 0
    assert session.notices == []


async def test_the_daily_cap_counts_builds_of_every_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alita_tui.registry.proposed import Proposed

    made = app(tmp_path, "per_day = 1")
    Proposed(made.tool_documents).remember("repair:x:1", "s1")
    session = await opened(NOW - timedelta(minutes=99))
    assert await passes(monkeypatch, made, session, looks=0.1) == 0


def test_unreadable_output_of_a_pass_causes_no_notice() -> None:
    assert idle.notices(b"") == idle.notices(b"{oops") == idle.notices(b"{}") == idle.notices(b"[1]") == ()


async def test_a_pass_runs_the_improve_command(tmp_path: Path) -> None:
    made = app(tmp_path)
    assert json.loads(await idle._built(made, tmp_path)) == []


async def test_the_folder_that_the_console_was_started_in_is_no_source_of_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned project holds modules with the names of those that alita imports; nothing of it may run here."""
    project, trace = tmp_path / "project", tmp_path / "it-ran"
    (project / "alita_tui").mkdir(parents=True)
    hostile = f"open({str(trace)!r}, 'w').close()\n"
    for name in (
        "typer.py",
        "queue.py",
        "msgspec.py",
        "sitecustomize.py",
        "alita_tui/__init__.py",
        "alita_tui/__main__.py",
    ):
        (project / name).write_text(hostile)
    made = app(tmp_path / "home")
    monkeypatch.chdir(project)
    said = await idle._built(made, tmp_path / "home")
    assert not trace.exists() and json.loads(said) == []


async def test_the_recorded_model_builds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await opened(NOW - timedelta(minutes=99))
    assert await passes(monkeypatch, AppContext.open(tmp_path), session, looks=0.1) == 0
