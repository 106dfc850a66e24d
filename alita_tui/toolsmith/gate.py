"""Where a build waits for a person. The only Future in the project lives here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from alita_tui import events as e
from alita_tui.events import Value
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import ApprovalPending
from alita_tui.spine.ports.builds import ApprovalDesk

_DESK_SECONDS = 0.5
"""How often a waiting build looks for a verdict given in another shell: there is no event for it."""


class Decision(Value, frozen=True):
    """A verdict together with who gave it."""

    command: ResolveApproval
    by: str

    @property
    def why(self) -> str:
        """Tags and reason in one line."""
        said = (", ".join(self.command.tags), self.command.reason)
        return ": ".join(part for part in said if part)


class Gate:
    """Asks once per build, takes the first verdict on exactly the digest that was asked about."""

    def __init__(
        self,
        bus: Bus,
        desk: ApprovalDesk,
        *,
        me: str,
        parks: bool,
        settled: Callable[[e.ApprovalRequested, Decision], None],
        rule: Callable[[e.ApprovalRequested], Decision | None] = lambda _: None,
        unnamed: Callable[[e.ApprovalRequested, ResolveApproval], tuple[str, ...]] = lambda *_: (),
    ) -> None:
        """`rule` decides in the person's place where a rule of theirs covers the build; it may block.

        `unnamed` gives the risks that a person's approval does not accept by name; with one, it counts for nothing.
        """
        self._bus = bus
        self._desk = desk
        self._me = me
        self._parks = parks
        self._settled = settled
        self._rule = rule
        self._unnamed = unnamed
        self._waiting: dict[str, tuple[e.ApprovalRequested, asyncio.Future[Decision]]] = {}

    async def ask(self, request: e.ApprovalRequested) -> Decision:
        """Put the request on record and wait. Raises ApprovalPending where nobody is there to answer."""
        return await self._answer(request, asked_before=False)

    async def wait(self, request: e.ApprovalRequested) -> Decision:
        """Wait for the verdict on a request that is already on record."""
        return await self._answer(request, asked_before=True)

    async def _answer(self, request: e.ApprovalRequested, *, asked_before: bool) -> Decision:
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        # Before the request is told: whoever answers at once is heard.
        self._waiting[request.approval_id] = (request, future)
        try:
            if not asked_before:
                await self._bus.emit(request, span=request.build_id)
                if (ruled := await asyncio.to_thread(self._rule, request)) and not future.done():
                    future.set_result(ruled)
            while not future.done():
                left = await asyncio.to_thread(self._desk.verdict, request.approval_id)
                if left is not None and not future.done():
                    command = msgspec.convert(left.command, ResolveApproval)
                    if missing := self._missing(request, command):
                        await self._bus.kept(self._desk.taken, request.approval_id)
                        await self._bus.emit(e.NoticeRaised(level="warning", text=missing))
                    elif command.digest == request.digest:
                        future.set_result(Decision(command=command, by=left.by))
                if not future.done():
                    if self._parks:
                        raise ApprovalPending(
                            f"{request.name} v{request.version} waits for your verdict.",
                            hint="`alita builds list` shows it; `alita resume` goes on once it is decided.",
                        )
                    await asyncio.wait((future,), timeout=_DESK_SECONDS)
            decision = self._bus.redacted(future.result())
            if decision.command.via != "cli":  # those lie on the desk already
                decision = await self._first(request, decision)
            return await self._record(request, decision)
        finally:
            del self._waiting[request.approval_id]

    async def _first(self, request: e.ApprovalRequested, own: Decision) -> Decision:
        """The verdict that stands: this one, unless another shell left one before it."""
        left = await self._bus.kept(self._desk.claim, own.command, own.by)
        command = msgspec.convert(left.command, ResolveApproval)
        if command == own.command or command.digest != request.digest:
            return own
        first = Decision(command=command, by=left.by)
        said = f"{request.name} v{request.version} was {command.verdict} by {left.by} in another shell first"
        await self._bus.emit(
            e.NoticeRaised(
                level="warning", text=f"{said}; your verdict ({own.command.verdict}) changed nothing."
            )
        )
        return first

    def resolve(self, command: ResolveApproval) -> str:
        """Hand in a verdict from this process. Returns why it counts for nothing, or an empty string."""
        asked = self._waiting.get(command.approval_id)
        if asked is None:
            return "That build no longer waits for a verdict; nothing was changed."
        request, future = asked
        if command.digest != request.digest:
            return "The verdict names other bytes than the build has; nothing was changed."
        if future.done():
            return "That build was decided already; nothing was changed."
        if missing := self._missing(request, command):
            return missing
        future.set_result(Decision(command=command, by=self._me))
        return ""

    def _missing(self, request: e.ApprovalRequested, command: ResolveApproval) -> str:
        """Why an approval counts for nothing: it does not accept every risk by name. Empty where it does."""
        if command.verdict != "approved" or command.digest != request.digest:
            return ""
        if not (names := self._unnamed(request, command)):
            return ""
        return (
            f"The approval of {request.name} v{request.version} does not accept these risks by name: "
            f"{', '.join(names)}. Nothing was changed; it still waits."
        )

    async def _record(self, request: e.ApprovalRequested, decision: Decision) -> Decision:
        command = decision.command
        await self._bus.emit(
            e.ApprovalResolved(
                approval_id=request.approval_id,
                build_id=request.build_id,
                digest=request.digest,
                verdict=command.verdict,
                reason=command.reason,
                tags=command.tags,
                lasting=command.lasting,
                grants=command.grants,
                accepted=command.accepted,
                banned=command.banned,
                alias_of=command.alias_of,
                by=decision.by,
                via=command.via,
                seen_ms=command.seen_ms,
                scrolled_to_end=command.scrolled_to_end,
            ),
            span=request.build_id,
        )
        await self._bus.kept(self._settled, request, decision)
        return decision
