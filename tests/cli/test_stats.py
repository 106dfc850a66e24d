"""`alita stats`: figures, tables, JSON and CSV of the sessions on this machine, read again only where they changed."""

from __future__ import annotations

import csv
import io
import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alita_tui.app import statistics as app_statistics
from alita_tui.app.context import AppContext, close_all
from alita_tui.cli.main import cli
from alita_tui.cli.stats import days_of
from alita_tui.events import TaskId
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.statistics import Line
from alita_tui.view import statistics as words
from tests.statistics.simulated import envelopes

NOW = datetime.now(UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    app = AppContext.open(tmp_path)
    for number in range(6):
        start = NOW - timedelta(days=number, hours=1)
        app.sessions.add(f"s{number}", envelopes(f"s{number}", start, tasks=4))
    close_all()
    return tmp_path


def stats(home: Path, *arguments: str, code: int = 0) -> str:
    told = CliRunner().invoke(cli, ["--home", str(home), "stats", *arguments])
    assert told.exit_code == code, told.output + str(told.exception)
    return told.output


def report(home: Path, *arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(stats(home, "--json", *arguments))
    return found


def test_tables_and_json_show_the_same_figures(home: Path) -> None:
    told = report(home)
    totals = told["totals"]
    assert isinstance(totals, dict) and totals["tasks"] == 24 and told["sessions"] == 6
    shown = stats(home)
    assert "tasks 24" in shown and "csv_join" in shown
    for by, head in (
        ("tool", "runs"),
        ("model", "calls"),
        ("role", "calls"),
        ("kind", "count"),
        ("day", "tasks"),
    ):
        rows = list(csv.reader(io.StringIO(stats(home, "--csv", "--by", by))))
        assert rows[0][:2] == [by, head]
        assert len(rows) > 1
    tools = list(csv.DictReader(io.StringIO(stats(home, "--csv"))))
    assert sum(int(one["runs"]) for one in tools) == totals["runs"]


@pytest.mark.parametrize("by", ["tool", "model", "role", "kind"])
def test_an_empty_table_is_one_sentence(tmp_path: Path, by: str) -> None:
    shown = stats(tmp_path, "--by", by)
    assert words.NOTHING[by] in shown.splitlines()
    told = report(tmp_path, "--by", by)
    assert told["kinds"] == told["tools"] == []
    assert len(stats(tmp_path, "--by", by, "--csv").splitlines()) == 1


def test_since_leaves_out_what_is_older(home: Path) -> None:
    totals = [report(home, "--since", since)["totals"] for since in ("2d", "3d", "1w", "all")]
    counts = [one["tasks"] for one in totals if isinstance(one, dict)]
    assert counts[0] < counts[1] < counts[2] == counts[3] == 24


@pytest.mark.parametrize("since", ["", "0d", "-3d", "5y", "99999d", "3d;", "٣d"])
def test_an_invalid_period_is_refused_with_an_example(since: str) -> None:
    with pytest.raises(UsageError, match="is not a time span"):
        days_of(since)


def test_only_changed_sessions_are_read_again_and_deleted_ones_are_dropped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    really = app_statistics._read

    def reading(app: AppContext, name: str, stamp: tuple[int, ...]) -> object:
        read.append(name)
        return really(app, name, stamp)

    monkeypatch.setattr(app_statistics, "_read", reading)
    first = report(home)
    assert sorted(read) == [f"s{n}" for n in range(6)]
    read.clear()
    assert report(home) == first and read == []
    app = AppContext.open(home)
    app.sessions.add("s9", envelopes("s9", NOW - timedelta(hours=2), tasks=1))
    app.sessions.delete("s0")
    close_all()
    after = report(home)["totals"]
    assert read == ["s9"] and isinstance(after, dict) and after["tasks"] == 21
    app.paths.statistics.write_bytes(b"damaged")
    assert report(home)["totals"] == after


def test_a_session_that_cannot_be_read_is_named_and_the_others_count(home: Path) -> None:
    (home / "data" / "sessions" / "s3.json").write_bytes(b"\x00" * 500)
    told = CliRunner().invoke(cli, ["--home", str(home), "stats", "--json"])
    assert told.exit_code == 0
    assert "1 session could not be read whole, so figures are missing: s3" in told.stderr
    again = CliRunner().invoke(cli, ["--home", str(home), "stats", "--json"])
    assert again.stderr == told.stderr  # also where nothing is read again
    assert json.loads(told.stdout)["totals"]["tasks"] == 20


def test_a_task_is_estimated_before_it_starts(home: Path) -> None:
    assert "8 of 10 such tasks take" in stats(home, "--estimate", "Chart the rainfall of Oslo as bars")
    made = json.loads(stats(home, "--json", "--estimate", "Chart the rainfall of Oslo as bars"))
    assert made["count"] >= 9 and made["seconds"][0] < made["seconds"][2]


def test_no_sessions_are_no_error(tmp_path: Path) -> None:
    shown = stats(tmp_path)
    assert "0 sessions" in shown and "No estimates could be checked yet" in shown
    assert "takes nine tasks" in stats(tmp_path, "--estimate", "Chart the rainfall")


def test_names_of_models_and_tools_are_data() -> None:
    line = Line(name='=HYPERLINK("http://x")\x1b[31m\u202e', count=1, note="-1+2")
    cells = next(csv.reader(io.StringIO(words.as_csv([line], "model").partition("\n")[2])))
    assert (
        cells[0].startswith("'=")
        and "\x1b" not in cells[0]
        and "\u202e" not in cells[0]
        and cells[-1] == "'-1+2"
    )


@pytest.mark.parametrize(
    ("usd", "unpriced", "shown"),
    [(None, 0, "—"), (0.0, 0, "—"), (0.0, 3, "no price"), (0.5, 2, ">$0.50"), (0.0021, 0, "$0.0021"), (1234.5, 0, "$1,234.50")],
)  # fmt: skip
def test_costs_are_shown_no_more_certain_than_recorded(usd: float | None, unpriced: int, shown: str) -> None:
    assert words.money(usd, unpriced) == shown


def test_a_share_below_all_is_never_shown_as_all() -> None:
    assert [words.percent(one) for one in (1.0, 0.9999, 0.0, 0.0001, 0.5, None)] == [
        "100 %",
        "99 %",
        "0 %",
        "1 %",
        "50 %",
        "—",
    ]


def test_damaged_sessions_links_and_pipes_never_stop_a_report(home: Path) -> None:
    folder = home / "data" / "sessions"
    rng = random.Random(1)
    for name in ("s0", "s1", "s2"):
        content = bytearray((folder / f"{name}.json").read_bytes())
        for _ in range(8):
            content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
        (folder / f"{name}.json").write_bytes(content)
    (folder / "s3.json").write_bytes((folder / "s3.json").read_bytes()[:1500])
    (folder / "passwd.json").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.json")
    told = CliRunner().invoke(cli, ["--home", str(home), "stats", "--json"])
    assert told.exit_code == 0, told.exception
    made = json.loads(told.stdout)
    assert made["totals"]["tasks"] >= 8  # those of the two that are whole
    assert {"s0", "s1", "s2", "s3"} >= set(made["unreadable"]) >= {"s3"}
    assert "root:" not in told.output


def test_a_session_without_readable_events_is_named(home: Path) -> None:
    """An emptied file has no record that could be damaged: what stood in it is missing all the same."""
    app = AppContext.open(home)
    path = app.sessions.path("s2")
    close_all()
    path.write_bytes(b"")
    told = CliRunner().invoke(cli, ["--home", str(home), "stats", "--json"])
    made = json.loads(told.stdout)
    assert made["unreadable"] == ["s2"] and made["totals"]["tasks"] == 20
    assert "1 session could not be read whole, so figures are missing: s2" in told.stderr


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe"])
def test_days_are_those_of_the_clock_also_where_it_changes(
    tmp_path: Path, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is the zone's own rules, task by task; each counts on one day, in any zone."""
    import time
    from collections import Counter
    from zoneinfo import ZoneInfo

    from alita_tui import events as e
    from alita_tui.spine.envelope import Envelope
    from tests.statistics.records import opened

    app, expected = AppContext.open(tmp_path), Counter[str]()
    for start in (
        datetime(2026, 3, 28, tzinfo=UTC),
        datetime(2026, 4, 4, tzinfo=UTC),
        datetime(2026, 10, 24, tzinfo=UTC),
    ):
        told = [Envelope(seq=1, session_id=f"{start:%m-%d}", at=start, event=opened())]
        for number in range(60):
            at = start + timedelta(minutes=61 * number)
            expected[at.astimezone(ZoneInfo(zone)).date().isoformat()] += 1
            for event in (
                e.TaskSubmitted(task_id=TaskId(f"t{number}"), text="x"), e.TaskFinished(task_id=TaskId(f"t{number}"), outcome="answered"),
            ):  # fmt: skip
                told.append(Envelope(seq=len(told) + 1, session_id=f"{start:%m-%d}", at=at, event=event))
        app.sessions.add(f"{start:%m-%d}", told)
    with monkeypatch.context() as context:
        context.setenv("TZ", zone)
        time.tzset()
        found = app_statistics.read_report(app, 365, at=datetime(2026, 11, 20, tzinfo=UTC))
    time.tzset()
    close_all()
    assert {day.day: day.tasks for day in found.days if day.tasks} == dict(expected)
