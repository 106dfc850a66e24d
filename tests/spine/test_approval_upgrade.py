"""Verdicts of schema 1, where they lay flat in the event, read as today's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events.upgrades import upgrade_approval
from alita_tui.spine.envelope import decode, from_builtins, to_builtins

ROOT = Path(__file__).parents[2]
RECORDED = [
    *ROOT.glob("sessions/golden-*.json"),
    *ROOT.glob("tests/store/golden/*/session.json"),
]
WHO: dict[str, Any] = {"by": "ada", "via": "cli", "seen_ms": 1500.0, "scrolled_to_end": True}
FLAT: dict[str, Any] = {
    "kind": "approval_resolved", "approval_id": "p1", "build_id": "b1", "digest": "d" * 64,
    "verdict": "approved", "reason": "fine", "tags": ["quick"], "lasting": "task",
    "grants": {"secrets": ["TOKEN"]}, "accepted": ["secrets"], **WHO,
}  # fmt: skip


def flat_approvals(value: Any) -> Iterator[dict[str, Any]]:
    """Every envelope of an approval in a session file, as recorded."""
    if isinstance(value, dict):
        event = value.get("event")
        if isinstance(event, dict) and event.get("kind") == "approval_resolved":
            yield value
        for inner in value.values():
            yield from flat_approvals(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from flat_approvals(inner)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recorded_verdicts_keep_every_field_in_the_upgrade(path: Path) -> None:
    for raw in flat_approvals(json.loads(path.read_text("utf-8"))):
        event = from_builtins(raw).event
        assert isinstance(event, e.ApprovalResolved)
        if isinstance(raw["event"]["verdict"], dict):  # recorded since
            assert event.verdict == msgspec.convert(raw["event"]["verdict"], e.Verdict)
            continue
        flat = {**raw["event"], "decision": raw["event"]["verdict"]}
        fields = {name: flat[name] for name in e.Verdict.__struct_fields__ if name in flat}
        assert event.verdict == msgspec.convert(fields, e.Verdict)
        assert (event.approval_id, event.digest) == (flat["approval_id"], flat["digest"])


def test_the_recordings_hold_verdicts_of_schema_1() -> None:
    found = [raw for path in RECORDED for raw in flat_approvals(json.loads(path.read_text("utf-8")))]
    assert len([raw for raw in found if isinstance(raw["event"]["verdict"], str)]) >= 5


def test_the_upgrade_nests_the_verdict_once() -> None:
    nested = upgrade_approval(FLAT)
    assert upgrade_approval(nested) == nested
    event = msgspec.convert(nested, e.ApprovalResolved)
    assert event.verdict == e.Verdict(
        decision="approved", reason="fine", tags=("quick",), lasting="task",
        grants=e.Capabilities(secrets=("TOKEN",)), accepted=("secrets",), **WHO,
    )  # fmt: skip


def test_a_line_and_a_record_of_either_form_read_the_same() -> None:
    place = {"seq": 1, "session_id": "s", "at": "2026-11-20T09:30:00Z"}
    envelope = decode(json.dumps({**place, "event": FLAT}))
    assert isinstance(envelope.event, e.ApprovalResolved)
    assert envelope == from_builtins({**place, "event": FLAT}) == from_builtins(to_builtins(envelope))


@pytest.mark.parametrize(
    "change", [{"verdict": "perhaps"}, {"verdict": 3}, {"digest": None}, {"seen_ms": "long"}]
)
def test_an_invalid_verdict_of_either_form_stays_unknown(change: dict[str, Any]) -> None:
    raw = {"seq": 1, "session_id": "s", "at": "2026-11-20T09:30:00Z", "event": {**FLAT, **change}}
    assert isinstance(from_builtins(raw).event, e.UnknownEvent)
    assert isinstance(decode(json.dumps(raw)).event, e.UnknownEvent)
