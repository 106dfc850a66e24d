"""The real console in a terminal, with an engine that always has two more calm builds to decide.

`python -m attack.inputs.desk LOG`: each verdict is a line of JSON in the log, as it reaches the engine.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from alita_tui import events as e
from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.terminal import guarded_screen
from alita_tui.events import Lock, RunReport, TestCase, build_digest
from alita_tui.replay.playback import LiveTape
from alita_tui.spine.commands import Command, ResolveApproval
from tests.console.approval_cases import passed
from tests.console.screens import Catalog
from tests.support import streams

CODE = '''"""Count the words of a text."""
import json
import sys


def run(text: str) -> int:
    """The number of words."""
    return len(text.split())  # REVIEW-OF-{name}-IS-PAINTED


if __name__ == "__main__":
    print(json.dumps(run(**json.load(sys.stdin))))
'''


class Engine:
    """A stream of builds, and the sink that takes verdicts on them."""

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._news: asyncio.Queue[Any] = asyncio.Queue()
        self._tape = streams.Tape()
        streams.opened(self._tape)
        self._tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Count the words."))
        self._told = 0
        self._count = 0
        self._digests: dict[str, str] = {}
        for _ in range(2):
            self.build()

    def note(self, **said: object) -> None:
        os.write(self._log, json.dumps({"at": time.monotonic(), **said}).encode() + b"\n")

    def build(self) -> None:
        """A build that nothing speaks against waits for a verdict."""
        self._count += 1
        name, approval_id = e.ToolName(f"count_{self._count}"), f"p{self._count}"
        build_id = e.BuildId(f"b{self._count}")
        draft = msgspec.structs.replace(
            streams.DRAFT,
            name=name,
            description="Count the words of a text.",
            code=CODE.replace("{name}", name),
            tests=f"from {name} import run\n\n\ndef test_two():\n    assert run('a b') == 2\n",
            requirements=(),
        )
        digest = build_digest(draft, Lock())
        self._digests[approval_id] = digest
        add = self._tape.add
        add(e.BuildStarted(build_id=build_id, action_id=f"a{self._count}", name=name, goal=draft.description))
        add(
            e.BuildDrafted(
                build_id=build_id,
                attempt=1,
                author="model",
                model="m",
                draft=draft,
                digest=draft.digest,
            )
        )
        add(e.BuildReviewed(build_id=build_id, attempt=1, digest=draft.digest))
        add(e.RequirementsLocked(build_id=build_id, attempt=1, lock=Lock()))
        report = RunReport(status="ok", cases=(TestCase(name="test_two", passed=True),))
        add(
            e.BuildTested(
                build_id=build_id,
                attempt=1,
                digest=draft.digest,
                passed=True,
                reports=(report,) * 3,
            )
        )
        for one in passed(build_id, 1, draft.digest):
            add(one)
        add(
            e.ApprovalRequested(
                approval_id=approval_id, build_id=build_id, digest=digest, name=name, version=1
            )
        )
        self._tell()

    def _tell(self) -> None:
        for envelope in self._tape.envelopes[self._told :]:
            self._news.put_nowait(envelope)
        self._told = len(self._tape.envelopes)

    async def __aiter__(self) -> Any:
        while True:
            yield await self._news.get()

    def send(self, command: Command) -> None:
        """Take a verdict on record; the next build comes at once."""
        if not isinstance(command, ResolveApproval):
            self.note(other=type(command).__name__)
            return
        decision = command.verdict.decision
        self.note(verdict=decision, approval_id=command.approval_id)
        number = command.approval_id[1:]
        self._tape.add(
            e.ApprovalResolved(
                approval_id=command.approval_id,
                build_id=e.BuildId(f"b{number}"),
                digest=e.BuildDigest(self._digests[command.approval_id]),
                verdict=e.Verdict(decision="rejected" if decision == "edited" else decision, by="ada"),
            )
        )
        self.build()


async def main(log: Path) -> int:
    engine = Engine(log)
    app = AlitaApp(
        engine,
        engine,
        catalog=Catalog(),
        options=ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True),
        tape=LiveTape(),
    )
    with guarded_screen(log.with_suffix(".stderr")):
        await app.run_async()
    engine.note(ended=app.return_code)
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
