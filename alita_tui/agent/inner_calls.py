"""A running tool calls another one: only a tool that its approval names and pins, with that tool's own grants.

A tool's request is hostile input: the record of its approval decides, not the request. Its arguments are plain data,
without references; the called tool sees neither the files nor the secrets of its caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from alita_tui import events as e
from alita_tui.agent.arguments import Misfit, check_arguments
from alita_tui.agent.tool_runs import OpenCall, ToolRuns, Work, last_words
from alita_tui.events import Json, ToolRecord
from alita_tui.spine.errors import CallRefused, RegistryError
from alita_tui.spine.grants import DEEPEST_CALL, MOST_TOOL_CALLS, ToolGrant, tool_grants
from alita_tui.spine.origin import current, working_on
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.servers import uses_of
from alita_tui.spine.text import one_line

_RunEvent = TypeVar("_RunEvent", e.BrokerAnswered, e.PageLogged, e.BrokerAnswered | e.PageLogged)


class InnerCalls:
    """Calls of tools by tools. Implements `ToolCaller`."""

    def __init__(
        self, runs: ToolRuns, shelf: ToolShelf, *, new_id: Callable[[], str], misfit: Misfit
    ) -> None:
        self._runs = runs
        self._shelf = shelf
        self._new_id = new_id
        self._misfit = misfit

    def placed(self, event: _RunEvent) -> _RunEvent:
        """Return a request or a page's message with the nesting depth of its run."""
        return msgspec.structs.replace(event, depth=self._runs.depth(event.call_id))

    async def call(self, caller: str, name: str, arguments: Json) -> Json:
        """Run a tool for the running call `caller`; return its result.

        Raise CallRefused, RequirementsError, SandboxUnavailable, StoreError.
        """
        call = self._runs.open.get(caller)
        if call is None:
            raise CallRefused("self-tests call no tool; hosts.tool stands in for it", status=503)
        async with call.turn:
            grant, record = await self._allowed(call, name)
            try:
                await asyncio.to_thread(check_arguments, record, arguments, self._misfit)
            except RegistryError as error:
                raise CallRefused(str(error), status=400) from error
            call.called_tools.append(name)
            called = e.ToolCalled(
                call_id=e.CallId(self._new_id()),
                action_id="",
                name=record.draft.name,
                version=grant.version,
                digest=record.digest,
                arguments=arguments,
                caller=caller,
            )
            with working_on(msgspec.structs.replace(current(), span=caller)):
                report = await self._runs.run(called, OpenCall(record, call), Work(arguments=arguments))
        if report.status != "ok":
            last_line = one_line(last_words(report), 400)
            raise CallRefused(f"{name} failed ({report.status}): {last_line}", status=502, failed=True)
        return report.result

    async def _allowed(self, call: OpenCall, name: str) -> tuple[ToolGrant, ToolRecord]:
        """Return the grant and its tool. Raise CallRefused."""
        grant = next((grant for grant in tool_grants(call.record.granted) if grant.name == name), None)
        if grant is None:
            raise CallRefused(f"the tool {one_line(name, 80)} is not granted")
        if call.depth >= DEEPEST_CALL:
            raise CallRefused(f"{name} is not called: calls may be {DEEPEST_CALL} deep", status=508)
        if len(call.called_tools) >= MOST_TOOL_CALLS:
            raise CallRefused(f"{MOST_TOOL_CALLS} calls of tools may be made in a run", status=429)
        if grant.digest in call.chain:
            raise CallRefused(f"{name} is not called: it waits for this very call", status=508)
        return grant, await asyncio.to_thread(self._pinned, grant)

    def _pinned(self, grant: ToolGrant) -> ToolRecord:
        """Return the tool if it still is what was granted. Raise CallRefused."""
        label = f"{grant.name} v{grant.version}"
        try:
            record = self._shelf.get(grant.name, grant.version)
        except RegistryError as error:
            raise CallRefused(f"{label} may not be called: {error.message}") from error
        if (record.draft.name, record.digest) != (grant.name, grant.digest):
            raise CallRefused(f"{label} may not be called: its bytes are not those that were granted")
        if self._shelf.lends(record.digest):
            raise CallRefused(f"{label} may not be called: it was approved for one task alone")
        if more := [item for item in uses_of(record) if item not in grant.may]:
            listed = one_line(", ".join(more), 200)
            raise CallRefused(f"{label} may not be called: it may use more than was granted ({listed})")
        return record
