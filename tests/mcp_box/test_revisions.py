"""What the conformance suite checks of a server, over raw lines and in every revision: it needs neither npm nor an SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_box.hostile_client import Wire
from tests.support import mcp_lab as lab

HANDSHAKES = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
NOWHERE = ("file:///etc/passwd", "alita://artefact/../../etc/passwd", "alita://artefact/..%2f..%2fetc%2fpasswd", f"alita://artefact/{'0' * 64}/../x")  # fmt: skip
NO_METHOD, BAD_PARAMS, NO_RESOURCE = -32601, -32602, -32002


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lab.furnished(tmp_path_factory.mktemp("revisions") / "home", lab.ADD)


class Speaker:
    """Asks in one revision: after its handshake, or with what every request of 2026 carries."""

    def __init__(self, wire: Wire, revision: str) -> None:
        self._wire = wire
        self.meta: dict[str, Any] = {}
        info = {"name": "raw", "version": "1"}
        if revision == MODERN:
            prefix = "io.modelcontextprotocol/"
            self.meta = {f"{prefix}protocolVersion": revision, f"{prefix}clientInfo": info, f"{prefix}clientCapabilities": {}}  # fmt: skip
            self.greeting = self.ask("server/discover")["result"]
        else:
            self.greeting = self.ask("initialize", protocolVersion=revision, capabilities={}, clientInfo=info)["result"]  # fmt: skip
            wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> Any:
        """Return the response to a request."""
        return self._wire.ask(method, **params, **({"_meta": self.meta} if self.meta else {}))


@pytest.fixture(params=[*HANDSHAKES, MODERN])
def speaker(home: Path, request: pytest.FixtureRequest) -> Iterator[Speaker]:
    with Wire(home, greet=False) as wire:
        yield Speaker(wire, request.param)
    assert wire.code == 0 and "Traceback" not in wire.said, wire.said


def revision_of(speaker: Speaker) -> str:
    agreed = speaker.greeting.get("protocolVersion")
    return agreed if agreed is not None else MODERN


def test_a_revision_is_negotiated_and_tools_are_announced(speaker: Speaker, request: pytest.FixtureRequest) -> None:  # fmt: skip
    asked_for = request.node.callspec.params["speaker"]
    agreed = speaker.greeting.get("protocolVersion", speaker.greeting.get("supportedVersions"))
    assert agreed in (asked_for, [asked_for])
    assert speaker.greeting["capabilities"]["tools"] == {"listChanged": True}
    assert (
        "logging" not in speaker.greeting["capabilities"] and "tasks" not in speaker.greeting["capabilities"]
    )


def test_only_kinds_that_are_notified_are_declared(speaker: Speaker) -> None:
    able = speaker.greeting["capabilities"]
    assert able["resources"]["listChanged"] is True and not able["resources"].get("subscribe")
    assert not able["prompts"].get("listChanged")


def test_a_subscription_to_an_unsupported_kind_is_not_acknowledged(home: Path) -> None:
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": [NOWHERE[0]]}  # fmt: skip
    with Wire(home, greet=False) as wire:
        meta = Speaker(wire, MODERN).meta
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": wanted, "_meta": meta}})  # fmt: skip
        heard: list[Any] = []
        while not heard:
            wire.wait()
            heard += wire.lines()
    assert heard[0]["method"] == "notifications/subscriptions/acknowledged"
    assert heard[0]["params"]["notifications"] == {"toolsListChanged": True, "resourcesListChanged": True}


def test_a_tool_is_listed_with_its_schemas_and_hints(speaker: Speaker) -> None:
    result = speaker.ask("tools/list")["result"]
    (tool,) = result["tools"]
    assert tool["name"] == "add_numbers" and tool["inputSchema"]["type"] == "object"
    assert tool["outputSchema"]["properties"] == {"sum": {"type": "number"}}
    assert tool["annotations"]["readOnlyHint"] is True and tool["annotations"]["openWorldHint"] is False
    assert result.get("resultType") == ("complete" if revision_of(speaker) == MODERN else None)


def test_mistakes_of_a_caller_have_the_codes_of_the_revision(speaker: Speaker) -> None:
    assert speaker.ask("what/ever")["error"]["code"] == NO_METHOD
    assert speaker.ask("tools/call", name="no_such_tool", arguments={})["error"]["code"] == BAD_PARAMS
    assert speaker.ask("prompts/get", name="no_such_prompt")["error"]["code"] == BAD_PARAMS
    for uri in NOWHERE:
        error = speaker.ask("resources/read", uri=uri)["error"]
        assert error["code"] == (BAD_PARAMS if revision_of(speaker) == MODERN else NO_RESOURCE)
        assert error["data"] == {"uri": uri} and "root:" not in str(error)
    wrong = speaker.ask("tools/call", name="add_numbers", arguments={"a": 1})["result"]
    assert wrong["isError"] is True and "b is missing" in wrong["content"][0]["text"]


@pytest.mark.podman
def test_a_result_has_text_and_structured_content(speaker: Speaker) -> None:
    result = speaker.ask("tools/call", name="add_numbers", arguments={"a": 1, "b": 2})["result"]
    assert result["structuredContent"] == {"sum": 3} and not result.get("isError", False)
    assert result["content"] == [{"type": "text", "text": '{"sum":3}'}]


def test_no_client_is_ever_asked_for_anything(home: Path) -> None:
    """A client that says it can answer questions is asked none, also not for an approval."""
    offers = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}}
    with Wire(home, greet=False) as wire:
        wire.ask("initialize", protocolVersion="2025-11-25", capabilities=offers, clientInfo={"name": "x", "version": "1"})  # fmt: skip
        wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        heard: list[Any] = []
        for number, method in enumerate(("tools/list", "resources/list", "prompts/list", "ping")):
            wire.send({"jsonrpc": "2.0", "id": number, "method": method, "params": {}})
            while not any(message.get("id") == number for message in heard):
                wire.wait()
                heard += wire.lines()
        for name in ("approve", "approve_tool", "builds_approve"):
            refused = wire.ask("tools/call", name=name, arguments={"name": "add_numbers"})
            assert refused["error"]["code"] == BAD_PARAMS
        assert [message for message in heard if "method" in message and "id" in message] == []


def test_an_unknown_revision_is_answered_with_a_supported_one(home: Path) -> None:
    with Wire(home, greet=False) as wire:
        greeting = Speaker(wire, "1999-01-01").greeting
    assert greeting["protocolVersion"] == HANDSHAKES[-1]
