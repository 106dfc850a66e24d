"""Runs as the console shows them: how each stands, where a case's session is, and runs that outlive who began them."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation import beginning, costs, run_store, views
from alita_tui.console.evaluations.ports import CaseLine
from alita_tui.evaluation.results import CaseResult
from alita_tui.evaluation.suite import read_suite
from alita_tui.spine.errors import UsageError
from tests.app.evaluation.suites import MIND, settle, sums
from tests.support.servers.openai_server import OpenAIServer


def begun(app: AppContext, folder: Path, *ended: CaseResult, approve: str = "none") -> Path:
    """A run of which some cases have ended; returns its folder."""
    setup = beginning.begin(
        app, read_suite(folder), folder, ("demo:recorded",), repeat=1, budget_usd=0, approve=approve, without=(), tags=()  # type: ignore[arg-type]
    )  # fmt: skip
    run = beginning.folder_of_runs(app) / setup.run
    (run / "results.jsonl").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in ended))
    return run


def result(number: int, *, solved: bool = True) -> CaseResult:
    kind: Literal["", "tool failed"] = "" if solved else "tool failed"
    return CaseResult(
        case=f"sum-{number}", model="demo:recorded", turn=1, session_id=f"s{number}", home=f"homes/{number}",
        solved=solved, failure=kind, why="" if solved else "41 instead of 42", at=0 if solved else 7, usd=0.25, judge_usd=0.05,
    )  # fmt: skip


def test_the_state_of_a_run_follows_from_its_files_and_its_lock(tmp_path: Path) -> None:
    app = AppContext.open(tmp_path / "home")
    folder = sums(tmp_path / "s", 3)
    run = begun(app, folder, result(0), result(1, solved=False))

    def state() -> str:
        return views.run_lines(app)[0].state

    assert state() == "stopped"
    with run_store.locked(run):
        assert state() == "running"
        begun_one = costs.place_of(run, ("sum-2", "demo:recorded", 1), stream=False)[0]
        assert [one.state for one in views.run_sheet(app, run.name).cases] == [
            "solved",
            "failed",
            "left",
        ]
        (begun_one / "data" / "sessions").mkdir(parents=True)
        (begun_one / "data" / "sessions" / "20261121-113000-abcd.json").write_text("{}")
        sheet = views.run_sheet(app, run.name)
        assert [one.state for one in sheet.cases] == ["solved", "failed", "running"]
        assert sheet.cases[2].session_id == "20261121-113000-abcd"
    assert state() == "stopped"
    failed = views.run_sheet(app, run.name).cases[1]
    assert failed.why == "a tool failed: 41 instead of 42" and failed.at == 7
    assert failed.command == f"alita --home {run / 'homes' / '1'} replay s1 --at 7"
    line = views.run_lines(app)[0]
    assert (line.ended, line.of, line.solved) == (2, 3, 1) and line.usd == pytest.approx(0.6)
    (run / "results.jsonl").write_bytes(b"".join(msgspec.json.encode(result(n)) + b"\n" for n in range(3)))
    assert state() == "finished"
    waits = begun(app, folder, result(0), approve="person")
    assert next(one for one in views.run_lines(app) if one.run == waits.name).state == "waiting"
    (folder / "cases.jsonl").unlink()
    assert [one.case for one in views.run_sheet(app, waits.name).cases] == ["sum-0"], (
        "what has ended is shown"
    )
    app.close()


def test_asking_whether_a_run_is_active_never_keeps_it_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = AppContext.open(tmp_path / "home")
    run = begun(app, sums(tmp_path / "s", 1))
    with run_store.locked(run):
        pass
    asking = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_SH); print(flush=True);"
         "sys.stdin.read(); f.close()", str(run / "lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert asking.stdin and asking.stdout
    asking.stdout.readline()
    waited = time.sleep

    def let_go(seconds: float) -> None:
        asking.communicate()
        waited(seconds)

    monkeypatch.setattr(run_store.time, "sleep", let_go)  # type: ignore[attr-defined]
    with run_store.locked(run):
        assert asking.returncode == 0 and run_store.is_running(run)
    app.close()


def test_only_the_home_of_a_case_is_opened(tmp_path: Path) -> None:
    app = AppContext.open(tmp_path / "home")
    elsewhere = CaseLine(case="x", model="m", turn=1, state="solved", session_id="s", home=str(tmp_path))
    with pytest.raises(UsageError, match="home of no case"):
        views.case_player(app, elsewhere)
    app.close()


@pytest.mark.walk
def test_a_run_outlives_the_process_that_began_it_and_a_case_opens_as_a_replay(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", sums(tmp_path / "s", 3, 1)
    with OpenAIServer(MIND) as server:
        settle(home, server)
        code = (
            "import asyncio, os, sys; from pathlib import Path; from alita_tui.app.context import AppContext;"
            "from alita_tui.app.evaluation.views import begin;"
            "print(asyncio.run(begin(AppContext.open(Path(sys.argv[1])), sys.argv[2])), flush=True); os.kill(os.getpid(), 9)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code, str(home), f"'{folder}' --jobs 2"],
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert ran.returncode == -9, ran.stderr
        app = AppContext.open(home)
        while (line := views.run_lines(app)[0]).state == "running" or line.ended < 4:
            time.sleep(0.1)
        assert (line.run, line.state, line.ended, line.solved) == (ran.stdout.strip(), "finished", 4, 3)
        wrong = next(one for one in views.run_sheet(app, line.run).cases if one.state == "failed")
        player = views.case_player(app, wrong)
        player.seek_seq(wrong.at)
        assert player.seq == wrong.at and player.session_id == wrong.session_id
        with pytest.raises(UsageError, match="There is no suite"):
            asyncio.run(views.begin(app, "nowhere"))
        with pytest.raises(UsageError, match="cannot be read"):
            asyncio.run(views.begin(app, "'open quote"))
        app.close()


@pytest.mark.walk
async def test_runs_that_are_begun_at_the_same_moment_have_a_name_and_a_log_each(tmp_path: Path) -> None:
    home = tmp_path / "home"
    suites = [sums(tmp_path / name, 1) for name in ("first", "second")]
    app = AppContext.open(home)
    wrong, *names = await asyncio.gather(
        *(views.begin(app, words) for words in ("nowhere", f"'{suites[0]}'", f"'{suites[1]}'")),
        return_exceptions=True,
    )
    assert isinstance(wrong, UsageError) and "nowhere" in wrong.message
    for name, suite in zip(names, suites, strict=True):
        assert isinstance(name, str) and name.startswith(f"{suite.name}-")
        run = beginning.folder_of_runs(app) / name
        while (line := next(line for line in views.run_lines(app) if line.run == name)).ended < line.of:
            await asyncio.sleep(0.1)
        (log,) = run.glob("*.log")
        assert re.findall(r"(?m)^run (\S+)$", log.read_text()) == [name]
        assert log.stat().st_mode & 0o077 == 0
    assert not [*beginning.folder_of_runs(app).glob("*.log")], "what began nothing leaves no log"
    app.close()
