"""Runs of the starter `browse`, and of other code with a browser, on sites of this machine."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

import msgspec

from alita_tui.config.paths import shipped
from alita_tui.events import Capabilities, RunReport
from alita_tui.registry.starters import Starters
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.loopback import Told, broker

DRAFT = Starters(shipped("starters")).draft("browse", ("site.example:80",))


class Browsing:
    """Runs with a browser that is granted the first of these sites, and what the broker told of them."""

    def __init__(self, settings: EngineSettings, *bases: str, **secrets: str) -> None:
        """`bases` begin the sites' addresses; `secrets` go to the first of them."""
        self.told = Told()
        self._base = bases[0]
        sites = [urlsplit(base) for base in bases]
        names = {name: "127.0.0.1" for name in ("site.example", "evil.example")}
        made = broker(self.told, names, ("127.0.0.0/8",), secret=secrets.get)
        self._granted = Capabilities(
            network=tuple(site.netloc for site in sites),
            secrets=tuple(f"{name}@{sites[0].netloc}" for name in secrets),
            browser=True,
        )
        self.sandbox = PodmanSandbox(msgspec.structs.replace(settings, browser=True), "browser", broker=made)

    async def __call__(
        self, path: str, *steps: dict[str, Any], limits: Limits | None = None, out: str = ""
    ) -> RunReport:
        """Run the starter on a page of the first site."""
        return await self.run(DRAFT.code, limits=limits, out=out, url=self._base + path, steps=list(steps))

    async def run(
        self, code: str, *, limits: Limits | None = None, out: str = "", **arguments: Any
    ) -> RunReport:
        """Run any code with a browser."""
        lock = await self.sandbox.lock(DRAFT.requirements, lambda *_: None, browser=True)
        job = Job(
            run_id="browse", module="browse", code=code, digest=DRAFT.digest, lock=lock, outputs=out,
            arguments=arguments, capabilities=self._granted, limits=limits or Limits(),
        )  # fmt: skip
        return await self.sandbox.run(job, lambda *_: None, lambda *_: None)


def nobody_came(door: socket.socket) -> bool:
    """Return whether no connection waits at a listening socket."""
    try:
        door.accept()[0].close()
    except BlockingIOError:
        return True
    return False
