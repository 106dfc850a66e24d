"""Files named in a message, typed as a person types them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.file_references import attached, completion
from alita_tui.spine.commands import SubmitTask
from tests.console.navigating import until
from tests.console.screens import TAKEN, Sink, console, drawn
from tests.support import streams


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sales.csv").write_text("a\n")
    (tmp_path / "sales-old.csv").write_text("a\n")
    (tmp_path / "my letter.pdf").write_text("a\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.json").write_text("{}")
    (tmp_path / ".hidden").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sum @sales.csv", ["sales.csv"]), ("@sales.csv and @data/x.json, please", ["sales.csv", "data/x.json"]),
        ('read @"my letter.pdf" now', ["my letter.pdf"]), ("@~/sales.csv.", ["sales.csv"]), ("(see me@sales.csv)", []),
        ("ask @someone", []), ("@sales.csv @sales.csv", ["sales.csv"]), ("mail a@b.c", []), ("", []), ("@", []),
    ],
)  # fmt: skip
def test_the_files_that_a_message_names_are_found(here: Path, text: str, names: list[str]) -> None:
    assert attached(text) == (tuple(str(here / name) for name in names), ())


@pytest.mark.parametrize("text", ["@nothing.csv", '@"no such file"', "@./x", "@data", "@/etc/shadow-nothing"])
def test_a_path_that_is_not_a_file_is_reported(here: Path, text: str) -> None:
    files, missing = attached(text)
    assert files == () and (len(missing) == 1 or text == "@data")


@pytest.mark.parametrize(
    ("before", "rest", "options"),
    [
        ("sum @sal", "es", ["sales-old.csv", "sales.csv"]), ("sum @sales.", "csv ", []), ("@da", "ta/", []),
        ("@data/", "x.json ", []), ('@"my', ' letter.pdf" ', []), ("@zzz", "", []), ("@.h", "idden ", []),
        ("@/nonexistent/", "", []), ("@~/data/x", ".json ", []),
    ],
)  # fmt: skip
def test_a_path_is_completed(here: Path, before: str, rest: str, options: list[str]) -> None:
    found = completion(before)
    assert found is not None and (found.rest, list(found.options)) == (rest, options)


@pytest.mark.parametrize("before", ["", "sum", "me@sales", "@sales.csv and then", "x @a b"])
def test_elsewhere_nothing_is_completed(here: Path, before: str) -> None:
    assert completion(before) is None


def test_names_with_odd_characters_work(here: Path) -> None:
    (here / "data" / "a\x1b[31m\u202e.txt").write_text("")
    os.mkfifo(here / "data" / "pipe")
    found = completion("@data/a")
    assert found is not None and attached("@data/pipe").files == ()


async def test_a_file_is_completed_with_tab_and_sent_with_the_task(here: Path) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    sink = Sink()
    app = console(tape.envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 3)
        await pilot.press(*"sum ", "@", *"sales.", "tab", *"now", "enter")
        assert sink.commands == [SubmitTask(text="sum @sales.csv now", attach=(str(here / "sales.csv"),))]


async def test_a_missing_file_is_reported_and_the_text_stays(here: Path) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    sink = Sink()
    app = console(tape.envelopes, sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, 3)
        await pilot.press(*"sum ", "@", *"gone.csv", "enter")
        assert sink.commands == []
        assert app.screen.query_one(Composer).text == "sum @gone.csv"
        await pilot.press("backspace", "backspace", "backspace", "backspace", "enter")
        assert sink.commands == [SubmitTask(text="sum @gone")]


async def test_the_file_of_a_row_is_saved_and_opened_by_one_key() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    file = e.Artefact(
        handle="art_aaaaaaaaaa", digest="a" * 64, name="chart.png", media_type="image/png", size=9
    )
    tape.add(e.ArtefactAdded(artefact=file, origin="tool"))
    app = console(tape.envelopes, sink=Sink())
    TAKEN.clear()
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await pilot.press("f2", "end", "s")
        await until(pilot, lambda: len(TAKEN) == 1)
        await pilot.press("o")
        await until(pilot, lambda: len(TAKEN) == 2)
        session_id = tape.session_id
        assert TAKEN == [(session_id, "chart.png", "save"), (session_id, "chart.png", "open")]
