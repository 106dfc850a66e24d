"""The grants of one run, how much of them is used, and the record of every request."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from os import urandom
from typing import Literal

from alita_tui.events import BrokerAnswered, CallId, Enforcement, PageLogged, Value
from alita_tui.sandbox.broker.request_counts import RequestCounts
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.cancellation import finish
from alita_tui.spine.errors import WebError
from alita_tui.spine.grants import HostGrant, host_grants, secret_names
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.proxies import Proxies
from alita_tui.spine.secret_forms import SecretForms
from alita_tui.spine.text import one_line

Outcome = Literal["served", "refused", "failed"]
RecordedEvent = BrokerAnswered | PageLogged
Tell = Callable[[RecordedEvent], Coroutine[None, None, None]]
"""Records one request, or one message of a page."""


class Caps(Value, frozen=True):
    """Limits on how much one run may use of its grants."""

    requests: int = 500
    per_second: float = 50.0
    burst: int = 50
    """Requests that may be made at once before `per_second` delays them."""
    sent_bytes: int = 8 << 20
    """To hosts, over all requests."""
    received_bytes: int = 64 << 20
    """From hosts, over all requests."""
    head_bytes: int = 32 << 10
    """Of a request's or a response's first line and headers."""
    connect_seconds: float = 10.0
    file_bytes: int = 16 << 20
    """Of one workspace file."""
    files_bytes: int = 64 << 20
    """Of workspace files read and written, over all requests."""
    workspace_bytes: int = 4 << 30
    """Of all files in the workspace, whoever wrote them: a write that would exceed it is refused."""
    workspace_entries: int = 50_000
    """Files and folders in the workspace, likewise."""
    listed: int = 2000
    """Most names of workspace files in one listing."""
    prompt_bytes: int = 400_000
    model_tokens: int = 4096
    """Of one reply."""
    model_seconds: float = 120.0
    """Added to a run's wall limit for each model call."""
    tool_bytes: int = 256 << 10
    """Of the arguments of one call of a tool; its result has the limit of any run."""
    tool_seconds: float = 300.0
    """Added to a run's wall limit for each call of a tool, which has a wall limit of its own."""
    recorded_refusals: int = 50
    """Refused requests that are recorded one by one; further ones are counted."""
    recorded_of_browser: int = 50
    """Requests of a run with a browser that are recorded one by one and not refused; further ones are counted."""
    recorded_messages: int = 50
    """Messages of pages that are recorded one by one; further ones are counted."""

    @property
    def row(self) -> Enforcement:
        """Return what enforces the grants of a run, for the table of limits."""
        return Enforcement(
            resource="grants",
            mechanism=f"the host's broker: {self.requests} requests a run, {self.per_second:g} a second; "
            f"{self.sent_bytes >> 20} MB to hosts, {self.received_bytes >> 20} MB from them, "
            f"{self.files_bytes >> 20} MB of workspace files; nothing is written beyond "
            f"{self.workspace_bytes >> 20} MB or {self.workspace_entries} entries in the workspace",
        )


_BROWSERS_OWN = re.compile(r"[A-Z]+ (?:https?://)?update\.googleapis\.com[:/]")
"""Requests that Chromium makes by itself. They are refused unless the tool is granted that host."""
_MOST_BROWSERS_OWN = 20
"""Up to so many of them in a run are attributed to Chromium and not recorded; a page could make further ones."""


