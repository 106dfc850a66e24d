"""Files that tools of a case made, compared with those beside the suite: by cell, by value, by pixel, by byte."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.app.artefacts import session_artefacts
from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.checks import judge
from alita_tui.evaluation.checks import File, Judged, Rubric
from alita_tui.evaluation.suite import Suite
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError

SESSION = "20261126-120000-aaaa"


class Case:
    """A case whose tools made files, and a suite beside it."""

    def __init__(self, folder: Path) -> None:
        self.app = AppContext.open(folder / "home")
        self.suite = Suite(name="s", folder=str(folder / "suite"), cases=(), digest="")
        (folder / "suite").mkdir()
        self._folder = folder / "suite"
        self._store = session_artefacts(self.app, SESSION)
        self._history: list[Envelope] = []

    def expect(self, name: str, data: bytes) -> None:
        (self._folder / name).write_bytes(data)

    def make(self, name: str, data: bytes, origin: Any = "tool") -> None:
        event = e.ArtefactAdded(artefact=self._store.add_bytes(data, name), origin=origin)
        self._history.append(
            Envelope(
                seq=len(self._history) + 1, session_id=SESSION, at=datetime.now(UTC), schema_version=2, event=event
            )
        )  # fmt: skip

    async def judged(self, expected: str, **more: Any) -> Judged:
        async def nobody(_: Rubric) -> Judged:
            raise AssertionError

        check = File(expected=expected, **more)
        return await judge(self.app, self.suite, check, "Done.", self._history, nobody)


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    made = Case(tmp_path)
    yield made
    made.app.close()


async def test_tables_are_compared_by_cells_and_not_by_bytes(case: Case) -> None:
    case.expect("totals.csv", b"region,turnover\nNorth,10.50\nSouth,7\n")
    assert (await case.judged("totals.csv")).why == "a .csv file was not made; there is none"
    case.make("given.csv", b"region,turnover\nNorth,10.50\nSouth,7\n", origin="person")
    assert not (await case.judged("totals.csv")).solved, "what the person gave was not made"
    case.make("out.csv", b'\xef\xbb\xbf"region" , turnover\r\nNorth,10.5\r\n\r\nSouth,7.0\r\n')
    assert (await case.judged("totals.csv")).solved
    assert (
        await case.judged("totals.csv", name="totals.csv")
    ).why == "totals.csv was not made; there is out.csv"
    case.make("out.csv", b"region,turnover\nNorth,10.4\nSouth,7\n")
    assert (await case.judged("totals.csv")).why == "row 2, column 2 (turnover): 10.4 instead of 10.50"
    assert (await case.judged("totals.csv", tolerance=0.1)).solved
    case.make("out.csv", b'region;turnover\nNorth;10.50\n"South";7\n')
    assert (await case.judged("totals.csv")).solved, "what separates them is no cell"
    case.make("out.csv", b"region\tturnover\nSouth\t7\nNorth\t10.50\n")
    assert (await case.judged("totals.csv")).why == "row 2, column 1 (region): 'South' instead of 'North'"
    case.expect("long.csv", b"a,b\n" + b"x" * 200_000 + b",1\n")
    case.make("out.csv", b"a,b\n" + b"x" * 200_000 + b",2\n")
    assert (await case.judged("long.csv")).why == "row 2, column 2 (b): 2 instead of 1"
    case.make("odd.csv", b"\xff\xfe\x00\x00")
    assert (await case.judged("totals.csv")).why.startswith("it is no CSV")


async def test_the_newest_file_counts_even_if_its_name_was_used_before(case: Case) -> None:
    case.expect("right.json", b'{"n": [1, 2]}')
    for name, data in (("a.json", b"{}"), ("b.json", b"{}"), ("a.json", b'{"n": [1, 2.0]}')):
        case.make(name, data)
    assert (await case.judged("right.json")).solved
    assert (await case.judged("right.json", name="b.json")).why == "top: n is in one of them alone"
    case.make("a.json", b'\xef\xbb\xbf{"n": [1, 2]}')
    assert (await case.judged("right.json")).solved, "a mark of order is no value"
    case.make("c.JSON", b"[" * 100_000)
    assert (await case.judged("right.json")).why.startswith("it is no JSON")


def picture(colour: tuple[int, int, int], kind: str = "PNG") -> bytes:
    from PIL import Image

    body = io.BytesIO()
    Image.new("RGB", (16, 16), colour).save(body, kind, **({"quality": 90} if kind == "JPEG" else {}))
    return body.getvalue()


async def test_pictures_are_compared_by_pixels_whatever_their_extension(case: Case) -> None:
    case.expect("chart.jpeg", picture((10, 20, 30), "JPEG"))
    case.make("chart.jpeg", picture((11, 20, 30), "JPEG"))
    assert (await case.judged("chart.jpeg", tolerance=2)).solved
    case.make("chart.jpeg", picture((200, 20, 30), "JPEG"))
    assert "differ by" in (await case.judged("chart.jpeg", tolerance=2)).why
    case.make("chart.jpeg", b"<svg onload=alert(1)>")
    assert (await case.judged("chart.jpeg")).why == "the picture cannot be read as a picture"
    for ending in ("webp", "tiff"):
        case.expect(f"x.{ending}", picture((1, 2, 3), ending))
        case.make(f"x.{ending}", picture((1, 2, 3), ending))
        assert (await case.judged(f"x.{ending}")).solved, ending


async def test_a_broken_file_of_a_suite_is_reported_and_fails_no_case(case: Case) -> None:
    for name, data in (("a.json", b"{"), ("a.csv", b"\xff"), ("a.png", b"none")):
        case.expect(name, data)
        case.make(name, b'{"a": 1}')
        with pytest.raises(UsageError, match=r"is no (JSON|CSV)|expected picture"):
            await case.judged(name)


async def test_other_files_are_compared_by_bytes(case: Case) -> None:
    case.expect("a.bin", b"\x00\x01")
    case.make("a.bin", b"\x00\x01")
    assert (await case.judged("a.bin")).solved
    case.make("a.bin", b"\x00\x02")
    assert (await case.judged("a.bin")).why == "the bytes differ"
