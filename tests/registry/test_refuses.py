"""What the library does not let run: anything that is not, byte for byte and grant for grant, what was approved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import Capabilities, ToolDraft, ToolRecord, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.store.approvals import AuditedApprovals
from alita_tui.store.audit import AuditLog
from alita_tui.store.documents import DocumentTable
from tests.support import streams

WANTS = Capabilities(network=("api.example:443",), secrets=("TOKEN@api.example:443",))
LESS = WANTS.without(("secret:TOKEN@api.example:443",))
DRAFT = msgspec.structs.replace(streams.DRAFT, capabilities=WANTS)
OTHER = msgspec.structs.replace(streams.DRAFT, name="other_tool")


class Home:
    """A library that asks the audit log, and the files of both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.audit = AuditLog(folder / "audit.jsonl", folder / "keys")
        self.shelf = self.open()

    def open(self) -> ToolLibrary:
        table = DocumentTable(self.folder / "registry.json", "tools")
        return ToolLibrary(table, self.folder / "box", approvals=AuditedApprovals(self.audit))

    def approve(
        self,
        draft: ToolDraft,
        approval_id: str,
        *,
        lasting: Any = "library",
        grants: Capabilities | None = None,
    ) -> str:
        digest = build_digest(draft, streams.LOCK)
        asked = e.ApprovalRequested(
            approval_id=approval_id, build_id=e.BuildId("b"), digest=digest, name=draft.name, version=1
        )
        verdict = e.ApprovalResolved(approval_id=approval_id, build_id=e.BuildId("b"), digest=digest, verdict=e.Verdict(decision="approved", by="ada", lasting=lasting, grants=grants))  # fmt: skip
        self.audit.enter("s", asked, verdict)
        return digest

    def add(self, draft: ToolDraft, approval_id: str, grants: Capabilities | None = None) -> ToolRecord:
        digest = self.approve(draft, approval_id, grants=grants)
        return self.shelf.register(
            draft,
            streams.LOCK,
            approval_id=approval_id,
            digest=e.BuildDigest(digest),
            sources=(),
            grants=grants,
        )

    def manifest(self, change: Callable[[Any], None]) -> None:
        (path,) = (self.folder / "box" / DRAFT.name).rglob("*.mcp.json")
        facts = json.loads(path.read_text())
        change(facts)
        path.write_text(json.dumps(facts))

    def document(self, change: Callable[[Any], None], name: str = DRAFT.name) -> None:
        """Edit the index by hand, as its only writer."""
        table = DocumentTable(self.folder / "registry.json", "tools")
        (tool,) = [
            one["tool"] for one in table.all() if "tool" in one and one["tool"]["draft"]["name"] == name
        ]
        tool = json.loads(json.dumps(tool))
        change(tool)
        table.put(f"tool:{name}:1", {"tool": tool})
        self.shelf = self.open()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_an_approved_tool_runs_with_its_approved_grants(home: Home) -> None:
    home.add(DRAFT, "p1", LESS)
    record = home.shelf.get(DRAFT.name)
    assert (record.draft, record.granted) == (DRAFT, LESS)


def test_a_file_whose_digest_differs_is_refused(home: Home) -> None:
    home.add(DRAFT, "p1")
    (code,) = (home.folder / "box").rglob(f"{DRAFT.name}.py")
    code.write_text(code.read_text() + "\n")
    with pytest.raises(DigestMismatch, match="not the ones that were approved"):
        home.shelf.get(DRAFT.name)


def test_a_manifest_widened_after_approval_is_refused(home: Home) -> None:
    home.add(DRAFT, "p1")
    home.manifest(lambda facts: facts["capabilities"]["network"].append("evil.example:443"))
    with pytest.raises(DigestMismatch):
        home.shelf.get(DRAFT.name)


def test_grants_in_the_manifest_have_no_effect(home: Home) -> None:
    home.add(DRAFT, "p1", LESS)
    home.manifest(lambda facts: facts.update(granted=msgspec.to_builtins(WANTS)))
    assert home.shelf.get(DRAFT.name).granted == LESS


@pytest.mark.parametrize("grants", [None, msgspec.to_builtins(WANTS), {"workspace": "write"}])
def test_a_grant_widened_in_the_index_is_refused(home: Home, grants: Any) -> None:
    home.add(DRAFT, "p1", LESS)
    home.document(lambda tool: tool.update(grants=grants))
    with pytest.raises(RegistryError, match="its grant differs"):
        home.shelf.get(DRAFT.name)


def test_a_changed_lock_is_refused_even_where_the_index_agrees(home: Home) -> None:
    home.add(DRAFT, "p1")
    other = msgspec.structs.replace(
        streams.LOCK, packages=(msgspec.structs.replace(streams.LOCK.packages[0], version="0.0.1"),)
    )
    home.manifest(lambda facts: facts["requirements"].update(lock=msgspec.to_builtins(other)))
    with pytest.raises(DigestMismatch):
        home.shelf.get(DRAFT.name)
    digest = build_digest(DRAFT, other)
    home.document(lambda tool: tool.update(lock=msgspec.to_builtins(other), digest=digest))
    with pytest.raises(RegistryError, match="its approval is of other bytes"):
        home.shelf.get(DRAFT.name)


def test_an_approval_copied_from_another_tool_is_refused(home: Home) -> None:
    home.add(DRAFT, "p1")
    digest = build_digest(OTHER, streams.LOCK)
    with pytest.raises(RegistryError, match=f"belongs to {DRAFT.name}"):
        home.shelf.register(OTHER, streams.LOCK, approval_id="p1", digest=digest, sources=())
    home.add(OTHER, "p2")
    home.document(lambda tool: tool.update(approval_id="p1"), OTHER.name)
    with pytest.raises(RegistryError, match=f"belongs to {DRAFT.name}"):
        home.shelf.get(OTHER.name)


def test_an_approval_of_an_earlier_version_is_refused(home: Home) -> None:
    home.add(DRAFT, "p1")
    later = msgspec.structs.replace(DRAFT, code=DRAFT.code + "# later\n")
    with pytest.raises(RegistryError, match="of other bytes"):
        home.shelf.register(
            later, streams.LOCK, approval_id="p1", digest=build_digest(later, streams.LOCK), sources=()
        )


def test_an_invented_approval_is_refused(home: Home) -> None:
    digest = build_digest(DRAFT, streams.LOCK)
    with pytest.raises(RegistryError, match="has no approval 'p7'"):
        home.shelf.register(DRAFT, streams.LOCK, approval_id="p7", digest=digest, sources=())


def test_an_approval_for_a_task_is_none_for_the_library(home: Home) -> None:
    digest = home.approve(DRAFT, "p1", lasting="task")
    with pytest.raises(RegistryError, match="for one task alone"):
        home.shelf.register(DRAFT, streams.LOCK, approval_id="p1", digest=e.BuildDigest(digest), sources=())


def test_an_entry_written_into_the_log_by_hand_approves_nothing(home: Home) -> None:
    home.add(DRAFT, "p1")
    path = home.folder / "audit.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"p1"', b'"p2"'))
    home.document(lambda tool: tool.update(approval_id="p2"))
    with pytest.raises(RegistryError, match=r"No tool runs: .* entry 1 .* was changed"):
        home.shelf.get(DRAFT.name)
