"""Comparing two runs: the sentence says what the figures say, and the page shows text as text."""

from __future__ import annotations

import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from alita_tui.evaluation.agreement import Agreement
from alita_tui.evaluation.compare import compare, unknown_line, verdict
from alita_tui.evaluation.conditions import caveats, difference_line, differences, of_model
from alita_tui.evaluation.report import as_html
from alita_tui.evaluation.results import CaseResult, FailureKind, Setup, library_digest, lines, share
from tests.replay.browser import Page as Tab


def run(solved: list[list[bool]], usd: float = 0.01) -> list[CaseResult]:
    """A run by hand: for each case whether each repeat solved it."""
    return [
        CaseResult(
            case=f"case-{n:02}", model="m", turn=turn + 1, solved=good, usd=usd, steps=3, calls=3, runs=n % 2,
            failure="" if good else _WRONG,
        )
        for n, turns in enumerate(solved)
        for turn, good in enumerate(turns)
    ]  # fmt: skip


_WRONG: FailureKind = "wrong answer"


def test_a_seeded_fault_is_found_with_three_repeats() -> None:
    """A prompt that makes every third of twenty-four cases fail always."""
    luck = random.Random(3)
    good = [[luck.random() < 0.95 for _ in range(3)] for _ in range(24)]
    bad = [[False] * 3 if n % 3 == 0 else turns for n, turns in enumerate(good)]
    found = compare("A", "B", run(good), run(bad))
    (solved,) = [one for one in found.figures if one.name == "solved"]
    assert solved.paired.real and solved.paired.difference < -25
    assert verdict(found).startswith("B solves ") and "fewer than A" in verdict(found)
    assert found.failures == ((_WRONG, found.failures[0][1], found.failures[0][1] + 24 - _lost(good)),)
    assert {case for case, _, _ in found.changed} == {f"case-{n:02}" for n in range(0, 24, 3)}


def _lost(good: list[list[bool]]) -> int:
    return sum(not one for n, turns in enumerate(good) if n % 3 == 0 for one in turns)


def test_a_difference_in_a_few_cases_is_attributed_to_chance_with_the_reason() -> None:
    two = compare("A", "B", run([[True]] * 10), run([[False]] * 2 + [[True]] * 8))
    assert "may be chance" in verdict(two) and "add cases" in verdict(two)
    same = compare("A", "B", run([[True]] * 10), run([[True]] * 10))
    assert verdict(same) == "Both solved the same share, 100.0 % of 10 cases."
    none = compare("A", "B", run([[True]]), [])
    assert "no case in common" in verdict(none) and none.left_out == 1


def test_a_run_without_known_prices_is_not_called_cheaper() -> None:
    free = [CaseResult(case="case-00", model="m", turn=1, solved=True, unpriced=2)]
    found = compare("A", "B", run([[True]]), free)
    assert "cost" not in [one.name for one in found.figures]
    assert "cost (0 of 1)" in as_html(found, setup(), setup("b"))
    part = compare("A", "B", run([[True]] * 3), [*run([[True]] * 3)[1:], *free])
    assert "cost (2 of 3)" in unknown_line(part)
    assert "cost" not in unknown_line(compare("A", "B", run([[True]] * 2), run([[True]] * 2)))


def setup(run: str = "a", **more: Any) -> Setup:
    return replace(
        Setup(run=run, suite="s", suite_path="", suite_digest="0", models=("m:x",), planned=3), **more
    )


def judge(model: str) -> Agreement:
    return Agreement(judge=model, rubric="polite", examples=9, agreed=9, too_kind=0, too_strict=0, kappa=1.0)


def test_differing_conditions_of_two_runs_are_listed() -> None:
    assert difference_line(differences(setup(), setup("b", started_at="later"))) == (
        "Nothing that is on record differs between them."
    )
    other = setup("b", models=("m:y",), prompts={"agent/x.md": "1" * 64}, settings={"tasks.steps": "\u202e9"})
    said = difference_line(differences(setup(prompts={"agent/x.md": "0" * 64}), other))
    assert "model (m:x, then m:y)" in said and "prompt agent/x.md" in said and "1111" not in said
    assert "setting tasks.steps (default, then" in said and "\u202e" not in said


def test_a_list_setting_is_put_into_words() -> None:
    hosts = {"web.hosts": "('custom:one; two', 'b.example')", "web.one": "('a',)", "web.none": "()"}
    said = difference_line(differences(setup(), setup("b", settings=hosts)))
    assert "setting web.hosts (default, then custom:one; two, b.example)" in said
    assert "setting web.one (default, then a)" in said and "setting web.none (default, then none)" in said
    odd = {"a": "(no list)", "b": "(" * 5_000 + ")", "c": "(1)", "d": "()()"}
    said = difference_line(differences(setup(), setup("b", settings=odd)))
    assert "setting a (default, then (no list))" in said and "setting c (default, then (1))" in said


def test_an_empty_library_and_a_whole_suite_are_put_into_words() -> None:
    old, now = setup(), setup("b", library_digest=library_digest(()))
    assert not differences(old, now), "older versions left the digest of an empty library out"
    told = difference_line(differences(now, setup(library_digest=library_digest([("a", "b")]), cases=30)))
    assert "library digest (no tools, then " in told and "cases (all, then 30)" in told


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (setup(), setup("b", models=("m:y",)), True),
        (
            setup(),
            setup("b", models=("m:y",), settings={"roles.orchestrator": "m:y", "model.name": "y"}),
            True,
        ),
        (setup(prompts={"p": "0"}), setup("b", version="9", prompts={"p": "1", "q": "2"}), True),
        (setup(), setup("b", models=("m:y",), prompts={"p": "1"}), False),
        (setup(), setup("b", settings={"tasks.steps": "9", "budget.plans": "1"}), False),
        (setup(), setup("b", approve="policy", without=("memory",)), False),
    ],
)
def test_more_than_one_change_causes_a_warning(first: Setup, second: Setup, alike: bool) -> None:
    results = run([[True]] * 3)
    said = caveats(first, second, results, results)
    assert [one.startswith("More than one") for one in said] == ([] if alike else [True])


