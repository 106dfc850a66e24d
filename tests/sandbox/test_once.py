"""A run whose line breaks while it is given its job: once at most, unless the tool can only look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import Capabilities
from alita_tui.sandbox.channel import Channel
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.fleet import Fleet, _Member
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.grants import repeatable
from alita_tui.spine.ports.sandbox import Job
from tests.sandbox.broker_bench import LIMITS
from tests.sandbox.grants_lab import FILES
from tests.sandbox.loopback import Told, broker

WRITES = FILES + "def run():\n    call('/files/made.txt', b'x', 'PUT')\n    return 'written'\n"
READS = FILES + "def run(): return call('/files/note.txt')[1]\n"


def nothing(*_: object) -> None:
    return


class Two:
    """Two engines of this machine; the line to the first breaks right after a job went over it."""

    def __init__(self, settings: EngineSettings, workspace: Path) -> None:
        self.told = Told()
        made = broker(self.told, None, (), workspace=workspace)
        self.fleet = Fleet(msgspec.structs.replace(settings, engines=("local",)), "once", broker=made)
        self.fleet._members.append(_Member(PodmanSandbox(settings, "once", broker=made)))
        self.begun = asyncio.Event()

    async def run(self, code: str, granted: Capabilities) -> object:
        job = Job(
            run_id="call", module="tool_t", code=code, digest="approved", limits=LIMITS, capabilities=granted
        )
        return (await self.fleet.run(job, nothing, nothing)).result


@pytest.fixture
async def two(
    settings: EngineSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Two]:
    (tmp_path / "note.txt").write_text("a note")
    made = Two(settings, tmp_path)
    whole, broken = Channel.send, 0

    async def cut(self: Channel, kind: bytes, payload: bytes) -> None:
        nonlocal broken
        await whole(self, kind, payload)
        if kind == b"J" and not broken:
            broken += 1
            raise ConnectionResetError("the line broke, and the job may have arrived")

    monkeypatch.setattr(Channel, "send", cut)
    yield made
    await made.fleet.close()


@pytest.mark.podman
async def test_a_tool_that_may_have_begun_to_change_something_is_not_run_again(two: Two) -> None:
    with pytest.raises(EngineLost, match="nobody knows whether the tool began"):
        await two.run(WRITES, Capabilities(workspace="write"))
    assert two.fleet._members[1].sandbox._service._supervisor is None, "the other engine was not even asked"


@pytest.mark.podman
@pytest.mark.parametrize(
    "granted", [Capabilities(workspace="read"), Capabilities()], ids=["reads", "nothing"]
)
async def test_a_read_only_tool_is_rerun_on_the_next_engine(two: Two, granted: Capabilities) -> None:
    code = READS if granted.workspace == "read" else "def run(): return 'a note'\n"
    assert await two.run(code, granted) == "a note"


@pytest.mark.parametrize(
    ("granted", "only_looks"),
    [
        (Capabilities(), True),
        (Capabilities(workspace="read"), True),
        (Capabilities(workspace="write"), False),
        (Capabilities(model_calls=1), False),
        (Capabilities(network=("GET,HEAD a.example:443",)), True),
        (Capabilities(network=("GET a.example:443", "b.example:443")), False),
        (Capabilities(network=("GET,POST a.example:443",)), False),
        (Capabilities(network=("GET a.example:443",), secrets=("KEY",)), True),
    ],
)
def test_read_only_tools_are_recognised_by_their_grants(granted: Capabilities, only_looks: bool) -> None:
    assert repeatable(granted) is only_looks
