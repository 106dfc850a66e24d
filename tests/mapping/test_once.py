"""Rows of a tool that may change something: whatever is killed or lost, none of them runs twice by itself."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from alita_tui.mapping.coordinator import Lost, run_map
from alita_tui.mapping.journal import FAILED, JOURNAL, MANIFEST, Head, Journal
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import Row
from alita_tui.spine.errors import (
    AlitaError,
    RegistryError,
    RequirementsError,
    SandboxUnavailable,
    StoreError,
)

HEAD = Head(tool="send_it v1", digest="d" * 64, input="i" * 64, once=True)


class Killed(BaseException):
    """The process ended here."""


class Engine:
    """Counts what it did to the world."""

    def __init__(self, lanes: int = 1) -> None:
        self.lanes = lanes
        self.did: Counter[int] = Counter()
        self.lost: frozenset[int] = frozenset()
        """Rows that take the sandbox along after they did something."""
        self.unavailable_at = 0
        self.unavailable: Exception = SandboxUnavailable("Podman does not answer.")
        self.hook: Callable[[], object] = lambda: None
        """Called before and after a row does something."""

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        outcomes = []
        for row in rows:
            if row.number == self.unavailable_at:
                raise self.unavailable
            self.hook()
            self.did[row.number] += 1
            self.hook()
            for _ in range(20):
                await asyncio.sleep(0)
            if row.number in self.lost:
                raise Lost("gone")
            outcomes.append(Outcome(row=row.number, result=2 * row.number))
        return outcomes


def given(count: int) -> list[Row]:
    return [
        Row(n, None, "The line is no JSON.") if n % 9 == 0 else Row(n, {"x": n}) for n in range(1, count + 1)
    ]


def mapped(folder: Path, rows: list[Row], engine: Engine, *, again: bool = False) -> tuple[int, int]:
    journal = Journal(folder, HEAD, unsure_again=again)
    try:
        asyncio.run(run_map(rows, engine, journal, lambda _: None))
        return journal.finish()
    finally:
        journal.close()


def results(folder: Path) -> dict[int, int]:
    parts = json.loads((folder / MANIFEST).read_text())["parts"]
    lines = [json.loads(line) for part in parts for line in (folder / part["file"]).read_text().splitlines()]
    assert [one["row"] for one in lines] == sorted({one["row"] for one in lines}), "in order, each once"
    return {one["row"]: one["result"] for one in lines}


def failures(folder: Path) -> dict[int, str]:
    lines = [json.loads(line) for line in (folder / FAILED).read_text().splitlines()]
    assert len({one["row"] for one in lines}) == len(lines)
    return {one["row"]: one["reason"] for one in lines}


@pytest.mark.parametrize("seed", range(6))
def test_no_kill_has_a_row_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A kill leaves the folder as it is at that moment: at any row's begin or end, or at any write."""
    chance = random.Random(seed)
    count, lanes, kills = chance.randrange(30, 120), chance.randrange(1, 4), 5
    engine, out = Engine(lanes), tmp_path / "0"
    moments = 0

    def moment() -> None:
        nonlocal moments
        moments -= 1
        if moments == 0:
            shutil.copytree(out, after)
        if moments <= 0:
            raise Killed

    def synced(_: int) -> None:
        moment()  # what is written survives the process as it is

    engine.hook = moment

    async def here(work: Callable[..., Any], *given: Any) -> Any:
        return work(*given)  # so that nothing is written while the folder is copied

    monkeypatch.setattr("os.fdatasync", synced)
    monkeypatch.setattr("asyncio.to_thread", here)
    for kill in range(kills):
        moments, after = chance.randrange(2, 80), tmp_path / str(kill + 1)
        with pytest.raises(Killed):
            mapped(out, given(count), engine)
            raise Killed  # it came to its end before that
        out = after if after.exists() else out
    moments = 1 << 30
    mapped(out, given(count), engine)

    assert max(engine.did.values()) == 1, "nothing ran twice"
    unsure = {row for row, why in failures(out).items() if "may have run" in why}
    calls = {n for n in range(1, count + 1) if n % 9}
    assert results(out) == {n: 2 * n for n in calls - unsure}
    assert set(failures(out)) == unsure | {n for n in range(9, count + 1, 9)}
    assert len(unsure) <= kills * lanes, "a kill costs the rows that ran, not their neighbours"

    before = engine.did.copy()
    mapped(out, given(count), engine, again=True)
    assert results(out) == {n: 2 * n for n in calls}, "and by hand they are run again"
    assert (
        set((engine.did - before).elements()) == unsure
        and max((engine.did - before).values(), default=1) == 1
    )


def test_a_row_whose_sandbox_was_lost_fails_as_possibly_run(tmp_path: Path) -> None:
    engine, out = Engine(2), tmp_path / "out"
    engine.lost = frozenset({3, 4, 25})
    mapped(out, given(40), engine)
    assert {row for row, why in failures(out).items() if "may have run" in why} == engine.lost
    assert set(engine.did.values()) == {1} and len(results(out)) == 40 - 4 - 3
    mapped(out, given(40), engine)
    assert set(engine.did.values()) == {1}, "nor by giving the same command again"
    engine.lost = frozenset({4})
    mapped(out, given(40), engine, again=True)
    assert {row for row, why in failures(out).items() if "may have run" in why} == {4}
    assert engine.did == {n: 2 if n in (3, 4, 25) else 1 for n in range(1, 41) if n % 9}
    journal = Journal(out, HEAD)
    assert journal.unsure == 1
    journal.close()


def test_results_that_are_gone_are_no_reason_to_run_a_row_again(tmp_path: Path) -> None:
    engine, out = Engine(), tmp_path / "out"
    mapped(out, given(20), engine)
    for part in out.glob("part-*.jsonl"):
        part.unlink()
    mapped(out, given(20), engine)
    assert set(engine.did.values()) == {1} and not results(out)
    assert "its result is gone" in failures(out)[1]
    (out / JOURNAL).write_bytes((out / JOURNAL).read_bytes().replace(b'{"first"', b'{"fi', 1))
    with pytest.raises(StoreError, match="nobody knows"):
        mapped(out, given(20), engine)


@pytest.mark.parametrize("kind", [SandboxUnavailable, RegistryError, RequirementsError])
def test_a_row_that_could_not_begin_costs_nothing(tmp_path: Path, kind: type[AlitaError]) -> None:
    engine, out = Engine(), tmp_path / "out"
    engine.unavailable_at, engine.unavailable = 12, kind("It cannot begin.")
    with pytest.raises(kind):
        mapped(out, given(20), engine)
    engine.unavailable_at = 0
    mapped(out, given(20), engine)
    assert set(engine.did.values()) == {1} and len(results(out)) == 18


def test_a_stop_waits_for_the_rows_that_run(tmp_path: Path) -> None:
    """Ctrl+C leaves no row of which nobody knows whether it ran."""
    out = tmp_path / "out"

    async def stopped(engine: Engine) -> None:
        journal = Journal(out, HEAD)
        work = asyncio.ensure_future(run_map(given(40), engine, journal, lambda _: None))
        engine.hook = lambda: work.cancel() if engine.did[5] else None
        with pytest.raises(asyncio.CancelledError):
            await work
        journal.close()

    engine = Engine(2)
    asyncio.run(stopped(engine))
    assert 5 in engine.did and 40 not in engine.did
    engine.hook = lambda: None
    mapped(out, given(40), engine)
    assert set(engine.did.values()) == {1} and len(results(out)) == 36
    assert not [why for why in failures(out).values() if "may have run" in why]
