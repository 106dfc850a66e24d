from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.events import MemoryItem, RunReport
from alita_tui.memory.lessons import FOOTNOTE
from alita_tui.memory.recall import Recollection
from alita_tui.store.documents import DocumentTable
from tests.memory.learned import episode, recipe
from tests.support import streams


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.json"


def memory(path: Path) -> Recollection:
    return Recollection(DocumentTable(path, "items"))


def item(item_id: str, text: str, kind="episodic", seq: int = 1, **more) -> MemoryItem:
    return MemoryItem(item_id=item_id, memory=kind, text=text, source_session="s", source_seq=seq, **more)


def task(
    tape: streams.Tape,
    task_id: e.TaskId,
    text: str,
    *calls: tuple[str, bool],
    outcome="answered",
    answer="42",
):
    tape.add(e.TaskSubmitted(task_id=task_id, text=text))
    run(tape, *calls)
    return tape.add(e.TaskFinished(task_id=task_id, outcome=outcome, answer=answer))


def run(tape: streams.Tape, *calls: tuple[str, bool]) -> None:
    for name, ok in calls:
        call_id = e.CallId(f"c{len(tape.envelopes)}")
        tape.add(
            e.ToolCalled(
                call_id=call_id,
                action_id="a",
                name=e.ToolName(name),
                version=1,
                digest=e.BuildDigest("d"),
                arguments={},
            )
        )
        if ok:
            tape.add(e.ToolReturned(call_id=call_id, report=RunReport(status="ok", result=1)))
        else:
            tape.add(e.ToolFailed(call_id=call_id, reason="error", text="no"))
        tape.add(e.BudgetSpent(call_id=call_id, cost_usd=0.01))


# --- what a task leaves behind


def test_the_walkthrough_leaves_an_episode_and_a_recipe_of_its_second_task():
    stream = tuple(one for one in streams.walkthrough() if one.durable)
    (kept,) = episode(stream, e.TaskId("t2"))
    assert kept.memory == "episodic" and kept.tools == ("validate_email_addresses",)
    assert kept.text.startswith("Are these addresses valid: ada@example.org") and "cost: $0.0063" in kept.text
    ended = next(one for one in stream if isinstance(one.event, e.TaskFinished) and one.event.task_id == "t2")
    assert (kept.source_session, kept.source_seq) == (ended.session_id, ended.seq)
    (chain,) = recipe(stream, e.TaskId("t2"))
    assert chain.memory == "procedural" and chain.tools == ("validate_email_addresses",)
    assert episode(stream, e.TaskId("never")) == ()


def test_a_tool_that_was_built_is_remembered_though_none_ran():
    stream = tuple(one for one in streams.walkthrough() if one.durable)
    (kept,) = episode(stream, e.TaskId("t1"))
    assert kept.text.startswith("Create a tool to validate email addresses.")
    assert "built: validate_email_addresses" in kept.text
    assert recipe(stream, e.TaskId("t1")) == (), "no tool gave a result there"


@pytest.mark.parametrize("outcome", ["failed", "interrupted", "budget", "stuck", "rejected", "parked"])
def test_a_task_that_was_not_answered_teaches_nothing(outcome):
    tape = streams.Tape()
    task(tape, e.TaskId("t"), "factor 91", ("prime_factors", True), outcome=outcome)
    assert episode(tuple(tape.envelopes), e.TaskId("t")) == recipe(tuple(tape.envelopes), e.TaskId("t")) == ()


def test_a_chain_holds_tools_that_returned_and_merges_repeats():
    tape = streams.Tape()
    calls = [("fetch", True), ("fetch", True), ("broken", False), ("parse", True), ("fetch", True)]
    task(tape, e.TaskId("t"), "read pages", *calls)
    (chain,) = recipe(tuple(tape.envelopes), e.TaskId("t"))
    assert chain.tools == ("fetch", "parse", "fetch")
    assert recipe(tuple(tape.envelopes), e.TaskId("t"))[0].item_id == chain.item_id


def test_a_parked_task_keeps_its_events_apart_from_those_of_other_tasks():
    tape = streams.Tape()
    task(tape, e.TaskId("a"), "first need", ("one", True), outcome="parked")
    task(tape, e.TaskId("b"), "second need", ("two", True))
    run(tape, ("three", True))
    tape.add(e.TaskFinished(task_id=e.TaskId("a"), outcome="answered", answer="done"))
    stream = tuple(tape.envelopes)
    assert recipe(stream, e.TaskId("a"))[0].tools == ("one", "three") and recipe(stream, e.TaskId("b"))[
        0
    ].tools == ("two",)
    assert "cost: $0.0200" in episode(stream, e.TaskId("a"))[0].text


def test_hostile_text_is_made_harmless_and_short():
    tape = streams.Tape()
    task(
        tape,
        e.TaskId("t"),
        "evil \x1b[2J\u202e need " + "x" * 9000,
        ("one", True),
        answer="\x1b]0;t\x07\n" + "y" * 9000,
    )
    (kept,) = episode(tuple(tape.envelopes), e.TaskId("t"))
    assert kept.text.isprintable() and len(kept.text) < 900


# --- what is recalled


