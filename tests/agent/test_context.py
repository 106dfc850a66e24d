"""What a model is shown: masked, shortened, summarised, and never lost."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.agent.compaction import OBSERVATION, oldest, saves_enough, size, summarised, trim
from alita_tui.agent.context import Conversation
from alita_tui.events import ToolRequest
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.models import Message
from tests.agent.lab import Findings, Lab, conversation, say
from tests.support import streams

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def session(pages: int, length: int = 3000) -> list[Envelope]:
    """A task that read so many pages, one a step."""
    events: list[e.SessionEvent] = [e.TaskSubmitted(task_id="t", text="compare the pages")]
    for n in range(pages):
        call = ToolRequest(call_id=f"c{n}", name="read_page", arguments={"url": f"https://x.org/{n}"})
        events += [
            e.ModelReplied(
                call_id=f"m{n}", role="orchestrator", model="p:a", text=f"page {n}", requests=(call,)
            ),
            e.PageRead(
                action_id=f"m{n}.0", url=f"https://x.org/{n}", text=f"<{n}> " + "word " * (length // 5)
            ),
        ]
    return [Envelope(seq=n, session_id="s", at=NOW, event=event) for n, event in enumerate(events, 1)]


def observations(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if message.role == "tool"]


def test_nothing_is_left_out_of_a_short_session() -> None:
    trimmed = trim(conversation(session(9)), 100_000)
    assert (trimmed.masked, trimmed.shortened) == ((), ())
    assert trimmed.tokens_before == trimmed.tokens_after == size(trimmed.messages)


def test_old_observations_become_one_line_with_their_event() -> None:
    trimmed = trim(conversation(session(16)), 100_000)
    told = observations(trimmed.messages)
    assert trimmed.masked == (3, 5, 7, 9, 11, 13)
    assert told[0].startswith("[event 3, read_page: ") and "left out" in told[0] and "\n" not in told[0]
    assert all(len(text) > 2000 for text in told[6:])
    assert trimmed.tokens_after < 0.75 * trimmed.tokens_before


def test_the_beginning_of_the_prompt_changes_seldom() -> None:
    masked = [trim(conversation(session(pages)), 100_000).masked for pages in range(1, 40)]
    assert len(set(masked)) == 5  # of 39 calls; each change costs the provider's cache


def test_head_and_the_persons_words_are_never_touched() -> None:
    history = session(30)
    trimmed = trim(conversation(history), 100)
    assert trimmed.messages[0] == Message(role="user", text="TASK: compare the pages")
    calls = [call.call_id for message in trimmed.messages for call in message.requests]
    assert [message.call_id for message in trimmed.messages if message.role == "tool"] == calls


def test_the_largest_is_shortened_first_and_only_as_many_as_needed() -> None:
    history = session(3)
    history[4] = Envelope(
        seq=5,
        session_id="s",
        at=NOW,
        event=e.PageRead(action_id="m1.0", url="u", text="HEAD " + "x " * 2000 + "TAIL"),
    )
    whole = trim(conversation(history), 100_000)
    trimmed = trim(conversation(history), whole.tokens_before - 100)
    assert trimmed.shortened == (5,)
    text = observations(trimmed.messages)[1]
    assert "HEAD" in text and "TAIL" in text and "look with e5" in text
    assert trimmed.tokens_after <= whole.tokens_before - 100
    assert trim(conversation(history), 0).shortened == (3, 5, 7)


def test_a_very_long_observation_is_cut_and_says_where_the_rest_is() -> None:
    (text,) = observations(trim(conversation(session(1, 50_000)), 100_000).messages)
    assert len(text) < OBSERVATION + 200 and "look with e3" in text


def test_a_summary_ends_between_a_result_and_the_next_call() -> None:
    entries = conversation(session(30))
    last = oldest(entries)
    assert last and entries[last].message.role == "assistant" and entries[last - 1].message.role == "tool"
    shorter = summarised(entries, entries[last - 1].seq, "they all say word")
    assert [entry.message.text for entry in shorter[:2]] == [
        "TASK: compare the pages",
        "Summary of what was done before, made by a model:\nthey all say word",
    ]
    assert shorter[2:] == entries[last:]
    assert oldest(conversation(session(5))) == 0


@pytest.mark.parametrize(("after", "worth"), [(100, True), (400, True), (401, False), (900, False)])
def test_a_summary_has_to_save_a_tenth(after: int, worth: bool) -> None:
    assert saves_enough(1000, 500, after) is worth


# --- in the loop --------------------------------------------------------------------------


def reading(summary: str) -> list[Rule]:
    steps = [say("search_web", f"step {n} " + "word " * 300, query=f"thing{n}") for n in range(24)]
    return [
        Rule(role="orchestrator", match="TASK: ", replies=(*steps, say("answer", text="done"))),
        Rule(role="summariser", match=".", replies=(ScriptReply(text=summary),)),
    ]


async def test_a_full_window_is_summarised_and_the_task_goes_on(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=reading("nothing was found"), max_steps=40)
    lab.window, lab.web = 9000, Findings()
    lab._build()
    ended = await lab.do(SubmitTask(text="find things"))
    summaries = lab.events(e.ContextSummarised)
    summary = summaries[-1]
    assert summary.text == "nothing was found" and summary.tokens_after < summary.tokens_before
    shown = lab.context.entries()
    assert [entry.message.text for entry in shown[:2]] == [
        "TASK: find things",
        "Summary of what was done before, made by a model:\nnothing was found",
    ]
    assert ended is not None  # the script counts turns, so it begins anew; what matters is that it went on
    assert len(lab.events(e.ModelReplied)) > 24 and len(summaries) <= 4
    told = [reply for reply in lab.events(e.ModelReplied) if reply.role == "summariser"]
    assert len(told) == len(summaries)


async def test_a_summary_that_saves_nothing_is_refused_and_not_asked_for_again_at_once(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path, rules=reading("7" * 3600), max_steps=40)
    lab.window, lab.web = 9000, Findings()
    lab._build()
    ended = await lab.do(SubmitTask(text="find things"))
    assert ended.answer == "done"
    assert lab.events(e.ContextSummarised) == []
    # So long a summary is cut off at what it was allowed; either way nobody asks again at once.
    asked = [call for call in lab.events(e.BudgetReserved) if call.role == "summariser"]
    assert 1 <= len(asked) <= 6  # thirty steps; one that was cut off is tried twice


async def test_what_was_left_out_can_be_read_again(tmp_path: Path) -> None:
    steps = [say("look", what="e1"), say("look", what="e9")]
    rules = [
        Rule(
            role="orchestrator",
            match="TASK: ",
            replies=(say("find_tool", query="a"), *steps, say("answer", text="x")),
        )
    ]
    lab = Lab(tmp_path, rules=rules)
    await lab.do(SubmitTask(text="go"))
    (searched,) = [one.seq for one in lab.bus.history if isinstance(one.event, e.ToolSearched)]
    (failed,) = lab.events(e.ActionFailed)
    assert failed.text == "Event 1 holds no observation."
    (read,) = lab.events(e.LookedBack)
    assert searched is not None
    text = lab.context.again(searched, 0)
    assert (read.seq, read.text) == (searched, text)
    assert text == "No tool fits, and none comes near."
    assert lab.context.again(searched, 4) == text[4:]


def test_a_long_one_is_read_again_in_parts() -> None:
    class Stream:
        history = session(1, 10_000)

    from alita_tui.agent.working import WorkingContext

    context = WorkingContext(Stream(), None, lambda: 0)  # type: ignore[arg-type]
    whole, text, offset = conversation(Stream.history)[-1].message.text, "", 0
    while True:
        part = context.again(3, offset)
        body, more, _ = part.partition("\n(")
        text += body if more else part
        if not more:
            break
        offset = int(part.rpartition("offset ")[2].rstrip(")"))
    assert text == whole


def test_carried_on_event_by_event_it_is_the_same_as_derived_anew() -> None:
    history = [one for one in streams.walkthrough() if one.durable]
    told = Conversation()
    for number, envelope in enumerate(history, 1):
        told.hear(envelope)
        assert told.entries() == conversation(history[:number])
        assert told.entries() == told.entries(), "asking changes nothing"
