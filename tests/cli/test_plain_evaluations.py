"""Evaluations in a session of lines: listed, shown, begun, followed while they go on, a failing case replayed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_tui.app.context import AppContext
from alita_tui.cli.evaluation.commands import _table
from alita_tui.cli.evaluation.plain import Evaluations, _about
from alita_tui.console.evaluations.ports import RunLine
from alita_tui.evaluation.results import CaseResult, Setup
from tests.app.evaluation.suites import MIND, settle, suite, sums
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(MIND) as one:
        yield one


@pytest.fixture
def app(tmp_path: Path, server: OpenAIServer) -> Iterator[AppContext]:
    settle(tmp_path / "home", server)
    context = AppContext.open(tmp_path / "home")
    yield context
    context.close()


async def told(capsys: pytest.CaptureFixture[str], pattern: str) -> str:
    """Read what is printed until it says something; return all of it."""
    printed = ""
    while not re.search(pattern, printed):
        captured = capsys.readouterr()
        printed += captured.out + captured.err
        await asyncio.sleep(0.02)
    return printed


async def test_a_run_is_started_followed_and_its_failing_case_replayed_where_it_went_wrong(
    tmp_path: Path, app: AppContext, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Evaluations(app)
    assert await lines.do("/evaluations", "")
    assert "No run yet. Make a suite: alita eval new FOLDER" in capsys.readouterr().out
    server.plan(Fault(), Fault(), Fault(then="hold"))  # the second case is held until the run is followed
    assert await lines.do("/evaluate", f"{sums(tmp_path / 's', 1, 1)}")
    printed = await told(capsys, "as it ends")
    server.release()
    printed += await told(capsys, r"s-\S+: s, custom:one, finished, 2 of 2 ended, 1 solved")
    assert "It runs in a process of its own" in printed
    ends = [line for line in printed.splitlines() if "off-0" in line]
    assert "2 off-0 (custom:one): not solved: figures that nothing supports: 41 instead of 42" in ends[-1]
    assert len([line for line in ends if "not solved" in line]) == 1, "it is told once"
    assert "\x1b" not in printed and "\r" not in printed, "lines that are only added"

    assert await lines.do("/evaluations", "")
    assert re.search(r"  1 s-\S+: s, custom:one, finished, 2 of 2", capsys.readouterr().out)
    assert await lines.do("/evaluation", "1")
    shown = capsys.readouterr().out
    assert "2 off-0" in shown and "sum-0" not in shown and "Besides: 1 solved, 0 not begun" in shown
    assert await lines.do("/evaluation", "1 all")
    assert "1 sum-0 (custom:one): solved, $0.0042" in capsys.readouterr().out
    assert await lines.do("/case", "2")
    captured = capsys.readouterr()
    assert "It is 41." in captured.out + captured.err
    assert "Here it went wrong: figures that nothing supports: 41 instead of 42" in captured.out
    assert re.search(r"alita --home \S+ replay \S+ --at \d+", captured.out)
    await lines.end()


async def test_wrong_input_is_reported_and_the_session_continues(
    tmp_path: Path, app: AppContext, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Evaluations(app)
    for word, rest, said in (
        ("/evaluation", "9", "There is no such run"),
        ("/evaluation", "none", "There is no such run"),
        ("/evaluation", "stop", "No run is followed"),
        ("/case", "1", "/case takes the number of a case"),
        ("/case", "x", "/case takes the number of a case"),
        ("/evaluate", "", "Say what to run"),
        ("/evaluate", "'", "cannot be read"),
        ("/evaluate", str(tmp_path / "none"), "There is no suite at"),
    ):
        assert await lines.do(word, rest)
        assert said in capsys.readouterr().out, (word, rest)
    assert not await lines.do("/evil", "")


async def test_hostile_names_are_shown_and_never_obeyed(
    tmp_path: Path, app: AppContext, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "x\x1b[2Jy\u202ez\r\n9/9 fake"
    folder = suite(
        tmp_path / "s", {"id": name, "task": "Add, wrong.", "check": {"kind": "exact", "text": "\x1b[31m"}}
    )
    lines = Evaluations(app)
    assert await lines.do("/evaluate", str(folder))
    printed = await told(capsys, r"finished, 1 of 1 ended")
    assert await lines.do("/evaluation", "")
    assert await lines.do("/case", "1")
    captured = capsys.readouterr()
    printed += captured.out + captured.err
    assert "not solved" in printed and not {"\x1b", "\u202e", "\r"} & {*printed}
    assert not re.search("(?m)^9/9 fake", printed)
    await lines.end()


def test_a_sum_with_an_assumed_price_is_marked_as_approximate_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "2 calls without a known price: in the totals as budget.unknown_usd says"
    line = RunLine(run="r", suite="s", models=("p:m",), state="finished", usd=0.5, unpriced=2)
    assert ", about $0.5000, " in _about(line) and words in _about(line)
    setup = Setup(run="r", suite="s", suite_path="", suite_digest="", models=("p:m", "p:known"))
    results = (
        CaseResult(case="a", model="p:m", turn=1, usd=0.5, unpriced=2),
        CaseResult(case="a", model="p:known", turn=1, usd=0.25),
    )
    _table(setup, results)
    printed = capsys.readouterr()
    assert "~$0.5000" in printed.out and "~$0.2500" not in printed.out and "$0.2500" in printed.out
    assert printed.err == f"{words}.\n"
