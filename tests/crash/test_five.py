"""A session that is killed with five tasks given, two of them running, goes on and does each of them once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.laws import check
from alita_tui.state.reduce import reduce, reduce_all
from alita_tui.state.session import SessionState
from alita_tui.store.sessions import SessionFile
from tests.crash.scene import FIVE, WITNESS_LOG, at_the_console, five_at_the_console, open_app

SESSION = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.crash.scene import five_at_the_console
asyncio.run(five_at_the_console(Path(sys.argv[2])))
"""


def sessions(folder: Path) -> set[Path]:
    return set((folder / "home" / "data" / "sessions").glob("*.json"))


def killed_after(folder: Path, kind: str, times: int) -> list[str]:
    """Run the session, kill it when an event of a kind is received for the nth time, and return the witness log."""
    log = folder / WITNESS_LOG
    log.unlink(missing_ok=True)
    os.mkfifo(log)
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, str(Path(__file__).parents[2]), str(folder)]
    ) as process:
        witnessed: list[str] = []
        with log.open() as lines:
            for line in lines:
                witnessed.append(line.strip())
                if sum(one.split()[-1] == kind for one in witnessed) == times:
                    process.kill()
        process.kill()
    assert process.returncode == -signal.SIGKILL, "it ended by itself before"
    log.unlink()
    return witnessed


def read(path: Path) -> list[Envelope]:
    file = SessionFile.open(path, readonly=True)
    try:
        return list(file.envelopes())
    finally:
        file.close()


@pytest.mark.parametrize(
    ("kind", "times"), [("TaskQueued", 3), ("ToolCalled", 2), ("QuestionAsked", 1), ("TaskFinished", 3)]
)  # fmt: skip
def test_five_tasks_survive_a_kill(tmp_path: Path, kind: str, times: int) -> None:
    asyncio.run(at_the_console(tmp_path))  # the tool is built and approved
    known = sessions(tmp_path)
    witnessed = killed_after(tmp_path, kind, times)
    (path,) = sessions(tmp_path) - known
    before = read(path)
    assert check(before) == []
    lost = [one for one in witnessed if one.startswith("received ") and int(one.split()[1]) > len(before)]
    assert lost == [], "what anyone received is on record"

    asyncio.run(five_at_the_console(tmp_path, path.stem))
    after = read(path)
    assert check(after, complete=True) == []
    assert [one.event for one in after[: len(before)]] == [one.event for one in before]
    told = [one.event for one in after]
    begun = [one.text for one in told if isinstance(one, e.TaskSubmitted)]
    assert begun == list(FIVE), "each begins once, in its turn"
    answers = {one.answer for one in told if isinstance(one, e.TaskFinished) and one.outcome == "answered"}
    assert answers == {"12", "14", "16", "18", "20"}
    ran = Counter(
        one.split()[1]
        for one in [*witnessed, *(tmp_path / WITNESS_LOG).read_text().splitlines()]
        if one.startswith("ran ")
    )
    called = Counter(str(one.call_id) for one in told if isinstance(one, e.ToolCalled))
    assert not set(ran) - set(called) and max(ran.values()) == 1, "no run without a record, none twice"
    spent = [one for one in told if isinstance(one, e.BudgetSpent)]
    reserved = {one.call_id for one in told if isinstance(one, e.BudgetReserved)}
    assert reserved == {one.call_id for one in spent}
    assert spent[-1].total_usd == pytest.approx(sum(one.cost_usd or 0.0 for one in spent))
    kept = Counter(
        one.item.item_id for one in told if isinstance(one, e.MemoryWritten) and one.item.memory == "episodic"
    )
    assert len(kept) == len(FIVE) and set(kept.values()) == {1}, "each task is remembered once"
    state = SessionState()
    for envelope in after:
        state = reduce(state, envelope)
    assert state == reduce_all(after) and not state.lanes and not open_app(tmp_path).inbox.pending()


@pytest.mark.walk
@pytest.mark.parametrize("how", [(), ("--full",)])
def test_five_tasks_survive_a_kill_or_a_full_disk_at_any_write(how: tuple[str, ...]) -> None:
    """A thirtieth of the points; `make crash` tries them all."""
    command = [sys.executable, "-m", "tests.crash", "--scene", "five", "--every", "30", "--begin", "7", *how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
