"""Starts a server, or connects to it, exactly as it was approved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import httpx2
import msgspec

from alita_tui.events import Lock
from alita_tui.mcp_box.remote.host_program import start_on_host
from alita_tui.mcp_box.remote.link import LEGACY, Link
from alita_tui.mcp_box.remote.wire import over_program
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.errors import UsageError
from alita_tui.spine.grants import secret_names
from alita_tui.spine.ports.sandbox import Limits, Program, Programs, RunningProgram, Tree
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.servers import ServerSpec

_MB = 1 << 20
_CPU_SECONDS = 3600.0
_OF_NODE = Limits(memory_bytes=1024 * _MB, cpu_seconds=_CPU_SECONDS)
"""V8 reserves address space that it does not use, and exits if it gets none."""


class Opener:
    """Implements `Opening`."""

    def __init__(
        self,
        programs: Programs,
        secret: Callable[[str], str | None],
        legacy: Callable[[str], bool],
        limits: Limits,
        progress: Progress,
        login: Callable[[ServerSpec], Awaitable[httpx2.Auth]],
        policy: AddressPolicy,
    ) -> None:
        """`secret` returns a secret by name and may block. `legacy` returns True if a server speaks the older protocol.
        `login` returns the authentication for a remote server. `policy` decides which addresses may be contacted.
        """
        self._programs = programs
        self._secret = secret
        self._legacy = legacy
        self._limits = limits
        self._progress = progress
        self._login = login
        self._policy = policy

    async def __call__(
        self, spec: ServerSpec, lock: Lock, on_request: Callable[[str], None], start_id: str
    ) -> tuple[Link, RunningProgram | None]:
        """Return a link to be opened, and its program if the server runs on this machine. Raises AlitaError."""
        mode = LEGACY if await asyncio.to_thread(self._legacy, spec.name) else "auto"
        if spec.place == "url":
            from alita_tui.mcp_box.remote.guard import check_url
            from alita_tui.mcp_box.remote.http import over_http

            check_url(spec.url)
            headers = {header: await self._value(spec, name) for header, name in spec.headers.items()}
            has_authorization = any(header.lower() == "authorization" for header in headers)
            auth = None if has_authorization else await self._login(spec)
            return Link(over_http(spec.url, headers, self._policy, auth), on_request, mode=mode), None
        if lock.digest != spec.lock:
            raise UsageError(f"The wheels of the server {spec.name} are not those that were approved.")
        program: RunningProgram
        if spec.place == "host":
            secrets = {name: await self._value(spec, name) for name in secret_names(spec.capabilities)}
            program = await start_on_host(spec.argv, {**spec.env, **secrets}, spec.folder or "/")
        else:
            program = await self._programs.open_program(self._boxed(spec, lock), self._progress)
            await program.finish()  # nothing is granted before a call; starting a server approves nothing
        return Link(lambda tap, broken: over_program(program, tap, broken), on_request, mode=mode), program

    def _boxed(self, spec: ServerSpec, lock: Lock) -> Program:
        usual = Limits(memory_bytes=max(self._limits.memory_bytes, 512 * _MB), cpu_seconds=_CPU_SECONDS)
        return Program(
            argv=spec.argv,
            env=tuple(sorted(spec.env.items())),
            lock=lock,
            tree=Tree(path=spec.folder, digest=spec.tree) if spec.tree else None,
            limits=_OF_NODE if spec.node else usual,
            capabilities=msgspec.structs.replace(spec.capabilities, model_calls=0),  # it asks by the protocol
        )

    async def _value(self, spec: ServerSpec, name: str) -> str:
        value = await asyncio.to_thread(partial(self._secret, name))
        if not value:
            raise UsageError(
                f"The server {spec.name} needs the secret {name}, which is not set.",
                hint=f"Set it in the environment, in .env, or in the keyring, as {name}.",
            )
        return value
