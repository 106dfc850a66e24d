"""The screen of evaluations: runs, the cases of one while it goes on, a replay where it went wrong, runs begun from here."""

from __future__ import annotations

import msgspec
import pytest
from textual.widgets import Input, OptionList

from alita_tui.console.evaluations import drawing
from alita_tui.console.evaluations.ports import CaseLine, RunLine, RunSheet
from alita_tui.console.evaluations.screen import EvaluationsScreen
from alita_tui.console.replay.player import Player
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.errors import UsageError
from tests.console import evaluations_lab as lab
from tests.console.keeping_lab import NOW
from tests.console.navigating import until
from tests.console.screens import Catalog, console, drawn
from tests.support import goldens


def rows(pilot) -> list[str]:
    listed = pilot.app.screen.query_one(OptionList)
    return [str(listed.get_option_at_index(n).prompt).strip() for n in range(listed.option_count)]


def text(pilot, name: str) -> str:
    return str(pilot.app.screen.query_one(f"#{name}", Plain).render())


async def opened(pilot) -> None:
    await drawn(pilot, goldens.walkthrough()[-1].seq)
    await pilot.press("shift+f8")
    await until(
        pilot, lambda: isinstance(pilot.app.screen, EvaluationsScreen) and len(rows(pilot)) == len(lab.RUNS)
    )


async def test_a_run_opens_to_its_cases_and_a_failure_to_a_replay_where_it_went_wrong() -> None:
    asked: list[CaseLine] = []
    app = console(goldens.walkthrough())

    async def case_player(case: CaseLine) -> Player:
        asked.append(case)
        raise UsageError("it is not opened here")

    app._catalog.case_player = case_player  # type: ignore[method-assign]
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: len(rows(pilot)) == 24)
        assert "running" in text(pilot, "head") and "4 solved, 2 not solved, 2 running, 16 not begun" in text(
            pilot, "head"
        )
        await pilot.press("f", "f")
        await until(pilot, lambda: pilot.app.screen.query_one(OptionList).highlighted == 4)
        await pilot.press("f", "enter")
        await until(pilot, lambda: bool(asked))
        assert (asked[0].case, asked[0].session_id, asked[0].at) == ("rainfall-by-month", "s3", 17)
        await pilot.press("end", "enter")
        await until(pilot, lambda: "no session yet" in text(pilot, "said"))
        assert len(asked) == 1
        await pilot.press("escape")
        await until(pilot, lambda: len(rows(pilot)) == len(lab.RUNS))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, EvaluationsScreen))


async def test_the_table_is_live_and_the_cursor_stays_on_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [lab.sheet(lab.RUNS[0].run)]

    async def standing(self: Catalog, run: str) -> RunSheet:
        return now[0]

    monkeypatch.setattr(Catalog, "evaluation", standing)
    async with console(goldens.walkthrough()).run_test(size=(160, 36)) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: len(rows(pilot)) == 24)
        await pilot.press("end")
        done = msgspec.structs.replace(now[0].cases[6], state="failed", why="the model did not answer", at=4)
        now[0] = msgspec.structs.replace(now[0], cases=(*now[0].cases[:6], done, *now[0].cases[7:]))
        await until(pilot, lambda: "did not answer" in rows(pilot)[6])
        assert pilot.app.screen.query_one(OptionList).highlighted == 23


async def test_an_evaluation_is_begun_and_continued_and_errors_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab.BEGUN.clear()
    async with console(goldens.walkthrough()).run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press(*"jobs", "enter")
        await until(pilot, lambda: "goes on when you leave" in text(pilot, "said"))
        await pilot.press("down", "down", "g")
        await until(pilot, lambda: len(lab.BEGUN) == 2)
        assert lab.BEGUN == ["jobs", f"--resume {lab.RUNS[2].run}"]
        await pilot.press("down", "g")
        await until(pilot, lambda: "nothing left" in text(pilot, "said"))

        async def refused(self: Catalog, words: str) -> str:
            raise UsageError("There is no suite at [b]x[/b].")

        monkeypatch.setattr(Catalog, "begin_evaluation", refused)
        await pilot.press("up", "g")
        await until(pilot, lambda: "There is no suite at [b]x[/b]" in text(pilot, "said"))


async def test_no_evaluation_starts_from_a_replay() -> None:
    lab.BEGUN.clear()
    screen = EvaluationsScreen(Catalog(), {}, lambda: NOW, may_begin=False)
    async with console(goldens.walkthrough()).run_test(size=(120, 36)) as pilot:
        await drawn(pilot, goldens.walkthrough()[-1].seq)
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: pilot.app.screen is screen and len(rows(pilot)) == len(lab.RUNS))
        assert "new run" not in text(pilot, "said")
        await pilot.press("n", "down", "g")
        await until(pilot, lambda: "runs nothing" in text(pilot, "said"))
        assert lab.BEGUN == [] and not isinstance(pilot.app.focused, Input)


def test_hostile_words_are_text_and_rows_keep_their_width() -> None:
    sheet = lab.sheet(lab.RUNS[0].run)
    for width in (76, 116, 196):
        lines = [drawing.run_row(one, width, NOW) for one in lab.RUNS]
        lines += [drawing.case_row(one, sheet, width) for one in sheet.cases]
        for line in lines:
            assert line.cell_length <= width and not {"\x1b", "\u202e", "\n"} & {*line.plain}
    assert "[b]bold[/b]" in drawing.run_row(lab.RUNS[1], 196, NOW).plain


def test_the_cost_of_a_run_with_assumed_prices_is_marked_approximate() -> None:
    line = RunLine(run="r", suite="s", models=("m",), state="finished", usd=0.5, unpriced=1)
    row, about = drawing.run_row(line, 100, NOW).plain, drawing.about(RunSheet(line, ()))
    assert " ~$0.5000" in row and "≥" not in row, "the assumed price may be too high"
    assert "about $0.5000" in about
    assert "1 call without a known price: in the totals as budget.unknown_usd says" in about
    known = msgspec.structs.replace(line, unpriced=0)
    assert " $0.5000" in drawing.run_row(known, 100, NOW).plain
    assert "price" not in drawing.about(RunSheet(known, ()))
