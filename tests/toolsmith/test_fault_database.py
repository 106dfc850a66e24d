"""One fault database that does not answer is accepted once in a session: said each time, weighed once."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui.app.verdicts import FaultsUnknown
from alita_tui.events import GateResult, Verdict
from alita_tui.spine.ports.web import PackageFacts
from alita_tui.state.build import Attempt, BuildState
from alita_tui.toolsmith.checks.requirements import RequirementsCheck
from alita_tui.toolsmith.checks.runner import run_check
from alita_tui.view.fold import fold_all
from alita_tui.view.policy import Rule, unmet_conditions
from alita_tui.view.risk import names_to_accept, risks
from tests.console.gate_states import every
from tests.support import streams
from tests.toolsmith.requirements import NOW, OLD, Book, Told, needing

AWAY = "error sending request for url; connection refused; as was accepted with everything"
NAME = ("faults-unknown",)


def seen(found: GateResult) -> tuple[BuildState, Attempt]:
    build = fold_all(streams.waiting()).builds[-1]
    attempt = msgspec.structs.replace(build.attempts[-1], gates=every(found))
    return msgspec.structs.replace(build, attempts=(attempt,)), attempt


async def looked(accepted: FaultsUnknown, facts: PackageFacts | None = OLD, *faults: str) -> GateResult:
    index = Told(requests=facts) if facts else Told()
    book = Book(*faults) if faults else Book(problem=AWAY)
    return await run_check(RequirementsCheck(index, book, lambda: NOW, accepted), needing("requests"))


async def test_an_unreachable_database_is_accepted_by_name_once_and_reported_each_time() -> None:
    accepted = FaultsUnknown()
    first = seen(await looked(accepted))
    assert names_to_accept(risks(*first)) == NAME
    accepted.note("fetch_rates", Verdict(decision="approved", accepted=names_to_accept(risks(*first))))
    second = seen(await looked(accepted))
    assert names_to_accept(risks(*second)) == (), "no name is typed again"
    (told,) = risks(*second)
    assert "known faults could not be looked up, as was accepted with fetch_rates" in told.text
    assert second[1].gates[0].state == "skipped" or any(one.state == "skipped" for one in second[1].gates)


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(decision="approved"),
        Verdict(decision="approved", accepted=("not-checked",)),
        Verdict(decision="rejected", accepted=NAME),
        Verdict(decision="retested", accepted=NAME),
    ],
)
async def test_only_an_approval_that_names_the_missing_answer_carries_over(verdict: Verdict) -> None:
    accepted = FaultsUnknown()
    accepted.note("fetch_rates", verdict)
    assert names_to_accept(risks(*seen(await looked(accepted)))) == NAME


async def test_an_accepted_missing_answer_hides_no_known_fault_or_unknown_package() -> None:
    accepted = FaultsUnknown()
    accepted.note("fetch_rates", Verdict(decision="approved", accepted=NAME))
    known = await looked(accepted, OLD, "PYSEC-2018-28")
    assert known.state == "failed" and "PYSEC-2018-28" in known.summary
    dark = await looked(accepted, None)
    assert names_to_accept(risks(*seen(dark))) == ("not-checked",), "that its age is open was never accepted"
    assert "did not tell of requests" in dark.summary and "could not be looked up" in dark.summary


async def test_no_rule_approves_a_build_with_a_missing_answer() -> None:
    accepted = FaultsUnknown()
    accepted.note("fetch_rates", Verdict(decision="approved", accepted=NAME))
    build, attempt = seen(await looked(accepted))
    rule = Rule(name="calm", requirements="known", max_lines=500)
    refused = unmet_conditions(rule, build, attempt, (), NOW.date())
    assert any("could not be looked up" in one for one in refused)
    assert any("Requirements has not passed (skipped)" in one for one in refused)


def test_another_check_with_similar_words_is_not_accepted_by_that_name() -> None:
    summary = "the known faults could not be looked up, as was accepted with fetch_rates: it broke off"
    odd = GateResult(gate="requirements", state="skipped", summary=summary)
    assert names_to_accept(risks(*seen(odd))) == ("not-checked",)
