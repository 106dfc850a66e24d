"""What a tool is described as follows from its grants and schemas."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from mcp_types import methods

from alita_tui.events import Capabilities, Lock, ToolDraft, ToolRecord, build_digest
from alita_tui.mcp_box.remote.pinning import listing
from alita_tui.mcp_box.serve.descriptors import described, hints, own_tools, structured
from alita_tui.mcp_box.serve.results import digest_in
from alita_tui.spine.servers import ServerSpec
from tests.support import mcp_lab as lab

DIGEST = "ab" * 32
PIN = "inner@1:" + "c" * 64


def record(draft: ToolDraft) -> ToolRecord:
    lock = Lock()
    return ToolRecord(
        draft=draft, version=1, digest=build_digest(draft, lock), state="trusted", lock=lock, approval_id="a"
    )


@pytest.mark.parametrize(
    ("granted", "reads", "outside"),
    [
        (Capabilities(), True, False),
        (Capabilities(workspace="read"), True, False),
        (Capabilities(workspace="write"), False, False),
        (Capabilities(network=("GET,HEAD example.org:443",)), True, True),
        (Capabilities(network=("GET a.org:443", "b.org:443")), False, True),
        (Capabilities(network=("GET,POST example.org:443",)), False, True),
        (Capabilities(model_calls=2), True, True),
        (Capabilities(tools=(PIN,)), True, False),
        (Capabilities(tools=(f"{PIN} may network:a.org:443",)), False, True),
        (Capabilities(tools=(f"{PIN} may workspace:write",)), False, False),
    ],
)
def test_hints_follow_from_everything_that_a_run_may_do(
    granted: Capabilities, reads: bool, outside: bool
) -> None:
    found = hints(granted)
    assert (found["readOnlyHint"], found["openWorldHint"]) == (reads, outside)
    assert found.get("destructiveHint", False) is not reads and found["idempotentHint"] is reads


def test_no_hints_are_claimed_for_tools_of_other_servers() -> None:
    far = ServerSpec(name="far", place="url", url="https://far.example/mcp")
    tool = {"name": "add", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    (draft,) = listing(far, {}, [tool]).drafts
    there = msgspec.structs.replace(record(lab.ADD), origin="remote", draft=draft)
    assert described(there)["annotations"] == {
        "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True, "idempotentHint": False,
    }  # fmt: skip


def test_every_descriptor_is_valid_in_both_protocols() -> None:
    tools = [*own_tools(searches=True, builds=True), *(described(record(one)) for one in lab.ALL)]
    for version in ("2025-06-18", "2025-11-25", "2026-07-28"):
        said: dict[str, Any] = {"tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
        found = methods.serialize_server_result("tools/list", version, said)
        assert [one["name"] for one in found["tools"]] == [one["name"] for one in tools]
        assert all(one["inputSchema"]["type"] == "object" for one in found["tools"])


def test_a_result_that_is_no_object_is_wrapped_in_one() -> None:
    words = record(lab.WORDS)
    assert described(words)["outputSchema"]["properties"]["result"] == lab.WORDS.output_schema
    assert structured(words, ["a"]) == {"result": ["a"]}
    assert structured(record(lab.ADD), {"sum": 1}) == {"sum": 1}
    assert structured(record(lab.BOOM), "no schema") is None


def test_a_file_parameter_is_a_uri_for_clients_and_hidden_characters_are_visible() -> None:
    found = described(record(lab.FIRST_LINE))["inputSchema"]["properties"]["table"]
    assert found["format"] == "uri" and found["description"].startswith("The table. A file: its content")
    sly = lab.tool(
        "sly", "def run() -> str:\n    return ''\n", lab.schema(), about="Adds\u202e numbers\x1b[8m."
    )
    said = described(record(sly))["description"]
    assert "\x1b" not in said and "\u202e" not in said and "⟨U+202E⟩" in said
    assert "example.org" in described(record(lab.POST))["description"]


@pytest.mark.parametrize(
    "uri",
    [
        "alita://artefact/../../etc/passwd", f"alita://artefact/{DIGEST}%2f..", f"alita://artefact/{DIGEST[:-1]}",
        f"ALITA://artefact/{DIGEST}", f"file:///{DIGEST}", f"alita://artefact/{DIGEST.upper()}", "",
        f"alita://artefact//{DIGEST}", f"alita://artefact/{DIGEST}\n", f"alita://x@artefact/{DIGEST}",
    ],
)  # fmt: skip
def test_no_address_but_a_digest_names_a_file(uri: str) -> None:
    assert digest_in(uri) is None


def test_the_name_in_an_address_is_ignored() -> None:
    assert digest_in(f"alita://artefact/{DIGEST}") == digest_in(f"alita://artefact/{DIGEST}/../x") == DIGEST