def test_unfinished_cases_other_judges_and_comparing_a_run_with_itself_cause_warnings() -> None:
    whole, part = run([[True]] * 3), run([[True]] * 2)
    (said,) = caveats(setup(), setup("b"), whole, part)
    assert said.startswith("1 case of 3 of the second run has not ended")
    assert caveats(setup(planned=0), setup("b", planned=0), whole, part) == (), (
        "older runs did not count them"
    )
    both = of_model(setup("b", models=("m:x", "m:y"), planned=6), "m:y")
    assert caveats(setup(models=("m:y",)), both, whole, whole) == (), "each model did three of the six"
    (said,) = caveats(setup(), setup("b"), whole, whole, (judge("m:j"),), (judge("m:k"),))
    assert "judged the rubric" in said
    assert caveats(setup(), setup("b"), whole, whole, (judge("m:j"),), (judge("m:j"),)) == ()
    assert caveats(setup(), setup(), whole, whole) == ("Both sides are the same run with the same model.",)
    page = as_html(compare("A", "B", whole, part), setup(), setup("b"), caveats=("<b>1 case</b>",))
    assert "&lt;b&gt;1 case" in page and "Nothing that is on record differs" in page


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        assert not {"src", "href", "style"} & {*given}, "nothing is fetched"


def test_the_page_is_self_contained_and_shows_hostile_text_as_text() -> None:
    hostile = "<script>alert(1)</script>\u202e\x1b[31m"
    before, after = run([[True]] * 3), run([[False]] * 3)
    before, after = ([_renamed(one, hostile) for one in side] for side in (before, after))
    setup = Setup(
        run=hostile, suite=hostile, suite_path="", suite_digest="0", models=("m",), settings={"a": hostile}
    )
    other = Setup(run="b", suite="s", suite_path="", suite_digest="0", models=("m",))
    judge = Agreement(
        judge="m:x", rubric=hostile, examples=9, agreed=7, too_kind=2, too_strict=0, kappa=0.571
    )
    text = as_html(compare(hostile, "B", before, after), setup, other, (judge,))
    assert "Judge of the first run: m:x agrees with 7 of 9" in text and "too little to rely on" in text
    page = Page()
    page.feed(text)
    assert "script" not in page.tags and "svg" in page.tags
    assert page.policy.startswith("default-src 'none'")
    assert "\u202e" not in text and "\x1b" not in text
    assert "http://" not in text and "https://" not in text


def _renamed(one: CaseResult, name: str) -> CaseResult:
    return replace(one, case=one.case + name)


def test_truncated_lines_and_repeated_cases_are_ignored() -> None:
    import msgspec

    raw = msgspec.json.encode(CaseResult(case="a", model="m", turn=1, solved=True, usd=1.0))
    other = msgspec.json.encode(CaseResult(case="a", model="m", turn=1, usd=9.0))
    found = lines(raw + b"\n" + other + b"\n" + raw[:20])
    assert [(one.case, one.usd) for one in found] == [("a", 1.0)] and share(found) == 1


_NARROW = "done => { const see = () => innerWidth === 400 ? done(1) : requestAnimationFrame(see); see() }"


def test_the_page_makes_no_requests_in_a_browser_and_shows_its_charts(tmp_path: Path) -> None:
    """In a real browser whose resolver knows nobody: hostile names are text, every chart has a size, nothing overlaps."""
    hostile = "<img src=https://evil.example/x onerror=alert(1)>"
    before = [_renamed(one, hostile) for one in run([[True]] * 8)]
    after = [_renamed(one, hostile) for one in run([[False]] * 6 + [[True]] * 2)]
    setup = Setup(
        run="a", suite=hostile, suite_path="", suite_digest="0", models=("m",), settings={"a": hostile}
    )
    other = Setup(run="b", suite="s", suite_path="", suite_digest="0", models=("m",))
    path = tmp_path / "page.html"
    path.write_text(as_html(compare("A", "B", before, after), setup, other), "utf-8")
    tab = Tab(path)
    try:
        assert tab.requests() == [] and tab.complaints() == []
        assert tab.value("document.images.length") == 0 and hostile in tab.value("document.body.innerText")
        assert "75.0 points fewer" in tab.value("document.querySelector('.verdict').innerText")
        sizes = tab.value(
            "[...document.querySelectorAll('svg')].map(one => one.getBoundingClientRect().width)"
        )
        assert len(sizes) >= 3 and min(sizes) > 50, "a chart for each figure and each kind of failure"
        assert tab.value("document.documentElement.scrollWidth <= window.innerWidth"), "it fits the window"
        tab.ask(
            "Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=False
        )
        tab.value(f"new Promise({_NARROW})")
        assert tab.value("document.documentElement.scrollWidth <= window.innerWidth"), "a phone's, too"
        narrowest = "Math.min(...[...document.querySelectorAll('th')].filter(o => o.innerText).map(o => o.clientHeight))"
        tallest = narrowest.replace("min", "max")
        assert tab.value(tallest) < 2 * tab.value(narrowest), "no heading is broken into letters"
    finally:
        tab.close()
