"""`alita artefacts`: what a session's files are, on screen and on disk, through the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.app.artefacts import session_artefacts
from alita_tui.app.context import AppContext
from tests.support import streams


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one session that has a table, a picture and a file whose bytes are gone."""
    app = AppContext.open(tmp_path / "home")
    session_id = app.sessions.new_id()
    store = session_artefacts(app, session_id)
    files = [
        store.add_bytes(b"n,m\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(99)), "table.csv"),
        store.add_bytes(b"\x89PNG\r\n\x1a\n\0\0", "evil\x1b[31m\u202e.png"),
        store.add_bytes(b"{}", "gone.json"),
    ]
    (store.folder / files[2].digest).unlink()
    tape = streams.Tape(session_id)
    tape.add(e.SessionOpened())
    for file in files:
        tape.add(e.ArtefactAdded(artefact=file, origin="tool"))
    tape.add(e.SessionClosed())
    app.sessions.add(session_id, tape.envelopes)
    app.close()
    return tmp_path / "home"


def alita(home: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-m", "alita_tui", "--home", str(home), "artefacts", *words],
        capture_output=True, text=True, timeout=400, check=False, env=environ,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_files_are_listed_as_text_and_as_json(home: Path) -> None:
    shown = alita(home, "list")
    assert "table.csv" in shown.stdout and "gone.json  (bytes missing)" in shown.stdout
    assert "\x1b" not in shown.stdout and "\u202e" not in shown.stdout
    rows = json.loads(alita(home, "list", "--json").stdout)
    assert [row["media_type"] for row in rows] == ["text/csv", "image/png", "application/json"]
    assert [bool(row["path"]) for row in rows] == [True, True, False]


def test_part_of_a_file_is_shown_and_other_files_are_refused_with_the_reason(home: Path) -> None:
    assert alita(home, "show", "table.csv", "--rows", "2-3").stdout == "n,m\n1,1\n2,4\n"
    assert alita(home, "show", "table.csv", "--search", "49,").stdout == "51: 49,2401\n"
    for words, said in (
        (("show", "nothing.csv"), "There is: table.csv"), (("show", "gone.json"), "missing"),
        (("show", "table.csv", "--lines", "x"), "no lines"), (("save", "gone.json"), "missing"),
    ):  # fmt: skip
        done = alita(home, *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_a_file_is_saved_and_never_replaces_another(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first, second = (alita(home, "save", "table.csv", "--out", str(out)).stdout.strip() for _ in range(2))
    assert (Path(first).name, Path(second).name) == ("table.csv", "table-2.csv")
    assert Path(first).read_bytes() == Path(second).read_bytes() and first != second


def test_a_copy_is_opened_with_the_default_program(home: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    opener = programs / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    done = alita(home, "open", "table.csv", path=str(programs))
    assert done.returncode == 0, done.stderr
    copy = Path((tmp_path / "opened").read_text().strip())
    assert copy.read_text().startswith("n,m") and copy.parent != (home / "data")
    opener.write_text("#!/bin/sh\nexit 3\n")
    done = alita(home, "open", "table.csv", path=str(programs))
    assert done.returncode == 2 and "no program" in done.stderr


@pytest.mark.parametrize(
    "name", ["page.html", "picture.svg", "start.desktop", "run.sh", "x.py", "book.xlsm", "a.exe"]
)
def test_executable_files_are_not_opened_as_their_own_type(home: Path, tmp_path: Path, name: str) -> None:
    """What a tool made is generated code as soon as a program of the desktop runs it."""
    app = AppContext.open(home)
    session_id = app.sessions.new_id()
    data = b"\x7fELF\x02\x01\x01\0" if name.endswith(".exe") else b"<svg><script>alert(1)</script></svg>\n"
    file = session_artefacts(app, session_id).add_bytes(data, name)
    tape = streams.Tape(session_id)
    tape.add(e.SessionOpened())
    tape.add(e.ArtefactAdded(artefact=file, origin="tool"))
    app.sessions.add(session_id, tape.envelopes)
    app.close()
    programs = tmp_path / "bin"
    programs.mkdir()
    opener = programs / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    done = alita(home, "open", name, "--session", session_id, path=str(programs))
    opened = (tmp_path / "opened").read_text().strip() if (tmp_path / "opened").exists() else ""
    assert not opened or opened.endswith(".txt"), opened
    assert opened or (done.returncode == 2 and "alita artefacts save" in done.stderr)
