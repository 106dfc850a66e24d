"""Grants of a run that record what is asked."""

from __future__ import annotations

from alita_tui.events import Capabilities
from alita_tui.sandbox.broker.grants import Caps, RunGrants
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.ports.sandbox import Job
from alita_tui.web.dns import system_resolver
from tests.sandbox.loopback import Told

GRANTED = Capabilities(network=("GET a.example:443", "b.example:80"))


def desk(caps: Caps, told: Told | None = None, guard: AddressPolicy | None = None) -> RunGrants:
    job = Job(run_id="r", module="m", code="", capabilities=GRANTED)
    return RunGrants(job, caps, guard or AddressPolicy(system_resolver), {}, Told() if told is None else told)
