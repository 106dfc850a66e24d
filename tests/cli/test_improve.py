"""`alita tools improve`: what is proposed comes from the sessions of this home, and listing it builds nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from alita_tui import events as e
from alita_tui.app import improving
from alita_tui.app.context import AppContext
from alita_tui.app.improving import failed_calls, records, unused
from alita_tui.cli.main import cli
from alita_tui.events import Capabilities, RunReport
from alita_tui.registry.proposed import Proposed
from alita_tui.spine.errors import UsageError
from alita_tui.store.sessions import SessionFile
from tests.cli.audited import TOOL, Shell
from tests.support import streams

MODEL = '[model]\nprovider = "ollama"\nname = "m"\n'


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path)
    (tmp_path / "config.toml").write_text(MODEL)
    return made


def alita(shell: Shell, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(shell.home), "tools", *words])


FAILED = RunReport(status="error", error="Traceback …\nValueError: \x1b[31mno\n")
REFUSED = RunReport(
    status="error", exception="ValueError", error="Traceback (most recent call last):\n"
    '  File "/tmp/tool/it.py", line 3, in run\n    raise ValueError("no addresses")\nValueError: no addresses\n',
)  # fmt: skip


def called(
    shell: Shell, number: int, *calls: tuple[dict[str, Any], bool], failed: RunReport = FAILED
) -> None:
    """Record a session in which the tool was called, well or not."""
    tape = streams.Tape(f"20261121-10000{number}-bbbb")
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="look at these"))
    for n, (arguments, ok) in enumerate(calls):
        call_id = e.CallId(f"c{number}{n}")
        tape.add(e.ToolCalled(call_id=call_id, action_id="", name=streams.DRAFT.name, version=1, digest=streams.DIGEST, arguments=arguments))  # fmt: skip
        if ok:
            tape.add(e.ToolReturned(call_id=call_id, report=RunReport(status="ok", result={"results": []})))
        else:
            tape.add(e.ToolFailed(call_id=call_id, reason="error", text="it failed", report=failed))
    tape.add(e.SessionClosed())

    async def record() -> None:
        file = SessionFile.create(shell.app.sessions.path(tape.session_id), tape.session_id)
        for one in tape.envelopes:
            await file.record(one, barrier=False)
        file.close()

    asyncio.run(record())


def test_a_tool_that_keeps_failing_is_listed_with_its_failing_calls(shell: Shell) -> None:
    assert "Nothing is proposed." in alita(shell, "improve", "--list", "--offline").stdout
    mended = {"addresses": ["was bad"]}
    called(shell, 1, ({"addresses": 1}, False), (mended, False), ({"addresses": 2}, False))
    called(shell, 2, (mended, True), ({"addresses": 2}, False), ({"addresses": "half \ud835"}, True))
    for _ in range(3):
        shell.app.library.record_run(TOOL, 1, ok=False, query="")
    failures = failed_calls(shell.app, TOOL)
    assert [one.arguments for one in failures] == [{"addresses": 2}, {"addresses": 1}], (
        "newest first, each once"
    )
    assert shell.app.library.reliability(TOOL, 1).value < 0.6
    (made,) = json.loads(alita(shell, "improve", "--list", "--offline", "--json").stdout)
    assert (made["kind"], made["name"], made["id"]) == ("repair", TOOL, f"repair:{TOOL}:1")
    assert "2 failing calls, which become tests" in made["reason"] and "session" not in made
    shown = alita(shell, "improve", TOOL, "--list", "--offline").stdout
    assert f"repair     {TOOL} v1" in shown and "Build them with: alita tools improve" in shown
    assert not [one for one in shell.app.sessions.list() if one.pending]


def test_a_tool_that_refused_its_input_is_not_proposed_for_repair(shell: Shell) -> None:
    calls = tuple(({"addresses": n}, False) for n in range(5))
    called(shell, 1, *calls, failed=REFUSED)
    assert "Nothing is proposed." in alita(shell, "improve", "--list", "--offline").stdout
    assert failed_calls(shell.app, TOOL) == ()
    called(shell, 2, *calls)
    assert f"repair     {TOOL} v1" in alita(shell, "improve", "--list", "--offline").stdout


def test_without_a_model_no_repair_is_started(shell: Shell) -> None:
    called(shell, 1, ({"addresses": 1}, False), ({"addresses": 2}, False))
    for _ in range(3):
        shell.app.library.record_run(TOOL, 1, ok=False, query="")
    (shell.home / "config.toml").unlink()
    before = len(shell.app.sessions.list())
    assert "need a model to be built: alita setup" in alita(shell, "improve", "--offline").stdout
    assert len(shell.app.sessions.list()) == before


def test_improving_an_unknown_tool_is_refused(shell: Shell) -> None:
    assert isinstance(alita(shell, "improve", "nobody", "--list").exception, UsageError)


def test_the_daily_cap_stops_builds_from_starting(shell: Shell) -> None:
    called(shell, 1, ({"addresses": 1}, False), ({"addresses": 2}, False))
    for _ in range(3):
        shell.app.library.record_run(TOOL, 1, ok=False, query="")
    (shell.home / "config.toml").write_text(f"{MODEL}[improve]\nper_day = 0\n")
    before = len(shell.app.sessions.list())
    done = alita(shell, "improve", "--offline")
    assert done.exit_code == 0, done.output
    assert "1 proposal not built" in done.stdout and "improve.per_day" in done.stdout
    assert len(shell.app.sessions.list()) == before


def test_builds_of_another_console_count_for_the_cap_and_are_not_repeated(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    called(shell, 1, ({"addresses": 1}, False), ({"addresses": 2}, False))
    for _ in range(3):
        shell.app.library.record_run(TOOL, 1, ok=False, query="")
    before = len(shell.app.sessions.list())
    room = improving.left_today

    def looked(app: AppContext) -> int:
        """Look, and be overtaken."""
        found = room(app)
        Proposed(app.tool_documents).remember(f"repair:{TOOL}:1", "s1")
        return found

    monkeypatch.setattr(improving, "left_today", looked)
    done = alita(shell, "improve", "--offline")
    assert done.exit_code == 0, done.output
    assert "1 proposal not built" in done.stdout and "another console" in done.stdout
    assert len(shell.app.sessions.list()) == before, "no session is opened for it"


@pytest.mark.parametrize(
    ("settings", "task", "build"),
    [
        ("[budget]\ntask_usd = 0.05\nbuild_usd = 0.02\n", 0.05, 0.02),
        ("[budget]\ntask_usd = 3\nbuild_usd = 1\n", 0.25, 0.25),
        ("[budget]\ntask_usd = 0\n", 0.25, 0.25),
        ("[budget]\ntask_usd = 0.05\n[improve]\nbuild_usd = 0\n", 0.05, 0.0),
    ],
)
def test_a_build_of_a_proposal_may_cost_what_the_lowest_cap_says(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, settings: str, task: float, build: float
) -> None:
    called(shell, 1, ({"addresses": 1}, False), ({"addresses": 2}, False))
    for _ in range(3):
        shell.app.library.record_run(TOOL, 1, ok=False, query="")
    (shell.home / "config.toml").write_text(f"{MODEL}{settings}")
    caps: list[tuple[float, float]] = []

    async def built(app: AppContext, _: Any) -> tuple[str, str, str]:
        caps.append((app.loaded.settings.budget.task_usd, app.loaded.settings.budget.build_usd))
        return "s", "parked", "it waits"

    monkeypatch.setattr(improving, "build", built)
    assert alita(shell, "improve", "--offline").exit_code == 4
    assert caps == [(task, build)]


def test_recorded_requests_show_which_grants_are_unused() -> None:
    def asked(request: str, *secrets: str) -> e.BrokerAnswered:
        return e.BrokerAnswered(call_id=e.CallId("c"), request=request, outcome="served", secrets=secrets)

    granted = Capabilities(
        network=("GET a.org:443", "B.org:443", "c.org:80"), workspace="write", secrets=("KEY@a.org:443", "OTHER@c.org:80"),
        model_calls=2, tools=("base@1:" + "a" * 64, "more@2:" + "b" * 64),
    )  # fmt: skip
    seen = [
        asked("GET https://a.org:443/x", "KEY"), asked("CONNECT b.org:443"), asked("GET /files/a.txt"),
        asked("POST /tools/base"),
    ]  # fmt: skip
    left = unused(granted, seen)
    assert left == (
        "network:c.org:80", "workspace:write", "secret:OTHER@c.org:80", "model:2", f"tool:more@2:{'b' * 12}",
    )  # fmt: skip
    assert unused(granted, [*seen, asked("PUT /files/b.txt"), asked("POST /model")])[1:] == (
        "secret:OTHER@c.org:80", f"tool:more@2:{'b' * 12}",
    )  # fmt: skip
    assert set(unused(granted, [])) == {*granted.items, "workspace:read"}


def test_calls_with_files_or_references_are_not_repeated(shell: Shell) -> None:
    called(shell, 1, ({"addresses": 1}, False))
    (known,) = [one for tool, one in records(shell.app).items() if tool == (TOOL, 1) and one.failures]
    assert len(known.failures) == 1
    assert msgspec.json.encode(known.failures[0])
