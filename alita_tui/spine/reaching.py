"""What a tool can be granted and how its code gets there, for every prompt: one row for each field of Capabilities."""

from __future__ import annotations

from alita_tui.events import Value
from alita_tui.spine.grants import METHODS


class Way(Value, frozen=True):
    """One kind of grant."""

    field: str
    """Of `Capabilities`."""
    what: str
    """What it opens."""
    written: str
    """How a draft asks for it."""
    reached: str
    """How the tool's code uses it."""


WAYS = (
    Way(
        field="network",
        what="network hosts, each by name, port and methods",
        written=f'"name:port" or "GET,HEAD name:port"; methods are {", ".join(METHODS)}',
        reached="with urllib or any HTTP client, as usual: the way is in the proxy variables",
    ),
    Way(
        field="workspace",
        what="the files of the person's workspace, to read, or to read and write",
        written='"read" or "write"',
        reached="at os.environ['ALITA_BROKER'] + '/files/NAME': GET reads, PUT writes; GET '/files/' lists the names",
    ),
    Way(
        field="secrets",
        what="secrets by name (never their values), each sent to one granted host alone",
        written='"NAME@host:port"',
        reached="os.environ['NAME'] is a stand-in, which becomes the value on the way to its host",
    ),
    Way(
        field="model_calls",
        what="calls of a language model, so many for a run",
        written="a number",
        reached="POST {\"prompt\": TEXT} to os.environ['ALITA_BROKER'] + '/model' gives {\"text\": TEXT}",
    ),
)
