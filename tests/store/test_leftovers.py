"""What killed processes, full disks and read-only homes leave: nothing half done, and what is there can be found."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from alita_tui.store.sessions import SessionFile, SessionStore
from tests.store.readonly_disk import freeze, frozen, path  # noqa: F401  # fixtures
from tests.support.goldens import walkthrough

FORK = """
import os, signal, sys
from pathlib import Path
from alita_tui.store.sessions import SessionStore
shelf = SessionStore(Path(sys.argv[1]))
def parts():
    yield from shelf_events[:5]
    os.kill(os.getpid(), signal.SIGKILL)
from tests.support.goldens import walkthrough
shelf_events = walkthrough()
shelf.add("forked", parts())
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shelf = SessionStore(tmp_path / "data" / "sessions")
    shelf.add("whole", (msgspec.structs.replace(one, session_id="whole") for one in walkthrough()))
    return tmp_path


def alita(home: Path, *words: str, **options) -> subprocess.CompletedProcess[str]:
    # -B: under a limit on file sizes Python writes truncated bytecode, which breaks every later start.
    command = [sys.executable, "-B", "-m", "alita_tui", "--home", str(home), *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False, **options
    )


def test_a_killed_fork_leaves_no_session_and_no_file(home: Path) -> None:
    folder = home / "data" / "sessions"
    before = sorted(os.listdir(folder))
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(folder)], env=environ, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL and sorted(os.listdir(folder)) != before, done.stderr
    shelf = SessionStore(folder)
    for left in set(os.listdir(folder)) - set(before):
        os.utime(folder / left, (1, 1))
    assert [one.session_id for one in shelf.list()] == ["whole"]
    assert sorted(set(os.listdir(folder)) - {"summaries.cache"}) == before


def test_a_half_written_file_that_is_open_is_left_alone(home: Path) -> None:
    shelf = SessionStore(home / "data" / "sessions")
    held = SessionFile.open(shelf.path("whole"))
    draft = shelf.path("whole").with_name("whole.json.tmp")
    draft.write_bytes(b"{")
    shelf.list()
    assert draft.exists()
    held.close()
    draft.write_bytes(b"{")
    shelf.list()
    assert not draft.exists()


@pytest.mark.parametrize("form", ["html", "markdown", "asciicast", "jsonl"])
def test_a_full_disk_leaves_no_empty_export_and_no_other_file(home: Path, form: str) -> None:
    out = home / "exports"
    out.mkdir()

    def tight() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    done = alita(
        home, "sessions", "export", "whole", "--format", form, "--out", str(out / "x"), preexec_fn=tight
    )
    assert done.returncode == 2 and "cannot be written" in done.stderr and "Traceback" not in done.stderr
    assert os.listdir(out) == []
    (out / "x").write_text("before")
    alita(home, "sessions", "export", "whole", "--format", form, "--out", str(out / "x"), preexec_fn=tight)
    assert (out / "x").read_text() == "before" and os.listdir(out) == ["x"]
    assert (
        alita(home, "sessions", "export", "whole", "--format", form, "--out", str(out / "x")).returncode == 0
    )
    assert len((out / "x").read_text()) > 6000


def test_a_read_only_home_can_be_searched(frozen: Path) -> None:
    shelf = SessionStore(frozen / "data" / "sessions")
    shelf.add("whole", (msgspec.structs.replace(one, session_id="whole") for one in walkthrough()))
    freeze(frozen)
    for words in (("search", "validate"), ("list",), ("show", "whole")):
        done = alita(frozen, "sessions", *words)
        assert done.returncode == 0 and "validate" in done.stdout + done.stderr, (words, done.stderr)
