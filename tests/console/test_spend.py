"""What the view knows of money: per call, step, tool, role, model and task, and what was saved."""

from __future__ import annotations

import re
from typing import Any

from alita_tui import events as e
from alita_tui.console.spend.screen import by_provider, rows
from alita_tui.events import Usage
from alita_tui.spine.ports.models import DaySpend
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from alita_tui.view.spend import tokens_of
from tests.support import streams


def paid(
    tape: streams.Tape, call: str, cost: float | None, role: e.ModelRole = "orchestrator", model: str = "p:a"
) -> None:
    tape.add(
        e.ModelReplied(call_id=call, role=role, model=model, usage=Usage(input_tokens=90, output_tokens=10))
    )
    tape.add(e.BudgetSpent(call_id=call, cost_usd=cost, role=role, model=model, tokens=100, total_usd=0.5))


def view_of(*moves: Any) -> SessionView:
    tape = streams.Tape()
    streams.opened(tape)
    for move in moves:
        match move:
            case int(step):
                tape.step = step
            case (call, cost, *where):
                paid(tape, call, cost, *where)
            case event:
                tape.add(event)
    return fold_all(tape.envelopes)


def task(number: int) -> e.TaskSubmitted:
    return e.TaskSubmitted(task_id=e.TaskId(f"t{number}"), text="go")


def test_steps_are_those_of_the_newest_task_and_calls_are_listed_one_by_one() -> None:
    view = view_of(task(1), 1, ("m1", 0.1), 2, ("m2", 0.2), ("m3", None), task(2), 1, ("m4", 0.4))
    assert [(one.name, one.calls, one.usd) for one in view.spend.by_step] == [("step 1", 1, 0.4)]
    assert [(one.step, one.usd, one.tokens) for one in view.spend.last_calls] == [
        (1, 0.1, 100), (2, 0.2, 100), (2, None, 100), (1, 0.4, 100),
    ]  # fmt: skip
    many = view_of(task(1), *((f"m{n}", 0.1) for n in range(40)))
    assert len(many.spend.last_calls) == 12 and len(many.spend.by_step) == 1


def test_the_share_of_a_tool_is_the_cost_of_building_it() -> None:
    started = e.BuildStarted(build_id=e.BuildId("b1"), action_id="m0.0", name="roll_dice", goal="…")
    view = view_of(task(1), 1, ("m1", 0.1), started, ("m2", 0.3, "toolsmith"), ("m3", 0.2, "toolsmith"))
    assert [(one.name, one.calls, round(one.usd, 9)) for one in view.spend.by_tool] == [("roll_dice", 2, 0.5)]
    assert {one.name: one.calls for one in view.spend.by_role} == {"orchestrator": 1, "toolsmith": 2}


def test_model_calls_of_a_running_tool_are_a_share_of_their_own() -> None:
    called = e.ToolCalled(
        call_id=e.CallId("r1"),
        action_id="m1.0",
        name=e.ToolName("roll_dice"),
        version=1,
        digest=e.BuildDigest("3c" * 32),
        arguments={},
    )
    started = e.BuildStarted(build_id=e.BuildId("b1"), action_id="m0.0", name="roll_dice", goal="…")
    view = view_of(task(1), started, ("m1", 0.3, "reviewer"), called, ("m2", 0.1, "summariser"))
    assert [(one.name, one.usd) for one in view.spend.by_tool] == [
        ("roll_dice", 0.3),
        ("roll_dice, running", 0.1),
    ]


def test_a_provider_sums_up_its_models() -> None:
    view = view_of(
        task(1), ("m1", 0.1, "planner", "p:a"), ("m2", 0.2, "planner", "p:b"), ("m3", 1.0, "planner", "q:a")
    )
    shares = by_provider(view.spend.by_model)
    assert [(one.name, one.calls, round(one.usd, 9), one.tokens) for one in shares] == [
        ("p", 2, 0.3, 200), ("q", 1, 1.0, 100),
    ]  # fmt: skip


def test_pages_that_were_not_fetched_again_are_counted() -> None:
    page = e.PageRead(action_id="m1.0", url="https://example.org/")
    again = e.PageRead(action_id="m2.0", url="https://example.org/", unchanged=True)
    view = view_of(task(1), page, again, again)
    assert (view.spend.pages, view.spend.unchanged_pages) == (3, 2)
    assert [row.meta for row in view.trace][-3:] == ["", "unchanged", "unchanged"]
    assert "2 of 3 pages were unchanged" in _sheet(view)


def test_the_sheet_shows_all_costs_and_never_counts_an_unknown_price_as_zero() -> None:
    sheet = _sheet(view_of(task(1), 1, ("m1", 0.25), 2, ("m2", None, "summariser", "q:b")))
    for said in ("BY ROLE", "BY PROVIDER", "BY MODEL", "BY STEP", "CALLS", "OVER TIME", "$0.25", "step 2"):
        assert said in sheet, said
    assert "no price  100 tokens  summariser, q:b" in sheet


