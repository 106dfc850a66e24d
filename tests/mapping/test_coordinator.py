"""The rules of a map, against an engine that fails as engines do: nothing lost, nothing out of order, nothing made up."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from alita_tui.mapping.coordinator import Lost, run_map
from alita_tui.mapping.journal import FAILED, JOURNAL, MANIFEST, Head, Journal
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import Row
from alita_tui.spine.errors import StoreError, UsageError

HEAD = Head(tool="double_it v1", digest="d" * 64, input="i" * 64)


class Engine:
    """Doubles numbers; is lost by some rows, and ends the process at some."""

    def __init__(
        self,
        lanes: int = 3,
        kills: frozenset[int] = frozenset(),
        deadly: frozenset[int] = frozenset(),
        meet: int = 0,
    ) -> None:
        self.lanes = lanes
        self.kills = kills
        """Rows whose first run ends alita."""
        self.deadly = deadly
        """Rows that take the engine along, each time."""
        self.meet = meet
        """Batches that must be in the engine at the same time before the first of them runs."""
        self.met = asyncio.Event()
        self.ran: Counter[int] = Counter()
        self.at_once = self.most = 0

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            if self.most >= self.meet:
                self.met.set()
            async with asyncio.timeout(180):
                await self.met.wait()
            outcomes = []
            for row in rows:
                await asyncio.sleep(0)
                self.ran[row.number] += 1
                if row.number in self.kills and self.ran[row.number] == 1:
                    raise KeyboardInterrupt
                if row.number in self.deadly:
                    raise Lost("gone")
                x = (row.arguments or {})["x"]
                assert isinstance(x, int)
                bad = x % 10 == 7
                outcomes.append(
                    Outcome(row=row.number, reason="error: seven", arguments=row.arguments)
                    if bad
                    else Outcome(row=row.number, result=2 * x)
                )
            return outcomes
        finally:
            self.at_once -= 1


def given(count: int) -> list[Row]:
    return [
        Row(n, None, "The line is no JSON.") if n % 50 == 0 else Row(n, {"x": n}) for n in range(1, count + 1)
    ]


def mapped(folder: Path, rows: Iterable[Row], engine: Engine) -> tuple[int, int]:
    journal = Journal(folder, HEAD)
    try:
        asyncio.run(run_map(rows, engine, journal, lambda _: None))
        return journal.finish()
    finally:
        journal.close()


def results(folder: Path) -> dict[int, int]:
    """What is in the parts, as the manifest orders them; each row stands there once."""
    manifest = json.loads((folder / MANIFEST).read_text())
    found: list[tuple[int, int]] = []
    for part in manifest["parts"]:
        lines = (folder / part["file"]).read_text().splitlines()
        assert len(lines) == part["ok"]
        found += [(one["row"], one["result"]) for one in map(json.loads, lines)]
    assert [row for row, _ in found] == sorted({row for row, _ in found})
    assert manifest["ok"] == len(found) and manifest["rows"] == manifest["ok"] + manifest["failed"]
    return dict(found)


def failures(folder: Path) -> dict[int, str]:
    lines = (folder / FAILED).read_text().splitlines()
    return {one["row"]: one["reason"] for one in map(json.loads, lines)}


def wanted(count: int) -> dict[int, int]:
    return {n: 2 * n for n in range(1, count + 1) if n % 50 and n % 10 != 7}


def test_every_row_has_a_result_or_a_reason(tmp_path: Path) -> None:
    engine = Engine(lanes=3, meet=3)
    assert mapped(tmp_path / "out", given(1000), engine) == (880, 120)
    assert results(tmp_path / "out") == wanted(1000)
    assert failures(tmp_path / "out") == {
        n: "The line is no JSON." if n % 50 == 0 else "error: seven"
        for n in range(1, 1001)
        if n % 50 == 0 or n % 10 == 7
    }
    assert set(engine.ran.values()) == {1} and engine.most == 3


@pytest.mark.parametrize("seed", range(12))
def test_after_any_kills_the_same_command_gives_the_same_results(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(50, 1500)
    engine = Engine(chance.randrange(1, 5), kills=frozenset(chance.sample(range(1, count), 5)))
    out = tmp_path / "out"
    for _ in range(7):
        try:
            mapped(out, given(count), engine)
        except KeyboardInterrupt:
            journal = out / JOURNAL
            if chance.random() < 0.5:  # the last line was being written
                journal.write_bytes(journal.read_bytes()[: -chance.randrange(1, 20)])
            (out / "part-000000000001.jsonl.tmp").write_bytes(b"half")
    assert results(out) == wanted(count)
    assert {*failures(out)} | {*results(out)} == {*range(1, count + 1)}
    again = Engine()
    mapped(out, given(count), again)
    assert not again.ran, "what is done is not done again"


def test_a_row_that_crashes_the_engine_does_not_affect_its_neighbours(tmp_path: Path) -> None:
    engine = Engine(deadly=frozenset({33, 34, 401}))
    mapped(tmp_path / "out", given(500), engine)
    assert results(tmp_path / "out") == {n: x for n, x in wanted(500).items() if n not in engine.deadly}
    lost = {row: why for row, why in failures(tmp_path / "out").items() if "was lost" in why}
    assert {*lost} == {33, 34, 401}


def test_batches_shrink_at_the_end_so_that_no_lane_waits(tmp_path: Path) -> None:
    sizes: list[int] = []

    class Counting(Engine):
        async def run(self, rows: Sequence[Row]) -> list[Outcome]:
            sizes.append(len(rows))
            return await super().run(rows)

    mapped(tmp_path / "out", (Row(n, {"x": n}) for n in range(1, 6001)), Counting(lanes=2))
    assert max(sizes) >= 64 and sum(sizes) == 6000
    left = [sum(sizes[at:]) for at in range(len(sizes))]
    # How fast batches grow depends on the clock, so any number of rows may be left: 5 too, of which a lane takes 2.
    assert all(size <= -(-rest // 3) for size, rest in zip(sizes, left, strict=True) if rest <= 64), (
        "what one lane takes last is no more than its share of what is left"
    )


def test_a_missing_or_short_part_is_made_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    mapped(out, given(300), Engine())
    parts = sorted(out.glob("part-*.jsonl"))
    parts[0].unlink()
    parts[-1].write_bytes(parts[-1].read_bytes()[:-3])
    engine = Engine()
    mapped(out, given(300), engine)
    assert results(out) == wanted(300) and 0 < len(engine.ran) < 300


def test_a_folder_belongs_to_one_map(tmp_path: Path) -> None:
    out = tmp_path / "out"
    mapped(out, given(20), Engine())
    for head, said in (
        (Head(tool="double_it v2", digest="e" * 64, input=HEAD.input), "another version"),
        (Head(tool=HEAD.tool, digest=HEAD.digest, input="j" * 64), "another input"),
    ):
        with pytest.raises(UsageError, match=said):
            Journal(out, head)
    first = Journal(out, HEAD)
    with pytest.raises(UsageError, match="at work"):
        Journal(out, HEAD)
    first.close()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        Journal(tmp_path / "mine", HEAD)
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    for no_folder in (tmp_path / "mine" / "thesis.txt", tmp_path / "mine" / "thesis.txt" / "out"):
        with pytest.raises(UsageError, match="is no folder") as refused:
            Journal(no_folder, HEAD)
        assert "Name a new folder" in refused.value.hint, "there are no finished rows to keep"
    (out / JOURNAL).write_text("garbage\n")
    with pytest.raises(StoreError, match="damaged"):
        Journal(out, HEAD)


def test_garbage_in_the_journal_loses_only_the_damaged_entries(tmp_path: Path) -> None:
    out = tmp_path / "out"
    mapped(out, given(400), Engine())
    lines = (out / JOURNAL).read_bytes().split(b"\n")
    lines[2] = b'{"first": 1, "last": 9e99}'
    (out / JOURNAL).write_bytes(b"\n".join(lines))
    mapped(out, given(400), Engine())
    assert results(out) == wanted(400)


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        mapped(tmp_path / "out", given_one_by_one(20_000), Engine())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20, "all rows with their outcomes are some 20 MB, the batches of three lanes a few"


def given_one_by_one(count: int) -> Iterator[Row]:
    for n in range(1, count + 1):
        yield Row(n, {"x": n})
