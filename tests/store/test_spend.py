"""The spend of a day over sessions and processes."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

from tinydb import TinyDB

from alita_tui.spine.ports.models import DaySpend
from alita_tui.store.spend import SpendBook

DAY = date(2026, 11, 21)


def book(folder: Path, session: str = "one", day: date = DAY) -> SpendBook:
    return SpendBook(folder / "spend.json", session, lambda: day)


def test_a_reservation_counts_until_it_is_settled(tmp_path: Path) -> None:
    mine = book(tmp_path)
    assert mine.reserve("a", 0.5, 100, limit_usd=1.0, limit_tokens=None)
    assert mine.today() == DaySpend(usd=0.5, tokens=100, estimated_tokens=100)
    assert mine.settle("a", 0.2, 60) == DaySpend(usd=0.2, tokens=60)
    assert mine.settle("never reserved", 0.1, 10) == DaySpend(usd=0.2 + 0.1, tokens=70)


def test_sessions_share_the_day_and_its_cap(tmp_path: Path) -> None:
    mine, yours = book(tmp_path), book(tmp_path, "two")
    assert mine.reserve("a", 0.6, 10, limit_usd=1.0, limit_tokens=1000)
    assert not yours.reserve("b", 0.5, 10, limit_usd=1.0, limit_tokens=1000)
    assert not yours.reserve("b", 0.1, 991, limit_usd=1.0, limit_tokens=1000)
    mine.settle("a", 0.1, 10)
    assert yours.reserve("b", 0.5, 10, limit_usd=1.0, limit_tokens=1000)
    assert mine.today() == yours.today() == DaySpend(usd=0.6, tokens=20, estimated_tokens=10)


def test_a_new_day_begins_at_nothing_and_a_late_call_counts_on_its_own(tmp_path: Path) -> None:
    mine = book(tmp_path)
    mine.reserve("a", 0.6, 10, limit_usd=None, limit_tokens=None)
    later = book(tmp_path, day=date(2026, 11, 22))
    assert later.today() == DaySpend()
    later.settle("a", 0.4, 9)
    later.settle("b", 0.3, 5)
    assert later.days() == {
        "2026-11-21": DaySpend(usd=0.4, tokens=9),
        "2026-11-22": DaySpend(usd=0.3, tokens=5),
    }


def test_processes_side_by_side_never_reserve_more_than_the_cap(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from datetime import date\n"
        "from alita_tui.store.spend import SpendBook\n"
        "book = SpendBook(Path(sys.argv[1]), sys.argv[2], lambda: date(2026, 11, 21))\n"
        "print(sum(book.reserve(f'{sys.argv[2]}{n}', 0.1, 1, limit_usd=2.05, limit_tokens=None)"
        " for n in range(30)))\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "spend.json"), name],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    taken = [int(process.communicate(timeout=60)[0]) for process in running]
    assert sum(taken) == 20


def test_the_spend_book_is_plain_tinydb(tmp_path: Path) -> None:
    mine = book(tmp_path)
    mine.settle("a", 0.2, 60)
    mine.close()
    with TinyDB(tmp_path / "spend.json") as plain:
        rows = plain.table("days").all()
    assert rows == [
        {
            "day": "2026-11-21",
            "session": "one",
            "usd": 0.2,
            "tokens": 60,
            "reserved": {},
            "last": ["a", 0.2, 60],
            "estimated": 0,
            "last_estimated": 0,
        }
    ]


def test_a_call_settled_twice_counts_once(tmp_path: Path) -> None:
    first = book(tmp_path)
    first.settle("earlier", 0.5, 50)
    first.reserve("a", 0.6, 10, limit_usd=None, limit_tokens=None)
    first.settle("a", 0.1, 5)
    first.close()
    again = book(tmp_path)
    assert again.settle("a", 0.6, 10) == DaySpend(usd=0.5 + 0.6, tokens=60)
    assert again.settle("b", 0.1, 1) == DaySpend(usd=0.5 + 0.6 + 0.1, tokens=61)


def test_a_day_records_how_many_of_its_tokens_are_estimated(tmp_path: Path) -> None:
    mine = book(tmp_path)
    mine.settle("a", 0.1, 50)
    assert mine.settle("b", 0.1, 30, estimated=True) == DaySpend(usd=0.2, tokens=80, estimated_tokens=30)
    assert mine.settle("b", 0.1, 20) == DaySpend(usd=0.2, tokens=70), "the provider's counts came after all"
    mine.settle("c", 0.1, 7, estimated=True)
    mine.close()
    assert book(tmp_path).days()["2026-11-21"].estimated_tokens == 7


def test_a_day_recorded_without_estimates_is_read_and_continued(tmp_path: Path) -> None:
    mine = book(tmp_path)
    mine.settle("a", 0.1, 50)
    mine.close()
    with TinyDB(tmp_path / "spend.json") as plain:
        plain.table("days").update(lambda row: [row.pop(key) for key in ("estimated", "last_estimated")])
    again = book(tmp_path)
    assert again.settle("b", 0.1, 30, estimated=True) == DaySpend(usd=0.2, tokens=80, estimated_tokens=30)


def test_reservations_of_a_dead_process_are_released(tmp_path: Path) -> None:
    book(tmp_path).reserve("a", 0.6, 10, limit_usd=1.0, limit_tokens=None)
    other = book(tmp_path, "two")
    assert not other.reserve("c", 0.5, 1, limit_usd=1.0, limit_tokens=None), "another session's stays"
    again = book(tmp_path)
    assert again.reserve("b", 0.9, 1, limit_usd=1.0, limit_tokens=None)
    assert again.today() == DaySpend(usd=0.9, tokens=1, estimated_tokens=1)


def test_one_open_book_serves_many_sessions_separately(tmp_path: Path) -> None:
    mine = book(tmp_path)
    yours = mine.another("two")
    assert mine.reserve("a", 0.5, 10, limit_usd=1.0, limit_tokens=None)
    assert not yours.reserve("b", 0.75, 10, limit_usd=1.0, limit_tokens=None)
    assert yours.reserve("b", 0.25, 10, limit_usd=1.0, limit_tokens=None)
    assert mine.today().usd == yours.today().usd == 0.75, "what one reserves is not given up by the other"
    mine.settle("a", 0.1, 10)
    yours.settle("b", 0.2, 10)
    mine.close()
    with TinyDB(tmp_path / "spend.json") as plain:
        rows = plain.table("days").all()
    assert {row["session"]: row["usd"] for row in rows} == {"one": 0.1, "two": 0.2}
