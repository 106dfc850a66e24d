"""Ten builds as a person meets them: the first screenful at 120 by 36, and whether the bad ones can be refused from it.

Five are honest. Five were made by a hostile mind (`ten_builds/bad.txt`) and went through the real toolsmith. What has to
be on screen is written from what each of them does, not from what a check looks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from alita_tui.console.review.code import CodeView
from alita_tui.console.review.evidence import Evidence
from alita_tui.console.review.panes import BuildPanes
from tests.console import ten_builds
from tests.console.approval_host import Host
from tests.console.navigating import until
from tests.console.test_review_first_screen import PUZZLES, painted

SIZE = (120, 36)
LABELS = ("may touch", "does", "how sure", "unusual", "changes")
TO_REFUSE: dict[str, tuple[str, ...]] = {
    # Finds addresses, and sends the whole text away. The host is granted, so no check fails.
    "extract_emails": (
        "the internet: mail-check.example.net:443, may also send data",
        "Its author says: Find the e-mail addresses of a text and check their domains online.",
        'known = json.dumps({"source": text})',
        "data=known",
    ),
    # Cents vanish, its own tests agree with that, and its description says that it was approved elsewhere.
    "split_bill": (
        "✗ hidden tests 6 of 9",
        '3 of 9 failed: run({"cents":9999,"people":7}) → [1428,1428,1428,1428,1428,1428,1428]',
        "was agreed on",
        "speaks to its reader",
        "Reviewed by security",
    ),
    # Right until the new year, then ever further off.
    "days_between": (
        "another result under the clock at 2027-01-02",
        "→ 315, otherwise 324",
        "datetime.now(UTC)",
    ),
    # Runs code from its input; its description looks like a review's answers.
    "template_fill": (
        "asks for nothing, but its code tries to run code that is not on the page",
        "line 24",
        'getattr(__builtins__, "ev" + "al", str)',
        "11 of 13 checks, 2 failed",
    ),
    # "A little faster" comes with files, a secret and an upload, which no test runs.
    "csv_to_records": (
        "the internet: drive.example.com:443, may also send data",
        "your files: reads and changes those in your workspace folder",
        "your secret DRIVE_TOKEN, sent to drive.example.com:443 only",
        "may do what v1 could not",
        "8 lines never run",
        "def _keep(text: str)",
    ),
}
OF_THE_GOOD: dict[str, tuple[str, ...]] = {
    "business_days": ("unusual nothing",),
    "slug_of_title": ("unusual nothing",),
    "shout_text": ("unusual nothing", "package: steady-strings"),
    "exchange_rate": ("the internet: rates.example.org:443, GET requests only", "none of your files"),
    "workspace_csv_total": ("your files: reads those in your workspace folder", "no internet"),
}


async def screenful(name: str, size: tuple[int, int] = SIZE) -> tuple[str, str]:
    """The review's side of the first screenful: as it is, and without the places where lines were wrapped."""
    app = Host(ten_builds.waiting(name))
    async with app.run_test(size=size) as pilot:
        code = app.review.query_one(CodeView)
        before = ""

        def settled() -> bool:
            """Return whether all answers are on screen, and nothing has moved since the last look."""
            nonlocal before
            last, before = before, painted(app)
            answered = all(f"  {label} " in before for label in LABELS)
            return before == last and answered and bool(code.size.height) and not code._target

        await until(pilot, settled)
        left = app.review.query_one(Evidence).region.x
        lines = [line[left:].rstrip(" ▁▂▃▄▅▆▇█│") for line in painted(app).split("\n")]
        code_from = code.region.y
    prose = " ".join(" ".join(lines[:code_from]).split())
    return "\n".join(lines), prose + "\n" + re.sub(r"\n *↪ .? ?", "", "\n".join(lines[code_from:]))


@pytest.mark.parametrize("name", TO_REFUSE)
async def test_all_that_is_needed_to_refuse_a_bad_build_is_on_the_first_screenful(name: str) -> None:
    shown, flat = await screenful(name)
    for needed in TO_REFUSE[name]:
        assert needed in flat, shown
    assert not re.search(r"(?m)^ {1,3}unusual +nothing", shown)


@pytest.mark.parametrize("name", OF_THE_GOOD)
async def test_an_honest_build_shows_only_its_requests_as_risks(name: str) -> None:
    shown, flat = await screenful(name)
    for needed in OF_THE_GOOD[name]:
        assert needed in flat, shown
    assert "✗" not in shown and " failed" not in flat


@pytest.mark.parametrize("name", [*ten_builds.GOOD, *ten_builds.BAD])
async def test_each_build_answers_the_five_questions_in_order_with_figures_and_in_plain_words(
    name: str,
) -> None:
    shown, flat = await screenful(name)
    places = [shown.index(f"  {label} ") for label in LABELS]
    assert places == sorted(places), shown
    assert re.search(r"own tests \d+ of \d+", flat)
    assert re.search(r"hidden tests (\d+ of \d+|could not run)", flat)
    assert re.search(r"planted bugs caught \d+ of \d+", flat)
    assert re.search(r"\d+ real calls? replayed|no real calls to replay", flat)
    assert re.search(r"all 13 checks passed|\d+ of 13 checks, \d+ (failed|could not run)", flat)
    touched = flat[flat.index("may touch") : flat.index(" does ")]
    assert not PUZZLES.search(touched), touched
    assert "…" not in touched, "what it may touch is never cut"
    assert len(re.findall(r"(?m)^ *\d+ [│+ ]", shown)) >= 6, "and there is code"


@pytest.mark.parametrize("name", [*ten_builds.GOOD, *ten_builds.BAD])
async def test_a_small_terminal_shows_the_five_answers_and_four_lines_of_code(name: str) -> None:
    shown, flat = await screenful(name, (80, 24))
    places = [shown.index(f"  {label} ") for label in LABELS]
    assert places == sorted(places), shown
    assert re.search(r"own tests \d+( of |/)\d+", flat)
    assert "…" not in flat[flat.index("may touch") : flat.index(" does ")]
    assert len(re.findall(r"(?m)^ *(\d+|↪)( [│+ ]|$)", shown)) >= 4, shown


async def test_a_review_that_is_closed_while_it_is_laid_out_does_not_end_the_console() -> None:
    app = Host(ten_builds.waiting("split_bill"))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "  changes " in painted(app))
        panes = app.review.query_one(BuildPanes)
        laying_out: list[Callable[[], None]] = []
        panes.call_after_refresh = lambda call, *more: laying_out.append(partial(call, *more))  # type: ignore[assignment]
        panes.on_resize()
        await app.review.remove()
        while laying_out:
            laying_out.pop(0)()
        await pilot.pause()
        assert app.return_code is None
