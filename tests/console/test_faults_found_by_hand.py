"""Faults that were found by driving the console by hand: paging through tall cards, cut answers, retired words."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.console.review.evidence import gates
from alita_tui.console.session.trace import Trace
from alita_tui.console.spend.screen import rows
from alita_tui.console.themes import read_theme
from alita_tui.spine.envelope import Envelope
from alita_tui.view.explain import explain
from alita_tui.view.fold import fold_all
from tests.console.screens import console, drawn
from tests.console.test_themes import BUILT_IN, contrast
from tests.support import goldens, streams

SOURCES = [
    path for path in (Path(__file__).parents[2] / "alita_tui").rglob("*.py") if "_shipped" not in path.parts
]
GONE = (
    "What is to be done?", "is being looked at …", "It asks for nothing.", "is not asked again until you act", "You did it.",
    "which models answer and why not", "A title; empty for its own", "remaps them by the grey names", "Will remember:",
    "waits for your verdict — ", "Not being saved.", "A task that needs one builds it.", "No tool fits; nearest",
    "is lent to this task", "Put off; the agent goes on without it", "Parked until a build is decided", "Stopped: no progress",
    "Ended by a rejection", "Build given up", "A record that could not be read", "the standard library alone: none",
    "the task names no value that could leak", "Have a look first",
    "What is not ticked is not granted", "why not, in one line", "The same key again puts it off", "None are kept ahead",
    "Make the base image anew?", "Removing what dead sessions left", "It is open in another process",
    "the secrets that are known here are taken out", "Begin a session that goes its own way", "There is nothing to take back.",
    "Nothing fits.", "now it works", "1 row more",
    "again approves them unread", "approves exactly these bytes{", "waits for your verdict", "which saw only the contract",
    "no finding above low", "asks for the key twice", "mutants (", "it replaces nothing",
    "the agent goes on without it", "it waits on\\n", "is nothing that can be rated",
)  # fmt: skip
"""Words that nobody would say, replaced by plainer ones."""


def answered(text: str) -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Tell all of it"))
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer=text))
    return tape.envelopes


def seen(trace: Trace) -> str:
    return "\n".join(trace.render_line(y).text for y in range(trace.size.height))


async def test_pages_go_through_a_card_that_is_taller_than_the_pane_and_skip_no_line() -> None:
    events = answered("\n\n".join(f"paragraph {n:03}" for n in range(120)))
    async with console(events).run_test(size=(100, 24)) as pilot:
        await drawn(pilot, events[-1].seq)
        trace = pilot.app.screen.query_one(Trace)
        for first, page in (("home", "pagedown"), ("end", "pageup")):
            await pilot.press("f2", first)
            await pilot.pause()
            found = set(re.findall(r"paragraph \d+", seen(trace)))
            for _ in range(30):
                await pilot.press(page)
                await pilot.pause()
                found |= set(re.findall(r"paragraph \d+", seen(trace)))
            assert len(found) == 120, (page, sorted(found))


async def test_a_shortened_answer_says_how_much_is_hidden_and_enter_opens_it() -> None:
    events = answered("\n\n".join(f"paragraph {n:03}" for n in range(400)))
    async with console(events).run_test(size=(100, 24)) as pilot:
        await drawn(pilot, events[-1].seq)
        trace = pilot.app.screen.query_one(Trace)
        await pilot.press("f2", "end")
        await pilot.pause()
        left = re.search(r"… (\d+) more lines: Enter opens them", seen(trace))
        assert left, seen(trace)
        assert "paragraph 399" not in seen(trace)
        (last, *_) = sorted(re.findall(r"paragraph (\d+)", seen(trace)), reverse=True)
        assert abs(int(left[1]) - 2 * (399 - int(last))) <= 2, "a paragraph and a blank line each"
        before = trace.virtual_size.height
        await pilot.press("enter")
        await pilot.pause()
        assert trace.virtual_size.height - before in range(int(left[1]) - 1, int(left[1]) + 1)


def test_the_sources_of_the_screens_hold_none_of_the_retired_phrases() -> None:
    said = {path: path.read_text("utf-8") for path in SOURCES}
    assert [(path.name, words) for words in GONE for path, text in said.items() if words in text] == []


def test_every_screen_counts_the_same_model_calls() -> None:
    events = goldens.walkthrough()
    made = sum(isinstance(one.event, e.BudgetSpent) for one in events)
    view = fold_all(events)
    sheet = "\n".join(
        "".join(text for text, _ in (*row.gutter, *row.body)) for row in rows(view, {}, "", 100)
    )
    counted = {part: sum(map(int, re.findall(r"(\d+) calls?\b", sheet.partition(part)[2].partition("\n\n")[0])))
               for part in ("tokens", "BY ROLE", "BY PROVIDER", "BY MODEL")}  # fmt: skip
    assert counted == dict.fromkeys(counted, made)
    last = explain(events, len(events) - 1, fold_all(events[:-1]), view)
    assert f"{made} model calls" in "\n".join(last.cost)


@pytest.mark.parametrize("path", BUILT_IN, ids=lambda path: path.stem)
def test_a_check_that_could_not_run_has_its_own_colour_as_bright_as_a_pass(
    path: Path,
) -> None:
    passed, skipped = seen_gates()
    assert passed != skipped and skipped[1] == "warn"
    ratios = contrast(read_theme(path))
    assert ratios["warn", "background"] >= 0.9 * min(
        ratios["muted", "background"], ratios["good", "background"]
    )


def seen_gates() -> tuple[tuple[str, str], tuple[str, str]]:
    """Mark and colour of a check that passed, and of one that could not run."""
    build = fold_all(streams.waiting()).builds[-1]
    found = (
        e.GateResult(gate="contract", state="passed", summary="told"),
        e.GateResult(gate="hidden", state="skipped", summary="told"),
    )
    lines = [
        row.gutter[0] for row in gates(msgspec.structs.replace(build.attempts[-1], gates=found)) if row.gutter
    ]
    marks = [(mark.strip(), style) for mark, style in lines if mark.strip()]
    return marks[0], marks[1]
