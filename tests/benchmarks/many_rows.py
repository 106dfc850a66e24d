"""Run rows of a file through reader, coordinator and journal with an engine that does nothing; print what it took."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from alita_tui.mapping.coordinator import run_map
from alita_tui.mapping.journal import Head, Journal
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import Row, opened, rows

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Nothing:
    """An engine that answers at once; every thousandth row fails."""

    lanes = 4

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        await asyncio.sleep(0)
        return [
            Outcome(row=row.number, reason="error: no", arguments=row.arguments)
            if row.number % 1000 == 0
            else Outcome(row=row.number, result=row.arguments)
            for row in rows
        ]


def main(path: Path, output: Path) -> None:
    began = time.monotonic()
    given = opened(path, SCHEMA)
    journal = Journal(output, Head(tool="nothing v1", digest="d" * 64, input=given.sha256))
    asyncio.run(run_map(rows(path, SCHEMA), Nothing(), journal, lambda _: None))
    ok, failed = journal.finish()
    journal.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": ok + failed, "seconds": time.monotonic() - began, "peak_mb": peak}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