class Refused(Exception):
    """A request that is not granted or cannot be carried out; the tool gets the reason."""

    def __init__(self, status: int, reason: str, *, failed: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.failed = failed
        """True if it was granted but failed."""


class RunGrants:
    """One run's grants and how much of them is left."""

    def __init__(
        self,
        job: Job,
        caps: Caps,
        policy: AddressPolicy,
        secrets: dict[str, str],
        record: Tell,
        proxies: Proxies | None = None,
        *,
        in_test: bool = False,
    ) -> None:
        """With `in_test`, canned answers replace the hosts, and TLS always ends at the broker."""
        self._in_test = in_test
        self.caps = caps
        self.capabilities = job.capabilities
        self.hosts = host_grants(job.capabilities)
        self.proxies = proxies or Proxies({})
        self.secrets = secrets
        """Values by name, without those that are not set on this machine."""
        self.disguises = SecretForms(secrets.values())
        self.stand_ins = {name: f"{name}-{urandom(12).hex()}" for name in secret_names(job.capabilities)}
        """The text that the tool has in place of a secret's value, by the secret's name."""
        self.model_calls = 0
        self._policy = policy
        self._record_event = record
        self._pinned: dict[str, tuple[str, ...]] = {}
        self._resolving = asyncio.Lock()
        self._allowance = float(caps.burst)
        self._counted_at = time.monotonic()
        self.begin(job.run_id)

    def begin(self, run_id: str) -> None:
        """Start new counts for this run; with an empty id everything is refused and nothing is recorded."""
        self.run_id = self._recorded_run_id = run_id
        self._requests = self._refused = self._not_refused = self._browsers_own = self._messages = 0
        self._counts = RequestCounts()
        self._sent = self._received = self._files = 0

    def end(self) -> None:
        """Refuse everything from now on; requests under way are still recorded for this run."""
        self.run_id = ""

    @property
    def ends_tls(self) -> bool:
        """Return whether TLS ends at the broker, because it enforces methods or inserts secrets."""
        return any(grant.methods or grant.secrets or self._in_test for grant in self.hosts)

    def grant(self, host: str, port: int) -> HostGrant:
        """Return the grant for a host. Raise Refused."""
        for grant in self.hosts:
            if (grant.host, grant.port) == (host, port):
                return grant
        raise Refused(403, f"{one_line(host, 120)}:{port} is not granted")

    async def pinned(self, grant: HostGrant, *, proxied: bool = False) -> tuple[str, ...]:
        """Return the host's addresses, resolved once per run and all of them allowed.

        With `proxied`, a name that only the proxy knows has none. Raise Refused.
        """
        try:
            async with self._resolving:
                if grant.where not in self._pinned:
                    addresses = await self._policy.check(grant.host, grant.port, proxied=proxied)
                    self._pinned[grant.where] = addresses
        except WebError as error:
            raise Refused(403, str(error)) from error
        return self._pinned[grant.where]

    async def turn(self) -> None:
        """Count a request and wait until the rate allows it. Raise Refused past the cap."""
        if not self.run_id:
            raise Refused(403, "nothing is granted while no call runs")
        self._requests += 1
        now = time.monotonic()
        self._allowance += (now - self._counted_at) * self.caps.per_second
        self._allowance = min(self._allowance, float(self.caps.burst)) - 1
        self._counted_at = now
        if self._allowance < 0:
            await asyncio.sleep(-self._allowance / self.caps.per_second)
        if self._requests > self.caps.requests:
            raise Refused(429, f"a run may make {self.caps.requests} requests")

    def sent(self, count: int) -> int:
        """Count bytes on their way to a host; return their number. Raise Refused past the cap."""
        if self._sent + count > self.caps.sent_bytes:
            raise Refused(413, f"a run may send {self.caps.sent_bytes >> 20} MB")
        self._sent += count
        return count

    def received(self, count: int) -> int:
        """Count bytes that came from a host; return their number. Raise Refused past the cap."""
        self._received += count
        if self._received > self.caps.received_bytes:
            raise Refused(502, f"a run may receive {self.caps.received_bytes >> 20} MB")
        return count

    def moved(self, count: int) -> None:
        """Count bytes of workspace files. Raise Refused past the cap."""
        self._files += count
        if self._files > self.caps.files_bytes:
            raise Refused(413, f"a run may move {self.caps.files_bytes >> 20} MB of workspace files")

    async def record(self, answered: BrokerAnswered) -> None:
        """Record a request, or count it: a flood of requests does not fill the log."""
        if not answered.call_id:
            return
        if answered.outcome == "refused":
            if self.capabilities.browser and _BROWSERS_OWN.match(answered.request):
                self._browsers_own += 1
                if self._browsers_own <= _MOST_BROWSERS_OWN:
                    return
            self._refused += 1
            only_counted = self._refused > self.caps.recorded_refusals
        else:
            self._not_refused += 1
            only_counted = self.capabilities.browser and self._not_refused > self.caps.recorded_of_browser
        if only_counted:
            self._counts.add(answered)
        else:
            await finish(self._record_event(answered))  # recorded even if the run has ended meanwhile

    async def record_message(self, message: PageLogged) -> None:
        """Record a page's message, or a number of messages; one by one only up to a cap."""
        if not message.call_id:
            return
        self._messages += message.more or 1
        if self._messages <= self.caps.recorded_messages and not message.more:
            await finish(self._record_event(message))

    async def record_rest(self) -> None:
        """Record how many requests, and how many messages of pages, were not recorded one by one."""
        unrecorded, self._messages = self._messages - self.caps.recorded_messages, 0
        if unrecorded > 0:
            await finish(
                self._record_event(
                    PageLogged(call_id=CallId(self._recorded_run_id), level="info", text="", more=unrecorded)
                )
            )
        counts, self._counts = self._counts, RequestCounts()
        for event in counts.events():
            await finish(self._record_event(event))

    def answered(self, request: str) -> Entry:
        """Return the entry for a request that has begun."""
        return Entry(self.run_id, request)


class Entry:
    """The record of a request that is still running."""

    def __init__(self, call_id: str, request: str) -> None:
        self._call_id = call_id
        self._began = time.monotonic()
        self.request = request
        self.address = ""
        self.secrets: set[str] = set()
        self.sent = self.received = 0
        self.status = 0
        self.unrecorded = False
        """True for a request of the browser's launcher, which is recorded as messages of the page."""
        self.tunnel = False
        """True for a connection that either side may end at any time."""

    def done(self, refusal: Refused | None = None) -> BrokerAnswered:
        """Return the event that records its end."""
        outcome: Outcome = "served" if refusal is None else "failed" if refusal.failed else "refused"
        return BrokerAnswered(
            call_id=CallId(self._call_id),
            request=str(one_line(self.request, 400)),
            outcome=outcome,
            reason=str(one_line(refusal.reason, 300)) if refusal else "",
            status=self.status,
            address=self.address,
            secrets=tuple(sorted(self.secrets)),
            sent_bytes=self.sent,
            received_bytes=self.received,
            duration_ms=(time.monotonic() - self._began) * 1000,
        )
