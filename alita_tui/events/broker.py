"""What a running tool asks the broker for, and what pages in its browser write."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import CallId, Fact, Value

BrokerOutcome = Literal["served", "refused", "failed"]


class RequestCount(Value, frozen=True):
    """How many requests of a run went to one host."""

    target: str
    """Host and port, or the method and endpoint of the broker itself, as in `PUT /files`."""
    count: int


class BrokerAnswered(Fact, frozen=True):
    """A running tool asked for something that it was granted, or was not: a host, a file, a model."""

    call_id: CallId
    """The run's: a call of a registered tool, a build whose tests a person granted something, the start of a server."""
    request: str
    """Method and address as the tool gave them, without values of secrets; where `more` counts, how many more."""
    outcome: BrokerOutcome
    """`failed`: it was granted and could not be carried out."""
    reason: str = ""
    """Why it was not served."""
    status: int = 0
    """The HTTP status that the tool got; 0 for none."""
    address: str = ""
    """IP address that was connected to."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that were put in."""
    sent_bytes: int = 0
    received_bytes: int = 0
    duration_ms: float = 0.0
    depth: int = 0
    """Nesting depth of the run; 0 for the agent's own calls."""
    more: tuple[RequestCount, ...] = ()
    """Of the last ones of a run: the requests with this outcome that were not recorded one by one, by host."""


PageLevel = Literal["debug", "info", "warning", "error"]


class PageLogged(Fact, frozen=True):
    """A page in a running tool's browser wrote to its console. What it asked hosts for is in `BrokerAnswered`."""

    call_id: CallId
    level: PageLevel
    text: str
    """One line, as the page chose it; empty where `more` says how many."""
    source: str = ""
    """The address of the page or script, as the browser names it."""
    more: int = 0
    """Of the last one of a call: how many messages were not recorded one by one."""
    depth: int = 0
    """Nesting depth of the run; 0 for the agent's own calls."""
