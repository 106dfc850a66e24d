"""The fold: what the stream means on screen, alone and against its laws."""

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.agent.outcomes import outcomes_of
from alita_tui.events import RunReport
from alita_tui.spine.envelope import Envelope, decode, encode, from_builtins, to_builtins
from alita_tui.spine.laws import check
from alita_tui.state.rows import Rows
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending
from tests.agent.lab import conversation
from tests.support import streams


def durable(envelopes: list[Envelope]) -> list[Envelope]:
    return [envelope for envelope in envelopes if envelope.durable]


def test_the_handwritten_session_breaks_no_law() -> None:
    assert check(streams.walkthrough(), complete=True) == []


def test_transient_events_never_change_the_durable_view() -> None:
    live, stored = SessionView(), SessionView()
    for envelope in streams.walkthrough():
        live = fold(live, envelope)
        if envelope.durable:
            stored = fold(stored, envelope)
            assert live == stored, f"after {envelope.event}"


def test_an_overlapping_prefix_changes_nothing() -> None:
    stream = durable(streams.walkthrough())
    view = fold_all(stream)
    assert fold_all(stream[:20], view) is view


def test_a_waiting_build_has_its_evidence() -> None:
    view = fold_all(streams.waiting())
    (build,) = pending(view)
    assert view.phase == "waiting"
    assert build.current is not None
    assert build.current.build_digest == build.digest == streams.DIGEST
    assert build.current.passed and len(build.current.reports) == 3
    assert build.current.lock == streams.LOCK
    assert build.near_misses[0].name == "parse_dates"


def test_the_library_grows_and_counts_runs() -> None:
    view = fold_all(streams.walkthrough())
    card = next(card for card in view.library if card.name == streams.DRAFT.name)
    assert (card.runs, card.failures) == (1, 0)
    assert [task.outcome for task in view.tasks] == ["answered", "answered"]
    assert view.phase == "closed" and not view.calls


def test_hostile_text_is_neutral_in_every_row() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(
        e.TaskSubmitted(task_id=e.TaskId("t1"), text="\x1b[31mred\x1b]52;c;aGk=\x07[/x] \u202eevil\r\nnext")
    )
    tape.add(e.NoticeRaised(level="error", text="a\x00b\x9b2Jc", hint="\u200bhidden"))
    for row in fold_all(tape.envelopes).trace:
        for text in (row.title, row.detail, row.meta):
            assert not any(ord(c) < 32 and c != "\n" or c in "\x9b\u202e\u200b\x7f" for c in text), ascii(
                text
            )
    assert "red[/x] evil" in fold_all(tape.envelopes).trace[0].title


def test_a_lone_surrogate_in_a_record_is_shown_and_sent_to_the_model() -> None:
    half, call_id = "half \ud835", e.CallId("c1")
    asked = e.ToolRequest(call_id="q1", name="run_tool", arguments={"name": "a", "arguments": {half: half}})
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text=half))
    tape.add(e.ModelReplied(call_id="m1", role="orchestrator", model="m", text=half, requests=(asked,)))
    tape.add(e.ActionChosen(action_id="m1.0", action="run_tool", arguments=asked.arguments))
    tape.add(e.ToolCalled(call_id=call_id, action_id="m1.0", name=streams.DRAFT.name, version=1, digest=streams.DIGEST, arguments={"x": [half]}))  # fmt: skip
    tape.add(e.ToolReturned(call_id=call_id, report=RunReport(status="ok", result={half: [half]})))
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer=half))
    read = [from_builtins(to_builtins(one)) for one in tape.envelopes]
    rows = fold_all(read).trace
    assert not [text for row in rows for text in (row.title, row.detail, row.meta) if "\ud835" in text]
    assert any('"half \\ud835"' in row.detail for row in rows)
    (told,) = [one.message.text for one in conversation(read) if one.message.role == "tool"]
    assert "half \\ud835" in told and "\ud835" not in told
    assert outcomes_of(read, e.TaskId("t1"))[0].outcomes
    odd = msgspec.structs.replace(streams.DRAFT, input_schema={"title": half})
    assert len(odd.digest) == 64 and odd.digest != streams.DRAFT.digest, (
        "no file can hold it, and the laws read it"
    )


def test_json_round_trip_is_identity() -> None:
    for envelope in streams.walkthrough():
        assert decode(encode(envelope)) == envelope


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1000])
def test_rows_behave_like_a_tuple(count: int) -> None:
    rows: Rows[int] = Rows()
    for number in range(count):
        rows = rows.append(number)
    assert tuple(rows) == tuple(range(count))
    assert len(rows) == count
    assert [rows[i] for i in range(count)] == list(range(count))
    assert tuple(rows.since(count - 3)) == tuple(range(max(count - 3, 0), count))
    assert Rows().append(*range(count)) == rows


def test_a_file_that_was_looked_at_is_named_by_its_name() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    file = e.Artefact(
        handle="art_0123456789",
        digest="0123456789" + "0" * 54,
        name="sales.csv",
        media_type="text/csv",
        size=4,
    )
    tape.add(e.ArtefactAdded(artefact=file, origin="person"))
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="what is in it?"))
    action_id = tape.turn("look", {"what": file.handle, "rows": "1-3"})
    tape.add(e.LookedBack(action_id=action_id, text="a,b", handle=file.handle, part="1-3"), span=action_id)
    look, read = [str(row.title) for row in fold_all(tape.envelopes).trace][-2:]
    assert (look, read) == ("Look at: sales.csv", "Read sales.csv, 1-3")
