"""`?` on any row: every event of every recording is explained, from what is recorded."""

from __future__ import annotations

import pytest

from alita_tui import events as e
from alita_tui.replay.recording import Recording
from alita_tui.view.explain import Explanation
from tests.support import streams
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


def test_a_repair_names_the_failed_check() -> None:
    told = explained(e.BuildDrafted, 1)
    assert told.why[0] == "The draft before did not pass."
    assert told.why[1].startswith("Self-tests: 2 of 5 passed")
    assert any(line.startswith("The model chose: Build a tool") for line in told.why)


def test_an_approval_names_its_evidence_and_the_registered_tool() -> None:
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


def test_an_answer_names_its_runs_and_pages_and_figures_without_a_source() -> None:
    told = explained(e.TaskFinished, 1)
    (called,) = [one.event for one in walkthrough() if isinstance(one.event, e.ToolCalled)][:1]
    assert any(f"{called.name} v{called.version} ({called.digest[:12]})" in line for line in told.why)
    tape = streams.Tape()
    streams.opened(tape)
    file = e.Artefact(
        handle="art_aaaaaaaaaa", digest="a" * 64, name="sales.csv", media_type="text/csv", size=9
    )
    card = streams.LIBRARY[0]
    tape.add(e.ArtefactAdded(artefact=file, origin="person"))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Sum it", files=(file.handle,)))
    use = e.FileUse(handle=file.handle, digest=file.digest, name=file.name)
    call = e.CallId("c1")
    tape.add(e.ToolCalled(call_id=call, action_id="a1", name=card.name, version=card.version, digest=card.digest,
                          arguments={}, files=(use,), references=("e5#/x",)))  # fmt: skip
    tape.add(e.ToolReturned(call_id=call, report=e.RunReport(status="ok", result=7)))
    tape.add(e.PageRead(action_id="a2", url="https://docs.example.org/", title="", text="x"))
    block = e.ContextBlock(name="documents", text="x", source="the documents in manuals")
    tape.add(e.ContextGiven(blocks=(block, e.ContextBlock(name="preferences", text="French."))))
    given = Recording(tuple(tape.envelopes)).explain(len(tape.envelopes)).why
    assert given[:2] == ("documents is on: the documents in manuals.", "preferences is on: your own words.")
    tape.add(
        e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="7, not 78", ungrounded=("78",))
    )
    recording = Recording(tuple(tape.envelopes))
    why = "\n".join(recording.explain(len(recording)).why)
    assert "It may rest on the documents in manuals, event" in why and "your own words" not in why
    assert f"It rests on {card.name} v{card.version}" in why and "with sales.csv, e5#/x" in why
    assert "https://docs.example.org/" in why and "Nothing in the session gave: 78" in why
