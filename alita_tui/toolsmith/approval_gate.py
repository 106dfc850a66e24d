"""Where a build waits for its verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.events import Verdict
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import ApprovalPending
from alita_tui.spine.ports.builds import ApprovalDesk

_INBOX_SECONDS = 0.5
"""Seconds between two looks for a verdict from another shell, which causes no event here."""


class ApprovalGate:
    """Asks once per build and takes the first verdict on exactly the digest that was asked about."""

    def __init__(
        self,
        bus: Bus,
        inbox: ApprovalDesk,
        *,
        me: str,
        parks: bool,
        settled: Callable[[e.ApprovalRequested, ResolveApproval], None],
        rule: Callable[[e.ApprovalRequested], ResolveApproval | None] = lambda _: None,
        unnamed: Callable[[e.ApprovalRequested, Verdict], tuple[str, ...]] = lambda *_: (),
        signed: Callable[
            [e.ApprovalRequested, e.ApprovalResolved], e.ApprovalResolved
        ] = lambda _, resolved: resolved,
        on_record: Callable[[e.ApprovalRequested, Verdict], bool] = lambda *_: True,
    ) -> None:
        """Create a gate.

        `me` is the account that decides in this process. With `parks` a build without a verdict raises ApprovalPending
        instead of waiting. `rule` returns the verdict of a rule that covers the build; it may block. `unnamed` returns
        the risks that an approval does not accept by name; an approval that leaves one out does not count. `signed`
        returns a verdict with this home's signature; `on_record`, whether the audit log has it. Those two may block.
        """
        self._bus = bus
        self._inbox = inbox
        self._me = me
        self._parks = parks
        self._settled = settled
        self._rule = rule
        self._unnamed = unnamed
        self._signed = signed
        self._on_record = on_record
        self.on_wait: Callable[[str], None] = lambda _: None
        """Called with a build's id when it begins to wait for the person."""
        self._waiting: dict[str, tuple[e.ApprovalRequested, asyncio.Future[ResolveApproval]]] = {}

    async def ask(self, request: e.ApprovalRequested, *, recorded: bool = False) -> ResolveApproval:
        """Ask for a verdict, record and return it; `recorded` if the request is already. Raises ApprovalPending."""
        future: asyncio.Future[ResolveApproval] = asyncio.get_running_loop().create_future()
        # Registered before the request is emitted, so that an immediate answer counts.
        self._waiting[request.approval_id] = (request, future)
        try:
            if not recorded:
                await self._bus.emit(request, span=request.build_id)
                if (ruled := await asyncio.to_thread(self._rule, request)) and not future.done():
                    future.set_result(ruled)
            while not future.done():
                await self._look_in_inbox(request, future)
                if not future.done():
                    if self._parks:
                        raise ApprovalPending(
                            f"{request.name} v{request.version} waits for your decision.",
                            hint="`alita builds list` shows it; `alita resume` goes on once it is decided.",
                        )
                    self.on_wait(request.build_id)
                    await asyncio.wait((future,), timeout=_INBOX_SECONDS)
            command = self._bus.redacted(future.result())
            if command.verdict.via != "cli":  # verdicts from a shell are in the inbox already
                command = await self._first(request, command)
            resolved = e.ApprovalResolved(
                approval_id=request.approval_id,
                build_id=request.build_id,
                digest=request.digest,
                verdict=command.verdict,
            )
            resolved = await self._bus.save_with(self._signed, request, resolved)
            await self._bus.emit(resolved, span=request.build_id)
            await self._bus.save_with(self._settled, request, command)
            return command
        finally:
            del self._waiting[request.approval_id]

    async def was_given(self, request: e.ApprovalRequested, verdict: Verdict) -> bool:
        """Return True if a verdict that the session recorded was given in this home."""
        return await self._bus.save_with(self._on_record, request, verdict)

    def resolve(self, command: ResolveApproval) -> str:
        """Submit a verdict from this process. Return why it does not count, or an empty string."""
        waiting = self._waiting.get(command.approval_id)
        if waiting is None:
            return "That build no longer waits for a verdict; nothing was changed."
        request, future = waiting
        if command.digest != request.digest:
            return "The verdict names other bytes than the build has; nothing was changed."
        if future.done():
            return "That build was decided already; nothing was changed."
        if problem := self._incomplete(request, command):
            return problem
        future.set_result(replace(command, verdict=replace(command.verdict, by=self._me)))
        return ""

    async def _look_in_inbox(
        self, request: e.ApprovalRequested, future: asyncio.Future[ResolveApproval]
    ) -> None:
        """Take the verdict that another shell left, if there is one and it counts."""
        command = await asyncio.to_thread(self._inbox.verdict, request.approval_id)
        if command is None or future.done():
            return
        if problem := self._incomplete(request, command):
            await self._bus.save_with(self._inbox.taken, request.approval_id)
            await self._bus.emit(e.NoticeRaised(level="warning", text=problem))
        elif command.digest == request.digest:
            future.set_result(command)

    async def _first(self, request: e.ApprovalRequested, own: ResolveApproval) -> ResolveApproval:
        """Return the valid verdict: this one, unless another shell left one earlier."""
        first = await self._bus.save_with(self._inbox.claim, own)
        if first == own or first.digest != request.digest:
            return own
        decided = f"{first.verdict.decision} by {first.verdict.by} in another shell first"
        await self._bus.emit(
            e.NoticeRaised(
                level="warning",
                text=f"{request.name} v{request.version} was {decided}; "
                f"your verdict ({own.verdict.decision}) changed nothing.",
            )
        )
        return first

    def _incomplete(self, request: e.ApprovalRequested, command: ResolveApproval) -> str:
        """Return why an approval does not count: it leaves out a risk. Empty if it accepts each by name."""
        if command.verdict.decision != "approved" or command.digest != request.digest:
            return ""
        if not (names := self._unnamed(request, command.verdict)):
            return ""
        return (
            f"The approval of {request.name} v{request.version} does not accept these risks by name: "
            f"{', '.join(names)}. Nothing was changed; it still waits."
        )