def test_an_item_that_shares_only_common_words_is_not_recalled(path):
    kept = memory(path)
    kept.write(
        item(
            "n", "My favourite number is 66, remember it → I will remember that your favourite number is 66."
        )
    )
    assert kept.recall("How long is the longest snake in the world?") == ()
    assert kept.recall("What is the length of a green anaconda?") == ()
    (found,) = kept.recall("what was my favourite number again")
    assert found.item_id == "n" and set(found.why.split(", ")) == {"favourite", "number"}
    assert 0 < found.score <= 1


def test_at_most_three_of_each_and_recipes_first(path):
    kept = memory(path)
    for number in range(6):
        kept.write(item(f"e{number}", f"Join the sales CSV files of region {'abcdef'[number]}"))
        kept.write(item(f"r{number}", "Join sales CSV files", "procedural", tools=("csv_join", f"t{number}")))
    kept.write(item("f", "The office closes at six", "semantic"))
    found = kept.recall("join the CSV files of all sales")
    assert [one.memory for one in found] == ["procedural"] * 3 + ["episodic"] * 5
    assert all(one.why and one.score >= 0.1 for one in found)
    assert kept.recall("") == kept.recall("42") == ()


def test_the_footnote_of_an_episode_is_not_searched(path):
    tape = streams.Tape()
    task(tape, e.TaskId("t"), "factor 91 into primes", ("prime_factors", True), answer="7 and 13")
    kept = memory(path)
    kept.write(episode(tuple(tape.envelopes), e.TaskId("t"))[0])
    assert kept.recall("what do the tools cost") == ()
    assert kept.recall("prime factors of 1001")[0].text.startswith(
        "factor 91 into primes → 7 and 13 (tools: "
    )


def test_repeating_a_recipe_adds_a_success_to_it(path):
    kept = memory(path)
    tape = streams.Tape()
    task(tape, e.TaskId("a"), "factor 91 into primes", ("prime_factors", True))
    task(tape, e.TaskId("b"), "which primes divide 360", ("prime_factors", True))
    stream = tuple(tape.envelopes)
    for task_id in ("a", "b", "b"):
        kept.write(recipe(stream, e.TaskId(task_id))[0])
    (one,) = kept.items()
    assert one.text == "which primes divide 360: prime_factors (worked 2 of 2 times)", (
        "twice the same event counts once"
    )
    assert memory(path).recall("factor 15")[0].item_id == one.item_id, "found by its earlier task, too"
    kept.recipe_failed(one.item_id)
    assert memory(path).items()[0].text.endswith("(worked 2 of 3 times)")


def test_a_failing_recipe_ranks_below_a_working_one(path):
    kept = memory(path)
    kept.write(item("good", "join csv files", "procedural", tools=("a",)))
    kept.write(item("bad", "join csv files", "procedural", tools=("b",)))
    for _ in range(3):
        kept.recipe_failed("bad")
    kept.recipe_failed("never")
    assert [one.item_id for one in kept.recall("join csv files")] == ["good", "bad"]


def test_other_items_are_replaced_and_forgotten_everywhere(path):
    mine, other = memory(path), memory(path)
    mine.write(item("f", "The office closes at six", "semantic", score=0.9, why="old"))
    mine.write(item("f", "The office closes at seven", "semantic"))
    (found,) = other.items()
    assert (found.text, found.score, found.why) == ("The office closes at seven", 0.0, "")
    assert other.recall("when does the office close")[0].text.endswith("seven")
    other.forget("f")
    other.forget("f")
    assert mine.items() == mine.recall("when does the office close") == ()


def test_unreadable_documents_are_ignored(path):
    table = DocumentTable(path, "items")
    for number, odd in enumerate([None, 7, {}, {"item": {"memory": "dreams"}}]):
        table.put(f"odd{number}", odd)
    assert memory(path).items() == () and memory(path).recall("anything") == ()


def test_rejections_of_the_same_name_come_first_then_those_about_the_goal(path):
    kept = memory(path)
    kept.write(
        item(
            "rejection:parse_dates:s:1",
            "A build of parse_dates (Parse dates of any form) was rejected: too slow",
        )
    )
    kept.write(
        item(
            "rejection:read_dates:s:2",
            "A build of read_dates (Read dates of any form from text) was rejected: unsafe",
        )
    )
    kept.write(
        item(
            "rejection:parse_dates:s:3",
            "A build of parse_dates (Parse dates of any form) was rejected: no tests",
        )
    )
    kept.write(item("rejection:roll_dice:s:4", "A build of roll_dice (Roll dice) was rejected: gambling"))
    kept.write(item("e1", "Parse dates of any form in text", seq=7))
    found = memory(path).lessons("parse_dates", "Parse dates of any form in text")
    assert [one.item_id for one in found] == [
        "rejection:parse_dates:s:3",
        "rejection:parse_dates:s:1",
        "rejection:read_dates:s:2",
    ]
    assert memory(path).lessons("draw_map", "Draw a map of Europe") == ()
    for number in range(9):
        kept.write(item(f"rejection:parse_dates:s:{10 + number}", f"rejected: reason {number}"))
    assert len(kept.lessons("parse_dates", "")) == 5


def test_equal_items_are_recalled_once(path):
    kept = memory(path)
    for number in range(5):
        kept.write(item(f"e{number}", f"Join the sales files → 42{FOOTNOTE}csv; cost: $0.0{number})"))
    kept.write(item("other", "Join the sales files of May → 7"))
    found = kept.recall("join the sales files")
    assert sorted(one.item_id[0] for one in found) == ["e", "o"]
