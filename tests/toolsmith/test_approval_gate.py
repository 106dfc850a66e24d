"""Where a build waits: one verdict counts, whichever shell it came from, and the other is told."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import ApprovalPending, UsageError
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.store.verdict_inbox import VerdictInbox
from alita_tui.toolsmith.approval_gate import ApprovalGate
from tests.support import streams

SESSION = "20261120-093000-aaaa"


class Room:
    """A session that asks, and the desk that all shells share."""

    def __init__(self, folder: Path) -> None:
        self.shelf = SessionStore(folder / "sessions")
        self.desk = VerdictInbox(folder / "desk", self.shelf)
        self.file = SessionFile.create(self.shelf.path(SESSION), SESSION)
        self.settled: list[ResolveApproval] = []

    async def open(self) -> e.ApprovalRequested:
        """Everything up to the request, which the gate itself puts on record."""
        *before, asked = streams.waiting()
        for one in before:
            if one.durable:
                await self.file.record(msgspec.structs.replace(one, session_id=SESSION), barrier=False)
        self.bus = Bus(SESSION, self.file, lambda: datetime.now(UTC), history=self.file.envelopes())
        self.gate = ApprovalGate(self.bus, self.desk, me="me", parks=False, settled=self._settle)
        assert isinstance(asked.event, e.ApprovalRequested)
        return asked.event

    def _settle(self, request: e.ApprovalRequested, command: ResolveApproval) -> None:
        self.settled.append(command)
        self.desk.taken(request.approval_id)

    def said(self, kind: type) -> list[e.SessionEvent]:
        return [one.event for one in self.bus.history if isinstance(one.event, kind)]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def verdict(
    asked: e.ApprovalRequested, decision: e.Decision, via: str = "console", by: str = "", **fields: Any
) -> ResolveApproval:
    verdict = msgspec.convert(
        {"decision": decision, "reason": "r", "via": via, "by": by, **fields}, e.Verdict
    )
    return ResolveApproval(approval_id=asked.approval_id, digest=asked.digest, verdict=verdict)


async def waiting(room: Room, asked: e.ApprovalRequested) -> asyncio.Task[ResolveApproval]:
    """The gate waits, its request on record."""
    news = room.bus.subscribe()
    asking = asyncio.create_task(room.gate.ask(asked))
    async for envelope in news:
        if isinstance(envelope.event, e.ApprovalRequested):
            break
    news.close()
    return asking


async def test_the_first_verdict_of_another_shell_counts_and_the_console_learns_of_it(room: Room) -> None:
    asked = await room.open()
    asking = await waiting(room, asked)
    room.desk.leave(asked.approval_id, verdict(asked, "rejected", "cli", "ada"))
    assert room.gate.resolve(verdict(asked, "approved")) == "", "nobody had looked at the desk yet"
    decision = await asking
    assert (decision.verdict.by, decision.verdict.decision) == ("ada", "rejected")
    (told,) = room.said(e.NoticeRaised)
    assert isinstance(told, e.NoticeRaised)
    assert "rejected by ada in another shell first" in told.text
    assert "your verdict (approved) changed nothing" in told.text
    assert [one.verdict.decision for one in room.settled] == ["rejected"]


async def test_the_first_verdict_of_the_console_counts_and_the_other_shell_learns_of_it(room: Room) -> None:
    asked = await room.open()
    asking = await waiting(room, asked)
    room.gate.resolve(verdict(asked, "approved"))
    assert (await asking).verdict.by == "me"
    with pytest.raises(UsageError, match="was approved by me before"):
        room.desk.leave(asked.approval_id, verdict(asked, "rejected", "cli", "ada"))
    assert not room.said(e.NoticeRaised)
    assert room.desk.verdict(asked.approval_id) is None


async def test_a_repeated_or_late_verdict_is_refused_with_a_notice(room: Room) -> None:
    asked = await room.open()
    asking = await waiting(room, asked)
    assert room.gate.resolve(verdict(asked, "approved")) == ""
    assert "decided already" in room.gate.resolve(verdict(asked, "rejected"))
    await asking
    assert "no longer waits" in room.gate.resolve(verdict(asked, "rejected"))
    assert [
        one.verdict.decision for one in room.said(e.ApprovalResolved) if isinstance(one, e.ApprovalResolved)
    ] == ["approved"]
    assert len(room.settled) == 1


async def test_verdicts_of_many_shells_at_once_leave_one(room: Room) -> None:
    asked = await room.open()
    asking = await waiting(room, asked)
    refused = 0

    async def leave(number: int) -> None:
        nonlocal refused
        try:
            what: e.Decision = "approved" if number % 2 else "rejected"
            await asyncio.to_thread(
                room.desk.leave, asked.approval_id, verdict(asked, what, "cli", f"shell {number}")
            )
        except UsageError:
            refused += 1

    await asyncio.gather(*(leave(number) for number in range(8)))
    decision = await asking
    assert refused == 7
    assert decision.verdict.by.startswith("shell ")
    assert len(room.said(e.ApprovalResolved)) == 1


async def test_a_rule_decides_for_the_person_and_is_recorded(room: Room) -> None:
    asked = await room.open()
    ruled = verdict(asked, "approved", "policy", "rule pure")
    room.gate = ApprovalGate(
        room.bus, room.desk, me="me", parks=True, settled=room._settle,
        rule=lambda request: ruled if request == asked else None,
    )  # fmt: skip
    assert (await room.gate.ask(asked)).verdict.by == "rule pure"
    (resolved,) = room.said(e.ApprovalResolved)
    assert isinstance(resolved, e.ApprovalResolved)
    assert (resolved.verdict.by, resolved.verdict.via, resolved.verdict.reason) == (
        "rule pure",
        "policy",
        "r",
    )
    assert [one.verdict.by for one in room.settled] == ["rule pure"], "every use of a rule is audited"


async def test_a_build_that_a_person_was_asked_about_is_not_decided_by_a_rule(room: Room) -> None:
    asked = await room.open()
    asking = await waiting(room, asked)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    ruled = verdict(asked, "approved", "policy", "rule pure")
    room.gate = ApprovalGate(
        room.bus, room.desk, me="me", parks=True, settled=room._settle, rule=lambda _: ruled
    )
    with pytest.raises(ApprovalPending):
        await room.gate.ask(asked, recorded=True)
    assert not room.said(e.ApprovalResolved)


async def test_an_earlier_verdict_of_a_person_precedes_a_rule(room: Room) -> None:
    asked = await room.open()
    ruled = verdict(asked, "approved", "policy", "rule pure")

    def rule(request: e.ApprovalRequested) -> ResolveApproval:
        room.desk.leave(request.approval_id, verdict(asked, "rejected", "cli", "ada"))
        return ruled

    room.gate = ApprovalGate(room.bus, room.desk, me="me", parks=True, settled=room._settle, rule=rule)
    assert (await room.gate.ask(asked)).verdict.by == "ada"
    assert [
        one.verdict.decision for one in room.said(e.ApprovalResolved) if isinstance(one, e.ApprovalResolved)
    ] == ["rejected"]


def approval(asked: e.ApprovalRequested, *names: str, via: str = "console", by: str = "") -> ResolveApproval:
    return verdict(asked, "approved", via, by, accepted=names)


def guarded(room: Room, *names: str, parks: bool = False) -> None:
    """The gate as the product has it: these are the risks of the build."""
    room.gate = ApprovalGate(
        room.bus,
        room.desk,
        me="me",
        parks=parks,
        settled=room._settle,
        unnamed=lambda _, given: tuple(one for one in names if one not in given.accepted),
    )


async def test_an_approval_without_every_risk_is_refused_with_a_notice(room: Room) -> None:
    asked = await room.open()
    guarded(room, "secrets", "weak-tests")
    asking = await waiting(room, asked)
    for given in ((), ("secrets",), ("weak-tests",), ("other",)):
        said = room.gate.resolve(approval(asked, *given))
        assert "does not accept these risks by name" in said
        assert all((one in said) != (one in given) for one in ("secrets", "weak-tests"))
        assert "still waits" in said
    assert not asking.done()
    assert room.said(e.ApprovalResolved) == []
    assert room.gate.resolve(approval(asked, "weak-tests", "secrets")) == ""
    assert (await asking).verdict.accepted == ("weak-tests", "secrets")


async def test_a_rejection_needs_no_names(room: Room) -> None:
    asked = await room.open()
    guarded(room, "secrets")
    asking = await waiting(room, asked)
    assert room.gate.resolve(verdict(asked, "rejected")) == ""
    await asking


async def test_a_stored_approval_without_every_risk_is_removed_with_a_notice(room: Room) -> None:
    asked = await room.open()
    guarded(room, "secrets")
    asking = await waiting(room, asked)
    news = room.bus.subscribe()
    room.desk.leave(asked.approval_id, approval(asked, via="cli", by="ada"))
    async for envelope in news:
        if isinstance(envelope.event, e.NoticeRaised):
            break
    news.close()
    (told,) = room.said(e.NoticeRaised)
    assert isinstance(told, e.NoticeRaised)
    assert "secrets" in told.text
    assert not asking.done()
    assert room.desk.verdict(asked.approval_id) is None, "another verdict can be left"
    room.desk.leave(asked.approval_id, approval(asked, "secrets", via="cli", by="ada"))
    assert (await asking).verdict.by == "ada"


async def test_a_rule_decides_without_names(room: Room) -> None:
    asked = await room.open()
    ruled = approval(asked, via="policy", by="rule r")
    room.gate = ApprovalGate(
        room.bus, room.desk, me="me", parks=True, settled=room._settle, rule=lambda _: ruled,
        unnamed=lambda *_: ("secrets",),
    )  # fmt: skip
    assert (await room.gate.ask(asked)).verdict.by == "rule r"


async def test_the_names_to_accept_are_all_risks_of_the_build_as_requested(room: Room) -> None:
    from alita_tui.app.verdicts import unnamed
    from alita_tui.events import Capabilities
    from alita_tui.view.queries import build_of
    from alita_tui.view.risk import names_to_accept, risks

    asked = await room.open()
    asking = await waiting(room, asked)
    made = build_of(room.bus.history, asked.build_id)
    assert made is not None and made.presented is not None
    names = names_to_accept(risks(made, made.presented))
    assert names
    assert unnamed(room.bus.history, asked, approval(asked).verdict) == names
    assert unnamed(room.bus.history, asked, approval(asked, *names).verdict) == ()
    assert unnamed(room.bus.history, asked, approval(asked, *names[1:]).verdict) == names[:1]
    bare = msgspec.structs.replace(approval(asked).verdict, grants=Capabilities())
    assert set(unnamed(room.bus.history, asked, bare)) <= set(names)
    assert unnamed([], asked, approval(asked, *names).verdict) == ("not-on-record",)
    room.gate.resolve(verdict(asked, "rejected"))
    await asking
