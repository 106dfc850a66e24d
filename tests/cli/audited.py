"""A home with one approved tool and its audit log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from typer.testing import CliRunner, Result

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.cli.main import cli
from alita_tui.store.sessions import SessionFile
from alita_tui.view.queries import build_of
from alita_tui.view.verdict_evidence import evidence
from tests.support import streams

SESSION = "20261120-093000-aaaa"


TOOL = streams.DRAFT.name


class Shell:
    """A home with one tool that was built, approved on screen, and logged as a session does it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.app = AppContext.open(home)
        envelopes = [one for one in streams.walkthrough() if one.durable]
        asyncio.run(self._record(envelopes))
        asked = next(one.event for one in envelopes if isinstance(one.event, e.ApprovalRequested))
        verdict = next(one.event for one in envelopes if isinstance(one.event, e.ApprovalResolved))
        made = build_of(envelopes, asked.build_id)
        assert made is not None
        self.app.audit.enter(SESSION, asked, verdict, evidence(made))
        self.app.library.register(
            streams.DRAFT, streams.LOCK, approval_id=asked.approval_id, digest=asked.digest, sources=()
        )

    async def _record(self, envelopes: list[Any]) -> None:
        file = SessionFile.create(self.app.sessions.path(SESSION), SESSION)
        for one in envelopes:
            if isinstance(one.event, e.BudgetSpent):  # all of it for the build
                one = msgspec.structs.replace(one, event=msgspec.structs.replace(one.event, role="toolsmith"))
            await file.record(msgspec.structs.replace(one, session_id=SESSION), barrier=False)
        file.close()

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(self.home), "audit", *words])
