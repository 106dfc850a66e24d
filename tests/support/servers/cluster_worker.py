"""A worker of a cluster whose rows are doubled by itself, to try out the wire: `FOLDER ADDRESS LOG [LANES]`.

`LOG` gets a line for each row that begins. Rows of the file are `{"x": n}`; `{"kill": true}` ends the process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from alita_tui.mapping.cluster.addresses import address
from alita_tui.mapping.cluster.authority import credentials
from alita_tui.mapping.cluster.machine import work
from alita_tui.mapping.cluster.orders import Answer, encoded, read_order
from alita_tui.mapping.outcomes import Outcome


class Doubling:
    def __init__(self, log: Path) -> None:
        self.log = log

    async def prepare(self) -> None:
        return

    async def close(self) -> None:
        return

    async def answer(self, text: object) -> str:
        order = read_order(text)
        with open(order.file, "rb") as file:
            file.seek(order.start)
            piece = file.read(order.end - order.start)
        outcomes = []
        for number, line in enumerate(piece.splitlines(), order.first):
            with self.log.open("a") as log:
                log.write(f"{number} {os.getpid()}\n")
            row = json.loads(line)
            if row.get("kill"):
                os.kill(os.getpid(), signal.SIGKILL)
            await asyncio.sleep(float(os.environ.get("ROW_SECONDS", "0")))
            outcomes.append(Outcome(row=number, result=2 * row["x"]))
        return encoded(Answer(outcomes=tuple(outcomes)))


if __name__ == "__main__":
    folder, scheduler, log, *lanes = sys.argv[1:]
    asyncio.run(
        work(address(scheduler), credentials(Path(folder)), "127.0.0.1", int((lanes or ["1"])[0]), Doubling(Path(log)),
             lambda line: print(line, flush=True))
    )  # fmt: skip
