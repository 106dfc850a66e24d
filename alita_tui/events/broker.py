"""Requests of running tools to the broker, and console messages of the pages in their browsers."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import CallId, Fact, Value

BrokerOutcome = Literal["served", "refused", "failed"]


class RequestCount(Value, frozen=True):
    """The number of requests of a run to one host."""

    target: str
    """Host and port, or the method and endpoint of the broker itself, as in `PUT /files`."""
    count: int


class BrokerAnswered(Fact, frozen=True):
    """A running tool requested a host, a file or a model, and was served or refused."""

    call_id: CallId
    """The id of the run: of a tool's call, of a build whose tests were granted something, or of a server's start."""
    request: str
    """Method and address as the tool gave them, without secrets; if `more` is set, the number of further requests."""
    outcome: BrokerOutcome
    """`failed`: the request was granted, but could not be carried out."""
    reason: str = ""
    """Why it was not served."""
    status: int = 0
    """The HTTP status that the tool got; 0 for none."""
    address: str = ""
    """IP address that was connected to."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that were inserted."""
    sent_bytes: int = 0
    received_bytes: int = 0
    duration_ms: float = 0.0
    depth: int = 0
    """Nesting depth of the run; 0 for the agent's own calls."""
    more: tuple[RequestCount, ...] = ()
    """At the end of a run: the requests with this outcome that were not recorded one by one, by host."""


PageLevel = Literal["debug", "info", "warning", "error"]


class PageLogged(Fact, frozen=True):
    """A page in a running tool's browser wrote to its console. Its requests are recorded as `BrokerAnswered`."""

    call_id: CallId
    level: PageLevel
    text: str
    """One line, chosen by the page; empty if `more` is set."""
    source: str = ""
    """The address of the page or script, as the browser names it."""
    more: int = 0
    """In the last event of a call: how many messages were not recorded one by one."""
    depth: int = 0
    """Nesting depth of the run; 0 for the agent's own calls."""