def test_money_over_time_is_a_line_from_the_first_call_to_the_newest_on_a_scale() -> None:
    spent = (
        e.BudgetSpent(
            call_id=f"m{n}", cost_usd=0.25, role="orchestrator", model="p:a", tokens=1, total_usd=n / 4
        )
        for n in (1, 2, 3, 4)
    )
    sheet = _sheet(view_of(task(1), *spent)).split("\n")
    top = next(number for number, line in enumerate(sheet) if line.startswith("OVER TIME")) + 1
    chart = sheet[top : top + 6]
    assert chart[0].split()[0] == "$1.00" and chart[4].split()[0] == "$0.00"
    drawn = [line[10:] for line in chart[:5]]
    assert all(len(line) <= 88 for line in drawn)
    assert drawn[0].rstrip()[-1] > "\u2800" and not drawn[4].strip()
    assert not set("█▇▆▅▄▃▂▁") & set("".join(drawn))
    assert len(chart[5].split()) == 2, "the times of the first and the newest call"


def _sheet(view: SessionView) -> str:
    drawn = rows(view, {}, "", 100)
    return "\n".join("".join(text for text, _ in (*row.gutter, *row.body)) for row in drawn)


def test_a_share_without_cost_has_no_bar() -> None:
    drawn = rows(view_of(task(1), 1, ("m1", 0.0), ("m2", 0.0)), {}, "", 80)
    lines = ["".join(text for text, _style in (*row.gutter, *row.body)) for row in drawn]
    share = next(line for line in lines if line.startswith("  orchestrator"))
    assert "$0.00 " in share and "2 calls" in share
    assert not {"━", "╸", "█"} & set(share)


def unreported(tape: streams.Tape, call: str) -> None:
    """A provider that reports no counts: the bound that was settled is above what the reply's own text counts."""
    usage = Usage(input_tokens=3_000, output_tokens=500, reported=False)
    tape.add(e.ModelReplied(call_id=call, role="orchestrator", model="p:b", usage=usage))
    tape.add(
        e.BudgetSpent(
            call_id=call, cost_usd=0.2, role="orchestrator", model="p:b", tokens=9_400, estimated=True,
            total_usd=0.5,
        )
    )  # fmt: skip


def test_one_screen_has_one_figure_of_tokens_and_of_calls_and_marks_what_is_estimated() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(task(1))
    tape.step = 1
    paid(tape, "m1", 0.1, model="p:a")
    unreported(tape, "m2")
    # One fails before it answers, one is answered from alita's own cache: neither makes another number of calls.
    tape.add(e.BudgetSpent(call_id="m3", cost_usd=0.0, role="orchestrator", model="p:a"))
    tape.add(e.ModelReplied(call_id="m4", role="orchestrator", model="p:a", cached=True))
    tape.add(
        e.BudgetSpent(
            call_id="m4", cost_usd=0.0, role="orchestrator", model="p:a", saved_usd=0.1, spared=True
        )
    )
    view = fold_all(tape.envelopes)
    sheet = _sheet(view)
    (total,) = (line for line in sheet.split("\n") if line.startswith("  tokens"))
    assert "~9,500, 3 calls" in total
    lines = sheet.split("\n")
    assert any(line.startswith("  orchestrator") and "3 calls, ~9,500 tokens" in line for line in lines)
    assert any(line.startswith("  p:b") and "1 call, ~9,400 tokens" in line for line in lines)
    assert any(line.startswith("  p:a") and "2 calls, 100 tokens" in line for line in lines)
    assert sheet.count("~ is estimated, on the high side: the provider reported no counts") == 1
    numbers = {int(found.replace(",", "")) for found in re.findall(r"([\d,]+) tokens", sheet)}
    assert max(numbers) == 9_500, "no table has more than the total"
    assert "3,000" not in sheet and "3,590" not in sheet


def test_where_all_was_reported_nothing_is_called_estimated_and_both_directions_add_up() -> None:
    sheet = _sheet(view_of(task(1), 1, ("m1", 0.25), ("m2", 0.25)))
    assert "200: 180 in, 20 out, 2 calls" in sheet
    assert "~" not in sheet and "estimated" not in sheet


def test_the_status_line_and_the_spend_screen_show_the_same_figure() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(task(1))
    unreported(tape, "m1")
    assert tokens_of(fold_all(tape.envelopes).spend) == "~9,400"


def test_the_days_mark_their_estimated_tokens_as_the_other_tables_do() -> None:
    view = view_of(task(1), 1, ("m1", 0.25))
    days = {
        "2026-11-19": DaySpend(usd=0.2, tokens=1_200),
        "2026-11-20": DaySpend(usd=0.2, tokens=9_400, estimated_tokens=400),
    }
    lines = [row.text for row in rows(view, days, "", 100)]
    assert any("  ~9,400 tokens" in line for line in lines)
    assert any("  1,200 tokens" in line for line in lines)
    assert lines[-1].startswith("~ is estimated")
    exact = [row.text for row in rows(view, {"2026-11-19": days["2026-11-19"]}, "", 100)]
    assert not any("~" in line for line in exact)
