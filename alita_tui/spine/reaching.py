"""What a tool can be granted and how its code gets there, for every prompt: one row for each field of Capabilities."""

from __future__ import annotations

from alita_tui.events import Value


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
        what="network hosts",
        written='"name:port" or "GET,HEAD name:port"',
        reached="Its code uses urllib or any HTTP client as usual, by the proxy variables",
    ),
    Way(
        field="workspace",
        what="the files of the person's workspace",
        written='"read" or "write"',
        reached="HTTP at os.environ['ALITA_BROKER'] + '/files/NAME': GET reads, PUT writes, GET '/files/' lists",
    ),
    Way(
        field="secrets",
        what="secrets by name, each for one granted host",
        written='"NAME@host:port"',
        reached="os.environ['NAME'] is a stand-in that becomes the value on its way to the host",
    ),
    Way(
        field="model_calls",
        what="calls of a language model",
        written="how many for a run",
        reached="POST {\"prompt\": TEXT} to os.environ['ALITA_BROKER'] + '/model' gives {\"text\": TEXT}",
    ),
)
