"""A hostile server behind a link."""

from __future__ import annotations

import sys
from pathlib import Path

from alita_tui.events import BuildDigest, Lock, RunReport
from alita_tui.mcp_box.remote.host_program import start_on_host
from alita_tui.mcp_box.remote.link import Link
from alita_tui.mcp_box.remote.pinning import Listing
from alita_tui.mcp_box.remote.servers import Patience, ServerEvent, Servers
from alita_tui.mcp_box.remote.wire import over_program
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.sandbox import Job, Limits, RunningProgram
from alita_tui.spine.servers import ServerSpec

SERVER = Path(__file__).with_name("hostile_server.py")


class Lab:
    """Servers in use as a session has them, started here rather than in a container."""

    def __init__(self, mode: str, number: int, patience: Patience, env: dict[str, str]) -> None:
        self.spec = ServerSpec(
            name="evil", place="host", argv=(sys.executable, str(SERVER), mode, str(number)), env=env
        )
        self.told: list[ServerEvent] = []
        self.suspended: list[tuple[str, int, str]] = []
        self.on = True
        self.started = 0
        self.servers = Servers(self, self, self.tell, iter(f"id{n}" for n in range(1000)).__next__, patience)

    async def __call__(
        self, spec: ServerSpec, lock: Lock, on_request: object, start_id: str
    ) -> tuple[Link, RunningProgram]:
        self.started += 1
        program = await start_on_host(spec.argv, spec.env)
        return Link(lambda tap, broken: over_program(program, tap, broken), on_request), program  # type: ignore[arg-type]

    async def tell(self, event: ServerEvent) -> None:
        self.told.append(event)

    def check(self, spec: ServerSpec) -> None:
        if not self.on:
            raise UsageError(f"The server {spec.name} is switched off.")

    def listed(self, spec: ServerSpec, found: Listing, protocol: str) -> tuple[tuple[str, int, str], ...]:
        return tuple(self.suspended)

    async def look(self) -> Listing:
        return (await self.servers.look(self.spec, Lock()))[0]

    async def call(
        self, listing: Listing, tool: str = "echo", landing: str = "", **arguments: object
    ) -> RunReport:
        (draft,) = (draft for draft in listing.drafts if tool in (draft.name, listing.names[draft.name]))
        job = Job(
            run_id="c1", module=draft.name, code=draft.code, arguments=arguments, digest=BuildDigest("d"), remote=True,
            outputs=landing, limits=Limits(),
        )  # fmt: skip
        return await self.servers.call(job)
