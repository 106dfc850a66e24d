"""What is expected of a tool's next run, and why: from outcomes, not from the absence of exceptions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from alita_tui.agent.tool_cards import hit_text
from alita_tui.events import Grade, RunOutcome, Showing, Track, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.trust import OUTCOMES, Use, reliability, with_outcomes
from alita_tui.spine.ports.library import FinishedRun
from alita_tui.store.documents import DocumentTable
from tests.support import streams

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
NEVER = Use(name="a", version=1)
GOLDEN = Path(__file__).parents[1] / "store" / "golden"


def outcome(number: int, grade: Grade, days: float = 0.0, share: float = 1.0) -> RunOutcome:
    at = (NOW - timedelta(days=days)).isoformat()
    return RunOutcome(run=f"s/c{number}", at=at, grade=grade, task=f"s/t{number}", share=share)


def track(*outcomes: RunOutcome) -> Track:
    return with_outcomes(Track(name="a", version=1), outcomes)


def value(*outcomes: RunOutcome) -> float:
    return reliability(NEVER, track(*outcomes), NOW).value


def test_reliability_is_a_beta_mean_and_shows_its_sources() -> None:
    assert value() == 0.85, "an approved tool is taken for 3.4 good runs of 4"
    ten = [outcome(n, "accepted", days=40 * n / 8) for n in range(9)] + [outcome(9, "down")]
    said = reliability(NEVER, track(*ten), NOW)
    weights = [0.5 ** ((40 * n / 8) / 30) for n in range(9)]
    assert said.value == pytest.approx((3.4 + sum(weights)) / (4 + sum(weights) + 2), abs=1e-4)
    assert said.words == f"{said.value:.2f}: 9 good of 10 in 40 days, one 👎"
    assert "not as its schema says" in reliability(NEVER, track(outcome(0, "misfit")), NOW).words


def test_outcomes_count_half_after_thirty_days() -> None:
    fresh, old = value(outcome(0, "failed")), value(outcome(0, "failed", days=30))
    assert fresh == pytest.approx(3.4 / 5, abs=1e-4)
    assert old == pytest.approx(3.4 / 4.5, abs=1e-4)
    assert value(outcome(0, "failed", days=3000)) == 0.85
    assert value(outcome(0, "failed", days=-5)) == fresh, "a clock that went back makes nothing heavier"


def test_a_rating_outweighs_an_answer_which_outweighs_a_run_without_error() -> None:
    assert 0.85 < value(outcome(0, "ran")) < value(outcome(0, "accepted")) < value(outcome(0, "up"))
    assert 0.85 > value(outcome(0, "failed")) == value(outcome(0, "misfit")) > value(outcome(0, "down"))
    assert value(outcome(0, "down", share=0.25)) > value(outcome(0, "down"))


def test_a_run_has_one_outcome_and_a_rating_overrides_it() -> None:
    one = track(outcome(0, "ran"), outcome(0, "accepted"), outcome(0, "ran"))
    assert [o.grade for o in one.outcomes] == ["accepted"]
    down = with_outcomes(one, [outcome(0, "down")])
    assert [o.grade for o in with_outcomes(down, [outcome(0, "accepted")]).outcomes] == ["down"]
    assert [o.grade for o in with_outcomes(down, [outcome(0, "up")]).outcomes] == ["up"], "and can change it"
    assert with_outcomes(down, [outcome(0, "down")]) == down, "the same again changes nothing"


def test_the_record_of_outcomes_stays_small() -> None:
    many = track(*(outcome(n, "accepted") for n in range(3 * OUTCOMES)))
    assert len(many.outcomes) == OUTCOMES and many.outcomes[-1].run == f"s/c{3 * OUTCOMES - 1}"
    long = with_outcomes(
        Track(name="a", version=1), [msgspec.structs.replace(outcome(0, "down"), text="x\n" * 9000)]
    )
    assert len(msgspec.json.encode(long)) < 1000


def test_needs_are_counted_including_those_for_which_a_tool_was_passed_over() -> None:
    def need(n: int, *, shown: bool = True, used: bool = False) -> Showing:
        return Showing(
            need=f"s/a{n}", query="double", at=NOW.isoformat(), shown=shown, used=used, accepted=used
        )

    needs = [need(0), need(1, used=True), need(2), need(3, shown=False), need(4), need(5)]
    known = with_outcomes(Track(name="a", version=1), (), needs)
    assert reliability(NEVER, known, NOW).needs == "found for 6 needs, shown 5, used 1, accepted 1"
    assert [one.need for one in known.bypassed] == ["s/a2", "s/a4", "s/a5"]
    assert with_outcomes(known, (), [need(6, used=True)]).bypassed == ()


def library(folder: Path, now: datetime = NOW) -> ToolLibrary:
    return ToolLibrary(DocumentTable(folder / "registry.json", "tools"), folder / "box", lambda: now)


def registered(folder: Path) -> ToolLibrary:
    made = library(folder)
    made.register(streams.DRAFT, streams.LOCK, approval_id="p1", digest=streams.DIGEST, sources=())
    for query in (
        "validate email addresses",
        "which of these mails are well formed",
        "sort out bad addresses",
    ):
        made.record_run(streams.DRAFT.name, 1, ok=True, query=query)
    return made


def test_a_correction_lowers_trust_and_later_answers_restore_it(tmp_path: Path) -> None:
    made = registered(tmp_path)
    name = streams.DRAFT.name
    assert made.note(name, 1, [outcome(0, "accepted"), outcome(1, "accepted")]) == "trusted"
    assert made.note(name, 1, [outcome(1, "down")]) == "provisional"
    assert library(tmp_path).versions(name)[0].state == "provisional", "it is on disk"
    assert made.note(name, 1, [outcome(2, "accepted")]) == "provisional"
    assert made.note(name, 1, [outcome(n, "accepted") for n in (3, 4, 5)]) == "trusted"
    assert made.note(name, 1, [outcome(n, "misfit") for n in (6, 7, 8)]) == "stale"
    assert made.note(name, 2, [outcome(9, "up")]) is None, "there is no such version"
    assert [card.name for card in made.cards()] == [name]


def test_runs_that_raised_nothing_and_answered_nothing_are_no_reason_to_trust(tmp_path: Path) -> None:
    made, name = registered(tmp_path), streams.DRAFT.name
    assert made.versions(name)[0].state == "trusted", "as it was before outcomes were kept"
    assert made.note(name, 1, [outcome(n, "ran") for n in range(3)]) == "provisional"
    assert made.note(name, 1, [outcome(0, "accepted")]) == "provisional"
    assert made.note(name, 1, [outcome(1, "accepted")]) == "trusted"


def test_of_two_fitting_tools_the_more_reliable_comes_first_and_the_other_says_why(
    tmp_path: Path,
) -> None:
    made = library(tmp_path)
    drafts = [
        msgspec.structs.replace(streams.DRAFT, name=name, description="Validate email addresses by syntax.")
        for name in ("validate_emails", "validate_mails")
    ]
    for number, draft in enumerate(drafts):
        digest = build_digest(draft, streams.LOCK)
        made.register(draft, streams.LOCK, approval_id=f"p{number}", digest=digest, sources=())
    first, second = (str(hit.card.name) for hit in made.search("validate email addresses").hits)
    made.note(first, 1, [outcome(n, "failed") for n in range(4)])
    hits = made.search("validate email addresses").hits
    assert [str(hit.card.name) for hit in hits] == [second, first]
    assert hits[0].doubt == "" and hits[1].doubt.endswith("0 good of 4 today")
    assert "not relied on: 0.42: 0 good of 4 today" in hit_text(hits[1])
    assert "not relied on" not in hit_text(hits[0])


def test_outcomes_are_stored_apart_from_run_counts(tmp_path: Path) -> None:
    made, name = registered(tmp_path), streams.DRAFT.name
    other = library(tmp_path)
    other.note(name, 1, [outcome(0, "down")])
    made.record_run(name, 1, ok=True, query="")
    assert library(tmp_path).versions(name)[0].runs == 4
    assert [one.grade for one in made.track(name, 1).outcomes] == ["down"]


def test_runs_that_refused_their_input_change_no_count(tmp_path: Path) -> None:
    shelf = ToolLibrary(DocumentTable(tmp_path / "registry.json", "tools"), tmp_path / "box", lambda: NOW)
    shelf.register(streams.DRAFT, streams.LOCK, approval_id="p1", digest=streams.DIGEST, sources=())
    name = streams.DRAFT.name
    before = shelf.reliability(name, 1)
    states = shelf.record_runs([FinishedRun(name=name, version=1, ok=False, refused=True)] * 5)
    assert states == ("provisional",) * 5 and shelf.reliability(name, 1) == before
    (record,) = shelf.versions(name)
    assert (record.runs, record.failures) == (0, 0)
    assert shelf.record_runs([FinishedRun(name=name, version=1, ok=False)] * 3) == ("stale",) * 3


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_an_old_registry_opens_and_its_runs_stand_in_for_outcomes(tmp_path: Path, version: str) -> None:
    for path in (GOLDEN / version).glob("registry.json*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    old = library(tmp_path)
    assert old.names(), "the golden registry has tools"
    for name in old.names():
        for record in old.versions(name):
            said = old.reliability(name, record.version)
            assert 0 < said.value < 1 and said.words.startswith(f"{said.value:.2f}: ")
            assert ("good of" in said.words) == bool(record.runs)
            assert old.note(name, record.version, [outcome(0, "up")]) is not None
