"""A tool that may call a tool of a server on the host reaches this machine whole: whoever approves it is told."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from alita_tui.app.context import AppContext, close_all
from alita_tui.app.servers.book import ServerBook
from alita_tui.app.tool_runs import approve_anew
from alita_tui.events import Capabilities, Lock
from alita_tui.mcp_box.remote.pinning import listing
from alita_tui.mcp_box.serve.descriptors import hints
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.grants import phrases
from alita_tui.spine.servers import ServerSpec
from alita_tui.toolsmith.pinning import pinned
from alita_tui.view.risk import draft_risks, names_to_accept
from tests.support.mcp_lab import ADD

NOW = {"name": "now", "description": "Says the time.", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("place", ["host", "sandbox"])
def test_callers_of_host_tools_are_reported_as_reaching_the_host(tmp_path: Path, place: str) -> None:
    app = AppContext.open(tmp_path / "home")
    spec = ServerSpec(name="time", place=place, argv=("/bin/clock",))  # type: ignore[arg-type]
    (draft,) = listing(spec, {}, [NOW]).drafts
    ServerBook(app).approve(draft, Lock(), ("on-host",))
    shelf = TaskLibrary(app.library)
    caller = pinned(msgspec.structs.replace(ADD, capabilities=Capabilities(tools=("time_now",))), shelf)
    approve_anew(app, caller, Lock(), origin="starter")
    second = msgspec.structs.replace(draft, name="twice", capabilities=Capabilities(tools=(str(ADD.name),)))
    for one in (caller, pinned(second, shelf)):
        told = " ".join(risk.text for risk in draft_risks(one.capabilities, ()))
        host = place == "host"
        assert ("on-host" in names_to_accept(draft_risks(one.capabilities, ()))) == host
        assert ("ALL YOUR RIGHTS" in told) == host
        assert ("ALL YOUR RIGHTS" in " ".join(phrases(one.capabilities))) == host
        assert hints(one.capabilities)["openWorldHint"] == host
        assert hints(one.capabilities)["readOnlyHint"] != host
    close_all()
