"""A map of a few rows on two lanes: with a tool that may run again, and with one that must not."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from alita_tui.mapping.coordinator import run_map
from alita_tui.mapping.journal import FAILED, JOURNAL, MANIFEST, Head, Journal
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import Row, opened, rows

COUNT, LANES = 36, 2
BEGUN = "begun.log"
"""The numbers of the rows that were begun, one a line."""
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
MOST_KILLS = 3
"""How often a trial kills the map."""


class Doubling:
    """Implements `Engine`: doubles numbers and logs each row that it begins. Every ninth row fails."""

    lanes = LANES

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        outcomes = []
        for row in rows:
            os.write(self._log, f"{row.number}\n".encode())
            await asyncio.sleep(0)
            if row.number % 9:
                outcomes.append(Outcome(row=row.number, result=2 * row.number))
            else:
                outcomes.append(Outcome(row=row.number, reason="error: nine", arguments=row.arguments))
        return outcomes


def _input(folder: Path) -> Path:
    """Return the file of rows, written unseen by the fault injector."""
    path = folder / "rows.jsonl"
    if not path.exists():
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.write(file, "".join(f'{{"x": {n}}}\n' for n in range(1, COUNT + 1)).encode())
        os.close(file)
    return path


async def _map(folder: Path, *, once: bool) -> None:
    path = _input(folder)
    head = Head(tool="double v1", digest="d" * 64, input=opened(path, SCHEMA).sha256, once=once)
    journal = Journal(folder / "out", head)
    try:
        await run_map(rows(path, SCHEMA), Doubling(folder / BEGUN), journal, lambda _: None)
        journal.finish()
    finally:
        journal.close()


async def repeatable(folder: Path, session_id: str | None = None) -> None:
    """Begin or resume a map with a tool that may run a row again."""
    await _map(folder, once=False)


async def at_most_once(folder: Path, session_id: str | None = None) -> None:
    """Begin or resume a map with a tool that may change something, so that no row runs twice."""
    await _map(folder, once=True)


MAPS = {"map": repeatable, "map-once": at_most_once}


def judge_map(folder: Path, scene: str) -> list[str]:
    """Resume a map that was killed, and return what is wrong with its end."""
    before = _ran(folder)
    stored = _stored(folder / "out" / JOURNAL)
    asyncio.run(MAPS[scene](folder))
    after, problems = _ran(folder), []

    def expect(what: str, seen: object, wanted: object) -> None:
        if seen != wanted:
            problems.append(f"{what}: {seen!r} instead of {wanted!r}")

    out = folder / "out"
    parts = json.loads((out / MANIFEST).read_text())["parts"]
    lines = [json.loads(line) for part in parts for line in (out / part["file"]).read_text().splitlines()]
    failed = [json.loads(line) for line in (out / FAILED).read_text().splitlines()]
    unsure = {line["row"] for line in failed if "may have run" in line["reason"]}
    right = [n for n in range(1, COUNT + 1) if n % 9 and n not in unsure]
    expect("results in order", [(line["row"], line["result"]) for line in lines], [(n, 2 * n) for n in right])
    nines = set(range(9, COUNT + 1, 9)) - unsure
    expect("errors", {line["row"] for line in failed} - unsure, nines)
    expect("failed lines", len(failed), len(nines | unsure))
    expect("stored rows that ran again", sorted(row for row in stored if after[row] > before[row]), [])
    if scene == "map":
        expect("rows that may have run", unsure, set())
        expect("rows that never ran", set(range(1, COUNT + 1)) - set(after), set())
    else:
        expect("rows that ran twice", [row for row, times in after.items() if times > 1], [])
        expect("more unsure rows than ran at the kills", len(unsure) <= MOST_KILLS * LANES, True)
        expect("rows that neither ran nor are unsure", set(range(1, COUNT + 1)) - set(after) - unsure, set())
    expect("litter", sorted(path.name for path in out.rglob("*.tmp")), [])
    expect("rows on record as begun", sorted(path.name for path in (out / "begun").glob("*")), [])
    return problems


def _ran(folder: Path) -> Counter[int]:
    """Return how often each row was begun."""
    log = folder / BEGUN
    return Counter(int(line) for line in log.read_text().splitlines()) if log.exists() else Counter()


def _stored(journal: Path) -> set[int]:
    """Return the rows that the journal has as done; a torn last line is none."""
    if not journal.exists():
        return set()
    lines = journal.read_bytes().split(b"\n")[1:-1]
    parts = [json.loads(line) for line in lines]
    return {row for part in parts for row in range(part["first"], part["last"] + 1)}
