"""What gates found, on the build that they looked at."""

from __future__ import annotations

from alita_tui import events as e
from alita_tui.events import GateName, GateResult, GateRow
from alita_tui.events.build import CHECKS
from alita_tui.view.fold import fold_all
from alita_tui.view.trace import rows_for
from tests.support import streams


def looked(gate: GateName, state: str = "passed", summary: str = "fine", **more: object) -> e.GateChecked:
    found = GateResult(gate=gate, state=state, summary=summary, **more)  # type: ignore[arg-type]
    return e.GateChecked(build_id=e.BuildId("b1"), attempt=1, digest=streams.DRAFT.digest, result=found)


def tape(*facts: e.GateChecked) -> streams.Tape:
    made = streams.Tape()
    streams.opened(made)
    streams.until_approval(made)
    for one in facts:
        made.add(one, span="b1")
    return made


def test_checks_are_shown_in_one_order_and_the_newest_result_counts() -> None:
    view = fold_all(
        tape(looked("hidden", "skipped"), looked("mutation"), looked("contract"), looked("hidden")).envelopes
    )
    attempt = view.builds[-1].attempts[-1]
    assert [(one.gate, one.state) for one in attempt.gates] == [
        ("contract", "passed"),
        ("mutation", "passed"),
        ("hidden", "passed"),
    ]


def test_the_trace_shows_findings_and_never_calls_a_skip_a_pass() -> None:
    weak = GateRow(label="line 3", text="< became >=: no test noticed", tone="warn")
    facts = (looked("mutation", "failed", "1 of 4", rows=(weak,)), looked("hidden", "skipped", "no model"))
    failed, skipped = (rows_for(one)[0] for one in tape(*facts).envelopes[-2:])
    assert (str(failed.title), failed.tone) == ("Planted bugs failed: 1 of 4", "warn")
    assert "no test noticed" in str(failed.detail)
    assert (str(skipped.title), skipped.tone) == ("Hidden tests could not run: no model", "muted")


def test_every_check_has_a_name_on_screen() -> None:
    from typing import get_args

    assert set(CHECKS) == set(get_args(GateName))
