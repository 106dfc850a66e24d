"""Gates on the review: a line each, what failed among the risks, a skip never as a pass."""

from __future__ import annotations

import msgspec
import streams

from alita_tui.console.widgets.evidence import gates, risk
from alita_tui.spine.values import GateResult, GateRow
from alita_tui.view.fold import fold_all
from alita_tui.view.model import Attempt, BuildView
from alita_tui.view.risk import risks, serious

PASSED = GateResult(gate="contract", state="passed", summary="all fit")
SKIPPED = GateResult(gate="hidden", state="skipped", summary="no separate call wrote tests")
WEAK = GateResult(gate="mutation", state="failed", summary="the tests catch 1 of 4 mutants")
REACHES = GateResult(
    gate="capabilities",
    state="failed",
    summary="it uses what it does not declare: network",
    rows=(GateRow(label="network", text="▲ UNDECLARED (a:1\u202e)", tone="bad"), GateRow(label="reads", text="no", tone="good")),
)  # fmt: skip


def seen(*found: GateResult) -> tuple[BuildView, Attempt]:
    build = fold_all(streams.waiting()).builds[-1]
    attempt = msgspec.structs.replace(build.attempts[-1], gates=found)
    return msgspec.structs.replace(build, attempts=(attempt,)), attempt


def text(rows: object) -> str:
    return "\n".join(str(row) for row in rows)  # type: ignore[attr-defined]


def test_each_gate_has_its_line_and_what_speaks_against_it_below() -> None:
    said = text(gates(seen(PASSED, REACHES, SKIPPED)[1]))
    assert "Contract" in said and "all fit" in said
    assert "failed: it uses what it does not declare: network" in said
    assert "UNDECLARED" in said and "\u202e" not in said and "reads" not in said
    assert "could not run: no separate call wrote tests" in said


def test_a_build_that_no_gate_looked_at_says_nothing_of_gates() -> None:
    assert gates(seen()[1]) == []


def test_undeclared_use_takes_typing_the_name_and_a_skip_is_told() -> None:
    build, attempt = seen(PASSED, WEAK, SKIPPED)
    calm = [one.text for one in risks(*seen(PASSED))]
    added = [one for one in risks(build, attempt) if one.text not in calm]
    assert [one.serious for one in added] == [False, False]
    assert any("Hidden tests could not run" in one.text for one in added)
    assert "Hidden tests could not run" in text(risk(build, attempt))
    assert serious(*seen(PASSED, WEAK, SKIPPED)) == serious(*seen())
    assert serious(*seen(REACHES))
