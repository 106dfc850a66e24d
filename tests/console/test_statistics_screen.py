"""The statistics screen: periods, tables, order, the events a row rests on, advice by one key, CSV."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from alita_tui.console.settings.screen import SettingsScreen
from alita_tui.console.statistics import drawing
from alita_tui.console.statistics.screen import Rows, StatisticsScreen
from alita_tui.console.widgets.braille import braille, spark
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.errors import StoreError
from alita_tui.spine.ports.statistics import Advice, Report, Totals
from alita_tui.statistics.records import Records
from alita_tui.statistics.report import period, report
from tests.console import statistics_lab
from tests.console.navigating import until
from tests.console.screens import EXPORTED, Catalog, console, drawn
from tests.support import goldens


async def opened(pilot) -> StatisticsScreen:
    await drawn(pilot, goldens.walkthrough()[-1].seq)
    await pilot.press("shift+f9")
    await until(pilot, lambda: isinstance(pilot.app.screen, StatisticsScreen) and bool(rows(pilot)))
    found: StatisticsScreen = pilot.app.screen
    return found


def rows(pilot) -> list[str]:
    listed = pilot.app.screen.query_one(Rows)
    return [str(listed.get_option_at_index(n).prompt).strip() for n in range(listed.option_count)]


def text(pilot, name: str) -> str:
    return str(pilot.app.screen.query_one(f"#{name}", Plain).render())


async def test_tables_periods_and_order_by_one_key_each() -> None:
    async with console(goldens.walkthrough()).run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        month = statistics_lab.month(30)
        assert rows(pilot)[0].startswith(month.tools[0].name)
        for key, lines in (("m", month.models), ("r", month.roles), ("k", month.kinds)):
            await pilot.press(key)
            await pilot.pause()
            assert lines[0].name in "\n".join(rows(pilot))
        await pilot.press("t", "s")
        await pilot.pause()
        shares = [one.share or 0.0 for one in drawing.sorted_lines(month, "tool", "ok")]
        assert shares == sorted(shares) and "ok ▾" in text(pilot, "columns")
        await pilot.press("right")
        await until(pilot, lambda: "90 days" in text(pilot, "head"))
        await pilot.press("right", "right", "right")
        await until(pilot, lambda: "everything" in text(pilot, "head"))
        await pilot.press("left", "left", "left", "left", "left")
        await until(pilot, lambda: "7 days" in text(pilot, "head"))


async def test_a_row_opens_to_its_events_and_one_of_them_in_a_replay() -> None:
    asked: list[tuple[str, int]] = []
    app = console(goldens.walkthrough())
    app.replay_session = lambda session_id, seq: asked.append((session_id, seq))  # type: ignore[method-assign,misc,assignment]
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        names = rows(pilot)
        place = next(n for n, one in enumerate(names) if one.startswith("fx_rates"))
        await pilot.press(*["down"] * place, "enter")
        await until(pilot, lambda: "fx_rates" in text(pilot, "head"))
        line = next(one for one in statistics_lab.month(30).tools if one.name == "fx_rates")
        assert len(rows(pilot)) == len(line.places) == 20
        await pilot.press("enter")
        await until(pilot, lambda: bool(asked))
        assert asked == [(line.places[0].session_id, line.places[0].seq)]
        await pilot.press("escape")
        await until(pilot, lambda: rows(pilot) == names)
        month = statistics_lab.month(30)
        for title, note in (("stands out", month.anomalies[0].rule), ("would help", month.advice[0].command)):
            place = next(n for n, one in enumerate(names) if title in one) + 1
            pilot.app.screen.query_one(Rows).highlighted = place
            await pilot.press("enter")
            await until(pilot, lambda: "rests on" in text(pilot, "head"))
            assert note in text(pilot, "totals") and screen.query_one("#totals").display
            await pilot.press("escape")
            await until(pilot, lambda: rows(pilot) == names)
        assert month.tools[0].name in names[0] and note not in text(pilot, "totals")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, StatisticsScreen))


async def test_one_key_acts_on_an_advice_and_one_exports_a_table() -> None:
    EXPORTED.clear()
    async with console(goldens.walkthrough()).run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        (first, *_) = statistics_lab.month(30).advice
        assert first.tool == "fx_rates"
        shown: list[str] = []
        pilot.app.open_tool = lambda name, *_: shown.append(name)  # type: ignore[attr-defined]
        await pilot.press("a")
        await until(pilot, lambda: shown == ["fx_rates"])
        pilot.app.screen.query_one(Rows).highlighted = next(
            n for n, one in enumerate(rows(pilot)) if "stopped at their budget" in one
        )
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await until(pilot, lambda: bool(pilot.app.screen._chosen))  # type: ignore[attr-defined]
        assert pilot.app.screen._chosen.key == "budget.task_usd"  # type: ignore[attr-defined]
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("m", "e")
        await until(pilot, lambda: EXPORTED == ["model 2026-10-23"])
        await until(pilot, lambda: "statistics-model.csv" in str(screen.query_one("#said", Plain).render()))


async def test_acting_applies_to_the_advice_that_is_open() -> None:
    async with console(goldens.walkthrough()).run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        listed = screen.query_one(Rows)
        listed.highlighted = next(n for n, one in enumerate(rows(pilot)) if "stopped at their budget" in one)
        await pilot.press("enter")
        await until(pilot, lambda: "it rests on" in text(pilot, "head") and "a act" in text(pilot, "said"))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await until(pilot, lambda: bool(pilot.app.screen._chosen))  # type: ignore[attr-defined]
        assert pilot.app.screen._chosen.key == "budget.task_usd"  # type: ignore[attr-defined]
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("escape")
        await until(pilot, lambda: "it rests on" not in text(pilot, "head"))
        listed.highlighted = 0
        await pilot.press("enter")
        await until(pilot, lambda: "it rests on" in text(pilot, "head"))
        assert "a act" not in text(pilot, "said")
        await pilot.press("a")
        await until(pilot, lambda: "nothing to act on" in text(pilot, "said"))


async def test_an_advice_without_a_screen_has_its_command_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    month = statistics_lab.month(30)
    advice = Advice(
        text="Another model may build better.", command="alita models list", places=month.advice[0].places
    )

    async def read(*_args: object) -> Report:
        return replace(month, advice=(advice,))

    monkeypatch.setattr(Catalog, "statistics", read)
    app = console(goldens.walkthrough())
    copied: list[str] = []
    monkeypatch.setattr(app, "copy", copied.append)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("a")
        await until(pilot, lambda: copied == ["alita models list"])
        assert "Copied: alita models list" in text(pilot, "said")


async def test_an_empty_period_shows_no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(*_args: object) -> Report:
        return report(Records(), period(statistics_lab.NOW, 30))

    monkeypatch.setattr(Catalog, "statistics", read)
    async with console(goldens.walkthrough()).run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        assert "No tool ran in this period." in rows(pilot)
        assert not screen.query_one("#charts").display


async def test_a_folder_that_cannot_be_read_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Catalog, days: int | None, progress: object) -> Report:
        raise StoreError("The sessions cannot be read.")

    monkeypatch.setattr(Catalog, "statistics", broken)
    async with console(goldens.walkthrough()).run_test(size=(80, 24)) as pilot:
        await drawn(pilot, goldens.walkthrough()[-1].seq)
        await pilot.press("shift+f9")
        await until(pilot, lambda: isinstance(pilot.app.screen, StatisticsScreen))
        await until(
            pilot, lambda: "cannot be read" in str(pilot.app.screen.query_one("#said", Plain).render())
        )


def test_nothing_spent_draws_no_bar_and_no_line() -> None:
    empty = report(Records(), period(statistics_lab.NOW, 30))
    assert empty.totals == Totals()
    drawn_cost = drawing.drawn_charts(empty, 118, 3, 2).plain
    assert "nothing was paid" in drawn_cost and not any("\u2800" <= one <= "\u28ff" for one in drawn_cost)
    assert spark([0] * 30, 30).strip() == ""


def test_a_line_chart_passes_through_its_values() -> None:
    lines = ["".join(text for text, _ in line) for line in braille([0.0, 1.0], 4, 2, 0.0, 1.0)]
    assert len(lines) == 2 and all(len(line) == 4 for line in lines)
    assert lines[1][0] != " " and lines[0][-1] != " " and lines[0][0] == " " == lines[1][-1]
    gap = ["".join(text for text, _ in line) for line in braille([0.5, None, None, 0.5], 12, 1, 0.0, 1.0)]
    assert " " in gap[0].strip()
    marked = [flag for line in braille([0.1, 0.9, 0.1], 9, 2, 0.0, 1.0, {1}) for _, flag in line]
    assert True in marked and False in marked


async def test_anomalies_are_shown_in_full_at_80_columns() -> None:
    async with console(goldens.walkthrough()).run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        anomalies = statistics_lab.month().anomalies
        assert anomalies
        told = " ".join(" ".join(rows(pilot)).split())
        for anomaly in anomalies:
            assert " ".join(anomaly.text.split()) in told
        width = screen.query_one(Rows).size.width
        assert all(
            cell_len(line) <= width for row in rows(pilot) if "▲ 20" in row for line in row.split("\n")
        )
        title = text(pilot, "charts").split("\n")[0]
        assert "▲ 2026-11-04" in title and "…" not in title, "the whole day, or the whole sentence"
