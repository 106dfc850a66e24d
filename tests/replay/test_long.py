"""Long sessions: what is not in memory is shown, found and told as if it were."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from alita_tui.replay.playback import LiveTape, Playback
from alita_tui.replay.recording import Recording
from alita_tui.store.sessions import SessionFile
from alita_tui.view.deferred_text import DeferredText
from alita_tui.view.fingerprint import fingerprint
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from tests.benchmarks.long_sessions import write

EVENTS = 2_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("long") / "long.json"
    write(made, EVENTS)
    return made


@pytest.fixture
def file(path):
    opened = SessionFile.open(path)
    yield opened
    opened.close()


def live(history) -> tuple[LiveTape, SessionView]:
    """As the console reads a session that it opens."""
    tape, view = LiveTape(), SessionView()
    tape.follow(history)
    for envelope in history:
        view = fold(view, envelope, tape.rows_of)
        tape.add(envelope, view)
    return tape, view


def test_a_view_with_deferred_texts_equals_the_folded_one_everywhere(file):
    tape, view = live(file.history())
    whole = file.envelopes()
    assert view == fold_all(whole) == tape.newest() and fingerprint(view) == fingerprint(fold_all(whole))
    left_out = [row for row in view.trace if isinstance(row.text, DeferredText)]
    assert len(left_out) > len(view.trace) / 3
    for place in (1, 99, 100, 101, 777, EVENTS):
        assert tape.view_at(place) == fold_all(whole[:place])
        assert fingerprint(tape.view_at(place)) == fingerprint(fold_all(whole[:place]))
    other = fold_all(one for one in whole if one.seq != left_out[5].seq)
    assert view != other and fingerprint(view) != fingerprint(other)


def test_searching_and_explaining_give_the_same_results(file):
    tape, _ = live(file.history())
    plain = Recording(file.envelopes())
    for needle in ("größer", "データ", "notice 1", "nothing says this"):
        for position, direction in ((0, 1), (900, 1), (900, -1), (EVENTS, -1)):
            assert tape.find_text(position, needle, direction) == plain.find_text(position, needle, direction)
    for position in (1, 200, 1_500):
        assert tape.explain(position) == plain.explain(position)
    assert list(Playback(tape).envelopes) == list(plain.envelopes)
    assert list(Recording.prepared(file.history()).envelopes) == list(plain.envelopes)


def test_an_unreadable_deferred_text_says_so(path, tmp_path):
    gone = Path(shutil.copy(path, tmp_path))
    file = SessionFile.open(gone, readonly=True)
    _, view = live(file.history())
    file.close()
    gone.unlink()
    row = next(row for row in view.trace if isinstance(row.text, DeferredText))
    assert "cannot be read again" in row.detail and "closed" in row.detail


GROWTH = """
import sys
from pathlib import Path
from alita_tui.replay.playback import LiveTape
from alita_tui.store.sessions import SessionFile
from alita_tui.view.fold import fold
from alita_tui.view.model import SessionView
def peak(): return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1024
before = peak()
file = SessionFile.open(Path(sys.argv[1]))
history, tape, view = file.history(), LiveTape(), SessionView()
tape.follow(history)
for envelope in history:
    view = fold(view, envelope, tape.rows_of)
    tape.add(envelope, view)
print(peak() - before, view.seq)
"""


def test_memory_grows_by_far_less_than_the_file(tmp_path):
    write(tmp_path / "long.json", 8_000)
    said = subprocess.run(
        [sys.executable, "-c", GROWTH, str(tmp_path / "long.json")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    megabytes, events = float(said[0]), int(said[1])
    assert events == 8_000
    # With every text in memory it is some 60 MB: three times what the file has.
    assert megabytes < 20
