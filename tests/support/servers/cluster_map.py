"""A map over a cluster without the rest of alita: `CERTIFICATES ADDRESS INPUT OUTPUT [ROWS-OF-A-BATCH]`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from alita_tui.mapping.cluster.addresses import address
from alita_tui.mapping.cluster.authority import credentials
from alita_tui.mapping.cluster.client import connected
from alita_tui.mapping.coordinator import run_map
from alita_tui.mapping.journal import Head, Journal
from alita_tui.mapping.rows import opened, rows

DIGEST = "d" * 64


async def main(folder: Path, scheduler: str, given: Path, output: Path, most: int) -> None:
    file = opened(given, {})
    journal = Journal(output, Head(tool="double_it v1", digest=DIGEST, input=file.sha256))
    async with connected(address(scheduler), credentials(folder), DIGEST, file) as engine:
        await run_map(
            rows(given, {}), engine, journal, lambda progress: print(progress.done, flush=True), most=most
        )
    journal.finish()


if __name__ == "__main__":
    most = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), most))
