"""`?` on any row: every event of every recording is explained, from what is recorded."""

from __future__ import annotations

import pytest

from alita_tui import events as e
from alita_tui.replay.recording import Recording
from alita_tui.view.explain import Explanation
from tests.support.goldens import NAMES, golden, walkthrough


def explained(kind: type, number: int = 0) -> Explanation:
    whole = walkthrough()
    places = [n for n, one in enumerate(whole, 1) if isinstance(one.event, kind)]
    return Recording(whole).explain(places[number])


@pytest.mark.parametrize("name", NAMES)
def test_every_event_is_explained(name: str) -> None:
    recording = Recording(golden(name))
    for position in range(1, len(recording) + 1):
        told = recording.explain(position)
        assert told.seq == recording.envelopes[position - 1].seq
        assert told.title and told.changed and told.cost
        assert not any("\n" in line for line in (*told.why, *told.changed, *told.cost))
        inside = recording.envelopes[position - 1].step > 0
        assert told.why or not inside, told.title


def test_a_call_says_who_allowed_it() -> None:
    told = explained(e.ToolCalled)
    assert "was approved in this session" in told.why[0]
    approved = next(one.event for one in walkthrough() if isinstance(one.event, e.ToolRegistered))
    assert approved.approval_id in told.why[0]
    assert told.why[-1].startswith("The task: Are these addresses valid")
    assert "Running: validate_email_addresses." in told.changed
    assert "No longer running: validate_email_addresses." in explained(e.ToolReturned).changed


def test_a_repair_says_what_did_not_pass() -> None:
    told = explained(e.BuildDrafted, 1)
    assert told.why[0] == "The draft before did not pass."
    assert told.why[1].startswith("Self-tests: 2 of 5 passed")
    assert any(line.startswith("The model chose: Build a tool") for line in told.why)


def test_an_approval_says_what_it_stands_on_and_what_joined() -> None:
    asked, joined = explained(e.ApprovalRequested), explained(e.ToolRegistered)
    assert any("self-tests passed" in line for line in asked.why)
    assert "Library: validate_email_addresses v1 joined." in joined.changed
    assert joined.why[0].startswith("It was approved")


def test_a_reply_says_what_it_cost() -> None:
    reply = next(one.event for one in walkthrough() if isinstance(one.event, e.ModelReplied))
    told = explained(e.ModelReplied)
    assert any(f"{reply.usage.input_tokens:,} tokens in" in line for line in told.cost)
    assert any(line.startswith("Step 1 as a whole") for line in told.cost)


def test_a_run_says_how_long_it_took_in_the_sandbox() -> None:
    told = explained(e.ToolReturned)
    assert told.why[0].startswith("It ends the call: validate_email_addresses")
    assert any(line.startswith("Sandbox: ") for line in told.cost)
