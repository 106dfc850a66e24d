"""What real runs recorded still opens, holds the laws, and tells when something was taken out."""

from __future__ import annotations

from typing import Any

import pytest
from tinydb import TinyDB

from alita_tui import events as e
from alita_tui.events import Lock, build_digest
from alita_tui.spine.envelope import Envelope, encode
from alita_tui.spine.laws import check
from alita_tui.view.fold import fold_all
from tests.support.goldens import FOLDER, NAMES, golden


def of(kind: type, envelopes: list[Envelope]) -> list[Any]:
    return [one.event for one in envelopes if isinstance(one.event, kind)]


def test_every_golden_session_is_present() -> None:
    ways = {
        f"golden-{way}-{who}"
        for way in ("build", "reuse", "dice", "wrong-key")
        for who in ("openai", "anthropic")
    }
    alone = {
        "asked", "memory", "proposal", "walkthrough", "repaired", "rejected", "exit", "forever", "malformed", "team",
        "languages",
    }  # fmt: skip
    assert set(NAMES) == ways | {f"golden-{one}" for one in alone}


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_holds_the_laws(name: str) -> None:
    envelopes = golden(name)
    assert check(envelopes, complete=True) == []
    view = fold_all(envelopes)
    assert view.phase == "closed" and view.tasks and all(task.outcome for task in view.tasks)
    assert b"sk-" not in b"".join(map(encode, envelopes))


@pytest.mark.parametrize("name", NAMES)
def test_plain_tinydb_reads_every_golden_session(name: str) -> None:
    with TinyDB(FOLDER / f"{name}.json", access_mode="r") as db:
        assert sum(len(db.table(table)) for table in db.tables()) >= len(golden(name))


def test_actions_of_the_memory_are_recorded() -> None:
    envelopes = golden("golden-memory")
    recalled = of(e.MemoryRecalled, envelopes)
    recipes = {one.item_id for event in recalled for one in event.items if one.memory == "procedural"}
    followed = [one.recipe for one in of(e.PlanProposed, envelopes) if one.recipe]
    assert followed and {*followed} <= recipes, "a recipe was recalled, and followed"
    answers = [one.answer for one in of(e.TaskFinished, envelopes)]
    told = [one.text for event in recalled for one in event.items if one.memory == "semantic"]
    assert any("19 percent" in text for text in told) and "19 percent" in answers[1], "a recall that mattered"
    assert any(one.closes for one in of(e.MemoryWritten, envelopes)), "a fact was corrected"
    (forgotten,) = of(e.MemoryForgotten, envelopes)
    after = [one.event for one in envelopes[[one.event for one in envelopes].index(forgotten) :]]
    later = [item.item_id for event in after if isinstance(event, e.MemoryRecalled) for item in event.items]
    assert forgotten.item_id not in later, "and forgotten"


def test_a_proposal_is_recorded_up_to_its_approval() -> None:
    envelopes = golden("golden-proposal")
    assert any(one.improves for one in of(e.TaskSubmitted, envelopes))
    assert of(e.ApprovalResolved, envelopes)[-1].verdict.decision == "approved"
    assert of(e.ToolRegistered, envelopes)[-1].card.version == 2


@pytest.mark.parametrize("name", [name for name in NAMES if of(e.ApprovalResolved, golden(name))])
def test_a_recording_without_its_approval_is_broken(name: str) -> None:
    kept = [one for one in golden(name) if not isinstance(one.event, e.ApprovalResolved)]
    assert "register what was approved" in {breach.law for breach in check(kept)}


@pytest.mark.parametrize("name", [name for name in NAMES if of(e.ToolRegistered, golden(name))])
def test_the_shown_bytes_are_the_bytes_that_ran(name: str) -> None:
    envelopes = golden(name)
    drafts = {one.draft.digest: one.draft for one in of(e.BuildDrafted, envelopes)}
    tested = {one.build_id: one.digest for one in of(e.BuildTested, envelopes)}
    locked = {one.build_id: one.lock for one in of(e.RequirementsLocked, envelopes)}
    shown = {build_digest(drafts[digest], locked.get(build, Lock())) for build, digest in tested.items()}
    assert {one.digest for one in of(e.ApprovalRequested, envelopes)} == shown
    assert {one.card.digest for one in of(e.ToolRegistered, envelopes)} == shown
    assert {one.digest for one in of(e.ToolCalled, envelopes)} <= shown


def test_a_team_is_recorded_with_the_part_that_failed() -> None:
    envelopes = golden("golden-team")
    begun, ended = of(e.AgentStarted, envelopes), of(e.AgentEnded, envelopes)
    assert [one.role for one in begun] == ["researcher", "researcher", "data-analyst", "data-analyst"]
    assert sorted(one.outcome for one in ended) == ["failed", "failed", "reported", "reported"]
    (finished,) = of(e.TaskFinished, envelopes)
    assert "the analyst gave no report" in finished.answer


def test_a_pipeline_of_three_languages_is_recorded() -> None:
    envelopes = golden("golden-languages")
    drafted = {one.draft.name: one for one in of(e.BuildDrafted, envelopes)}
    calls = of(e.ToolCalled, envelopes)
    assert [drafted[one.name].draft.language for one in calls] == ["bash", "javascript", "python"]
    assert all(one.language_reason for one in drafted.values() if one.draft.language != "python")
    assert all(one.references for one in calls[1:]), "each takes the result of the one before"
    assert {one.report.status for one in of(e.ToolReturned, envelopes)} == {"ok"}
