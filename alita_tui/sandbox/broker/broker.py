"""The broker of one sandbox: serves every run that has grants."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_tui.sandbox.broker.files import Workspace
from alita_tui.sandbox.broker.grants import Caps, RecordedEvent, RunGrants, Tell
from alita_tui.sandbox.broker.quota import Quota
from alita_tui.sandbox.broker.streams import Connections, Send
from alita_tui.sandbox.policy import LAUNCHER
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.grants import BROKER, BROWSER, BROWSER_TRUST, secret_names
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.sandbox import Job, ToolCaller
from alita_tui.spine.proxies import Proxies

if TYPE_CHECKING:
    import ssl

    from alita_tui.sandbox.broker.scratch import Scratch
    from alita_tui.sandbox.broker.tls import Authority

_CERTIFICATE = "broker.pem"


class Broker:
    """What runs can be granted here, and the function that records every request."""

    def __init__(
        self,
        policy: AddressPolicy,
        record: Tell,
        *,
        workspace: Path | None = None,
        secret: Callable[[str], str | None] = lambda _: None,
        models: Asker | None = None,
        caps: Caps | None = None,
        trust: ssl.SSLContext | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`secret` returns a secret's value by name and may block; `trust` verifies hosts' certificates;
        `environ` names the proxies of this machine.
        """
        self._policy = policy
        self._record = record
        self._workspace = workspace
        self._secret = secret
        self._models = models
        self.tools: ToolCaller | None = None
        """Runs the tools that tools call. It needs the sandbox that this broker serves, so it is set later."""
        self._caps = caps or Caps()
        self._quota = Quota(workspace, self._caps) if workspace else None
        self._configured_trust = trust
        self._proxies = Proxies(environ or {})

    async def open(self, job: Job, send: Send, extend_limit: Callable[[float], None]) -> RunBroker:
        """Return one run's broker. `extend_limit` is called with seconds that the run may take beyond its limit."""
        return await asyncio.to_thread(self._open, job, send, extend_limit)

    def _open(self, job: Job, send: Send, extend_limit: Callable[[float], None]) -> RunBroker:
        from alita_tui.sandbox.broker.local import LocalEndpoints
        from alita_tui.sandbox.broker.requests import RequestServer
        from alita_tui.sandbox.broker.scratch import Scratch, ScratchEndpoints, scratch_caps, unrecorded
        from alita_tui.sandbox.broker.stand_ins import StandInServer

        names = secret_names(job.capabilities)
        scratch = Scratch(job.scratch) if job.scratch is not None else None
        if scratch is not None:
            secrets = {name: f"value-of-{name}" for name in names}
        else:
            secrets = {name: value for name in names if (value := self._secret(name))}
        caps = scratch_caps(self._caps) if scratch else self._caps
        record = self._record if scratch is None else unrecorded
        in_test = scratch is not None
        grants = RunGrants(job, caps, self._policy, secrets, record, self._proxies, in_test=in_test)

        async def extend(seconds: float) -> None:
            extend_limit(seconds)
            await send(b"W", struct.pack(">d", seconds))

        folder = Workspace(self._workspace, self._caps, self._quota) if self._workspace else None
        endpoints = LocalEndpoints(grants, folder, self._models, extend, self.tools)
        if scratch is not None:
            endpoints = ScratchEndpoints(grants, scratch, self._models, extend)
        certificate = self._authority.certificate if grants.ends_tls else ""
        server = RequestServer(grants, endpoints, self._authority, self._trust)
        if scratch is not None:
            server = StandInServer(grants, endpoints, self._authority, self._trust, scratch.stand_ins)
        fingerprint = self._authority.fingerprint if grants.ends_tls and grants.capabilities.browser else ""
        settings = broker_settings(grants, certificate, scratch.token if scratch else "", fingerprint)
        return RunBroker(grants, Connections(send, server.serve), settings, scratch)

    @cached_property
    def _authority(self) -> Authority:
        from alita_tui.sandbox.broker.tls import Authority

        return Authority()

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        import ssl

        return self._configured_trust or ssl.create_default_context()


class RunBroker:
    """One run's side of the broker."""

    def __init__(
        self, grants: RunGrants, connections: Connections, settings: bytes, scratch: Scratch | None = None
    ) -> None:
        self.grants = grants
        self._scratch = scratch
        self.connections = connections
        self.settings = settings
        """The settings with which the tool's process reaches the broker."""

    async def close(self) -> None:
        """End all connections, and the scratch workspace with them."""
        await self.connections.close()
        await self.grants.record_rest()
        if self._scratch is not None:
            await asyncio.to_thread(self._scratch.close)


def tests_broker() -> Broker:
    """Return a broker that serves scratch workspaces only."""

    async def unrecorded(_: RecordedEvent) -> None:
        return

    async def no_addresses(host: str, port: int) -> tuple[str, ...]:
        return ()

    return Broker(AddressPolicy(no_addresses), unrecorded)


def broker_settings(grants: RunGrants, certificate: str, token: str = "", fingerprint: str = "") -> bytes:
    """Return, as JSON, the environment variables and files with which the tool reaches the broker.

    With the token of a scratch workspace, the address is added with which only the tests reach it.
    """
    environment: dict[str, str] = dict(grants.stand_ins)
    files: dict[str, str] = {}
    if grants.hosts or grants.capabilities.browser:
        for name in ("http_proxy", "https_proxy"):
            environment[name] = environment[name.upper()] = "http://127.0.0.1:{port}"
    if grants.capabilities.brokered:
        environment[BROKER] = "http://127.0.0.1:{port}"
    if grants.capabilities.browser:
        environment[BROWSER] = LAUNCHER
        environment |= {BROWSER_TRUST: fingerprint} if certificate else {}
    if certificate:
        files[_CERTIFICATE] = certificate
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            environment[name] = f"/tmp/tool/{_CERTIFICATE}"  # noqa: S108  # the container's own
    settings: dict[str, Any] = {"environment": environment, "files": files}
    if token:
        environment["no_proxy"] = environment["NO_PROXY"] = "127.0.0.1,localhost"  # the tests' own servers
        settings["scratch"] = f"http://127.0.0.1:{{port}}/files/{token}/"
    return json.dumps(settings).encode()
