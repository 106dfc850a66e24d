"""Gates on the review: a line each, what failed among the risks, a skip never as a pass."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui.console.review.evidence import gates, requirements, risk
from alita_tui.events import (
    Capabilities,
    Finding,
    GateName,
    GateResult,
    GateRow,
    Lock,
    LockedPackage,
)
from alita_tui.events.build import CHECKS
from alita_tui.state.build import Attempt, BuildState
from alita_tui.state.rows import Rows
from alita_tui.view.fold import fold_all
from alita_tui.view.risk import names_to_accept, risks
from alita_tui.view.verdict_evidence import evidence
from tests.console.approval_cases import calm
from tests.console.approval_host import Host
from tests.console.gate_states import every
from tests.support import streams
from tests.support.viewing import with_

PASSED = GateResult(gate="contract", state="passed", summary="all fit")
SKIPPED = GateResult(gate="hidden", state="skipped", summary="no separate call wrote tests")
WEAK = GateResult(gate="mutation", state="failed", summary="the tests catch 1 of 4 mutants")
REACHES = GateResult(
    gate="capabilities",
    state="failed",
    summary="it uses what it does not declare: network",
    rows=(GateRow(label="network", text="▲ UNDECLARED (a:1\u202e)", tone="bad"), GateRow(label="reads", text="no", tone="good")),
)  # fmt: skip


def seen(*found: GateResult) -> tuple[BuildState, Attempt]:
    build = fold_all(streams.waiting()).builds[-1]
    attempt = msgspec.structs.replace(build.attempts[-1], gates=found)
    return msgspec.structs.replace(build, attempts=(attempt,)), attempt


def text(rows: object) -> str:
    return "\n".join(str(row) for row in rows)  # type: ignore[attr-defined]


def test_each_check_has_a_line_with_its_findings_below() -> None:
    said = text(gates(seen(PASSED, REACHES, SKIPPED)[1]))
    assert "Contract" in said and "all fit" in said
    assert "failed: it uses what it does not declare: network" in said
    assert "UNDECLARED" in said and "\u202e" not in said and "reads" not in said
    assert "could not run: no separate call wrote tests" in said


def test_a_recording_without_checks_shows_each_as_missing_and_is_not_green() -> None:
    build, attempt = seen()
    said = text(gates(attempt))
    assert all(label.title in said for label in CHECKS.values())
    assert said.count("not run, or not on record") == len(CHECKS) and "●" not in said
    (told,) = risks(build, attempt)
    assert told.serious and all(label.title in told.text for label in CHECKS.values())
    shown = text(risk(build, attempt))
    assert "1 risk to accept by name" in shown and "Nothing unusual" not in shown
    assert [line for line in evidence(build) if line.endswith("not run")] == [
        f"{label.title.lower()}: not run" for label in CHECKS.values()
    ]


@pytest.mark.parametrize("gone", CHECKS)
def test_one_missing_check_makes_a_build_not_green(gone: GateName) -> None:
    build, attempt = seen(*(one for one in every() if one.gate != gone))
    assert attempt.unchecked == (gone,)
    (told,) = risks(build, attempt)
    assert told.name == "not-checked" and CHECKS[gone].title in told.text
    assert text(gates(attempt)).count("not run, or not on record") == 1


def test_a_build_is_green_only_if_every_check_passed() -> None:
    assert risks(*seen(*every())) == ()
    assert "Nothing unusual" in text(risk(*seen(*every())))
    for odd in (WEAK, SKIPPED, REACHES):
        build, attempt = seen(*every(odd))
        (told,) = risks(build, attempt)
        assert told.serious and odd.summary in told.text
    assert "Hidden tests could not run" in text(risk(*seen(*every(SKIPPED))))


def test_the_worst_risk_is_first_and_no_notice_before_a_serious_one() -> None:
    unlike = GateResult(gate="hidden", state="failed", summary="2 of 8 failed")
    unrun = GateResult(gate="coverage", state="failed", summary="never run: 12")
    build, attempt = seen(*every(unrun, unlike, WEAK))
    findings = (
        Finding(severity="medium", rule="ast/introspection", text="reads its own frames"),
        Finding(severity="high", rule="ast/clock", text="asks for the time"),
    )
    reach = Capabilities(network=("a.example:443",))
    attempt = msgspec.structs.replace(
        attempt, findings=findings, draft=msgspec.structs.replace(attempt.draft, capabilities=reach)
    )
    ranked = risks(build, attempt)
    assert [each.serious for each in ranked] == [True] * (len(ranked) - 1) + [False]
    assert [each.name for each in ranked] == [
        "other-bytes", "hidden-tests", "never-run", "weak-tests", "clock", "network", "introspects"
    ]  # fmt: skip


@pytest.mark.parametrize("left", [(), every(SKIPPED), every(WEAK), every()[1:]])
async def test_a_build_that_is_not_green_is_not_approved_with_one_key(left: tuple[GateResult, ...]) -> None:
    view = calm()
    attempt = msgspec.structs.replace(view.builds[-1].attempts[-1], gates=left)
    changed = msgspec.structs.replace(view.builds[-1], attempts=(attempt,))
    app = Host(with_(view, builds=Rows[BuildState]().append(changed)))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        await pilot.press("a")
        await pilot.pause()
        assert app.decided == [] and app.review.bar.mode == "name"
        await pilot.press(*app.typed)
        await pilot.pause()
        await pilot.press("a")
        await pilot.pause()
        assert [one.verdict.decision for one in app.decided] == ["approved"]
        assert app.decided[0].verdict.accepted == names_to_accept(risks(changed, attempt))


def test_packages_of_npm_are_distinguished_from_wheels_and_withdrawn_ones_are_named() -> None:
    attempt = fold_all(streams.waiting()).builds[-1].attempts[-1]
    low = LockedPackage(
        name="npm:low",
        version="1.0.0",
        hashes=("sha512-" + "A" * 86 + "==",),
        place="node_modules/low",
        deprecated="Use [b]x[/b].",
    )
    named = msgspec.structs.replace(
        low, name="npm:@in/zod", place="node_modules/@in/zod", direct=True, deprecated=""
    )
    shown = msgspec.structs.replace(attempt, lock=Lock(packages=(low, named)))
    lines = ["".join(piece[0] for piece in row.body) for row in requirements(shown)]
    (first, second) = lines[-2:]
    assert first.split() == ["npm:@in/zod", "1.0.0", "AAAAAAAAAAAA…", "named"]
    assert second.startswith("npm:low 1.0.0") and second.endswith("withdrawn by its authors · pulled in")
